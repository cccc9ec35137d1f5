//! Thread-block clusters, the register pool and grid dependencies. sm_90.

use core::arch::asm;

/// `%cluster_ctarank`: position of this block in its cluster.
#[inline(always)]
#[must_use]
pub fn block_rank() -> u32 {
    let rank: u32;
    // SAFETY: reading a special register has no precondition.
    unsafe { asm!("mov.u32 {0}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack)) };
    rank
}

/// `barrier.cluster.arrive.release.aligned` and `.wait.acquire.aligned`: waits for every thread of the cluster.
///
/// # Safety
/// Every thread of the cluster reaches the same call.
#[inline(always)]
pub unsafe fn sync_cluster() {
    // SAFETY: the caller vouches for convergence.
    unsafe {
        asm!("barrier.cluster.arrive.release.aligned;", "barrier.cluster.wait.acquire.aligned;", options(nostack))
    }
}

/// `setmaxnreg.dec.sync.aligned.u32 N`: gives registers above `N` a thread back to the block's pool.
///
/// # Safety
/// Every thread of the warpgroup reaches the same call, with at most `N` registers in use; `N` is a
/// multiple of 8 in 24 … 256.
#[inline(always)]
pub unsafe fn release_registers<const N: u32>() {
    const { assert!(N.is_multiple_of(8) && N >= 24 && N <= 256, "setmaxnreg takes a multiple of 8 in 24 ... 256") };
    // SAFETY: the caller vouches for convergence.
    unsafe { asm!("setmaxnreg.dec.sync.aligned.u32 {0};", const N, options(nostack)) }
}

/// `setmaxnreg.inc.sync.aligned.u32 N`: waits until the pool can give every thread `N` registers.
///
/// # Safety
/// Every thread of the warpgroup reaches the same call; other warpgroups release what is missing; `N` is a
/// multiple of 8 in 24 … 256.
#[inline(always)]
pub unsafe fn acquire_registers<const N: u32>() {
    const { assert!(N.is_multiple_of(8) && N >= 24 && N <= 256, "setmaxnreg takes a multiple of 8 in 24 ... 256") };
    // SAFETY: the caller vouches for convergence.
    unsafe { asm!("setmaxnreg.inc.sync.aligned.u32 {0};", const N, options(nostack)) }
}
