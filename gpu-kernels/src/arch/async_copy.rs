//! `cp.async`: copies from global to shared memory that complete in the background (PTX ISA,
//! "Data Movement and Conversion Instructions: Asynchronous copy"). sm_80.

use super::shared::SharedPtr;
use core::arch::asm;

/// `cp.async` of `BYTES` = 4, 8 or 16 bytes; 16 bytes bypass L1. When `valid` is false nothing is
/// read and the destination becomes zero.
///
/// # Safety
/// Both addresses are multiples of `BYTES`; `BYTES` bytes of this block's shared memory, not
/// accessed until a wait covers the copy; when `valid`, as many initialised bytes of global memory.
#[inline(always)]
pub unsafe fn copy_zfill<const BYTES: u32>(shared: SharedPtr, global: u64, valid: bool) {
    const { assert!(matches!(BYTES, 4 | 8 | 16), "cp.async moves 4, 8 or 16 bytes") };
    let bytes = if valid { BYTES } else { 0 };
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        match BYTES {
            4 => {
                asm!("cp.async.ca.shared.global [{0}], [{1}], 4, {2};", in(reg32) shared.0, in(reg64) global, in(reg32) bytes, options(nostack))
            }
            8 => {
                asm!("cp.async.ca.shared.global [{0}], [{1}], 8, {2};", in(reg32) shared.0, in(reg64) global, in(reg32) bytes, options(nostack))
            }
            _ => asm!("cp.async.cg.shared.global.L2::128B [{0}], [{1}], 16, {2};",
                in(reg32) shared.0, in(reg64) global, in(reg32) bytes, options(nostack)),
        }
    }
}

/// `cp.async.commit_group;` Closes the group of this thread's copies since the last.
#[inline(always)]
pub fn commit_group() {
    // SAFETY: no precondition.
    unsafe { asm!("cp.async.commit_group;", options(nostack)) }
}

/// `cp.async.wait_group n;` Waits until at most the `n` youngest groups of this thread are pending.
///
/// The instruction takes an immediate, so `n` is a constant that the compiler sees; a larger `n` than
/// the 7 there are cases for waits for more than it must.
#[inline(always)]
pub fn wait_group(n: u32) {
    // SAFETY: no precondition.
    unsafe {
        match n {
            0 => asm!("cp.async.wait_group 0;", options(nostack)),
            1 => asm!("cp.async.wait_group 1;", options(nostack)),
            2 => asm!("cp.async.wait_group 2;", options(nostack)),
            3 => asm!("cp.async.wait_group 3;", options(nostack)),
            4 => asm!("cp.async.wait_group 4;", options(nostack)),
            5 => asm!("cp.async.wait_group 5;", options(nostack)),
            6 => asm!("cp.async.wait_group 6;", options(nostack)),
            _ => asm!("cp.async.wait_group 7;", options(nostack)),
        }
    }
}
