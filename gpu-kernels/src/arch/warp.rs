//! Exchange between the threads of a warp.

use core::arch::asm;

/// `shfl.sync.idx.b32` from lane 0 of all 32 lanes. The compiler then knows that the value is the
/// same in the whole warp and keeps what follows from it in uniform registers.
///
/// # Safety
/// Every thread of the warp reaches the same call.
#[inline(always)]
#[must_use]
pub unsafe fn broadcast_first(value: u32) -> u32 {
    let first: u32;
    // SAFETY: the caller vouches for convergence.
    unsafe {
        asm!("shfl.sync.idx.b32 {0}, {1}, 0, 0x1f, 0xffffffff;", out(reg32) first, in(reg32) value, options(pure, nomem, nostack));
    }
    first
}
