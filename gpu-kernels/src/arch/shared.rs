//! Shared memory: addresses, loads and stores. Executed by a thread.

use core::arch::{asm, global_asm};

// Dynamic shared memory of every kernel; its size is set at launch from the kernel's description.
global_asm!(".extern .shared .align 1024 .b8 falchion_shared[];");

/// A byte address in the shared memory of this block. Generic pointers would cost generic
/// accesses; this is the 32-bit address the instructions take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPtr(pub u32);

impl SharedPtr {
    /// The first byte of this block's dynamic shared memory, aligned to 1,024 bytes.
    #[inline(always)]
    #[must_use]
    pub fn dynamic() -> Self {
        let address: u64;
        // SAFETY: taking an address has no precondition.
        unsafe { asm!("mov.u64 {0}, falchion_shared;", out(reg64) address, options(pure, nomem, nostack)) };
        Self(address as u32)
    }

    /// The address `bytes` further on.
    #[inline(always)]
    #[must_use]
    pub const fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// `ld.shared.b32`.
///
/// # Safety
/// Four initialised bytes at an address that is a multiple of 4, not written meanwhile.
#[inline(always)]
#[must_use]
pub unsafe fn load_f32(address: SharedPtr) -> f32 {
    let value: f32;
    // SAFETY: the caller vouches for the bytes.
    unsafe { asm!("ld.shared.f32 {0}, [{1}];", out(reg32) value, in(reg32) address.0, options(nostack)) };
    value
}

/// `ld.shared.v4.f32`.
///
/// # Safety
/// 16 initialised bytes at an address that is a multiple of 16, not written meanwhile.
#[inline(always)]
#[must_use]
pub unsafe fn load_f32x4(address: SharedPtr) -> [f32; 4] {
    let [a, b, c, d]: [f32; 4];
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        asm!("ld.shared.v4.f32 {{{0}, {1}, {2}, {3}}}, [{4}];",
            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) address.0, options(nostack));
    }
    [a, b, c, d]
}

/// `st.shared.v2.f32`.
///
/// # Safety
/// 8 bytes of this block's shared memory at a multiple of 8, not accessed meanwhile.
#[inline(always)]
pub unsafe fn store_f32x2(address: SharedPtr, values: [f32; 2]) {
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        asm!("st.shared.v2.f32 [{0}], {{{1}, {2}}};", in(reg32) address.0, in(reg32) values[0], in(reg32) values[1], options(nostack));
    }
}

/// `st.shared.v4.f32`.
///
/// # Safety
/// 16 bytes of this block's shared memory at a multiple of 16, not accessed meanwhile.
#[inline(always)]
pub unsafe fn store_f32x4(address: SharedPtr, values: [f32; 4]) {
    // SAFETY: the caller vouches for the bytes.
    unsafe { store::<16>(address, values.map(f32::to_bits)) }
}

/// `st.shared.b16`, `.b32`, `.v2.b32` or `.v4.b32`: the low `BYTES` bytes of `words`.
///
/// # Safety
/// `BYTES` bytes of this block's shared memory at a multiple of `BYTES`, not accessed meanwhile.
#[inline(always)]
pub unsafe fn store<const BYTES: u32>(address: SharedPtr, words: [u32; 4]) {
    const { assert!(matches!(BYTES, 2 | 4 | 8 | 16), "an access moves 2, 4, 8 or 16 bytes") };
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        match BYTES {
            2 => asm!("st.shared.b16 [{0}], {1};", in(reg32) address.0, in(reg16) words[0] as u16, options(nostack)),
            4 => asm!("st.shared.b32 [{0}], {1};", in(reg32) address.0, in(reg32) words[0], options(nostack)),
            8 => asm!("st.shared.v2.b32 [{0}], {{{1}, {2}}};",
                in(reg32) address.0, in(reg32) words[0], in(reg32) words[1], options(nostack)),
            _ => asm!("st.shared.v4.b32 [{0}], {{{1}, {2}, {3}, {4}}};",
                in(reg32) address.0, in(reg32) words[0], in(reg32) words[1], in(reg32) words[2], in(reg32) words[3], options(nostack)),
        }
    }
}
