//! Kernels with a block for every tile, whose threads load the operands themselves.

use super::{Candidate, Family, Launcher, Operands, Oriented, Target, raster};
use crate::device::EngineKernel;
use crate::gemm::OperandLayout;
use crate::{DeviceInfo, ElementKind, LaunchConfig, Result};
use falchion_device::epilogue::LinearCombinationParams;
use falchion_device::kernel::{GemmParams, GemmShape, MatrixOperand};
use falchion_device::schedule::{RasterParams, Rasterised, TileScheduler};

type Params = GemmParams<LinearCombinationParams>;

/// The longest access of C and D.
const VECTOR_BYTES: u64 = 16;

#[derive(Debug)]
pub(super) struct Tiled;

impl Family for Tiled {
    fn params_bytes(&self) -> usize {
        size_of::<Params>()
    }

    fn output_alignment(&self, _: ElementKind) -> [u32; 2] {
        // The kernel is told how wide it may access them.
        [1, 1]
    }

    fn check(&self, candidate: &Candidate, problem: &Oriented) -> Result<()> {
        let factors = problem.factor_names().into_iter().zip([problem.a, problem.b]);
        for ((operand, layout), alignment) in factors.zip(candidate.gemm.alignment) {
            // An access is within the matrix or outside, never across its edge.
            candidate.require_multiple(operand, "contiguous extent", layout.contiguous().into(), alignment)?;
        }
        Ok(())
    }

    fn launcher(&self, candidate: &Candidate, problem: &Oriented, device: &DeviceInfo) -> Box<dyn Launcher> {
        let header = &candidate.gemm.header;
        let raster = raster(candidate, problem, candidate.clusters(device, header.blocks_per_multiprocessor));
        let config =
            LaunchConfig::new(Rasterised::grid(&raster), [header.threads, 1, 1]).dynamic_shared(header.shared_bytes);
        Box::new(TiledLauncher { problem: *problem, raster, config })
    }
}

struct TiledLauncher {
    problem: Oriented,
    raster: RasterParams,
    config: LaunchConfig,
}

impl TiledLauncher {
    fn params(&self, operands: &Operands) -> Params {
        let Oriented { element, a, b, c, d, .. } = &self.problem;
        let source = operands.c.map(|address| (c, address));
        Params {
            a: matrix(operands.a, a),
            b: matrix(operands.b, b),
            // A source that is not read has no address: a kernel that reads it all the same faults.
            c: matrix(operands.c.unwrap_or(0), c),
            d: matrix(operands.d, d),
            shape: GemmShape { m: d.rows, n: d.columns, k: a.columns },
            raster: self.raster,
            output_alignment: output_alignment((d, operands.d), source, element.bytes()),
            reserved: 0,
            op: operands.op,
        }
    }
}

impl Launcher for TiledLauncher {
    unsafe fn launch(&self, target: Target<'_>, kernel: &dyn EngineKernel, operands: &Operands) -> Result<()> {
        let params = self.params(operands);
        // SAFETY: the kernel's description says that these are its parameters; the rest is the caller's.
        unsafe { kernel.launch(target.stream.engine(), &self.config, &[bytemuck::bytes_of(&params)]) }
    }
}

fn matrix(address: u64, layout: &OperandLayout) -> MatrixOperand {
    // The problem's check bounds it far below the sign.
    MatrixOperand { address, leading_dimension: layout.leading_dimension as i64 }
}

/// Elements that one access of C and D may move: a 16-byte vector when the leading dimensions, the row length and
/// the addresses are multiples of it, else 1. C is `None` when it is not read.
fn output_alignment(d: (&OperandLayout, u64), c: Option<(&OperandLayout, u64)>, element_bytes: usize) -> u32 {
    let elements = VECTOR_BYTES / element_bytes as u64;
    let fits = |(layout, address): (&OperandLayout, u64)| {
        address.is_multiple_of(VECTOR_BYTES)
            && layout.leading_dimension.is_multiple_of(elements)
            && u64::from(layout.contiguous()).is_multiple_of(elements)
    };
    if fits(d) && c.is_none_or(fits) { elements as u32 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order::RowMajor;

    #[test]
    fn vectors_of_the_output_need_address_row_length_and_leading_dimension() {
        let layout =
            |columns, leading_dimension| OperandLayout { rows: 5, columns, order: RowMajor, leading_dimension };
        let (even, odd_columns, odd_stride) = (layout(64, 72), layout(63, 72), layout(64, 71));
        assert_eq!(output_alignment((&even, 512), None, 2), 8);
        assert_eq!(output_alignment((&even, 512), None, 4), 4);
        assert_eq!(output_alignment((&even, 520), None, 2), 1);
        assert_eq!(output_alignment((&odd_columns, 512), None, 2), 1);
        assert_eq!(output_alignment((&odd_stride, 512), None, 2), 1);
        assert_eq!(output_alignment((&even, 512), Some((&even, 528)), 2), 8);
        assert_eq!(output_alignment((&even, 512), Some((&even, 514)), 2), 1);
        assert_eq!(output_alignment((&even, 512), Some((&odd_stride, 528)), 2), 1);
    }
}
