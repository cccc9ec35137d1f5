//! Local memory: a private array a lane, with a shadow of which bytes were written.

use super::window::LOCAL_BASE;
use crate::fault::{FaultKind, Space};

/// Local memory of the 32 lanes of a warp.
pub(crate) struct Local {
    size: usize,
    bytes: Vec<u8>,
    written: Vec<bool>,
}

impl Local {
    pub(crate) fn new(size: u32) -> Self {
        let size = size as usize;
        Self { size, bytes: vec![0; size * 32], written: vec![false; size * 32] }
    }

    fn locate(&self, lane: u32, address: u64, bytes: u32) -> Result<usize, Box<FaultKind>> {
        let offset = address.wrapping_sub(u64::from(LOCAL_BASE));
        if offset >= self.size as u64 || self.size as u64 - offset < u64::from(bytes) {
            let nearest = Some((u64::from(LOCAL_BASE), self.size as u64));
            let space = Space::Local;
            return Err(Box::new(FaultKind::OutOfBounds { space, address, bytes, nearest }));
        }
        if address & u64::from(bytes - 1) != 0 {
            return Err(Box::new(FaultKind::Misaligned { space: Space::Local, address, required: bytes }));
        }
        Ok(lane as usize * self.size + offset as usize)
    }

    pub(crate) fn load(&self, lane: u32, address: u64, bytes: u32) -> Result<u128, Box<FaultKind>> {
        let at = self.locate(lane, address, bytes)?;
        let range = at..at + bytes as usize;
        if !self.written[range.clone()].iter().all(|&w| w) {
            return Err(Box::new(FaultKind::Uninitialised { space: Space::Local, address }));
        }
        let mut value = [0; 16];
        value[..bytes as usize].copy_from_slice(&self.bytes[range]);
        Ok(u128::from_le_bytes(value))
    }

    pub(crate) fn store(&mut self, lane: u32, address: u64, bytes: u32, value: u128) -> Result<(), Box<FaultKind>> {
        let at = self.locate(lane, address, bytes)?;
        let range = at..at + bytes as usize;
        self.bytes[range.clone()].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
        self.written[range].fill(true);
        Ok(())
    }
}
