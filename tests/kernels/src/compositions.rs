//! Compositions that are not shipped: each swaps a part of a stock kernel.

use falchion_device::epilogue::{LinearCombination, SharedExchange};
use falchion_device::iterator::{PredicatedTile, Swizzled, Unswizzled};
use falchion_device::kernel;
use falchion_device::kernel::{Gemm, GemmConfig, OperandA, OperandB};
use falchion_device::layout::{ColumnMajor, RowMajor};
use falchion_device::numeric::f16;
use falchion_device::schedule::{Identity, Rasterised};
use falchion_device::threadblock::Multistage;
use falchion_device::warp::TensorOp;

/// The stock kernel without its swizzle: `ldmatrix` must conflict.
pub struct WithoutSwizzle;

impl GemmConfig for WithoutSwizzle {
    type Mma = TensorOp<f16, 2, 2>;
    type OrderA = RowMajor;
    type OrderB = ColumnMajor;
    const WARPS: [u32; 2] = [2, 2];
    const K: u32 = 32;
    const ALIGNMENT: [u32; 2] = [8, 8];
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 1;
    type IteratorA = PredicatedTile<OperandA<Self>>;
    type IteratorB = PredicatedTile<OperandB<Self>>;
    type SharedA = Unswizzled<OperandA<Self>>;
    type SharedB = Unswizzled<OperandB<Self>>;
    type Mainloop = Multistage<4>;
    type OutputOp = LinearCombination<f16>;
    type Epilogue = SharedExchange;
    type Scheduler = Rasterised;
}

/// Three stages of 64 × 128 × 64, operands of unlike alignment, f32 output, blocks in the order of the grid.
pub struct Unlike;

impl GemmConfig for Unlike {
    type Mma = TensorOp<f16, 2, 4>;
    type OrderA = RowMajor;
    type OrderB = RowMajor;
    const WARPS: [u32; 2] = [2, 2];
    const K: u32 = 64;
    const ALIGNMENT: [u32; 2] = [8, 2];
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 1;
    type IteratorA = PredicatedTile<OperandA<Self>>;
    type IteratorB = PredicatedTile<OperandB<Self>>;
    type SharedA = Swizzled<OperandA<Self>>;
    type SharedB = Swizzled<OperandB<Self>>;
    type Mainloop = Multistage<3>;
    type OutputOp = LinearCombination<f32>;
    type Epilogue = SharedExchange;
    type Scheduler = Identity;
}

kernel! {
    falchion_tensorop_s16816gemm_f16_64x64_32x4_tn_align8: Gemm<WithoutSwizzle>;
    falchion_tensorop_s16816gemm_f16_64x128_64x3_tt_align8x2: Gemm<Unlike>;
}
