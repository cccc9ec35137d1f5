//! Shared memory of a block and its shadow: written bytes, pending copies, races.
//!
//! The shadow has a cell for every 4 bytes. Accesses of less mark which of the 4 bytes they touch, so that
//! neighbours in one word never raise a false alarm; when two warps take turns writing parts of one word,
//! only the latest part is remembered.

use super::clocks::{Clocks, Role};
use super::window::SHARED_BASE;
use crate::fault::{Actor, FaultKind, MbarrierProblem, RaceParty, Space};
use std::sync::Arc;

/// Who accesses: the agent of [`Clocks`], and the lane and instruction for the report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agent {
    pub(crate) id: u32,
    pub(crate) lane: u32,
    pub(crate) pc: u32,
}

impl Agent {
    pub(super) fn site(self) -> u32 {
        self.pc << 5 | self.lane
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    /// Clock of the last write, 0 for none.
    pub(super) clock: u32,
    pub(super) site: u32,
    /// Agent of the last write.
    pub(super) writer: u16,
    /// Bytes the last write touched.
    mask: u8,
    /// Bytes ever written in the low half; above it [`PENDING`] and [`BARRIER`].
    pub(super) state: u8,
}

/// All four bytes were written.
pub(super) const WRITTEN: u8 = 0xf;
/// An asynchronous copy to these bytes is under way; `site` is its own.
pub(super) const PENDING: u8 = 0x10;
/// Part of an mbarrier.
const BARRIER: u8 = 0x20;

/// A read in one word: clock (28 bits), bytes (4 bits), site (32 bits). Zero means none.
fn pack_read(clock: u32, mask: u8, site: u32) -> u64 {
    u64::from(clock) << 36 | u64::from(mask) << 32 | u64::from(site)
}

/// Clock of a read.
fn read_clock(read: u64) -> u32 {
    (read >> 36) as u32
}

/// Whether a read that `known` does not cover touched bytes of `mask`.
fn is_unordered(read: u64, known: u32, mask: u8) -> bool {
    read_clock(read) > known && (read >> 32) as u8 & mask != 0
}

/// Shared memory of one block.
pub(crate) struct Shared {
    size: u32,
    pub(super) bytes: Vec<u8>,
    pub(super) cells: Vec<Cell>,
    /// Latest read of each cell by each warp of the block; empty when races are not looked for.
    reads: Vec<u64>,
    /// Latest reads of each cell by other agents.
    pub(super) other_reads: Vec<(u32, Vec<u64>)>,
    /// Whether `reads` holds any.
    was_read: bool,
    /// Agent of the block's first warp.
    first: u32,
    warps: usize,
    block: [u32; 3],
    /// PTX line of each instruction.
    lines: Arc<[u32]>,
}

impl Shared {
    /// `first` is the agent of the block's first warp.
    pub(crate) fn new(size: u32, block: [u32; 3], first: u32, lines: Arc<[u32]>, detect_races: bool) -> Self {
        let cells = size.div_ceil(4) as usize;
        let warps = (block.iter().product::<u32>() as usize).div_ceil(32);
        Self {
            size,
            bytes: vec![0; cells * 4],
            cells: vec![Cell::default(); cells],
            reads: if detect_races { vec![0; cells * warps] } else { Vec::new() },
            other_reads: Vec::new(),
            was_read: false,
            first,
            warps,
            block,
            lines,
        }
    }

    pub(super) fn detects_races(&self) -> bool {
        !self.reads.is_empty()
    }

    /// Offset of an access, after the checks of bounds and alignment.
    #[inline]
    pub(crate) fn locate(&self, address: u64, bytes: u32) -> Result<usize, Box<FaultKind>> {
        let offset = address.wrapping_sub(u64::from(SHARED_BASE));
        if offset >= u64::from(self.size) || u64::from(self.size) - offset < u64::from(bytes) {
            let nearest = Some((u64::from(SHARED_BASE), u64::from(self.size)));
            let space = Space::Shared;
            return Err(Box::new(FaultKind::OutOfBounds { space, address, bytes, nearest }));
        }
        if address & u64::from(bytes - 1) != 0 {
            return Err(Box::new(FaultKind::Misaligned { space: Space::Shared, address, required: bytes }));
        }
        Ok(offset as usize)
    }

    /// Cells of an aligned access and the bytes it touches in each.
    #[inline]
    fn cells_of(offset: usize, bytes: u32) -> (std::ops::Range<usize>, u8) {
        let first = offset / 4;
        if bytes >= 4 {
            (first..first + bytes as usize / 4, 0xf)
        } else {
            (first..first + 1, ((1u8 << bytes) - 1) << (offset % 4))
        }
    }

    /// Position in the block of the thread in `lane` of `warp`.
    fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        let linear = warp * 32 + lane;
        [linear % x, linear / x % y, linear / (x * y)]
    }

    pub(super) fn line(&self, site: u32) -> u32 {
        self.line_of(site >> 5)
    }

