//! Taking turns among the consumer warpgroups of a block.

use crate::arch::shared::SharedPtr;
use crate::arch::{mbarrier, thread};

/// An order of the consumers' turns at the ring: consumer i goes after consumer i − 1, and the first after the last.
///
/// A consumer may wait for a stage only when the ring has come to its turn: a barrier tells a phase from the next by parity
/// alone, so that waiting two phases ahead would return at once.
pub struct Turns {
    own: SharedPtr,
    next: SharedPtr,
    parity: u32,
}

impl Turns {
    /// Shared memory that the barrier of one consumer takes.
    pub const BARRIER_BYTES: u32 = 8;

    /// Initialises the barriers of `consumers` consumers.
    ///
    /// # Safety
    /// As [`TmaPipeline::initialise`](super::TmaPipeline::initialise).
    #[inline(always)]
    pub unsafe fn initialise(barriers: SharedPtr, consumers: u32) {
        for consumer in 0..consumers {
            // SAFETY: the caller is the only thread at it.
            unsafe { mbarrier::init(barriers.add(consumer * Self::BARRIER_BYTES), 1) };
        }
    }

    /// The turns of consumer `which` of `consumers`. It is the first one's turn.
    #[inline(always)]
    #[must_use]
    pub fn new(barriers: SharedPtr, which: u32, consumers: u32) -> Self {
        let next = if which + 1 == consumers { 0 } else { which + 1 };
        Self {
            own: barriers.add(which * Self::BARRIER_BYTES),
            next: barriers.add(next * Self::BARRIER_BYTES),
            // A barrier's phase before the first has odd parity: the first consumer does not wait.
            parity: u32::from(which == 0),
        }
    }

    /// Waits for this consumer's turn.
    ///
    /// # Safety
    /// The other consumers end their turns.
    #[inline(always)]
    pub unsafe fn begin(&mut self) {
        // SAFETY: the barriers are initialised.
        unsafe { mbarrier::wait_parity(self.own, self.parity) };
        self.parity ^= 1;
    }

    /// Passes the turn on.
    ///
    /// # Safety
    /// Every thread of the warpgroup reaches the same call, once a turn.
    #[inline(always)]
    pub unsafe fn end(&self) {
        if thread::thread_idx_x() % 128 == 0 {
            // SAFETY: the barriers are initialised.
            unsafe { mbarrier::arrive(self.next) };
        }
    }
}
