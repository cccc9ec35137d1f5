//! A planned GEMM: checked, chosen, loaded.

use super::overlap::Region;
use super::problem::Oriented;
use super::select::{Candidate, best_of_each_width, output_alignment, ranked};
use super::{GemmArguments, GemmProblem, OperandLayout, StockParams};
use crate::device::EngineKernel;
use crate::reference::Accumulation;
use crate::stock::StockKernel;
use crate::{Device, Element, Error, LaunchConfig, Operand, Result, Slice, Stream};
use falchion_device::epilogue::LinearCombinationParams;
use falchion_device::kernel::{GemmShape, MatrixOperand, OpClass};
use falchion_device::schedule::{RasterParams, Rasterised, TileScheduler};
use std::{fmt, marker::PhantomData, sync::Arc};

/// A GEMM ready to run: kernels are chosen and loaded, one for each access width that the problem's leading
/// dimensions and extents allow. A run takes the widest its pointers are aligned for, so no address is refused.
///
/// Runs on one stream are in order. A plan may be shared between threads.
pub struct GemmPlan<T> {
    device: Device,
    problem: GemmProblem,
    oriented: Oriented,
    /// Widest access first, never empty.
    kernels: Vec<Planned>,
    candidates: Vec<&'static str>,
    element: PhantomData<fn() -> T>,
}

/// A loaded kernel and how it is launched for this problem.
struct Planned {
    name: &'static str,
    kernel: Arc<dyn EngineKernel>,
    /// Multiples, in bytes, that the addresses of the kernel's A and B must be.
    alignment: [u64; 2],
    tensor_op: bool,
    raster: RasterParams,
    config: LaunchConfig,
}

/// The classes of kernels that take [`StockParams`].
const LAUNCHED: [u32; 2] = [OpClass::Simt as u32, OpClass::TensorOp as u32];

