//! GEMM configurations with every part chosen but the few that usually vary.

use super::{GemmConfig, OperandA, OperandB};
use crate::arch::matrix::Mma16816;
use crate::epilogue::{LinearCombination, SharedExchange};
use crate::iterator::{OperandTile, PaddedMnMajor, PredicatedTile, SharedLayout, Swizzled};
use crate::layout::StorageOrder;
use crate::schedule::Rasterised;
use crate::threadblock::{Mainloop, Multistage, TwoStage};
use crate::warp::{Simt, TensorOp, WarpMma};
use core::marker::PhantomData;

/// D = α·A·B + β·C on the block tile `T`, operands stored as `O`, moved in accesses of `ALIGNMENT` elements.
#[derive(Debug)]
pub struct DefaultGemm<T, O, const ALIGNMENT: u32>(PhantomData<(T, O)>);

/// The block tile of a [`DefaultGemm`].
pub trait GemmTile: 'static {
    /// What a warp multiplies.
    type Mma: WarpMma;
    /// The K loop.
    type Mainloop<C: GemmConfig>: Mainloop<C>;
    /// Where an operand's tile lies in shared memory.
    type Shared<T: OperandTile>: SharedLayout<Tile = T>;
    /// Warps along M and N.
    const WARPS: [u32; 2];
    /// Extent along K.
    const K: u32;
    /// Blocks that should fit on one multiprocessor.
    const BLOCKS_PER_MULTIPROCESSOR: u32;
}

/// Storage orders of A and B.
pub trait Orders: 'static {
    /// Of A.
    type A: StorageOrder;
    /// Of B.
    type B: StorageOrder;
}

impl<A: StorageOrder, B: StorageOrder> Orders for (A, B) {
    type A = A;
    type B = B;
}

impl<T: GemmTile, O: Orders, const ALIGNMENT: u32> GemmConfig for DefaultGemm<T, O, ALIGNMENT> {
    type Mma = T::Mma;
    type OrderA = O::A;
    type OrderB = O::B;
    const WARPS: [u32; 2] = T::WARPS;
    const K: u32 = T::K;
    const ALIGNMENT: [u32; 2] = [ALIGNMENT; 2];
    const BLOCKS_PER_MULTIPROCESSOR: u32 = T::BLOCKS_PER_MULTIPROCESSOR;
    type IteratorA = PredicatedTile<OperandA<Self>>;
    type IteratorB = PredicatedTile<OperandB<Self>>;
    type SharedA = T::Shared<OperandA<Self>>;
    type SharedB = T::Shared<OperandB<Self>>;
    type Mainloop = T::Mainloop<Self>;
    type OutputOp = LinearCombination<<T::Mma as WarpMma>::Element>;
    type Epilogue = SharedExchange;
    type Scheduler = Rasterised;
}

/// 128 × 128 × 32 in tensor-core warps of 64 × 64, four stages of `cp.async`.
#[derive(Debug)]
pub struct TensorOp128x128<E>(PhantomData<E>);

impl<E: Mma16816> GemmTile for TensorOp128x128<E> {
    type Mma = TensorOp<E, 4, 4>;
    type Mainloop<C: GemmConfig> = Multistage<4>;
    type Shared<T: OperandTile> = Swizzled<T>;
    const WARPS: [u32; 2] = [2, 2];
    const K: u32 = 32;
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 2;
}

/// 64 × 64 × 32 in tensor-core warps of 32 × 32, four stages of `cp.async`.
#[derive(Debug)]
pub struct TensorOp64x64<E>(PhantomData<E>);

impl<E: Mma16816> GemmTile for TensorOp64x64<E> {
    type Mma = TensorOp<E, 2, 2>;
    type Mainloop<C: GemmConfig> = Multistage<4>;
    type Shared<T: OperandTile> = Swizzled<T>;
    const WARPS: [u32; 2] = [2, 2];
    const K: u32 = 32;
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 4;
}

/// 128 × 128 × 32 through registers, for single elements of 16 bits, which `cp.async` cannot move:
/// eight warps of 64 × 32, so that a thread has registers for 16 staged elements of each operand.
#[derive(Debug)]
pub struct TensorOp128x128Staged<E>(PhantomData<E>);

impl<E: Mma16816> GemmTile for TensorOp128x128Staged<E> {
    type Mma = TensorOp<E, 4, 2>;
    type Mainloop<C: GemmConfig> = TwoStage;
    type Shared<T: OperandTile> = Swizzled<T>;
    const WARPS: [u32; 2] = [2, 4];
    const K: u32 = 32;
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 1;
}

/// 64 × 64 × 32 through registers, for single elements of 16 bits.
#[derive(Debug)]
pub struct TensorOp64x64Staged<E>(PhantomData<E>);

impl<E: Mma16816> GemmTile for TensorOp64x64Staged<E> {
    type Mma = TensorOp<E, 2, 2>;
    type Mainloop<C: GemmConfig> = TwoStage;
    type Shared<T: OperandTile> = Swizzled<T>;
    const WARPS: [u32; 2] = [2, 2];
    const K: u32 = 32;
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 2;
}

/// 128 × 128 × 8 of f32 on the CUDA cores, 8 × 8 a thread.
#[derive(Debug)]
pub struct Simt128x128;

impl GemmTile for Simt128x128 {
    type Mma = Simt<2, 2>;
    type Mainloop<C: GemmConfig> = TwoStage;
    type Shared<T: OperandTile> = PaddedMnMajor<T>;
    const WARPS: [u32; 2] = [2, 4];
    const K: u32 = 8;
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 2;
}

/// 64 × 64 × 8 of f32 on the CUDA cores, 4 × 8 a thread.
#[derive(Debug)]
pub struct Simt64x64;

impl GemmTile for Simt64x64 {
    type Mma = Simt<1, 2>;
    type Mainloop<C: GemmConfig> = TwoStage;
    type Shared<T: OperandTile> = PaddedMnMajor<T>;
    const WARPS: [u32; 2] = [2, 2];
    const K: u32 = 8;
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 4;
}
