//! D = α·A·B + β·C: problem, plan, run.

mod arguments;
mod candidate;
mod family;
mod layout;
mod overlap;
mod plan;
mod problem;
mod select;
#[cfg(test)]
mod testing;

pub use arguments::GemmArguments;
pub use layout::{MatrixLayout, OperandLayout};
pub use plan::GemmPlan;
pub use problem::GemmProblem;

use crate::{Device, Element, Error, Result};
use std::marker::PhantomData;

/// A matrix product to be planned: D = α·A·B + β·C with A m × k, B k × n, C and D m × n, all of
/// element type `T`, accumulated in f32 and rounded once. α and β come at run time.
///
/// Matrices are row-major and packed unless stated otherwise.
///
/// ```
/// use falchion::{Gemm, Order, f16};
/// let gemm = Gemm::<f16>::new(1000, 512, 256)
///     .a((Order::ColumnMajor, 1024)) // a leading dimension of 1024
///     .b(Order::ColumnMajor);        // packed
/// let problem = gemm.problem()?;
/// assert_eq!(problem.b().leading_dimension, 256);
/// assert_eq!(problem.a().required_elements(), 255 * 1024 + 1000);
/// # Ok::<(), falchion::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a problem does nothing until it is planned"]
pub struct Gemm<T> {
    extents: [u64; 3],
    a: MatrixLayout,
    b: MatrixLayout,
    c: Option<MatrixLayout>,
    d: MatrixLayout,
    kernel: Option<String>,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Gemm<T> {
    /// The product of an `m` × `k` and a `k` × `n` matrix. Any extent may be 0.
    pub fn new(m: u64, n: u64, k: u64) -> Self {
        let row_major = MatrixLayout::packed(crate::Order::RowMajor);
        Self {
            extents: [m, n, k],
            a: row_major,
            b: row_major,
            c: None,
            d: row_major,
            kernel: None,
            element: PhantomData,
        }
    }

    /// How A is stored: an [`Order`](crate::Order), packed, or an order and a leading dimension.
    pub fn a(mut self, layout: impl Into<MatrixLayout>) -> Self {
        self.a = layout.into();
        self
    }

    /// How B is stored.
    pub fn b(mut self, layout: impl Into<MatrixLayout>) -> Self {
        self.b = layout.into();
        self
    }

    /// How C is stored; as D when not stated.
    pub fn c(mut self, layout: impl Into<MatrixLayout>) -> Self {
        self.c = Some(layout.into());
        self
    }

    /// How D is stored.
    pub fn d(mut self, layout: impl Into<MatrixLayout>) -> Self {
        self.d = layout.into();
        self
    }

    /// Runs this stock kernel and no other. The plan, or a run whose pointers are not aligned as the kernel
    /// needs, is refused when it cannot serve the problem.
    pub fn kernel(mut self, name: impl Into<String>) -> Self {
        self.kernel = Some(name.into());
        self
    }

    /// The problem, checked.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::LeadingDimension`], [`Error::OrderMismatch`].
    pub fn problem(&self) -> Result<GemmProblem> {
        GemmProblem::new(T::KIND, self.extents, [self.a, self.b, self.c.unwrap_or(self.d), self.d])
    }

    /// Chooses and loads the kernels that serve this problem on `device`.
    ///
    /// # Errors
    /// Those of [`problem`](Self::problem); [`Error::NoStockKernels`], [`Error::NoKernelFits`]; with a kernel
    /// chosen by name [`Error::UnknownKernel`], [`Error::KernelRefused`], [`Error::WrongArch`],
    /// [`Error::SharedMemory`]; those of loading a module.
    pub fn plan(&self, device: &Device) -> Result<GemmPlan<T>> {
        let problem = self.problem()?;
        let stock = crate::stock::kernels();
        if stock.is_empty() {
            return Err(Error::NoStockKernels);
        }
        GemmPlan::new(device, problem, stock, self.kernel.as_deref())
    }
}
