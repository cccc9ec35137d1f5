//! The parameter block of a stock kernel, as bytes.

use falchion_device::epilogue::LinearCombinationParams;
use falchion_device::kernel::{GemmParams, MatrixOperand};
use std::mem::offset_of;

/// The parameters of every stock GEMM.
pub(super) type StockParams = GemmParams<LinearCombinationParams>;

/// [`StockParams`] byte by byte. The struct has padding at its end, whose bytes a plain view of it would
/// leave undefined; here they are 0.
#[repr(C, align(16))]
pub(super) struct ParamBytes([u8; size_of::<StockParams>()]);

impl ParamBytes {
    pub(super) fn new(params: &StockParams) -> Self {
        let mut bytes = Self([0; size_of::<StockParams>()]);
        bytes.operand(offset_of!(StockParams, a), &params.a);
        bytes.operand(offset_of!(StockParams, b), &params.b);
        bytes.operand(offset_of!(StockParams, c), &params.c);
        bytes.operand(offset_of!(StockParams, d), &params.d);
        bytes.put(offset_of!(StockParams, shape.m), params.shape.m.to_le_bytes());
        bytes.put(offset_of!(StockParams, shape.n), params.shape.n.to_le_bytes());
        bytes.put(offset_of!(StockParams, shape.k), params.shape.k.to_le_bytes());
        bytes.put(offset_of!(StockParams, raster.tiles_m), params.raster.tiles_m.get().to_le_bytes());
        bytes.put(offset_of!(StockParams, raster.tiles_n), params.raster.tiles_n.get().to_le_bytes());
        bytes.put(offset_of!(StockParams, raster.group), params.raster.group.get().to_le_bytes());
        bytes.put(offset_of!(StockParams, output_alignment), params.output_alignment.to_le_bytes());
        bytes.put(offset_of!(StockParams, op.alpha), params.op.alpha.to_le_bytes());
        bytes.put(offset_of!(StockParams, op.beta), params.op.beta.to_le_bytes());
        bytes
    }

    fn operand(&mut self, offset: usize, operand: &MatrixOperand) {
        self.put(offset + offset_of!(MatrixOperand, address), operand.address.to_le_bytes());
        self.put(offset + offset_of!(MatrixOperand, leading_dimension), operand.leading_dimension.to_le_bytes());
    }

    fn put<const N: usize>(&mut self, offset: usize, value: [u8; N]) {
        self.0[offset..offset + N].copy_from_slice(&value);
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use falchion_device::kernel::GemmShape;
    use falchion_device::schedule::RasterParams;
    use std::num::NonZeroU32;

    #[test]
    fn the_bytes_are_the_struct() {
        let operand = |seed: u64| MatrixOperand { address: seed << 32 | 7, leading_dimension: -(seed as i64) };
        let count = |value| NonZeroU32::new(value).unwrap();
        let params = StockParams {
            a: operand(1),
            b: operand(2),
            c: operand(3),
            d: operand(4),
            shape: GemmShape { m: 5, n: 6, k: 7 },
            raster: RasterParams { tiles_m: count(8), tiles_n: count(9), group: count(10) },
            output_alignment: 11,
            op: LinearCombinationParams { alpha: 1.5, beta: -2.5 },
        };
        let bytes = ParamBytes::new(&params);
        // SAFETY: the bytes are those of a valid value, initialised and aligned.
        let read: StockParams = unsafe { bytes.as_bytes().as_ptr().cast::<StockParams>().read() };
        assert_eq!(read, params);
    }
}
