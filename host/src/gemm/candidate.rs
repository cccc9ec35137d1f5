//! A kernel as selection sees it.

use super::family::{self, Family};
use super::problem::Oriented;
use crate::{Arch, DeviceInfo, ElementKind, Error, Operand, Order, Result};
use falchion_device::kernel::GemmDescription;

/// Blocks along x of a grid.
const MAX_TILES: u64 = i32::MAX as u64;

/// A kernel that may be chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) name: &'static str,
    pub(super) gemm: GemmDescription,
    /// Where it stands in the catalogue.
    pub(super) index: usize,
    pub(super) family: &'static dyn Family,
}

impl Candidate {
    /// The kernel `name` at `index` of a catalogue; `None` when it takes parameters that this crate does not know.
    pub(super) fn new(name: &'static str, gemm: GemmDescription, index: usize) -> Option<Self> {
        Some(Self { name, gemm, index, family: family::of(&gemm)? })
    }

    fn arch(&self) -> Arch {
        Arch { compute: self.gemm.header.arch, specific: self.gemm.header.arch_specific != 0 }
    }

    /// Rows and columns of the output that a cluster computes at a time; a kernel without clusters has clusters of one.
    pub(super) fn cluster_tile(&self) -> [u32; 2] {
        [0, 1].map(|i| self.gemm.tile[i].saturating_mul(self.gemm.header.cluster[i]).max(1))
    }

    /// Rows and columns of cluster tiles; both at least 1, so that every problem has a raster.
    pub(super) fn tiles(&self, problem: &Oriented) -> [u32; 2] {
        let [m, n] = self.cluster_tile();
        [problem.d.rows.div_ceil(m).max(1), problem.d.columns.div_ceil(n).max(1)]
    }

    /// Clusters that run at a time when `blocks` blocks share a multiprocessor.
    pub(super) fn clusters(&self, device: &DeviceInfo, blocks: u32) -> u32 {
        let size: u32 = self.gemm.header.cluster.iter().product();
        (device.multiprocessors.saturating_mul(blocks.max(1)) / size.max(1)).max(1)
    }

    /// Elements whose multiples the addresses and leading dimensions of A, B, C and D must be; C's when it is read.
    pub(super) fn alignment(&self, element: ElementKind) -> [u32; 4] {
        let ([a, b], [c, d]) = (self.gemm.alignment, self.family.output_alignment(element));
        [a, b, c, d]
    }

    /// Whether it computes this problem on this device, given well-aligned pointers.
    pub(super) fn serves(&self, problem: &Oriented, device: &DeviceInfo) -> Result<()> {
        let kernel = || self.name.to_owned();
        if !self.arch().ptx_runs_on(device.compute_capability) {
            let (required, actual) = (self.arch().to_string(), device.architecture());
            return Err(Error::WrongArch { kernel: kernel(), required, actual });
        }
        let (required, actual) = (self.gemm.header.shared_bytes, device.max_dynamic_shared_bytes);
        if required > actual {
            return Err(Error::SharedMemory { kernel: kernel(), required, actual });
        }
        let (required, actual) = (self.family.params_bytes(), self.gemm.params_bytes as usize);
        if required != actual {
            let reason = format!("{actual} bytes of parameters instead of {required}");
            return Err(Error::DamagedKernel { kernel: kernel(), reason });
        }
        let (Some(elements), Some(orders)) = (self.gemm.element_kinds(), self.gemm.storage_orders()) else {
            let reason = "its element types or storage orders are unknown".to_owned();
            return Err(Error::DamagedKernel { kernel: kernel(), reason });
        };
        let factors = [problem.a, problem.b];
        let names = problem.factor_names();
        for (operand, required) in [names[0], names[1], Operand::D].into_iter().zip(elements) {
            self.require(operand, "element type", required, problem.element)?;
        }
        for ((operand, layout), order) in names.into_iter().zip(factors).zip(orders) {
            // The caller's order: with the factors exchanged the kernel reads the transpose.
            let seen = |order: Order| if problem.exchanged { order.transposed() } else { order };
            self.require(operand, "order", seen(order), seen(layout.order))?;
        }
        let [a, b, _, d] = self.alignment(problem.element);
        for (operand, layout, multiple) in
            [(names[0], problem.a, a), (names[1], problem.b, b), (Operand::D, problem.d, d)]
        {
            self.require_multiple(operand, "leading dimension", layout.leading_dimension, multiple)?;
        }
        self.family.check(self, problem)?;
        let [rows, columns] = self.tiles(problem);
        let tiles = u64::from(rows) * u64::from(columns);
        if tiles > MAX_TILES {
            return Err(Error::Dimension { name: "m·n, in tiles,", maximum: MAX_TILES, actual: tiles });
        }
        Ok(())
    }

    /// [`Error::KernelRefused`]: `operand`'s `property` is `actual` instead of `required`.
    pub(super) fn refuse(
        &self,
        operand: Operand,
        property: &'static str,
        required: impl ToString,
        actual: impl ToString,
    ) -> Error {
        let (required, actual) = (required.to_string(), actual.to_string());
        Error::KernelRefused { kernel: self.name, operand, property, required, actual }
    }

    fn require<T: PartialEq + ToString>(
        &self,
        operand: Operand,
        property: &'static str,
        required: T,
        actual: T,
    ) -> Result<()> {
        if required == actual { Ok(()) } else { Err(self.refuse(operand, property, required, actual)) }
    }

    pub(super) fn require_multiple(
        &self,
        operand: Operand,
        property: &'static str,
        actual: u64,
        multiple: u32,
    ) -> Result<()> {
        if actual.is_multiple_of(multiple.into()) {
            return Ok(());
        }
        Err(self.refuse(operand, property, format!("a multiple of {multiple}"), actual))
    }
}
