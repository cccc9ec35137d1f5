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
