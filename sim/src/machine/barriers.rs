//! The sixteen barriers of a block.

use crate::fault::FaultKind;
use crate::memory::clocks::{Clock, Clocks};

/// How a predicate is reduced over the threads of a barrier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reduction {
    /// Threads whose predicate held.
    pub(crate) count: u32,
    /// Threads that arrived.
    pub(crate) threads: u32,
}

#[derive(Debug, Default)]
struct Barrier {
    /// Threads arrived; a warp counts whole, as on hardware.
    arrived: u32,
    /// Thread count asked for; 0 for all threads of the block.
    threads: u32,
    /// Warps that wait, one bit each.
    waiters: u32,
    clock: Clock,
    reduction: Reduction,
}

/// The barriers of a block and who waits at them.
pub(crate) struct Barriers {
    barriers: [Barrier; 16],
    /// Warps that have lanes left.
    live_warps: u32,
    /// Result for each warp whose barrier was completed and that has not resumed yet.
    released: [Option<Reduction>; 32],
    /// Agent of the block's first warp.
    first: u32,
}

impl Barriers {
    pub(crate) fn new(warps: u32, first: u32) -> Self {
        Self {
            barriers: Default::default(),
            live_warps: if warps == 32 { u32::MAX } else { (1 << warps) - 1 },
            released: [None; 32],
            first,
        }
    }

    /// Takes the result for `warp` if its barrier has completed.
    pub(crate) fn take_release(&mut self, warp: u32) -> Option<Reduction> {
        self.released[warp as usize].take()
    }

    /// Whether `warp` may resume.
    pub(crate) fn is_released(&self, warp: u32) -> bool {
        self.released[warp as usize].is_some()
    }

    /// Threads arrived at `barrier` and threads it needs.
    pub(crate) fn progress(&self, barrier: u32) -> (u32, u32) {
        let state = &self.barriers[barrier as usize];
        (state.arrived, self.expected(barrier))
    }

    fn expected(&self, barrier: u32) -> u32 {
        match self.barriers[barrier as usize].threads {
            0 => self.live_warps.count_ones() * 32,
            threads => threads,
        }
    }

    /// `warp` arrives at `barrier`, for `threads` threads or 0 for all of the block; it waits there if `waits`.
    pub(crate) fn arrive(
        &mut self,
        clocks: &mut Clocks,
        warp: u32,
        barrier: u32,
        threads: u32,
        waits: bool,
        part: Reduction,
    ) -> Result<(), Box<FaultKind>> {
        if barrier >= 16 || !threads.is_multiple_of(32) || (threads == 0 && !waits) {
            return Err(Box::new(FaultKind::BadBarrier { barrier, threads }));
        }
        let all = self.live_warps.count_ones() * 32;
        let wanted = if threads == 0 { all } else { threads };
        if self.barriers[barrier as usize].arrived > 0 && self.expected(barrier) != wanted {
            return Err(Box::new(FaultKind::BadBarrier { barrier, threads }));
        }
        let state = &mut self.barriers[barrier as usize];
        state.threads = threads;
        state.arrived += 32;
        state.waiters |= u32::from(waits) << warp;
        state.reduction.count += part.count;
        state.reduction.threads += part.threads;
        clocks.release_into(self.first + warp, &mut state.clock);
        self.complete(clocks, barrier);
        Ok(())
    }

    /// Releases the waiters of `barrier` when enough threads have arrived.
    fn complete(&mut self, clocks: &mut Clocks, barrier: u32) {
        let expected = self.expected(barrier);
        let state = &mut self.barriers[barrier as usize];
        if state.arrived == 0 || state.arrived < expected {
            return;
        }
        let done = std::mem::take(state);
        for warp in (0..32).filter(|warp| done.waiters >> warp & 1 == 1) {
            clocks.acquire_from(self.first + warp, &done.clock);
            self.released[warp as usize] = Some(done.reduction);
        }
    }

    /// All lanes of `warp` have exited: barriers for the whole block no longer expect it.
    pub(crate) fn leave(&mut self, clocks: &mut Clocks, warp: u32) {
        self.live_warps &= !(1 << warp);
        for barrier in 0..16 {
            if self.barriers[barrier as usize].threads == 0 {
                self.complete(clocks, barrier);
            }
        }
    }
}
