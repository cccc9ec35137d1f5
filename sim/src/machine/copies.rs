//! Asynchronous copies (`cp.async`) that a warp has issued and not yet waited for.

use std::collections::VecDeque;

/// One copy of one lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) shared: u64,
    pub(crate) global: u64,
    /// Bytes written to shared memory.
    pub(crate) bytes: u32,
    /// Bytes read from global memory; the rest is zero.
    pub(crate) source_bytes: u32,
    /// Instruction that issued it.
    pub(crate) pc: u32,
    group: u32,
}

#[derive(Debug, Clone, Default)]
struct Lane {
    copies: VecDeque<Copy>,
    /// Groups committed so far; the open group has this number.
    committed: u32,
}

/// The copies of the lanes of a warp, in order of issue.
#[derive(Debug)]
pub(crate) struct Copies {
    lanes: [Lane; 32],
}

impl Default for Copies {
    fn default() -> Self {
        Self { lanes: std::array::from_fn(|_| Lane::default()) }
    }
}

impl Copies {
    pub(crate) fn issue(&mut self, lane: u32, shared: u64, global: u64, bytes: u32, source_bytes: u32, pc: u32) {
        let lane = &mut self.lanes[lane as usize];
        let group = lane.committed;
        lane.copies.push_back(Copy { shared, global, bytes, source_bytes, pc, group });
    }

    /// Closes the open group of each lane in `mask`.
    pub(crate) fn commit(&mut self, mask: u32) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.committed += mask >> index & 1;
        }
    }

    /// The oldest copy of `lane` that is not among its latest `allowed` committed groups, nor in the open group.
    pub(crate) fn next_due(&mut self, lane: u32, allowed: u32) -> Option<Copy> {
        let lane = &mut self.lanes[lane as usize];
        let due = lane.copies.front().is_some_and(|c| c.group + allowed < lane.committed);
        if due { lane.copies.pop_front() } else { None }
    }
}