    /// PTX line of an instruction.
    pub(crate) fn line_of(&self, pc: u32) -> u32 {
        self.lines[pc as usize]
    }

    pub(super) fn actor(&self, clocks: &Clocks, agent: u32, site: u32) -> Actor {
        match clocks.layout.role(agent) {
            Role::Warp(rank, warp) => Actor::Thread { rank, thread: self.thread(warp, site & 31) },
            Role::Products(rank, group) => Actor::Products { rank, group },
            Role::Stores(rank, group) => Actor::Store { rank, group },
            Role::Copies => Actor::Copy,
        }
    }

    #[cold]
    pub(super) fn race(
        &self,
        clocks: &Clocks,
        cell: usize,
        first: (u32, u32),
        was_write: bool,
        is_write: bool,
    ) -> Box<FaultKind> {
        let (agent, site) = first;
        let by = self.actor(clocks, agent, site);
        let first = RaceParty { by, ptx_line: self.line(site), is_write: was_write };
        let address = cell as u64 * 4 + u64::from(SHARED_BASE);
        Box::new(FaultKind::Race { space: Space::Shared, address, first, is_write })
    }

    /// What is wrong with a generic access to a cell that is pending or part of an mbarrier.
    #[cold]
    pub(super) fn taken(&self, cell: usize) -> Box<FaultKind> {
        let address = cell as u64 * 4 + u64::from(SHARED_BASE);
        if self.cells[cell].state & BARRIER != 0 {
            return Box::new(FaultKind::Mbarrier { address, problem: MbarrierProblem::Accessed });
        }
        Box::new(FaultKind::Pending { address, copy_line: self.line(self.cells[cell].site) })
    }

    #[inline(always)]
    fn check_read(&mut self, clocks: &Clocks, agent: Agent, index: usize, mask: u8) -> Result<(), Box<FaultKind>> {
        let cell = self.cells[index];
        if cell.state & (mask | PENDING | BARRIER) != mask {
            if cell.state & (PENDING | BARRIER) != 0 {
                return Err(self.taken(index));
            }
            let address = index as u64 * 4 + u64::from(SHARED_BASE);
            return Err(Box::new(FaultKind::Uninitialised { space: Space::Shared, address }));
        }
        if self.reads.is_empty() {
            return Ok(());
        }
        let known = clocks.of(agent.id);
        if cell.clock > known[cell.writer as usize] && cell.mask & mask != 0 {
            return Err(self.race(clocks, index, (cell.writer.into(), cell.site), true, false));
        }
        let clock = known[agent.id as usize];
        let own = agent.id.wrapping_sub(self.first) as usize;
        let slot = if own < self.warps {
            self.was_read = true;
            &mut self.reads[index * self.warps + own]
        } else {
            &mut self.reads_of(agent.id)[index]
        };
        let earlier = if read_clock(*slot) == clock { (*slot >> 32) as u8 & 0xf } else { 0 };
        *slot = pack_read(clock, mask | earlier, agent.site());
        Ok(())
    }

    /// The reads of an agent that is no warp of this block.
    #[cold]
    fn reads_of(&mut self, agent: u32) -> &mut Vec<u64> {
        let at = self.other_reads.iter().position(|(id, _)| *id == agent).unwrap_or_else(|| {
            self.other_reads.push((agent, vec![0; self.cells.len()]));
            self.other_reads.len() - 1
        });
        &mut self.other_reads[at].1
    }

    /// Remembers a read of whole cells by an agent that is no warp of this block.
    pub(super) fn note_reads(&mut self, agent: Agent, clock: u32, cells: std::ops::Range<usize>) {
        let read = pack_read(clock, 0xf, agent.site());
        self.reads_of(agent.id)[cells].fill(read);
    }

    #[inline]
    pub(super) fn check_write(
        &mut self,
        clocks: &Clocks,
        agent: Agent,
        index: usize,
        mask: u8,
    ) -> Result<(), Box<FaultKind>> {
        let cell = self.cells[index];
        if cell.state & (PENDING | BARRIER) != 0 {
            return Err(self.taken(index));
        }
        let mut clock = 0;
        if !self.reads.is_empty() {
            let known = clocks.of(agent.id);
            if cell.clock > known[cell.writer as usize] && cell.mask & mask != 0 {
                return Err(self.race(clocks, index, (cell.writer.into(), cell.site), true, true));
            }
            if self.was_read {
                let reads = &self.reads[index * self.warps..(index + 1) * self.warps];
                for (warp, (&read, &known)) in reads.iter().zip(&known[self.first as usize..]).enumerate() {
                    if is_unordered(read, known, mask) {
                        let party = (self.first + warp as u32, read as u32);
                        return Err(self.race(clocks, index, party, false, true));
                    }
                }
            }
            for (reader, reads) in &self.other_reads {
                if is_unordered(reads[index], known[*reader as usize], mask) {
                    return Err(self.race(clocks, index, (*reader, reads[index] as u32), false, true));
                }
            }
            clock = known[agent.id as usize];
        }
        let cell = &mut self.cells[index];
        let same = cell.clock == clock && u32::from(cell.writer) == agent.id;
        cell.mask = if same { cell.mask | mask } else { mask };
        cell.clock = clock;
        cell.writer = agent.id as u16;
        cell.site = agent.site();
        Ok(())
    }

