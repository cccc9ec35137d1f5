//! A ring of stages in shared memory filled by `cp.async`, with tokens for its states.

use crate::arch::async_copy::{commit_group, wait_group};
use crate::arch::shared::SharedPtr;
use crate::arch::sync::sync_threads;

/// A ring of `STAGES` stages of `bytes` each. A stage goes around
///
/// free → [`acquire`](Self::acquire) → [`Filling`] → [`commit`](Self::commit) → in flight →
/// [`first`](Self::first) or [`next`](Self::next) → [`Ready`] → `next` → free.
///
/// The tokens cannot be copied or made otherwise: a stage is written only while it is `Filling`,
/// read only while it is `Ready`, and a `Ready` stage is given up to get the next.
pub struct CpAsyncPipeline<const STAGES: u32> {
    base: SharedPtr,
    bytes: u32,
    /// Byte offset of the stage that is filled next.
    write: u32,
}

/// A stage that this thread may copy into.
pub struct Filling(SharedPtr);

/// A stage whose copies, by all threads, have arrived.
pub struct Ready {
    stage: SharedPtr,
    offset: u32,
}

impl Filling {
    /// Where the stage starts.
    #[inline(always)]
    #[must_use]
    pub fn stage(&self) -> SharedPtr {
        self.0
    }
}

impl Ready {
    /// Where the stage starts.
    #[inline(always)]
    #[must_use]
    pub fn stage(&self) -> SharedPtr {
        self.stage
    }
}

impl<const STAGES: u32> CpAsyncPipeline<STAGES> {
    /// A ring of free stages at `base`.
    #[inline(always)]
    #[must_use]
    pub fn new(base: SharedPtr, bytes: u32) -> Self {
        const { assert!(STAGES >= 2, "a stage cannot be filled while it is read: at least two") };
        Self { base, bytes, write: 0 }
    }

    #[inline(always)]
    fn after(&self, offset: u32) -> u32 {
        let next = offset + self.bytes;
        if next == STAGES * self.bytes { 0 } else { next }
    }

    /// The next free stage. At most `STAGES − 1` stages may be acquired ahead of the one that is ready.
    #[inline(always)]
    #[must_use]
    pub fn acquire(&mut self) -> Filling {
        let stage = Filling(self.base.add(self.write));
        self.write = self.after(self.write);
        stage
    }

    /// Closes the copies into a stage.
    #[inline(always)]
    pub fn commit(&mut self, stage: Filling) {
        let _ = stage;
        commit_group();
    }

    /// Waits for the first stage, after `STAGES − 1` have been committed.
    ///
    /// # Safety
    /// Every thread of the block reaches the same call.
    #[inline(always)]
    #[must_use]
    pub unsafe fn first(&mut self) -> Ready {
        // SAFETY: the caller vouches for convergence.
        unsafe { self.wait(0) }
    }

    /// Gives up a stage and waits for the one after it, when one more has been committed since the last wait.
    ///
    /// # Safety
    /// Every thread of the block reaches the same call.
    #[inline(always)]
    #[must_use]
    pub unsafe fn next(&mut self, read: Ready) -> Ready {
        // SAFETY: the caller vouches for convergence.
        unsafe { self.wait(self.after(read.offset)) }
    }

    #[inline(always)]
    unsafe fn wait(&mut self, offset: u32) -> Ready {
        // Of the STAGES − 1 groups committed since the last stage became ready, all but the oldest may be pending.
        wait_group(STAGES - 2);
        // SAFETY: the caller vouches for convergence.
        unsafe { sync_threads() };
        Ready { stage: self.base.add(offset), offset }
    }

    /// Waits for every copy, and for every thread to be done with every stage.
    ///
    /// # Safety
    /// Every thread of the block reaches the same call.
    #[inline(always)]
    pub unsafe fn drain(self, read: Ready) {
        let _ = read;
        wait_group(0);
        // SAFETY: the caller vouches for convergence.
        unsafe { sync_threads() };
    }
}
