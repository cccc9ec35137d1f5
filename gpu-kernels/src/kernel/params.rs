//! What the host hands to a GEMM kernel.

use super::TensorMap;
use crate::schedule::RasterParams;
use bytemuck::NoUninit;

/// A matrix operand on the device: where it starts, and its leading dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct MatrixOperand {
    /// Device address of entry (0, 0).
    pub address: u64,
    /// Elements between neighbours in the dimension that is not contiguous.
    pub leading_dimension: i64,
}

/// Extents of a GEMM: A is m × k, B is k × n, C and D are m × n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct GemmShape {
    /// Rows of A, C and D.
    pub m: u32,
    /// Columns of B, C and D.
    pub n: u32,
    /// Columns of A and rows of B.
    pub k: u32,
}

/// The parameter block of a GEMM kernel, by value. `Op` is the parameter block of its output op
/// ([`OutputOp::Params`](crate::epilogue::OutputOp::Params)).
///
/// C and D are row-major. A column-major D is the row-major Dᵀ = Bᵀ·Aᵀ: the host exchanges the
/// operands and the orders, and the kernel is the same.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct GemmParams<Op> {
    /// A.
    pub a: MatrixOperand,
    /// B.
    pub b: MatrixOperand,
    /// C; not read when the output op needs no source.
    pub c: MatrixOperand,
    /// D.
    pub d: MatrixOperand,
    /// Extents.
    pub shape: GemmShape,
    /// Which block computes which tile.
    pub raster: RasterParams,
    /// Elements of C and D that one access may move: 1, or a full 128-bit vector when both
    /// pointers, both leading dimensions and n allow it.
    pub output_alignment: u32,
    /// Zero. Keeps the block free of padding.
    pub reserved: u32,
    /// Scalars and operands of the output op.
    pub op: Op,
}

// SAFETY: the fields before `op` fill 96 bytes without gap, and `Op` has none; what could follow it is refused here.
unsafe impl<Op: NoUninit> NoUninit for GemmParams<Op> {}

impl<Op> GemmParams<Op> {
    /// Evaluates when the block has no padding; a kernel's description evaluates it.
    pub const IS_DENSE: () = assert!(
        size_of::<Self>() == 96 + size_of::<Op>(),
        "the parameters of an output op must be a multiple of 8 bytes, so that the kernel's block has no padding"
    );
}

/// The parameter block of a warp-specialised GEMM, by value. `Op` is that of its output op.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SpecializedParams<Op> {
    /// A in boxes of 128 bytes by the tile's rows (K-major) or by 64 rows of K (M-major), swizzled by 128 bytes.
    pub a: TensorMap,
    /// B likewise; of a K-major B, each block of a cluster brings its share of the tile's columns.
    pub b: TensorMap,
    /// C, row-major, in boxes of 128 bytes by 64 rows, swizzled by 128 bytes; not read when the output op needs no source.
    pub c: TensorMap,
    /// D like C.
    pub d: TensorMap,
    /// Extents.
    pub shape: GemmShape,
    /// The grid of tiles, in tiles of a cluster.
    pub raster: RasterParams,
    /// Scalars and operands of the output op.
    pub op: Op,
}

// SAFETY: the fields before `op` fill 536 bytes without gap, and `Op` has none; what could follow it is refused here.
unsafe impl<Op: NoUninit> NoUninit for SpecializedParams<Op> {}

impl<Op> SpecializedParams<Op> {
    /// Evaluates when the block has no padding; a kernel's description evaluates it.
    pub const IS_DENSE: () = assert!(
        size_of::<Self>() == 536 + size_of::<Op>(),
        "the parameters of an output op must be 8 bytes more than a multiple of 16, so that the kernel's block has no padding"
    );
}
