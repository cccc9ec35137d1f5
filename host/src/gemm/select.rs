//! Which kernels serve a problem, and which of them first.
//!
//! The model, in the order it decides:
//! 1. **Access width.** Among kernels that may access the operands (pointer, leading dimension and contiguous extent
//!    multiples of their alignment) the widest accesses win: a 2-byte load moves an eighth of what a 16-byte load
//!    moves, and tensor-core mainloops need `cp.async`, which moves no less than 4 bytes.
//! 2. **Tile.** The least [`cost`] in time: whole waves of tiles over the multiprocessors, times the time of one tile.
//!    So a large tile wins while tiles fill the multiprocessors, and a small one when the last wave would be empty.
//! 3. **Rasterisation.** The group of tile rows whose wave touches the least of A and B ([`raster_group`]).

use super::problem::Oriented;
use super::{OperandLayout, StockParams};
use crate::{Arch, DeviceInfo, ElementKind, Error, Operand, Order, Result};
use falchion_device::kernel::{GemmDescription, OpClass};
use falchion_device::schedule::RasterParams;
use std::num::NonZeroU32;

/// Blocks along x of a grid.
const MAX_TILES: u64 = i32::MAX as u64;

/// Tile rows a rasterisation group may have; more than √(blocks of a wave) never pays, and that is 11 to 16.
const MAX_RASTER_GROUP: u32 = 8;

/// Cost of fetching one operand element, in multiply-adds: a tile fetches tile m + tile n elements for every
/// tile m · tile n multiply-adds. Tensor cores multiply faster, so a fetch costs more of their time.
///
/// Fitted to the times of 64×64 and 128×128 tiles on an H200 (driver 580, 2026-11-21, caches warm): the small
/// tile takes 1.67 times the large one's time a multiply-add on tensor cores and 1.33 times on CUDA cores. Of 24 measured
/// pairs, which the tests list, the model then picks the faster in 23, and loses 3 % in the other.
const fn traffic_weight(op_class: u32) -> u64 {
    if op_class == OpClass::Simt as u32 { 32 } else { 128 }
}

/// A kernel that may be chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) name: &'static str,
    pub(super) gemm: GemmDescription,
    /// Where it stands in the catalogue.
    pub(super) index: usize,
}

impl Candidate {
    fn arch(&self) -> Arch {
        Arch { compute: self.gemm.header.arch, specific: self.gemm.header.arch_specific != 0 }
    }

    /// Rows and columns of tiles; both at least 1, so that every problem has a raster.
    fn tiles(&self, problem: &Oriented) -> [u32; 2] {
        let tiles = |extent: u32, tile: u32| extent.div_ceil(tile.max(1)).max(1);
        [tiles(problem.d.rows, self.gemm.tile[0]), tiles(problem.d.columns, self.gemm.tile[1])]
    }

    /// Whether it computes this problem on this device, given well-aligned pointers.
    pub(super) fn serves(&self, problem: &Oriented, element: ElementKind, device: &DeviceInfo) -> Result<()> {
        let kernel = || self.name.to_owned();
        if !self.arch().ptx_runs_on(device.compute_capability) {
            let (required, actual) = (self.arch().to_string(), device.architecture());
            return Err(Error::WrongArch { kernel: kernel(), required, actual });
        }
        let (required, actual) = (self.gemm.header.shared_bytes, device.max_dynamic_shared_bytes);
        if required > actual {
            return Err(Error::SharedMemory { kernel: kernel(), required, actual });
        }
        if self.gemm.params_bytes as usize != size_of::<StockParams>() {
            let reason =
                format!("{} bytes of parameters instead of {}", self.gemm.params_bytes, size_of::<StockParams>());
            return Err(Error::DamagedKernel { kernel: kernel(), reason });
        }
        let (Some(elements), Some(orders)) = (self.gemm.element_kinds(), self.gemm.storage_orders()) else {
            let reason = "its element types or storage orders are unknown".to_owned();
            return Err(Error::DamagedKernel { kernel: kernel(), reason });
        };
        let factors = [problem.a, problem.b];
        let names = problem.factor_names();
        for (operand, required) in [names[0], names[1], Operand::D].into_iter().zip(elements) {
            self.require(operand, "element type", required, element)?;
        }
        for ((operand, layout), order) in names.into_iter().zip(factors).zip(orders) {
            // The caller's order: with the factors exchanged the kernel reads the transpose.
            let seen = |order: Order| if problem.exchanged { order.transposed() } else { order };
            self.require(operand, "order", seen(order), seen(layout.order))?;
        }
        for ((operand, layout), alignment) in names.into_iter().zip(factors).zip(self.gemm.alignment) {
            self.require_multiple(operand, "leading dimension", layout.leading_dimension, alignment)?;
            self.require_multiple(operand, "contiguous extent", layout.contiguous().into(), alignment)?;
        }
        let [rows, columns] = self.tiles(problem);
        let tiles = u64::from(rows) * u64::from(columns);
        if tiles > MAX_TILES {
            return Err(Error::Dimension { name: "m·n, in tiles,", maximum: MAX_TILES, actual: tiles });
        }
        Ok(())
    }

