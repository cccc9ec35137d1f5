//! Fused multiply-adds on the CUDA cores.

use super::{SimtMap, WarpMma, WarpOperand};
use crate::arch::shared::{SharedPtr, load_f32x4, store_f32x4};
use crate::iterator::SharedLayout;
use crate::kernel::OpClass;
use crate::layout::Major;
use crate::numeric::fma;
use core::marker::PhantomData;

/// A warp tile of `M4`·32 × `N4`·16 f32: each thread takes the outer product of 4·`M4` entries of a column
/// of A and 4·`N4` entries of a row of B, one k a step.
#[derive(Debug)]
pub struct Simt<const M4: usize, const N4: usize>;

impl<const M4: usize, const N4: usize> WarpMma for Simt<M4, N4> {
    type Element = f32;
    type FragmentA = [[f32; 4]; M4];
    type FragmentB = [[f32; 4]; N4];
    type Accumulators = [[[[f32; 4]; 4]; N4]; M4];
    type Map = SimtMap<M4, N4>;
    type OperandA<S: SharedLayout> = SimtOperand<S, M4, 32>;
    type OperandB<S: SharedLayout> = SimtOperand<S, N4, 16>;

    const K: u32 = 1;
    const OP_CLASS: OpClass = OpClass::Simt;
    const NAME: &'static str = "sgemm";
    const ARCH: u32 = 80;

    #[inline(always)]
    unsafe fn mma(d: &mut Self::Accumulators, a: &Self::FragmentA, b: &Self::FragmentB) {
        for m in 0..M4 {
            for n in 0..N4 {
                for i in 0..4 {
                    for j in 0..4 {
                        d[m][n][i][j] = fma(a[m][i], b[n][j], d[m][n][i][j]);
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn exchange(d: &Self::Accumulators, step: u32, lane: u32, to: SharedPtr, pitch: u32) {
        for (n, block) in d[step as usize / 4].iter().enumerate() {
            let at = to.add(Self::Map::row_of(lane) / 4 * pitch + (n as u32 * 16 + Self::Map::column_of(lane)) * 4);
            // SAFETY: the caller vouches for the rows.
            unsafe { store_f32x4(at, block[step as usize % 4]) };
        }
    }
}

/// Reads vectors of four along MN: `BLOCKS` of them, `STRIDE` apart. The lanes of a warp form 8 rows of 4;
/// an operand whose blocks are 32 apart follows the rows, one whose blocks are 16 apart the columns.
#[derive(Debug)]
pub struct SimtOperand<S, const BLOCKS: usize, const STRIDE: u32> {
    mn: u32,
    layout: PhantomData<S>,
}

impl<S, const BLOCKS: usize, const STRIDE: u32> Clone for SimtOperand<S, BLOCKS, STRIDE> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, const BLOCKS: usize, const STRIDE: u32> Copy for SimtOperand<S, BLOCKS, STRIDE> {}

impl<S: SharedLayout, const BLOCKS: usize, const STRIDE: u32> WarpOperand for SimtOperand<S, BLOCKS, STRIDE> {
    type Fragment = [[f32; 4]; BLOCKS];

    #[inline(always)]
    fn new(mn_origin: u32, lane: u32) -> Self {
        const {
            assert!(
                matches!(S::MAJOR, Major::Mn),
                "the CUDA cores read vectors along MN: the shared layout must be MN-major"
            );
            assert!(STRIDE == 32 || STRIDE == 16, "a warp is 8 × 4 lanes of 4 × 4 entries");
        }
        let of_lane = if STRIDE == 32 { SimtMap::<1, 1>::row_of(lane) } else { SimtMap::<1, 1>::column_of(lane) };
        Self { mn: mn_origin + of_lane, layout: PhantomData }
    }

    #[inline(always)]
    unsafe fn load(&self, stage: SharedPtr, step: u32) -> Self::Fragment {
        let mut fragment = [[0.0; 4]; BLOCKS];
        for (block, vector) in fragment.iter_mut().enumerate() {
            // SAFETY: the caller vouches for the tile.
            *vector = unsafe { load_f32x4(stage.add(S::offset(self.mn + block as u32 * STRIDE, step))) };
        }
        fragment
    }
}
