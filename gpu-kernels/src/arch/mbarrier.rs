//! `mbarrier`: barriers in shared memory that count arrivals and the bytes of asynchronous copies
//! (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"). sm_90.

use super::shared::SharedPtr;
use core::arch::asm;

/// `mbarrier.init.shared::cta.b64`: a barrier whose phases complete after `arrivals` arrivals.
///
/// # Safety
/// One thread initialises 8 bytes at a multiple of 8, and makes it visible before any other uses them.
#[inline(always)]
pub unsafe fn init(barrier: SharedPtr, arrivals: u32) {
    // SAFETY: the caller vouches for the barrier.
    unsafe {
        asm!("mbarrier.init.shared::cta.b64 [{0}], {1};", in(reg32) barrier.0, in(reg32) arrivals, options(nostack))
    }
}

/// `fence.mbarrier_init.release.cluster`: makes initialised barriers visible to the cluster, and to the
/// copy engine (`fence.proxy.async`).
#[inline(always)]
pub fn fence_init() {
    // SAFETY: no precondition.
    unsafe { asm!("fence.mbarrier_init.release.cluster;", "fence.proxy.async;", options(nostack)) }
}

/// `mbarrier.arrive.shared::cta.b64`: one arrival.
///
/// # Safety
/// `barrier` is initialised.
#[inline(always)]
pub unsafe fn arrive(barrier: SharedPtr) {
    // SAFETY: the caller vouches for the barrier.
    unsafe { asm!("mbarrier.arrive.shared::cta.b64 _, [{0}];", in(reg32) barrier.0, options(nostack)) }
}

/// `mbarrier.arrive.expect_tx.shared::cta.b64`: one arrival, and `bytes` more that copies must deliver.
///
/// # Safety
/// `barrier` is initialised.
#[inline(always)]
pub unsafe fn arrive_expect_tx(barrier: SharedPtr, bytes: u32) {
    // SAFETY: the caller vouches for the barrier.
    unsafe {
        asm!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{0}], {1};", in(reg32) barrier.0, in(reg32) bytes, options(nostack));
    }
}

/// `mapa` and `mbarrier.arrive.shared::cluster.b64`: one arrival at the barrier at the same address in block
/// `rank` of the cluster.
///
/// No `.release.cluster` qualifier: it costs MEMBAR.ALL.GPU in the K loop (0.74 instead of 1.01 of
/// cuBLAS at bf16 4096³ on an H200), and what it would order, reads of the stage by `wgmma`, are over when
/// `wgmma.wait_group` returns.
///
/// # Safety
/// `barrier` is initialised in block `rank`, which has not exited.
#[inline(always)]
pub unsafe fn arrive_at(barrier: SharedPtr, rank: u32) {
    // SAFETY: the caller vouches for the barrier.
    unsafe {
        asm!("{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {0}, {1}; mbarrier.arrive.shared::cluster.b64 _, [remote]; }}",
            in(reg32) barrier.0, in(reg32) rank, options(nostack));
    }
}

/// `mbarrier.try_wait.parity.shared::cta.b64` until the phase of parity `parity` is complete.
///
/// # Safety
/// `barrier` is initialised, and somebody completes the phase.
#[inline(always)]
pub unsafe fn wait_parity(barrier: SharedPtr, parity: u32) {
    loop {
        let complete: u32;
        // SAFETY: the caller vouches for the barrier.
        unsafe {
            asm!("{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}",
                out(reg32) complete, in(reg32) barrier.0, in(reg32) parity, options(nostack));
        }
        if complete != 0 {
            return;
        }
    }
}
