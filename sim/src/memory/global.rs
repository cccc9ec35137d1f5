//! Device memory: checked allocations with a shadow of which bytes were written.
//!
//! Blocks run on several host threads and may race on global memory as they may on hardware, so every
//! 8-byte word is an atomic: such a race yields one of the values, never undefined behaviour here.

use super::window;
use crate::error::MemoryError;
use crate::fault::{FaultKind, Space};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Alignment of every allocation, as `cuMemAlloc` gives.
const ALIGNMENT: u64 = 256;
/// Unmapped bytes after each allocation at the least, so that an overrun never hits a neighbour.
const RED_ZONE: u64 = 1 << 20;

/// A range of device memory.
pub(crate) struct Allocation {
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    pub(crate) read_only: bool,
    words: Vec<AtomicU64>,
    /// One bit a byte, one `u8` a word.
    written: Vec<AtomicU8>,
}

fn mask(bytes: usize) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}

impl Allocation {
    fn new(base: u64, bytes: u64, read_only: bool) -> Self {
        let words = bytes.div_ceil(8) as usize;
        Self {
            base,
            bytes,
            read_only,
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            written: (0..words).map(|_| AtomicU8::new(0)).collect(),
        }
    }

    /// Whether all of `bytes` (1, 2, 4 or 8, aligned) at `offset` were written.
    pub(crate) fn is_written(&self, offset: u64, bytes: usize) -> bool {
        let bits = (1u32 << bytes) - 1;
        let word = self.written[(offset >> 3) as usize].load(Ordering::Acquire);
        (u32::from(word) >> (offset & 7)) & bits == bits
    }

    /// `bytes` (1, 2, 4 or 8, aligned) at `offset`.
    pub(crate) fn load(&self, offset: u64, bytes: usize) -> u64 {
        let word = self.words[(offset >> 3) as usize].load(Ordering::Acquire);
        (word >> (8 * (offset & 7))) & mask(bytes)
    }

    /// Writes `bytes` (1, 2, 4 or 8, aligned) at `offset`.
    pub(crate) fn store(&self, offset: u64, bytes: usize, value: u64) {
        if bytes == 8 {
            self.words[(offset >> 3) as usize].store(value, Ordering::Release);
            self.written[(offset >> 3) as usize].store(0xff, Ordering::Release);
        } else {
            self.update(offset, bytes, |_| value);
        }
    }

    /// Replaces `bytes` (1, 2, 4 or 8, aligned) at `offset` by `f` of them in one atomic step; returns the old value.
    pub(crate) fn update(&self, offset: u64, bytes: usize, f: impl Fn(u64) -> u64) -> u64 {
        let shift = 8 * (offset & 7);
        let field = mask(bytes) << shift;
        let word = &self.words[(offset >> 3) as usize];
        let mut old = word.load(Ordering::Acquire);
        loop {
            let value = f((old & field) >> shift) << shift;
            let new = (old & !field) | (value & field);
            match word.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        let written = &self.written[(offset >> 3) as usize];
        let bits = (((1u32 << bytes) - 1) << (offset & 7)) as u8;
        if written.load(Ordering::Acquire) & bits != bits {
            written.fetch_or(bits, Ordering::AcqRel);
        }
        (old & field) >> shift
    }

    /// Splits a byte range into aligned runs inside one word: `f(offset, bytes, position in the range)`.
    fn runs(offset: u64, length: usize, mut f: impl FnMut(u64, usize, usize)) {
        let mut at = 0;
        while at < length {
            let here = offset + at as u64;
            let widest = [8usize, 4, 2, 1];
            let bytes = widest.into_iter().find(|&w| here.is_multiple_of(w as u64) && at + w <= length).unwrap_or(1);
            f(here, bytes, at);
            at += bytes;
        }
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        Self::runs(offset, bytes.len(), |here, count, at| {
            let mut word = [0; 8];
            word[..count].copy_from_slice(&bytes[at..at + count]);
            self.store(here, count, u64::from_le_bytes(word));
        });
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let mut unwritten = None;
        Self::runs(offset, bytes.len(), |here, count, at| {
            if !self.is_written(here, count) && unwritten.is_none() {
                unwritten = (here..here + count as u64).find(|&byte| !self.is_written(byte, 1));
            }
            bytes[at..at + count].copy_from_slice(&self.load(here, count).to_le_bytes()[..count]);
        });
        match unwritten {
            Some(offset) => Err(MemoryError::Uninitialised { address: self.base + offset }),
            None => Ok(()),
        }
    }
}

#[derive(Default)]
struct State {
    live: BTreeMap<u64, Arc<Allocation>>,
    freed: BTreeMap<u64, u64>,
    used: u64,
    next: u64,
}

/// All allocations of a device.
pub(crate) struct GlobalMemory {
    state: RwLock<State>,
    limit: u64,
}

impl GlobalMemory {
    pub(crate) fn new(limit: u64) -> Self {
        let state = State { next: window::GLOBAL, ..State::default() };
        Self { state: RwLock::new(state), limit }
    }

