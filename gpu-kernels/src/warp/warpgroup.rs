//! `wgmma` on the tensor cores.

use crate::arch::wgmma::{Descriptor, Transposition, Wgmma};
use crate::fragment::Fragment;
use crate::numeric::Element;
use core::marker::PhantomData;

/// D ← A·B + D on the tile of one warpgroup, operands in shared memory, D in registers. Every function is
/// executed by all 128 threads together.
pub trait WarpgroupMma: 'static {
    /// Element type of A and B.
    type Element: Element;
    /// A thread's part of D: `[j][i]` is, for lane l of warp w, with g = l / 4 and t = l % 4, entry
    /// (16·w + g + 8·(i / 2), 8·j + 2·t + i % 2).
    type Accumulators: Fragment + AsRef<[[f32; 4]]>;
    /// Rows of D.
    const M: u32 = 64;
    /// Columns of D.
    const N: u32;
    /// Extent of one step along K: 32 bytes.
    const K: u32 = 32 / Self::Element::BYTES as u32;
    /// The instruction and operation, as in kernel names.
    const NAME: &'static str;

    /// One step: D = A·B + D, or D = A·B when `accumulate` is false.
    ///
    /// # Safety
    /// As [`Wgmma::mma_async`].
    unsafe fn mma<T: Transposition>(d: &mut Self::Accumulators, a: Descriptor, b: Descriptor, accumulate: bool);
}

/// 64 × `N` of f32 from 16-bit operands.
#[derive(Debug)]
pub struct Warpgroup<E, const N: usize>(PhantomData<E>);

impl<E: Wgmma<N>, const N: usize> WarpgroupMma for Warpgroup<E, N>
where
    E::Accumulators: AsRef<[[f32; 4]]>,
{
    type Element = E;
    type Accumulators = E::Accumulators;
    const N: u32 = N as u32;
    const NAME: &'static str = "s64x16gemm";

    #[inline(always)]
    unsafe fn mma<T: Transposition>(d: &mut Self::Accumulators, a: Descriptor, b: Descriptor, accumulate: bool) {
        // SAFETY: the caller vouches for the operands and for convergence.
        unsafe { E::mma_async::<T>(d, a, b, accumulate) }
    }
}
