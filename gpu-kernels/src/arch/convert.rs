//! Conversions between floating-point types. Executed by a thread.

use core::arch::asm;

/// `cvt.f32.f16`: exact.
#[inline(always)]
#[must_use]
pub fn f16_to_f32(bits: u16) -> f32 {
    let value: f32;
    // SAFETY: arithmetic.
    unsafe { asm!("cvt.f32.f16 {0}, {1};", out(reg32) value, in(reg16) bits, options(pure, nomem, nostack)) };
    value
}

/// `cvt.rn.f16.f32`: to nearest even.
#[inline(always)]
#[must_use]
pub fn f32_to_f16(value: f32) -> u16 {
    let bits: u16;
    // SAFETY: arithmetic.
    unsafe { asm!("cvt.rn.f16.f32 {0}, {1};", out(reg16) bits, in(reg32) value, options(pure, nomem, nostack)) };
    bits
}

/// bf16 is the upper half of f32: exact.
#[inline(always)]
#[must_use]
pub const fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// `cvt.rn.bf16.f32`: to nearest even. sm_80.
#[inline(always)]
#[must_use]
pub fn f32_to_bf16(value: f32) -> u16 {
    let bits: u16;
    // SAFETY: arithmetic.
    unsafe { asm!("cvt.rn.bf16.f32 {0}, {1};", out(reg16) bits, in(reg32) value, options(pure, nomem, nostack)) };
    bits
}

/// `cvt.rn.f16x2.f32`: two conversions to nearest even, `low` in the low half.
#[inline(always)]
#[must_use]
pub fn f32x2_to_f16x2(low: f32, high: f32) -> u32 {
    let bits: u32;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.rn.f16x2.f32 {0}, {1}, {2};", out(reg32) bits, in(reg32) high, in(reg32) low, options(pure, nomem, nostack))
    };
    bits
}

/// `cvt.rn.bf16x2.f32`: two conversions to nearest even, `low` in the low half. sm_80.
#[inline(always)]
#[must_use]
pub fn f32x2_to_bf16x2(low: f32, high: f32) -> u32 {
    let bits: u32;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.rn.bf16x2.f32 {0}, {1}, {2};", out(reg32) bits, in(reg32) high, in(reg32) low, options(pure, nomem, nostack))
    };
    bits
}
