//! `mma.sync` on the tensor cores.

use super::{LdmatrixMap, TensorOpMap, WarpMma, WarpOperand};
use crate::arch::matrix::{Mma16816, ldmatrix_x4, ldmatrix_x4_trans};
use crate::arch::shared::{SharedPtr, store_f32x2};
use crate::iterator::{OperandTile, SharedLayout};
use crate::kernel::OpClass;
use crate::layout::Major;
use crate::numeric::Element;
use core::marker::PhantomData;

/// A warp tile of `M16`·16 × `N16`·16 in steps of `m16n8k16`, with f32 accumulators.
#[derive(Debug)]
pub struct TensorOp<E, const M16: usize, const N16: usize>(PhantomData<E>);

impl<E: Mma16816, const M16: usize, const N16: usize> WarpMma for TensorOp<E, M16, N16> {
    type Element = E;
    type FragmentA = [[u32; 4]; M16];
    type FragmentB = [[u32; 4]; N16];
    type Accumulators = [[[[f32; 4]; 2]; N16]; M16];
    type Map = TensorOpMap<M16, N16>;
    type OperandA<S: SharedLayout> = LdmatrixOperand<S, M16, false>;
    type OperandB<S: SharedLayout> = LdmatrixOperand<S, N16, true>;

    const K: u32 = 16;
    const OP_CLASS: OpClass = OpClass::TensorOp;
    const NAME: &'static str = "s16816gemm";
    const ARCH: u32 = 80;

    #[inline(always)]
    unsafe fn mma(d: &mut Self::Accumulators, a: &Self::FragmentA, b: &Self::FragmentB) {
        for m in 0..M16 {
            for column in 0..N16 {
                // Back and forth, so that neighbouring instructions share an operand's registers.
                let n = if m % 2 == 0 { column } else { N16 - 1 - column };
                for half in 0..2 {
                    let half = if m % 2 == 0 { half } else { 1 - half };
                    // SAFETY: the caller vouches for convergence.
                    unsafe { E::mma(&mut d[m][n][half], a[m], [b[n][2 * half], b[n][2 * half + 1]]) };
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn exchange(d: &Self::Accumulators, step: u32, lane: u32, to: SharedPtr, pitch: u32) {
        for (n, block) in d[step as usize].iter().enumerate() {
            for (half, registers) in block.iter().enumerate() {
                for pair in 0..2 {
                    let (row, column) = Self::Map::pair(lane, pair);
                    let at = to.add(row * pitch + (n as u32 * 16 + half as u32 * 8 + column) * 4);
                    let pair = pair as usize * 2;
                    // SAFETY: the caller vouches for the rows.
                    unsafe { store_f32x2(at, [registers[pair], registers[pair + 1]]) };
                }
            }
        }
    }
}

/// Reads `BLOCKS` blocks of 16 × 16 by `ldmatrix`; `B` tells the order of registers of B from A's.
#[derive(Debug)]
pub struct LdmatrixOperand<S, const BLOCKS: usize, const B: bool> {
    /// The row of block (0, 0) that this lane addresses.
    mn: u32,
    k: u32,
    layout: PhantomData<S>,
}

impl<S, const BLOCKS: usize, const B: bool> Clone for LdmatrixOperand<S, BLOCKS, B> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, const BLOCKS: usize, const B: bool> Copy for LdmatrixOperand<S, BLOCKS, B> {}

impl<S: SharedLayout, const BLOCKS: usize, const B: bool> WarpOperand for LdmatrixOperand<S, BLOCKS, B> {
    type Fragment = [[u32; 4]; BLOCKS];

    #[inline(always)]
    fn new(mn_origin: u32, lane: u32) -> Self {
        const { assert!(<S::Tile as OperandTile>::Element::BYTES == 2, "ldmatrix reads 16-bit elements") };
        let (mn, k) = LdmatrixMap::row(lane, B, matches!(S::MAJOR, Major::K));
        Self { mn: mn_origin + mn, k, layout: PhantomData }
    }

    #[inline(always)]
    unsafe fn load(&self, stage: SharedPtr, step: u32) -> Self::Fragment {
        let mut fragment = [[0; 4]; BLOCKS];
        for (block, registers) in fragment.iter_mut().enumerate() {
            let row = stage.add(S::offset(self.mn + block as u32 * 16, step * 16 + self.k));
            // SAFETY: the caller vouches for the tile and for convergence.
            *registers = unsafe {
                match S::MAJOR {
                    Major::K => ldmatrix_x4(row),
                    Major::Mn => ldmatrix_x4_trans(row),
                }
            };
        }
        fragment
    }
}
