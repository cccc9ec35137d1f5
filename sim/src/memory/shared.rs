//! Shared memory of a block and its shadow: written bytes, pending copies, races.
//!
//! The shadow has a cell for every 4 bytes. Accesses of less mark which of the 4 bytes they touch, so that
//! neighbours in one word never raise a false alarm; when two warps take turns writing parts of one word,
//! only the latest part is remembered.

use super::clocks::Clocks;
use super::window::SHARED_BASE;
use crate::fault::{FaultKind, RaceParty, Space};
use std::sync::Arc;

/// Who accesses: the warp, and the lane and instruction for the report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agent {
    pub(crate) warp: u32,
    pub(crate) lane: u32,
    pub(crate) pc: u32,
}

impl Agent {
    fn site(self) -> u32 {
        self.pc << 5 | self.lane
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// Clock of the last write, 0 for none.
    clock: u32,
    site: u32,
    warp: u8,
    /// Bytes the last write touched.
    mask: u8,
    /// Bytes ever written.
    written: u8,
    /// An asynchronous copy to these bytes is under way; `site` is its own.
    pending: bool,
}

/// A read in one word: clock (28 bits), bytes (4 bits), site (32 bits). Zero means none.
fn pack_read(clock: u32, mask: u8, site: u32) -> u64 {
    u64::from(clock) << 36 | u64::from(mask) << 32 | u64::from(site)
}

/// Shared memory of one block.
pub(crate) struct Shared {
    size: u32,
    bytes: Vec<u8>,
    cells: Vec<Cell>,
    /// Latest read of each cell by each warp; empty when races are not looked for.
    reads: Vec<u64>,
    pub(crate) clocks: Clocks,
    warps: usize,
    block: [u32; 3],
    /// PTX line of each instruction.
    lines: Arc<[u32]>,
}

impl Shared {
    pub(crate) fn new(size: u32, block: [u32; 3], lines: Arc<[u32]>, detect_races: bool) -> Self {
        let cells = size.div_ceil(4) as usize;
        let warps = (block.iter().product::<u32>() as usize).div_ceil(32);
        Self {
            size,
            bytes: vec![0; cells * 4],
            cells: vec![Cell::default(); cells],
            reads: if detect_races { vec![0; cells * warps] } else { Vec::new() },
            clocks: Clocks::new(warps),
            warps,
            block,
            lines,
        }
    }

