//! A planned GEMM: checked, chosen, loaded.

use super::candidate::Candidate;
use super::family::{Launcher, Operands, Target};
use super::overlap::Region;
use super::problem::Oriented;
use super::select::{best_of_each_alignment, ranked};
use super::{GemmArguments, GemmProblem, OperandLayout};
use crate::device::EngineKernel;
use crate::reference::Accumulation;
use crate::stock::StockKernel;
use crate::{Device, Element, Error, Operand, Result, Slice, Stream};
use falchion_device::epilogue::LinearCombinationParams;
use falchion_device::kernel::OpClass;
use std::{fmt, marker::PhantomData, sync::Arc};

/// A GEMM ready to run: kernels are chosen and loaded, one for each alignment of pointers that the problem's leading
/// dimensions and extents allow. A run takes the fastest its pointers are aligned for, so no address is refused.
///
/// Runs on one stream are in order. A plan may be shared between threads.
pub struct GemmPlan<T> {
    device: Device,
    problem: GemmProblem,
    oriented: Oriented,
    /// Fastest first, never empty.
    kernels: Vec<Planned>,
    candidates: Vec<&'static str>,
    element: PhantomData<fn() -> T>,
}

/// A loaded kernel and how it is launched for this problem.
struct Planned {
    name: &'static str,
    kernel: Arc<dyn EngineKernel>,
    launcher: Box<dyn Launcher>,
    /// Multiples, in bytes, that the addresses of the kernel's A, B, C and D must be, and C's distance between rows.
    alignment: [u64; 4],
    accumulation: Accumulation,
}

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
            .filter_map(|(index, kernel)| Candidate::new(kernel.name(), kernel.gemm()?, index))
            .collect();
        let ranked = ranked(&catalogue, &oriented, info);
        let chosen = match name {
            Some(name) => vec![by_name(&catalogue, name, &oriented, device)?],
            None => best_of_each_alignment(&ranked, &oriented),
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
            let simt = candidate.gemm.op_class == OpClass::Simt as u32;
            Ok(Planned {
                name: candidate.name,
                kernel: stock[candidate.index].entry(device)?,
                launcher: candidate.family.launcher(candidate, &oriented, info),
                alignment: candidate.alignment(T::KIND).map(|elements| u64::from(elements) * T::BYTES as u64),
                accumulation: if simt { Accumulation::Fma } else { Accumulation::TensorCore },
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
        let fma = self.kernels.iter().all(|kernel| kernel.accumulation == Accumulation::Fma);
        if fma { Accumulation::Fma } else { Accumulation::TensorCore }
    }

    /// The kernel that [`run`](Self::run) would launch with these arguments.
    ///
    /// # Errors
    /// When the kernel was chosen by name: [`Error::Alignment`] for a pointer that is less aligned than it needs,
    /// [`Error::KernelRefused`] for such a leading dimension of a C that is read.
    pub fn kernel_for(&self, arguments: &GemmArguments<'_, T>) -> Result<&'static str> {
        Ok(self.choose(&self.operands(arguments))?.name)
    }

    /// Computes D = α·A·B + β·C. Asynchronous on a GPU: the result is there after the stream is synchronised, or for
    /// a download. Nothing is launched when D is empty; with k = 0, D = β·C.
    ///
    /// # Errors
    /// Before anything is launched: [`Error::DeviceMismatch`], [`Error::MissingSource`], [`Error::BufferTooSmall`],
    /// [`Error::Overlap`], and those of [`kernel_for`](Self::kernel_for). From the device: [`Error::TensorMap`],
    /// [`Error::KernelFault`], [`Error::Launch`], [`Error::Driver`].
    pub fn run(&self, stream: &Stream, arguments: GemmArguments<'_, T>) -> Result<()> {
        self.device.require_same(stream.device(), "stream")?;
        self.check(&arguments)?;
        if self.problem.is_empty() {
            return Ok(());
        }
        let operands = self.operands(&arguments);
        let planned = self.choose(&operands)?;
        let target = Target { device: &self.device, stream };
        // SAFETY: the launcher was made for the kernel, and the checks above keep its accesses inside the slices.
        unsafe { planned.launcher.launch(target, &*planned.kernel, &operands) }
    }

    /// Everything that must hold before a launch.
    fn check(&self, arguments: &GemmArguments<'_, T>) -> Result<()> {
        let source = source(arguments);
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
        } else if arguments.beta != 0.0 && !self.problem.is_empty() {
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
            Some(input) if input != output => disjoint(Operand::C, input),
            _ => Ok(()),
        }
    }

    /// What changes from run to run.
    fn operands(&self, arguments: &GemmArguments<'_, T>) -> Operands {
        let [a, b, d] = [arguments.a, arguments.b, arguments.d].map(|slice| slice.address());
        let [a, b] = if self.oriented.exchanged { [b, a] } else { [a, b] };
        let op = LinearCombinationParams { alpha: arguments.alpha, beta: arguments.beta };
        Operands { a, b, c: source(arguments).map(|c| c.address()), d, op }
    }

    fn choose(&self, operands: &Operands) -> Result<&Planned> {
        if let Some(planned) = self.kernels.iter().find(|planned| self.fits(planned, operands).is_ok()) {
            return Ok(planned);
        }
        // Every element type has kernels for single elements, so only a choice by name gets here.
        let narrowest = &self.kernels[self.kernels.len() - 1];
        self.fits(narrowest, operands).map(|()| narrowest)
    }

    /// Whether the operands are aligned as `planned` requires.
    fn fits(&self, planned: &Planned, operands: &Operands) -> Result<()> {
        let [a, b] = self.oriented.factor_names();
        let addresses =
            [(a, Some(operands.a)), (b, Some(operands.b)), (Operand::C, operands.c), (Operand::D, Some(operands.d))];
        for ((operand, address), required) in addresses.into_iter().zip(planned.alignment) {
            let Some(address) = address else { continue };
            if !address.is_multiple_of(required) {
                let remedy = "choose a kernel of smaller alignment, or leave the choice to the plan";
                return Err(Error::Alignment { operand: operand.name(), address, required, remedy });
            }
        }
        // The other leading dimensions were checked by the plan; C's matters only when C is read.
        let (leading_dimension, multiple) = (self.oriented.c.leading_dimension, planned.alignment[2] / T::BYTES as u64);
        if operands.c.is_some() && !leading_dimension.is_multiple_of(multiple) {
            return Err(Error::KernelRefused {
                kernel: planned.name,
                operand: Operand::C,
                property: "leading dimension",
                required: format!("a multiple of {multiple}"),
                actual: leading_dimension.to_string(),
            });
        }
        Ok(())
    }
}

/// C, when it is read.
fn source<'a, T>(arguments: &GemmArguments<'a, T>) -> Option<Slice<'a, T>> {
    arguments.c.filter(|_| arguments.beta != 0.0)
}

/// The kernel `name`, when it serves the problem.
fn by_name(catalogue: &[Candidate], name: &str, oriented: &Oriented, device: &Device) -> Result<Candidate> {
    let Some(candidate) = catalogue.iter().find(|candidate| candidate.name == name) else {
        let available = catalogue.iter().map(|candidate| candidate.name.to_owned()).collect();
        return Err(Error::UnknownKernel { name: name.to_owned(), available });
    };
    candidate.serves(oriented, device.info())?;
    Ok(*candidate)
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