    fn write_state(&self) -> std::sync::RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_state(&self) -> std::sync::RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn allocate(&self, bytes: u64, align: u64, read_only: bool) -> Result<u64, MemoryError> {
        let mut state = self.write_state();
        let available = self.limit - state.used;
        if bytes > available {
            return Err(MemoryError::OutOfMemory { requested: bytes, available, limit: self.limit });
        }
        let base = state.next.next_multiple_of(align.max(ALIGNMENT));
        state.next = base + bytes + RED_ZONE;
        state.used += bytes;
        state.live.insert(base, Arc::new(Allocation::new(base, bytes, read_only)));
        Ok(base)
    }

    pub(crate) fn free(&self, address: u64) -> Result<(), MemoryError> {
        let mut state = self.write_state();
        let Some(allocation) = state.live.remove(&address) else {
            return Err(if state.is_freed(address) {
                MemoryError::UseAfterFree { address }
            } else {
                MemoryError::NotAnAllocation { address }
            });
        };
        state.used -= allocation.bytes;
        state.freed.insert(address, allocation.bytes);
        Ok(())
    }

    fn range(&self, address: u64, bytes: u64) -> Result<(Arc<Allocation>, u64), MemoryError> {
        let state = self.read_state();
        let below = state.live.range(..=address).next_back().map(|(_, a)| a);
        if let Some(allocation) = below {
            let offset = address - allocation.base;
            if offset.checked_add(bytes).is_some_and(|end| end <= allocation.bytes) {
                return Ok((Arc::clone(allocation), offset));
            }
        }
        if state.is_freed(address) {
            return Err(MemoryError::UseAfterFree { address });
        }
        let nearest = below.map(|a| (a.base, a.bytes));
        Err(MemoryError::OutOfBounds { address, bytes, nearest })
    }

    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let (allocation, offset) = self.range(address, bytes.len() as u64)?;
        allocation.write(offset, bytes);
        Ok(())
    }

    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let (allocation, offset) = self.range(address, bytes.len() as u64)?;
        allocation.read(offset, bytes)
    }

    pub(crate) fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<(), MemoryError> {
        let (allocation, offset) = self.range(address, bytes)?;
        let word = u64::from_le_bytes([byte; 8]);
        Allocation::runs(offset, bytes as usize, |here, count, _| {
            allocation.store(here, count, word & mask(count));
        });
        Ok(())
    }

    /// The allocations as they are now, for a launch.
    pub(crate) fn view(self: &Arc<Self>) -> View {
        let state = self.read_state();
        View { allocations: state.live.values().cloned().collect(), last: 0, memory: Arc::clone(self) }
    }
}

impl State {
    fn is_freed(&self, address: u64) -> bool {
        self.freed.range(..=address).next_back().is_some_and(|(base, bytes)| address - base < (*bytes).max(1))
    }
}

/// What one worker sees of global memory during a launch, with the allocation it touched last.
#[derive(Clone)]
pub(crate) struct View {
    allocations: Arc<[Arc<Allocation>]>,
    last: usize,
    memory: Arc<GlobalMemory>,
}

impl View {
    /// The allocation that holds `bytes` bytes at `address`, and the offset in it; checks alignment to `bytes`.
    #[inline]
    pub(crate) fn locate(&mut self, address: u64, bytes: u32) -> Result<(&Allocation, u64), Box<FaultKind>> {
        let fits = |a: &Allocation| {
            let offset = address.wrapping_sub(a.base);
            offset < a.bytes && a.bytes - offset >= u64::from(bytes)
        };
        if !self.allocations.get(self.last).is_some_and(|a| fits(a)) {
            let above = self.allocations.partition_point(|a| a.base <= address);
            match above.checked_sub(1) {
                Some(below) if fits(&self.allocations[below]) => self.last = below,
                below => return Err(Box::new(self.miss(address, bytes, below))),
            }
        }
        if address & u64::from(bytes - 1) != 0 {
            return Err(Box::new(FaultKind::Misaligned { space: Space::Global, address, required: bytes }));
        }
        let allocation = &self.allocations[self.last];
        Ok((allocation, address - allocation.base))
    }

