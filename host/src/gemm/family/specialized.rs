//! Warp-specialised kernels: persistent clusters, operands and output moved by the copy engine through tensor maps.

use super::{Candidate, Family, Launcher, Operands, Oriented, Target, raster};
use crate::device::EngineKernel;
use crate::{
    DeviceInfo, ElementKind, L2Promotion, LaunchConfig, Operand, Order, Result, TensorMapRequest, TensorMapSwizzle,
};
use falchion_device::epilogue::LinearCombinationParams;
use falchion_device::kernel::{GemmShape, SpecializedParams, TensorMap};
use falchion_device::schedule::RasterParams;
use std::sync::{Mutex, PoisonError};

type Params = SpecializedParams<LinearCombinationParams>;

/// What the copy engine wants addresses and strides to be multiples of, in bytes.
const UNIT_BYTES: u32 = 16;
/// Strides are below this, in bytes.
const STRIDE_LIMIT: u64 = 1 << 40;
/// Width of every box: the span of the swizzle.
const SPAN_BYTES: u32 = 128;
/// Rows of a box of C and of D: those of one warpgroup's tile.
const OUTPUT_ROWS: u32 = 64;
/// What the level-2 cache fetches for the copy engine. 256 bytes are no faster: 171.8 against 172.2 µs at 4096³ and 1,359
/// against 1,354 at 8192³ on an H200 (driver 580, 2026-11-21).
const PROMOTION: L2Promotion = L2Promotion::Bytes128;

#[derive(Debug)]
pub(super) struct Specialized;

impl Family for Specialized {
    fn params_bytes(&self) -> usize {
        size_of::<Params>()
    }

    fn output_alignment(&self, element: ElementKind) -> [u32; 2] {
        [UNIT_BYTES / element.bytes() as u32; 2]
    }

    fn check(&self, candidate: &Candidate, problem: &Oriented) -> Result<()> {
        let [a, b] = problem.factor_names();
        // What a box reads outside its matrix is zero, wherever that ends. But it is written in whole units: of a row of D
        // that ends within one, the unit's rest would be overwritten.
        let unit = UNIT_BYTES / problem.element.bytes() as u32;
        candidate.require_multiple(Operand::D, "contiguous extent", problem.d.contiguous().into(), unit)?;
        if problem.a.columns == 0 {
            // A tensor map has no empty dimension.
            return Err(candidate.refuse(a, "extent k", "at least 1", 0));
        }
        let maximum = (STRIDE_LIMIT - u64::from(UNIT_BYTES)) / problem.element.bytes() as u64;
        for (operand, layout) in [(a, &problem.a), (b, &problem.b), (Operand::D, &problem.d)] {
            if layout.leading_dimension > maximum {
                let required = format!("at most {maximum}");
                return Err(candidate.refuse(operand, "leading dimension", required, layout.leading_dimension));
            }
        }
        Ok(())
    }

    fn launcher(&self, candidate: &Candidate, problem: &Oriented, device: &DeviceInfo) -> Box<dyn Launcher> {
        Box::new(SpecializedLauncher::new(candidate, problem, device))
    }
}

struct SpecializedLauncher {
    problem: Oriented,
    /// Boxes of A, B, C and D, contiguous extent first.
    boxes: [[u32; 2]; 4],
    raster: RasterParams,
    config: LaunchConfig,
    /// Maps by operand, and the addresses they are of, of the last run. Encoding three adds 0.5 µs to a run's 2.4.
    encoded: Mutex<[Option<(u64, TensorMap)>; 4]>,
}

impl SpecializedLauncher {
    fn new(candidate: &Candidate, problem: &Oriented, device: &DeviceInfo) -> Self {
        let gemm = &candidate.gemm;
        let header = &gemm.header;
        let span = SPAN_BYTES / problem.element.bytes() as u32;
        let [tile_m, tile_n, tile_k] = gemm.tile;
        // K-major: the rows that one block brings, of which clusters along M share B. MN-major: all rows of K at a time.
        let a = if problem.a.order == Order::RowMajor { tile_m } else { tile_k };
        let b = if problem.b.order == Order::ColumnMajor { tile_n / header.cluster[0].max(1) } else { tile_k };
        let clusters = candidate.clusters(device, header.blocks_per_multiprocessor);
        let raster = raster(candidate, problem, clusters);
        // Each cluster walks the tiles from its own on, in steps of the number of clusters.
        let tiles = raster.tiles_m.get().saturating_mul(raster.tiles_n.get());
        let [x, y, z] = header.cluster;
        let grid = [tiles.min(clusters).saturating_mul(x), y, z];
        Self {
            problem: *problem,
            boxes: [[span, a], [span, b], [span, OUTPUT_ROWS], [span, OUTPUT_ROWS]],
            raster,
            config: LaunchConfig::new(grid, [header.threads, 1, 1]).dynamic_shared(header.shared_bytes),
            encoded: Mutex::new([None; 4]),
        }
    }

    /// The maps of A, B, C and D at `addresses`, made by `encode` where the last run had another address.
    fn maps(
        &self,
        addresses: [Option<u64>; 4],
        encode: impl Fn(&TensorMapRequest<'_>) -> Result<TensorMap>,
    ) -> Result<[TensorMap; 4]> {
        let Oriented { element, a, b, c, d, .. } = &self.problem;
        let mut encoded = self.encoded.lock().unwrap_or_else(PoisonError::into_inner);
        // A source that is not read has no map: a kernel that reads it all the same faults.
        let mut maps = [TensorMap([0; 16]); 4];
        for (index, layout) in [a, b, c, d].into_iter().enumerate() {
            let Some(address) = addresses[index] else { continue };
            maps[index] = match encoded[index] {
                Some((of, map)) if of == address => map,
                _ => encode(&TensorMapRequest {
                    element: *element,
                    address,
                    extents: &[layout.contiguous().into(), layout.runs().into()],
                    strides: &[layout.leading_dimension * element.bytes() as u64],
                    box_extents: &self.boxes[index],
                    swizzle: TensorMapSwizzle::Bytes128,
                    promotion: PROMOTION,
                })?,
            };
            encoded[index] = Some((address, maps[index]));
        }
        Ok(maps)
    }

    fn params(
        &self,
        operands: &Operands,
        encode: impl Fn(&TensorMapRequest<'_>) -> Result<TensorMap>,
    ) -> Result<Params> {
        let Oriented { a, d, .. } = &self.problem;
        let addresses = [Some(operands.a), Some(operands.b), operands.c, Some(operands.d)];
        let [map_a, map_b, map_c, map_d] = self.maps(addresses, encode)?;
        Ok(Params {
            a: map_a,
            b: map_b,
            c: map_c,
            d: map_d,
            shape: GemmShape { m: d.rows, n: d.columns, k: a.columns },
            raster: self.raster,
            op: operands.op,
        })
    }
}

impl Launcher for SpecializedLauncher {
    unsafe fn launch(&self, target: Target<'_>, kernel: &dyn EngineKernel, operands: &Operands) -> Result<()> {
        let params = self.params(operands, |request| target.device.tensor_map(request))?;
        // SAFETY: the kernel's description says that these are its parameters; the rest is the caller's.
        unsafe { kernel.launch(target.stream.engine(), &self.config, &[bytemuck::bytes_of(&params)]) }
    }
}

#[cfg(test)]
#[path = "specialized_tests.rs"]
mod tests;
