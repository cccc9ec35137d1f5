//! Global memory: vector loads and stores. Executed by a thread.

use core::arch::asm;

/// `ld.global.b16`, `.b32`, `.v2.b32` or `.v4.b32` into the low `BYTES` bytes; zero, and no access,
/// when `valid` is false.
///
/// # Safety
/// When `valid`: `BYTES` initialised bytes of global memory at a multiple of `BYTES`, not written meanwhile.
#[inline(always)]
#[must_use]
pub unsafe fn load<const BYTES: u32>(address: u64, valid: bool) -> [u32; 4] {
    const { assert!(matches!(BYTES, 2 | 4 | 8 | 16), "an access moves 2, 4, 8 or 16 bytes") };
    let (mut a, mut b, mut c, mut d) = (0u32, 0u32, 0u32, 0u32);
    let valid = valid as u32;
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        match BYTES {
            2 => {
                let mut half = 0u16;
                asm!("{{ .reg .pred p; setp.ne.b32 p, {2}, 0; @p ld.global.b16 {0}, [{1}]; }}",
                    inout(reg16) half, in(reg64) address, in(reg32) valid, options(nostack));
                a = half as u32;
            }
            4 => asm!("{{ .reg .pred p; setp.ne.b32 p, {2}, 0; @p ld.global.b32 {0}, [{1}]; }}",
                inout(reg32) a, in(reg64) address, in(reg32) valid, options(nostack)),
            8 => asm!("{{ .reg .pred p; setp.ne.b32 p, {3}, 0; @p ld.global.v2.b32 {{{0}, {1}}}, [{2}]; }}",
                inout(reg32) a, inout(reg32) b, in(reg64) address, in(reg32) valid, options(nostack)),
            _ => asm!("{{ .reg .pred p; setp.ne.b32 p, {5}, 0; @p ld.global.v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}]; }}",
                inout(reg32) a, inout(reg32) b, inout(reg32) c, inout(reg32) d,
                in(reg64) address, in(reg32) valid, options(nostack)),
        }
    }
    [a, b, c, d]
}

/// `st.global.b16`, `.b32`, `.v2.b32` or `.v4.b32`: the low `BYTES` bytes of `words`.
///
/// # Safety
/// `BYTES` bytes of global memory at a multiple of `BYTES`, not accessed meanwhile.
#[inline(always)]
pub unsafe fn store<const BYTES: u32>(address: u64, words: [u32; 4]) {
    const { assert!(matches!(BYTES, 2 | 4 | 8 | 16), "an access moves 2, 4, 8 or 16 bytes") };
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        match BYTES {
            2 => asm!("st.global.b16 [{0}], {1};", in(reg64) address, in(reg16) words[0] as u16, options(nostack)),
            4 => asm!("st.global.b32 [{0}], {1};", in(reg64) address, in(reg32) words[0], options(nostack)),
            8 => asm!("st.global.v2.b32 [{0}], {{{1}, {2}}};",
                in(reg64) address, in(reg32) words[0], in(reg32) words[1], options(nostack)),
            _ => asm!("st.global.v4.b32 [{0}], {{{1}, {2}, {3}, {4}}};",
                in(reg64) address, in(reg32) words[0], in(reg32) words[1], in(reg32) words[2], in(reg32) words[3], options(nostack)),
        }
    }
}