    fn miss(&self, address: u64, bytes: u32, below: Option<usize>) -> FaultKind {
        if self.memory.read_state().is_freed(address) {
            return FaultKind::UseAfterFree { address };
        }
        let nearest = below.map(|i| (self.allocations[i].base, self.allocations[i].bytes));
        FaultKind::OutOfBounds { space: Space::Global, address, bytes, nearest }
    }

    /// Reads 1, 2, 4, 8 or 16 aligned bytes; they must have been written.
    #[inline]
    pub(crate) fn load(&mut self, address: u64, bytes: u32) -> Result<u128, Box<FaultKind>> {
        let (allocation, offset) = self.locate(address, bytes)?;
        let uninitialised = || Box::new(FaultKind::Uninitialised { space: Space::Global, address });
        if bytes == 16 {
            if !(allocation.is_written(offset, 8) && allocation.is_written(offset + 8, 8)) {
                return Err(uninitialised());
            }
            let low = u128::from(allocation.load(offset, 8));
            return Ok(low | u128::from(allocation.load(offset + 8, 8)) << 64);
        }
        if !allocation.is_written(offset, bytes as usize) {
            return Err(uninitialised());
        }
        Ok(u128::from(allocation.load(offset, bytes as usize)))
    }

    /// Reads the first `bytes` bytes, any number up to 16, of an access aligned to `align`; the rest is zero.
    pub(crate) fn load_prefix(&mut self, address: u64, align: u32, bytes: u32) -> Result<u128, Box<FaultKind>> {
        if address & u64::from(align - 1) != 0 {
            return Err(Box::new(FaultKind::Misaligned { space: Space::Global, address, required: align }));
        }
        if bytes == align {
            return self.load(address, bytes);
        }
        let mut value = 0;
        for byte in 0..bytes {
            value |= self.load(address + u64::from(byte), 1)? << (8 * byte);
        }
        Ok(value)
    }

    /// Writes 1, 2, 4, 8 or 16 aligned bytes.
    #[inline]
    pub(crate) fn store(&mut self, address: u64, bytes: u32, value: u128) -> Result<(), Box<FaultKind>> {
        let (allocation, offset) = self.locate(address, bytes)?;
        if allocation.read_only {
            return Err(Box::new(FaultKind::WriteToReadOnly { space: Space::Global, address }));
        }
        if bytes == 16 {
            allocation.store(offset, 8, value as u64);
            allocation.store(offset + 8, 8, (value >> 64) as u64);
        } else {
            allocation.store(offset, bytes as usize, value as u64);
        }
        Ok(())
    }

    /// Atomically replaces 2, 4 or 8 aligned bytes; returns the old value.
    pub(crate) fn update(&mut self, address: u64, bytes: u32, f: impl Fn(u64) -> u64) -> Result<u64, Box<FaultKind>> {
        let (allocation, offset) = self.locate(address, bytes)?;
        if allocation.read_only {
            return Err(Box::new(FaultKind::WriteToReadOnly { space: Space::Global, address }));
        }
        if !allocation.is_written(offset, bytes as usize) {
            return Err(Box::new(FaultKind::Uninitialised { space: Space::Global, address }));
        }
        Ok(allocation.update(offset, bytes as usize, f))
    }

    /// Reads any number of bytes; they must have been written.
    pub(crate) fn read_bytes(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Box<FaultKind>> {
        let (allocation, offset) = self.locate_bytes(address, bytes.len() as u64)?;
        match allocation.read(offset, bytes) {
            Err(MemoryError::Uninitialised { address }) => {
                Err(Box::new(FaultKind::Uninitialised { space: Space::Global, address }))
            }
            _ => Ok(()),
        }
    }

    /// Writes any number of bytes.
    pub(crate) fn write_bytes(&mut self, address: u64, bytes: &[u8]) -> Result<(), Box<FaultKind>> {
        let (allocation, offset) = self.locate_bytes(address, bytes.len() as u64)?;
        if allocation.read_only {
            return Err(Box::new(FaultKind::WriteToReadOnly { space: Space::Global, address }));
        }
        allocation.write(offset, bytes);
        Ok(())
    }

    /// The allocation that holds `bytes` bytes at any `address`.
    fn locate_bytes(&mut self, address: u64, bytes: u64) -> Result<(&Allocation, u64), Box<FaultKind>> {
        let (allocation, offset) = self.locate(address, 1)?;
        if allocation.bytes - offset < bytes {
            let nearest = Some((allocation.base, allocation.bytes));
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            return Err(Box::new(FaultKind::OutOfBounds { space: Space::Global, address, bytes, nearest }));
        }
        Ok((allocation, offset))
    }
}
