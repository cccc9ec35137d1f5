//! Accesses of the asynchronous proxy to shared memory: bulk copies and the operands of `wgmma`.

use super::clocks::{Clocks, Role};
use super::shared::{Agent, PENDING, Shared, WRITTEN};
use super::window::SHARED_BASE;
use crate::fault::{FaultKind, Space};
use std::ops::Range;

impl Shared {
    /// Offset of `bytes` bytes at `address`, a multiple of `align`.
    pub(crate) fn locate_range(&self, address: u64, bytes: u32, align: u32) -> Result<u32, Box<FaultKind>> {
        if !address.is_multiple_of(u64::from(align)) {
            return Err(Box::new(FaultKind::Misaligned { space: Space::Shared, address, required: align }));
        }
        let offset = self.locate(address, 1)?;
        if self.bytes.len() - offset < bytes as usize {
            let nearest = Some((u64::from(SHARED_BASE), self.bytes.len() as u64));
            return Err(Box::new(FaultKind::OutOfBounds { space: Space::Shared, address, bytes, nearest }));
        }
        Ok(offset as u32)
    }

    fn cells_of_range(offset: u32, bytes: u32) -> Range<usize> {
        offset as usize / 4..(offset + bytes).div_ceil(4) as usize
    }

    /// Starts a bulk copy, issued by `agent`, to `bytes` bytes at `offset`: until it is delivered they may not be touched.
    pub(crate) fn begin_bulk(
        &mut self,
        clocks: &Clocks,
        agent: Agent,
        offset: u32,
        bytes: u32,
    ) -> Result<(), Box<FaultKind>> {
        for index in Self::cells_of_range(offset, bytes) {
            self.check_write(clocks, agent, index, 0xf)?;
            self.cells[index].state |= PENDING;
        }
        Ok(())
    }

    /// Delivers a bulk copy: a write by `writer`, the agent of its mbarrier, at `clock`.
    pub(crate) fn finish_bulk(&mut self, writer: u32, clock: u32, offset: u32, data: &[u8]) {
        for index in Self::cells_of_range(offset, data.len() as u32) {
            let cell = &mut self.cells[index];
            cell.state = WRITTEN;
            cell.writer = writer as u16;
            cell.clock = clock;
        }
        self.bytes[offset as usize..offset as usize + data.len()].copy_from_slice(data);
    }

    /// `agent` of the asynchronous proxy begins to read `bytes` bytes at `offset`: they must have been written, visibly
    /// to that proxy, and may not be written until the read is waited for.
    pub(crate) fn begin_read(
        &mut self,
        clocks: &Clocks,
        agent: Agent,
        offset: u32,
        bytes: u32,
    ) -> Result<(), Box<FaultKind>> {
        let cells = Self::cells_of_range(offset, bytes);
        let known = clocks.of(agent.id);
        let mut fenced = None;
        for index in cells.clone() {
            let cell = self.cells[index];
            if cell.state != WRITTEN {
                if cell.state & !WRITTEN != 0 {
                    return Err(self.taken(index));
                }
                let address = index as u64 * 4 + u64::from(SHARED_BASE);
                return Err(Box::new(FaultKind::Uninitialised { space: Space::Shared, address }));
            }
            if !self.detects_races() {
                continue;
            }
            let writer = u32::from(cell.writer);
            if cell.clock > known[cell.writer as usize] {
                return Err(self.race(clocks, index, (writer, cell.site), true, false));
            }
            let write = (writer, cell.site & 31, cell.clock);
            if fenced != Some(write) && matches!(clocks.layout.role(writer), Role::Warp(..)) {
                if !clocks.is_fenced(agent.id, write.0, write.1, write.2) {
                    return Err(Box::new(FaultKind::MissingProxyFence {
                        address: index as u64 * 4 + u64::from(SHARED_BASE),
                        by: self.actor(clocks, writer, cell.site),
                        store_line: self.line(cell.site),
                    }));
                }
                fenced = Some(write);
            }
        }
        if self.detects_races() {
            self.note_reads(agent, clocks.now(agent.id), cells);
        }
        Ok(())
    }

    /// `bytes` bytes at `offset`, whoever wrote them.
    pub(crate) fn peek(&self, offset: u32, bytes: u32) -> &[u8] {
        &self.bytes[offset as usize..(offset + bytes) as usize]
    }
}
