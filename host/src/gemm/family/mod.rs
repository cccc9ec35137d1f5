//! Families of kernels: what they require of a problem, and how they are launched for it.
//!
//! The kernels of a family take the same parameter block. Selection and plans know families by these traits alone, so
//! a new kind of kernel is a file here and a line in [`of`].

mod specialized;
mod tiled;

use super::candidate::Candidate;
use super::problem::Oriented;
use crate::device::EngineKernel;
use crate::{Device, DeviceInfo, ElementKind, Result, Stream};
use falchion_device::epilogue::LinearCombinationParams;
use falchion_device::kernel::{GemmDescription, OpClass};
use falchion_device::schedule::RasterParams;
use std::{fmt, num::NonZeroU32};

/// The family of the kernel that `gemm` describes.
pub(super) fn of(gemm: &GemmDescription) -> Option<&'static dyn Family> {
    const SIMT: u32 = OpClass::Simt as u32;
    const TENSOR_OP: u32 = OpClass::TensorOp as u32;
    const WGMMA: u32 = OpClass::Wgmma as u32;
    match gemm.op_class {
        SIMT | TENSOR_OP => Some(&tiled::Tiled),
        WGMMA => Some(&specialized::Specialized),
        _ => None,
    }
}

/// What the kernels of a family have in common.
pub(super) trait Family: fmt::Debug + Sync {
    /// Size of the parameter block.
    fn params_bytes(&self) -> usize;

    /// Elements whose multiples the addresses and leading dimensions of C and D must be.
    fn output_alignment(&self, element: ElementKind) -> [u32; 2];

    /// What kernels of this family require beyond element types, orders and leading dimensions.
    fn check(&self, candidate: &Candidate, problem: &Oriented) -> Result<()>;

    /// How `candidate`, which serves `problem`, is launched for it.
    fn launcher(&self, candidate: &Candidate, problem: &Oriented, device: &DeviceInfo) -> Box<dyn Launcher>;
}

/// The launch of one kernel for one problem, but for what changes from run to run.
pub(super) trait Launcher: Send + Sync {
    /// Launches `kernel` on operands that are aligned as it requires.
    ///
    /// # Safety
    /// `kernel` is the one this launcher was made for, and the operands lie in live allocations as the problem says.
    unsafe fn launch(&self, target: Target<'_>, kernel: &dyn EngineKernel, operands: &Operands) -> Result<()>;
}

/// Where a kernel is launched.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) device: &'a Device,
    pub(super) stream: &'a Stream,
}

/// What changes from run to run: addresses, in the kernel's order of the factors, and scalars.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands {
    pub(super) a: u64,
    pub(super) b: u64,
    /// `None` when C is not read.
    pub(super) c: Option<u64>,
    pub(super) d: u64,
    pub(super) op: LinearCombinationParams,
}

/// Tile rows a rasterisation group may have; more than √(blocks of a wave) never pays, and that is 8 to 16.
const MAX_RASTER_GROUP: u32 = 8;

/// How `candidate` walks its tiles when `wave` clusters run at a time.
fn raster(candidate: &Candidate, problem: &Oriented, wave: u32) -> RasterParams {
    let [rows, columns] = candidate.tiles(problem);
    let count = |value| NonZeroU32::new(value).unwrap_or(NonZeroU32::MIN);
    let group = raster_group([rows, columns], candidate.cluster_tile(), wave);
    RasterParams { tiles_m: count(rows), tiles_n: count(columns), group: count(group) }
}

/// The number of tile rows to walk together so that a wave of `wave` tiles touches the least of A and B: it
/// covers about group × (wave / group) tiles, and reads group · tile m rows of A and wave / group · tile n columns of B.
fn raster_group([rows, columns]: [u32; 2], [tile_m, tile_n]: [u32; 2], wave: u32) -> u32 {
    let touched = |group: u32| {
        let across = wave.div_ceil(group).min(columns);
        // A wave that is longer than one band of `group` rows goes on in the next.
        let down = (group.saturating_mul(wave.div_ceil(group.saturating_mul(across)))).min(rows);
        u64::from(down) * u64::from(tile_m) + u64::from(across) * u64::from(tile_n)
    };
    // Of equals the largest: 8 for the 256 × 256 clusters of an H200, where it was measured to be best.
    (1..=MAX_RASTER_GROUP.min(rows)).rev().min_by_key(|&group| touched(group)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raster_group_minimises_what_a_wave_reads() {
        // A square wave of 132 blocks is about 11 × 12: the largest group wins.
        assert_eq!(raster_group([64, 64], [128, 128], 132), 8);
        // With few columns a wave covers all of B whatever the group, and with one the order is the same.
        assert_eq!(raster_group([64, 1], [128, 128], 132), 8);
        assert_eq!(raster_group([3, 64], [128, 128], 132), 3);
        assert_eq!(raster_group([1, 1], [128, 128], 132), 1);
        // Tall tiles make rows dear: fewer of them.
        assert!(raster_group([64, 64], [1024, 64], 132) < 8);
        // 66 clusters of square tiles are about 8 × 8.
        assert_eq!(raster_group([32, 32], [256, 256], 66), 8);
    }
}
