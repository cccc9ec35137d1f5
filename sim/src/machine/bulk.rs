//! Bulk copies under way.

use super::team::{BlockState, Team};
use crate::fault::FaultKind;
use crate::memory::global::View;
use crate::memory::window::SHARED_BASE;
use crate::tensor_map::TensorMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// How an element in global memory is replaced: `(old, stored, unused)`.
pub(crate) type Combine = fn(u64, u64, u64) -> u64;

/// The side of a bulk copy in global memory.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Box { map: Arc<TensorMap>, coordinates: Vec<i32> },
    Bytes { address: u64, bytes: u32 },
}

impl Place {
    pub(crate) fn bytes(&self) -> u32 {
        match self {
            Place::Box { map, .. } => map.box_bytes(),
            Place::Bytes { bytes, .. } => *bytes,
        }
    }

    /// Reads what a copy delivers to shared `address`.
    fn load(&self, global: &mut View, address: u32) -> Result<Vec<u8>, Box<FaultKind>> {
        match self {
            Place::Box { map, coordinates } => {
                let mut rows = map.blank();
                map.rows(coordinates, |at, from, bytes| global.read_bytes(from, &mut rows[at..at + bytes]))?;
                Ok(map.permute(address, &rows))
            }
            Place::Bytes { address, bytes } => {
                let mut data = vec![0; *bytes as usize];
                global.read_bytes(*address, &mut data)?;
                Ok(data)
            }
        }
    }

    /// Writes rows in order.
    fn store(&self, global: &mut View, data: &[u8], combine: Option<(Combine, u32)>) -> Result<(), Box<FaultKind>> {
        let reduces = combine.is_some();
        let mut write = |at: usize, to: u64, bytes: usize| match combine {
            None => global.write_bytes(to, &data[at..at + bytes]),
            Some((combine, width)) => {
                for (index, element) in data[at..at + bytes].chunks_exact(width as usize).enumerate() {
                    let mut value = [0; 8];
                    value[..element.len()].copy_from_slice(element);
                    let value = u64::from_le_bytes(value);
                    let mask = u64::MAX >> (64 - 8 * width);
                    let address = to + index as u64 * u64::from(width);
                    global.update(address, width, |old| combine(old, value, value) & mask)?;
                }
                Ok(())
            }
        };
        match self {
            Place::Box { map, coordinates } => map.rows(coordinates, |at, to, bytes| {
                let partial = bytes as u32 % 16;
                if partial != 0 && !reduces {
                    return Err(Box::new(FaultKind::PartialUnit { address: to + bytes as u64, bytes: partial }));
                }
                write(at, to, bytes)
            }),
            Place::Bytes { address, .. } => write(0, *address, data.len()),
        }
    }
}

/// Who issued a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Issuer {
    pub(crate) rank: u32,
    pub(crate) warp: u32,
    pub(crate) lane: u32,
    pub(crate) pc: u32,
}

/// A copy to shared memory that has not been delivered.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) issuer: Issuer,
    pub(crate) from: Place,
    /// Block, offset of the destination and offset of the mbarrier, for each destination.
    pub(crate) to: Vec<(u32, u32, u32)>,
}

impl Load {
    /// Delivers the copy and counts it at its mbarriers.
    pub(crate) fn deliver(self, blocks: &mut [&mut BlockState], global: &mut View) -> Result<(), Box<FaultKind>> {
        let mut data = None;
        for &(rank, offset, barrier) in &self.to {
            // The same offset in every block: the same swizzle.
            let data = match &data {
                Some(data) => data,
                None => data.insert(self.from.load(global, offset + SHARED_BASE)?),
            };
            let block = &mut *blocks[rank as usize];
            let address = u64::from(barrier + SHARED_BASE);
            let fault = |problem| Box::new(FaultKind::Mbarrier { address, problem });
            let mbarrier = block.mbarriers.at_mut(barrier).map_err(fault)?;
            let (agent, phase) = (mbarrier.agent, mbarrier.phase + 1);
            mbarrier.deliver(data.len() as u32).map_err(fault)?;
            block.shared.finish_bulk(agent, phase, offset, data);
        }
        Ok(())
    }
}

/// A copy from shared memory.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) lane: u32,
    group: u32,
    pub(crate) pc: u32,
    pub(crate) offset: u32,
    pub(crate) to: Place,
    pub(crate) combine: Option<(Combine, u32)>,
    /// Clock of its read.
    pub(crate) clock: u32,
    /// What it has read.
    data: Option<Vec<u8>>,
}

/// The bulk stores of a warp, in order of issue.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    stores: VecDeque<Store>,
    committed: [u32; 32],
}

impl Stores {
    pub(crate) fn issue(
        &mut self,
        lane: u32,
        pc: u32,
        offset: u32,
        to: Place,
        combine: Option<(Combine, u32)>,
        clock: u32,
    ) {
        let group = self.committed[lane as usize];
        self.stores.push_back(Store { lane, group, pc, offset, to, combine, clock, data: None });
    }

    /// Closes the open group of each lane in `mask`.
    pub(crate) fn commit(&mut self, mask: u32) {
        for (lane, committed) in self.committed.iter_mut().enumerate() {
            *committed += mask >> lane & 1;
        }
    }

    /// Lets all stores of `lane` but its latest `allowed` groups read their sources, and write too if `complete`.
    /// Returns the clock of the latest of them.
    pub(crate) fn finish(
        &mut self,
        lane: u32,
        allowed: u32,
        complete: bool,
        block: &BlockState,
        global: &mut View,
    ) -> Result<Option<u32>, Box<FaultKind>> {
        let committed = self.committed[lane as usize];
        let mut latest = None;
        for store in self.stores.iter_mut().filter(|s| s.lane == lane && s.group + allowed < committed) {
            latest = latest.max(Some(store.clock));
            let data = store.data.get_or_insert_with(|| {
                let bytes = block.shared.peek(store.offset, store.to.bytes());
                match &store.to {
                    Place::Box { map, .. } => map.permute(store.offset + SHARED_BASE, bytes),
                    Place::Bytes { .. } => bytes.to_vec(),
                }
            });
            if complete {
                store.to.store(global, data, store.combine)?;
            }
        }
        if complete {
            self.stores.retain(|s| s.lane != lane || s.group + allowed >= committed);
        }
        Ok(latest)
    }

    /// The warp's block has ended: what was read is written. Returns the instruction of a store that was not.
    pub(crate) fn end(&mut self, global: &mut View) -> Result<Option<(u32, u32)>, Box<FaultKind>> {
        for store in std::mem::take(&mut self.stores) {
            match store.data {
                Some(data) => store.to.store(global, &data, store.combine)?,
                None => return Ok(Some((store.pc, store.lane))),
            }
        }
        Ok(None)
    }
}

impl Team {
    /// Whether a copy to the shared memory of block `rank` is under way, and the instruction that issued it.
    pub(crate) fn load_into(&self, rank: u32) -> Option<Issuer> {
        self.loads.iter().find(|load| load.to.iter().any(|to| to.0 == rank)).map(|load| load.issuer)
    }
}