impl<T: Element> GemmPlan<T> {
    pub(super) fn new(
        device: &Device,
        problem: GemmProblem,
        stock: &'static [StockKernel],
        name: Option<&str>,
    ) -> Result<Self> {
        let oriented = problem.oriented();
        let info = device.info();
        let catalogue: Vec<Candidate> = stock
            .iter()
            .enumerate()
            .filter_map(|(index, kernel)| Some(Candidate { name: kernel.name(), gemm: kernel.gemm()?, index }))
            // Kernels of other classes take other parameters.
            .filter(|candidate| LAUNCHED.contains(&candidate.gemm.op_class))
            .collect();
        let ranked = ranked(&catalogue, &oriented, problem.element(), info);
        let chosen = match name {
            Some(name) => vec![by_name(&catalogue, name, &oriented, &problem, device)?],
            None => best_of_each_width(&ranked),
        };
        if chosen.is_empty() {
            return Err(Error::NoKernelFits {
                element: problem.element(),
                a_order: problem.a().order,
                b_order: problem.b().order,
                d_order: problem.d().order,
                device: info.architecture(),
            });
        }
        let kernels = chosen.iter().map(|candidate| {
            let raster = candidate.raster(&oriented, info);
            let header = &candidate.gemm.header;
            Ok(Planned {
                name: candidate.name,
                kernel: stock[candidate.index].entry(device)?,
                alignment: candidate.gemm.alignment.map(|elements| u64::from(elements) * T::BYTES as u64),
                tensor_op: candidate.gemm.op_class == OpClass::TensorOp as u32,
                raster,
                config: LaunchConfig::new(Rasterised::grid(&raster), [header.threads, 1, 1])
                    .dynamic_shared(header.shared_bytes),
            })
        });
        Ok(Self {
            device: device.clone(),
            problem,
            oriented,
            kernels: kernels.collect::<Result<_>>()?,
            candidates: ranked.iter().map(|candidate| candidate.name).collect(),
            element: PhantomData,
        })
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &GemmProblem {
        &self.problem
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The kernel that runs when all pointers are well aligned.
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        self.kernels[0].name
    }

    /// Every stock kernel that serves this problem, best first: what [`Gemm::kernel`](crate::Gemm::kernel) takes.
    #[must_use]
    pub fn candidates(&self) -> &[&'static str] {
        &self.candidates
    }

    /// How the plan's kernels round while they accumulate; what a comparison with the reference needs.
    #[must_use]
    pub fn accumulation(&self) -> Accumulation {
        if self.kernels.iter().any(|kernel| kernel.tensor_op) { Accumulation::TensorCore } else { Accumulation::Fma }
    }

    /// The kernel that [`run`](Self::run) would launch with these arguments.
    ///
    /// # Errors
    /// [`Error::Alignment`] when the kernel was chosen by name and a pointer is less aligned than it needs.
    pub fn kernel_for(&self, arguments: &GemmArguments<'_, T>) -> Result<&'static str> {
        Ok(self.choose(arguments)?.name)
    }

    /// Computes D = α·A·B + β·C. Asynchronous on a GPU: the result is there after the stream is synchronised, or for
    /// a download. Nothing is launched when D is empty; with k = 0, D = β·C.
    ///
    /// # Errors
    /// Before anything is launched: [`Error::DeviceMismatch`], [`Error::MissingSource`], [`Error::BufferTooSmall`],
    /// [`Error::Overlap`], [`Error::Alignment`] when the kernel was chosen by name. From the device:
    /// [`Error::KernelFault`], [`Error::Launch`], [`Error::Driver`].
    pub fn run(&self, stream: &Stream, arguments: GemmArguments<'_, T>) -> Result<()> {
        self.device.require_same(stream.device(), "stream")?;
        let source = self.check(&arguments)?;
        if self.problem.is_empty() {
            return Ok(());
        }
        let planned = self.choose(&arguments)?;
        let Oriented { a, b, c, d, .. } = &self.oriented;
        let [first, second] = self.factors(&arguments);
        let addresses = (arguments.d.address(), source.map(|c| c.address()));
        let params = StockParams {
            a: operand(first.address(), a),
            b: operand(second.address(), b),
            // A source that is not read has no address: a kernel that reads it all the same faults.
            c: operand(addresses.1.unwrap_or(0), c),
            d: operand(addresses.0, d),
            shape: GemmShape { m: d.rows, n: d.columns, k: a.columns },
            raster: planned.raster,
            output_alignment: output_alignment((d, addresses.0), addresses.1.map(|address| (c, address)), T::BYTES),
            reserved: 0,
            op: LinearCombinationParams { alpha: arguments.alpha, beta: arguments.beta },
        };
        // SAFETY: the kernel's description says that these are its parameters, and the checks above keep its
        // accesses inside the slices.
        unsafe { planned.kernel.launch(stream.engine(), &planned.config, &[bytemuck::bytes_of(&params)]) }
    }

    /// Everything that must hold before a launch. Returns C when it is read.
    fn check<'a>(&self, arguments: &GemmArguments<'a, T>) -> Result<Option<Slice<'a, T>>> {
        let reads_source = arguments.beta != 0.0;
        let source = arguments.c.filter(|_| reads_source);
        let required = |name, slice: &Slice<'_, T>, layout: &OperandLayout| {
            self.device.require_same(slice.device(), name)?;
            let (required, actual) = (layout.required_elements(), slice.len() as u64);
            if required > actual { Err(Error::BufferTooSmall { name, required, actual }) } else { Ok(()) }
        };
        required("a", &arguments.a, &self.problem.a())?;
        required("b", &arguments.b, &self.problem.b())?;
        required("d", &arguments.d, &self.problem.d())?;
        if let Some(c) = &source {
            required("c", c, &self.problem.c())?;
        } else if reads_source && !self.problem.is_empty() {
            return Err(Error::MissingSource { beta: arguments.beta });
        }
        let region = |slice: Slice<'_, T>, layout: &OperandLayout| Region::new(slice.address(), layout, T::BYTES);
        let output = region(arguments.d, &self.problem.d());
        let disjoint = |operand, input: Region| {
            if !output.intersects(&input) {
                return Ok(());
            }
            let (address, address_d) = (input.address, output.address);
            Err(Error::Overlap {
                operand,
                address,
                bytes: input.extent() as u64,
                address_d,
                bytes_d: output.extent() as u64,
            })
        };
        disjoint(Operand::A, region(arguments.a, &self.problem.a()))?;
        disjoint(Operand::B, region(arguments.b, &self.problem.b()))?;
        match source.map(|c| region(c, &self.problem.c())) {
            // Each element of C is read by the thread that then writes D there.
            Some(input) if input != output => disjoint(Operand::C, input)?,
            _ => {}
        }
        Ok(source)
    }

    /// The factors in the kernel's order.
    fn factors<'a>(&self, arguments: &GemmArguments<'a, T>) -> [Slice<'a, T>; 2] {
        if self.oriented.exchanged { [arguments.b, arguments.a] } else { [arguments.a, arguments.b] }
    }

    fn choose(&self, arguments: &GemmArguments<'_, T>) -> Result<&Planned> {
        let addresses = self.factors(arguments).map(|factor| factor.address());
        let misaligned =
            |planned: &Planned| (0..2).find(|&factor| !addresses[factor].is_multiple_of(planned.alignment[factor]));
        if let Some(planned) = self.kernels.iter().find(|planned| misaligned(planned).is_none()) {
            return Ok(planned);
        }
        // Every element type has kernels for single elements, so only a choice by name gets here.
        let narrowest = &self.kernels[self.kernels.len() - 1];
        let factor = misaligned(narrowest).unwrap_or(0);
        let operand = match self.oriented.factor_names()[factor] {
            Operand::A => "a",
            _ => "b",
        };
        let remedy = "choose a kernel of smaller alignment, or leave the choice to the plan";
        let (address, required) = (addresses[factor], narrowest.alignment[factor]);
        Err(Error::Alignment { operand, address, required, remedy })
    }
}

/// The kernel `name`, when it serves the problem.
fn by_name(
    catalogue: &[Candidate],
    name: &str,
    oriented: &Oriented,
    problem: &GemmProblem,
    device: &Device,
) -> Result<Candidate> {
    let Some(candidate) = catalogue.iter().find(|candidate| candidate.name == name) else {
        let available = catalogue.iter().map(|candidate| candidate.name.to_owned()).collect();
        return Err(Error::UnknownKernel { name: name.to_owned(), available });
    };
    candidate.serves(oriented, problem.element(), device.info())?;
    Ok(*candidate)
}

fn operand(address: u64, layout: &OperandLayout) -> MatrixOperand {
    // The problem's check bounds it far below the sign.
    MatrixOperand { address, leading_dimension: layout.leading_dimension as i64 }
}

impl<T> fmt::Debug for GemmPlan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels: Vec<_> = self.kernels.iter().map(|kernel| kernel.name).collect();
        f.debug_struct("GemmPlan").field("problem", &self.problem).field("kernels", &kernels).finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "sim"))]
#[path = "plan_tests.rs"]
mod tests;
