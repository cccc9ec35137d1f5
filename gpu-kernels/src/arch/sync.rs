//! Barriers (PTX ISA, "Parallel Synchronization and Communication Instructions").

use core::arch::asm;

/// `barrier.sync.aligned 0;` Waits for every thread of the block, and orders their accesses to
/// shared and global memory before it against those after it.
///
/// # Safety
/// Every thread of the block reaches the same call.
#[inline(always)]
pub unsafe fn sync_threads() {
    // SAFETY: the caller vouches for convergence.
    unsafe { asm!("barrier.sync.aligned 0;", options(nostack)) }
}

/// `barrier.sync.aligned id, threads;` Waits for `threads` threads, a multiple of 32, at named barrier `id`.
///
/// # Safety
/// As many threads, in whole warps, reach calls with the same arguments; `id` is 1 … 15.
#[inline(always)]
pub unsafe fn sync_named(id: u32, threads: u32) {
    // SAFETY: the caller vouches for convergence.
    unsafe { asm!("barrier.sync.aligned {0}, {1};", in(reg32) id, in(reg32) threads, options(nostack)) }
}