    /// Refuses an access of `agent` to 8 bytes that were written by what it is not ordered after.
    pub(crate) fn check_order(&self, clocks: &Clocks, agent: u32, offset: u32) -> Result<(), Box<FaultKind>> {
        let index = offset as usize / 4;
        let cell = self.cells[index];
        if self.detects_races() && cell.clock > clocks.of(agent)[cell.writer as usize] {
            return Err(self.race(clocks, index, (cell.writer.into(), cell.site), true, true));
        }
        Ok(())
    }

    /// Makes 8 bytes an mbarrier, or plain memory again.
    pub(crate) fn mark_barrier(
        &mut self,
        clocks: &Clocks,
        agent: Agent,
        offset: u32,
        live: bool,
    ) -> Result<(), Box<FaultKind>> {
        for index in [offset as usize / 4, offset as usize / 4 + 1] {
            if live {
                self.check_write(clocks, agent, index, 0xf)?;
                self.cells[index].state = BARRIER;
            } else {
                self.cells[index].state = 0;
            }
        }
        Ok(())
    }

    /// Reads 1, 2, 4, 8 or 16 aligned bytes.
    #[inline(always)]
    pub(crate) fn load(
        &mut self,
        clocks: &Clocks,
        agent: Agent,
        address: u64,
        bytes: u32,
    ) -> Result<u128, Box<FaultKind>> {
        let offset = self.locate(address, bytes)?;
        let (cells, mask) = Self::cells_of(offset, bytes);
        for cell in cells {
            self.check_read(clocks, agent, cell, mask)?;
        }
        let mut value = [0; 16];
        value[..bytes as usize].copy_from_slice(&self.bytes[offset..offset + bytes as usize]);
        Ok(u128::from_le_bytes(value))
    }

    /// Writes 1, 2, 4, 8 or 16 aligned bytes.
    #[inline(always)]
    pub(crate) fn store(
        &mut self,
        clocks: &Clocks,
        agent: Agent,
        address: u64,
        bytes: u32,
        value: u128,
    ) -> Result<(), Box<FaultKind>> {
        let offset = self.locate(address, bytes)?;
        let (cells, mask) = Self::cells_of(offset, bytes);
        for cell in cells {
            self.check_write(clocks, agent, cell, mask)?;
            self.cells[cell].state |= mask;
        }
        let value = value.to_le_bytes();
        self.bytes[offset..offset + bytes as usize].copy_from_slice(&value[..bytes as usize]);
        Ok(())
    }

    /// Replaces 2, 4 or 8 bytes atomically: ordered after every earlier atomic and strong access to the address.
    pub(crate) fn update(
        &mut self,
        clocks: &mut Clocks,
        agent: Agent,
        address: u64,
        bytes: u32,
        f: impl Fn(u64) -> u64,
    ) -> Result<u64, Box<FaultKind>> {
        let object = self.object(address);
        clocks.acquire(agent.id, object);
        let old = self.load(clocks, agent, address, bytes)? as u64;
        self.store(clocks, agent, address, bytes, u128::from(f(old)))?;
        clocks.release(agent.id, object);
        Ok(old)
    }

    /// The synchronisation object at an address of this block.
    pub(crate) fn object(&self, address: u64) -> u64 {
        u64::from(self.first) << 32 | address
    }

    /// Starts an asynchronous copy to 4, 8 or 16 aligned bytes: until it is finished they may not be touched.
    pub(crate) fn begin_copy(
        &mut self,
        clocks: &Clocks,
        agent: Agent,
        address: u64,
        bytes: u32,
    ) -> Result<(), Box<FaultKind>> {
        let offset = self.locate(address, bytes)?;
        let (cells, mask) = Self::cells_of(offset, bytes);
        for cell in cells {
            self.check_write(clocks, agent, cell, mask)?;
            self.cells[cell].state |= PENDING;
        }
        Ok(())
    }

    /// Delivers an asynchronous copy. To other warps it is a write at this moment.
    pub(crate) fn finish_copy(&mut self, clocks: &Clocks, agent: Agent, address: u64, bytes: u32, value: u128) {
        let offset = (address - u64::from(SHARED_BASE)) as usize;
        let (cells, _) = Self::cells_of(offset, bytes);
        let clock = clocks.now(agent.id);
        for cell in &mut self.cells[cells] {
            cell.state = WRITTEN;
            if cell.clock > 0 {
                cell.clock = clock;
            }
        }
        let value = value.to_le_bytes();
        self.bytes[offset..offset + bytes as usize].copy_from_slice(&value[..bytes as usize]);
    }
}
