//! `ldmatrix` and `mma.sync` (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").
//! Executed by a warp.

use super::shared::SharedPtr;
use crate::numeric::{bf16, f16};
use core::arch::asm;

/// `ldmatrix.sync.aligned.m8n8.x4.shared.b16`: four 8 × 8 matrices of 16-bit elements. Lanes
/// 8i … 8i+7 give the addresses of the eight 16-byte rows of matrix i; register i of lane l
/// receives elements (l/4, 2(l%4)) and (l/4, 2(l%4)+1) of matrix i. sm_75.
///
/// # Safety
/// Every thread of the warp reaches the same call; addresses are multiples of 16 of initialised
/// rows, not written meanwhile.
#[inline(always)]
#[must_use]
pub unsafe fn ldmatrix_x4(row: SharedPtr) -> [u32; 4] {
    let [a, b, c, d]: [u32; 4];
    // SAFETY: the caller vouches for the rows.
    unsafe {
        asm!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{0}, {1}, {2}, {3}}}, [{4}];",
            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) row.0, options(nostack));
    }
    [a, b, c, d]
}

/// [`ldmatrix_x4`] with `.trans`: register i of lane l receives elements (2(l%4), l/4) and
/// (2(l%4)+1, l/4) of matrix i. sm_75.
///
/// # Safety
/// As for [`ldmatrix_x4`].
#[inline(always)]
#[must_use]
pub unsafe fn ldmatrix_x4_trans(row: SharedPtr) -> [u32; 4] {
    let [a, b, c, d]: [u32; 4];
    // SAFETY: the caller vouches for the rows.
    unsafe {
        asm!("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{0}, {1}, {2}, {3}}}, [{4}];",
            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) row.0, options(nostack));
    }
    [a, b, c, d]
}

/// `stmatrix.sync.aligned.m8n8.x4.shared.b16`: the reverse of [`ldmatrix_x4`]. sm_90.
///
/// # Safety
/// Every thread of the warp reaches the same call; addresses are multiples of 16 of rows of this
/// block's shared memory, not accessed meanwhile.
#[inline(always)]
pub unsafe fn stmatrix_x4(row: SharedPtr, registers: [u32; 4]) {
    let [a, b, c, d] = registers;
    // SAFETY: the caller vouches for the rows.
    unsafe {
        asm!("stmatrix.sync.aligned.m8n8.x4.shared.b16 [{4}], {{{0}, {1}, {2}, {3}}};",
            in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, in(reg32) row.0, options(nostack));
    }
}

/// Element types that `mma.sync.m16n8k16` multiplies with f32 accumulators.
pub trait Mma16816: crate::numeric::Element {
    /// `mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32`: D = A·B + D. With g = lane / 4 and
    /// t = lane % 4, registers hold, two elements each, low half first:
    /// A (16 × 16): (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8);
    /// B (16 × 8): (2t, g), (2t + 8, g), pairs down the column;
    /// D (16 × 8): (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). sm_80.
    ///
    /// # Safety
    /// Every thread of the warp reaches the same call.
    unsafe fn mma(d: &mut [f32; 4], a: [u32; 4], b: [u32; 2]);
}

macro_rules! mma_16816 {
    ($type:ty, $name:literal) => {
        impl Mma16816 for $type {
            #[inline(always)]
            unsafe fn mma(d: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
                // SAFETY: the caller vouches for convergence.
                unsafe {
                    asm!(concat!("mma.sync.aligned.m16n8k16.row.col.f32.", $name, ".", $name, ".f32 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};"),
                        inout(reg32) d[0], inout(reg32) d[1], inout(reg32) d[2], inout(reg32) d[3],
                        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3],
                        in(reg32) b[0], in(reg32) b[1], options(pure, nomem, nostack));
                }
            }
        }
    };
}
mma_16816!(f16, "f16");
mma_16816!(bf16, "bf16");