    fn require<T: PartialEq + ToString>(
        &self,
        operand: Operand,
        property: &'static str,
        required: T,
        actual: T,
    ) -> Result<()> {
        if required == actual {
            return Ok(());
        }
        let (required, actual) = (required.to_string(), actual.to_string());
        Err(Error::KernelRefused { kernel: self.name, operand, property, required, actual })
    }

    fn require_multiple(&self, operand: Operand, property: &'static str, actual: u64, multiple: u32) -> Result<()> {
        if actual.is_multiple_of(multiple.into()) {
            return Ok(());
        }
        let (required, actual) = (format!("a multiple of {multiple}"), actual.to_string());
        Err(Error::KernelRefused { kernel: self.name, operand, property, required, actual })
    }

    /// Its time for the problem, in units of one multiply-add a k: waves · (tile m · tile n + traffic).
    fn cost(&self, problem: &Oriented, device: &DeviceInfo) -> u64 {
        let [rows, columns] = self.tiles(problem);
        let [m, n] = [0, 1].map(|i| u64::from(self.gemm.tile[i]));
        // A multiprocessor shares its units among its blocks, so waves count multiprocessors, not blocks.
        let waves = (u64::from(rows) * u64::from(columns)).div_ceil(device.multiprocessors.max(1).into());
        waves * (m * n + traffic_weight(self.gemm.op_class) * (m + n))
    }

    /// How the tiles are walked.
    pub(super) fn raster(&self, problem: &Oriented, device: &DeviceInfo) -> RasterParams {
        let [rows, columns] = self.tiles(problem);
        let wave = device.multiprocessors.max(1).saturating_mul(self.gemm.header.blocks_per_multiprocessor.max(1));
        let count = |value| NonZeroU32::new(value).unwrap_or(NonZeroU32::MIN);
        let [m, n, _] = self.gemm.tile;
        let group = raster_group([rows, columns], [m, n], wave);
        RasterParams { tiles_m: count(rows), tiles_n: count(columns), group: count(group) }
    }
}

/// The kernels that serve `problem`, best first: by access width, then by cost.
pub(super) fn ranked(
    candidates: &[Candidate],
    problem: &Oriented,
    element: ElementKind,
    device: &DeviceInfo,
) -> Vec<Candidate> {
    let mut serving: Vec<Candidate> =
        candidates.iter().filter(|candidate| candidate.serves(problem, element, device).is_ok()).copied().collect();
    serving.sort_by_key(|candidate| {
        let [a, b] = candidate.gemm.alignment;
        (std::cmp::Reverse(a.min(b)), std::cmp::Reverse(a.max(b)), candidate.cost(problem, device), candidate.name)
    });
    serving
}

/// The best kernel of every access width, widest first. A run takes the first its pointers are aligned for.
pub(super) fn best_of_each_width(ranked: &[Candidate]) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = Vec::new();
    for candidate in ranked {
        if best.last().is_none_or(|last| last.gemm.alignment != candidate.gemm.alignment) {
            best.push(*candidate);
        }
    }
    best
}

/// Elements that one access of C and D may move: a 16-byte vector when the leading dimensions, the row length and
/// the addresses are multiples of it, else 1. C is `None` when it is not read.
pub(super) fn output_alignment(
    d: (&OperandLayout, u64),
    c: Option<(&OperandLayout, u64)>,
    element_bytes: usize,
) -> u32 {
    const VECTOR_BYTES: u64 = 16;
    let elements = VECTOR_BYTES / element_bytes as u64;
    let fits = |(layout, address): (&OperandLayout, u64)| {
        address.is_multiple_of(VECTOR_BYTES)
            && layout.leading_dimension.is_multiple_of(elements)
            && u64::from(layout.contiguous()).is_multiple_of(elements)
    };
    if fits(d) && c.is_none_or(fits) { elements as u32 } else { 1 }
}

/// The number of tile rows to walk together so that a wave of `wave` blocks touches the least of A and B: it
/// covers about group × (wave / group) tiles, and reads group · tile m rows of A and wave / group · tile n columns of B.
fn raster_group([rows, columns]: [u32; 2], [tile_m, tile_n]: [u32; 2], wave: u32) -> u32 {
    let touched = |group: u32| {
        let across = wave.div_ceil(group).min(columns);
        // A wave that is longer than one band of `group` rows goes on in the next.
        let down = (group.saturating_mul(wave.div_ceil(group.saturating_mul(across)))).min(rows);
        u64::from(down) * u64::from(tile_m) + u64::from(across) * u64::from(tile_n)
    };
    (1..=MAX_RASTER_GROUP.min(rows)).min_by_key(|&group| touched(group)).unwrap_or(1)
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