    /// Offset of an access, after the checks of bounds and alignment.
    #[inline]
    fn locate(&self, address: u64, bytes: u32) -> Result<usize, Box<FaultKind>> {
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

    fn race(&self, cell: usize, warp: u32, site: u32, was_write: bool, is_write: bool) -> Box<FaultKind> {
        let [x, y, _] = self.block;
        let linear = warp * 32 + (site & 31);
        let first = RaceParty {
            thread: [linear % x, linear / x % y, linear / (x * y)],
            ptx_line: self.lines[(site >> 5) as usize],
            is_write: was_write,
        };
        let address = cell as u64 * 4 + u64::from(SHARED_BASE);
        Box::new(FaultKind::Race { space: Space::Shared, address, first, is_write })
    }

    fn pending(&self, cell: usize) -> Box<FaultKind> {
        Box::new(FaultKind::Pending {
            address: cell as u64 * 4 + u64::from(SHARED_BASE),
            copy_line: self.lines[(self.cells[cell].site >> 5) as usize],
        })
    }

    #[inline]
    fn check_read(&mut self, agent: Agent, index: usize, mask: u8) -> Result<(), Box<FaultKind>> {
        let cell = self.cells[index];
        if cell.pending {
            return Err(self.pending(index));
        }
        if cell.written & mask != mask {
            let address = index as u64 * 4 + u64::from(SHARED_BASE);
            return Err(Box::new(FaultKind::Uninitialised { space: Space::Shared, address }));
        }
        if self.reads.is_empty() {
            return Ok(());
        }
        let known = self.clocks.of(agent.warp);
        if cell.clock > known[cell.warp as usize] && cell.mask & mask != 0 {
            return Err(self.race(index, u32::from(cell.warp), cell.site, true, false));
        }
        let clock = known[agent.warp as usize];
        let slot = &mut self.reads[index * self.warps + agent.warp as usize];
        let earlier = if (*slot >> 36) as u32 == clock { (*slot >> 32) as u8 & 0xf } else { 0 };
        *slot = pack_read(clock, mask | earlier, agent.site());
        Ok(())
    }

    #[inline]
    fn check_write(&mut self, agent: Agent, index: usize, mask: u8) -> Result<(), Box<FaultKind>> {
        let cell = self.cells[index];
        if cell.pending {
            return Err(self.pending(index));
        }
        let mut clock = 0;
        if !self.reads.is_empty() {
            let known = self.clocks.of(agent.warp);
            if cell.clock > known[cell.warp as usize] && cell.mask & mask != 0 {
                return Err(self.race(index, u32::from(cell.warp), cell.site, true, true));
            }
            let reads = &self.reads[index * self.warps..(index + 1) * self.warps];
            for (warp, (&read, &known)) in reads.iter().zip(known).enumerate() {
                if (read >> 36) as u32 > known && (read >> 32) as u8 & mask != 0 {
                    return Err(self.race(index, warp as u32, read as u32, false, true));
                }
            }
            clock = known[agent.warp as usize];
        }
        let cell = &mut self.cells[index];
        let same = cell.clock == clock && u32::from(cell.warp) == agent.warp;
        cell.mask = if same { cell.mask | mask } else { mask };
        cell.clock = clock;
        cell.warp = agent.warp as u8;
        cell.site = agent.site();
        Ok(())
    }

    /// Reads 1, 2, 4, 8 or 16 aligned bytes.
    #[inline]
    pub(crate) fn load(&mut self, agent: Agent, address: u64, bytes: u32) -> Result<u128, Box<FaultKind>> {
        let offset = self.locate(address, bytes)?;
        let (cells, mask) = Self::cells_of(offset, bytes);
        for cell in cells {
            self.check_read(agent, cell, mask)?;
        }
        let mut value = [0; 16];
        value[..bytes as usize].copy_from_slice(&self.bytes[offset..offset + bytes as usize]);
        Ok(u128::from_le_bytes(value))
    }

    /// Writes 1, 2, 4, 8 or 16 aligned bytes.
    #[inline]
    pub(crate) fn store(&mut self, agent: Agent, address: u64, bytes: u32, value: u128) -> Result<(), Box<FaultKind>> {
        let offset = self.locate(address, bytes)?;
        let (cells, mask) = Self::cells_of(offset, bytes);
        for cell in cells {
            self.check_write(agent, cell, mask)?;
            self.cells[cell].written |= mask;
        }
        let value = value.to_le_bytes();
        self.bytes[offset..offset + bytes as usize].copy_from_slice(&value[..bytes as usize]);
        Ok(())
    }

    /// Replaces 2, 4 or 8 bytes atomically: ordered after every earlier atomic and strong access to the address.
    pub(crate) fn update(
        &mut self,
        agent: Agent,
        address: u64,
        bytes: u32,
        f: impl Fn(u64) -> u64,
    ) -> Result<u64, Box<FaultKind>> {
        self.clocks.acquire(agent.warp, address);
        let old = self.load(agent, address, bytes)? as u64;
        self.store(agent, address, bytes, u128::from(f(old)))?;
        self.clocks.release(agent.warp, address);
        Ok(old)
    }

    /// Starts an asynchronous copy to 4, 8 or 16 aligned bytes: until it is finished they may not be touched.
    pub(crate) fn begin_copy(&mut self, agent: Agent, address: u64, bytes: u32) -> Result<(), Box<FaultKind>> {
        let offset = self.locate(address, bytes)?;
        let (cells, mask) = Self::cells_of(offset, bytes);
        for cell in cells {
            self.check_write(agent, cell, mask)?;
            self.cells[cell].pending = true;
        }
        Ok(())
    }

    /// Delivers an asynchronous copy. To other warps it is a write at this moment.
    pub(crate) fn finish_copy(&mut self, agent: Agent, address: u64, bytes: u32, value: u128) {
        let offset = (address - u64::from(SHARED_BASE)) as usize;
        let (cells, _) = Self::cells_of(offset, bytes);
        let clock = self.clocks.of(agent.warp)[agent.warp as usize];
        for cell in &mut self.cells[cells] {
            cell.pending = false;
            cell.written = 0xf;
            if cell.clock > 0 {
                cell.clock = clock;
            }
        }
        let value = value.to_le_bytes();
        self.bytes[offset..offset + bytes as usize].copy_from_slice(&value[..bytes as usize]);
    }
}
