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
    /// A thread's part of 64 rows of D: `[j][i]` is, for lane l of warp w, with g = l / 4 and t = l % 4, entry
    /// (16·w + g + 8·(i / 2), 8·j + 2·t + i % 2).
    type Block: Fragment + AsRef<[[f32; 4]]>;
    /// A thread's part of D: 64 rows after 64 rows.
    type Accumulators: Fragment + AsRef<[Self::Block]>;
    /// Rows of D.
    const M: u32;
    /// Columns of D.
    const N: u32;
    /// Extent of one step along K: 32 bytes.
    const K: u32 = 32 / Self::Element::BYTES as u32;
    /// The instruction and operation, as in kernel names.
    const NAME: &'static str;

    /// One step: D = A·B + D, or D = A·B when `accumulate` is false. 64 rows of A take `block_bytes`.
    ///
    /// # Safety
    /// As [`Wgmma::mma_async`].
    unsafe fn mma<T: Transposition>(
        d: &mut Self::Accumulators,
        a: Descriptor,
        block_bytes: u32,
        b: Descriptor,
        accumulate: bool,
    );
}

/// `BLOCKS`·64 × `N` of f32 from 16-bit operands.
#[derive(Debug)]
pub struct Warpgroup<E, const BLOCKS: usize, const N: usize>(PhantomData<E>);

impl<E: Wgmma<N>, const BLOCKS: usize, const N: usize> WarpgroupMma for Warpgroup<E, BLOCKS, N> {
    type Element = E;
    type Block = E::Accumulators;
    type Accumulators = [E::Accumulators; BLOCKS];
    const M: u32 = 64 * BLOCKS as u32;
    const N: u32 = N as u32;
    const NAME: &'static str = "s64x16gemm";

    #[inline(always)]
    unsafe fn mma<T: Transposition>(
        d: &mut Self::Accumulators,
        a: Descriptor,
        block_bytes: u32,
        b: Descriptor,
        accumulate: bool,
    ) {
        for block in 0..BLOCKS {
            // SAFETY: the caller vouches for the operands and for convergence.
            unsafe { E::mma_async::<T>(&mut d[block], a.add(block as u32 * block_bytes), b, accumulate) }
        }
    }
}
