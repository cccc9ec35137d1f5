//! Products in f64 on the CPU, and how far a kernel's result may be from them.
//!
//! ```
//! use falchion::{Order, f16, reference::{self, Accumulation, MatrixRef}};
//! let [a, b] = [[1.0, 2.0, 3.0, 4.0], [0.5, 0.0, 0.0, 0.5]].map(|values| values.map(f16::from_f32));
//! let d = [0.5, 1.0, 1.5, 2.0].map(f16::from_f32); // from a kernel
//! let square = |data| MatrixRef::packed(data, 2, 2, Order::RowMajor);
//! let reference = reference::gemm(1.0, &square(&a), &square(&b), 0.0, None)?;
//! let comparison = reference.compare(&square(&d), Accumulation::TensorCore)?;
//! assert_eq!(comparison.max_error, 0.0);
//! comparison.check()?;
//! # Ok::<(), falchion::Error>(())
//! ```

mod bound;
mod comparison;
mod matrix;

pub use bound::Accumulation;
pub use comparison::Comparison;
pub use matrix::MatrixRef;

use crate::{Element, Error, Result};
use bound::Bound;
use ndarray::{Array2, Zip};

/// α·A·B + β·C in f64, not rounded to the output type, with what bounds of its rounding need.
#[derive(Clone, Debug)]
pub struct Reference {
    exact: Array2<f64>,
    /// Σ |a|·|b| of each element.
    magnitude: Array2<f64>,
    /// β·C of each element, 0 without C.
    source: Array2<f64>,
    alpha: f64,
    k: usize,
}

/// α·A·B + β·C, accumulated in f64 by a blocked matrix product. C is not read when β = 0.
///
/// # Errors
/// [`Error::Shape`] when the extents do not fit together, [`Error::BufferTooSmall`] when storage is shorter
/// than extents and leading dimension say, [`Error::MissingSource`] when β ≠ 0 and there is no C.
pub fn gemm<T: Element>(
    alpha: f32,
    a: &MatrixRef<'_, T>,
    b: &MatrixRef<'_, T>,
    beta: f32,
    c: Option<&MatrixRef<'_, T>>,
) -> Result<Reference> {
    let k = a.columns();
    b.require_shape("b", [k, b.columns()])?;
    let shape = [a.rows(), b.columns()];
    let (a, b) = (a.to_f64("a")?, b.to_f64("b")?);
    let (alpha, beta_f64) = (f64::from(alpha), f64::from(beta));
    let source = match c {
        _ if beta == 0.0 => Array2::zeros(shape),
        None => return Err(Error::MissingSource { beta }),
        Some(c) => {
            c.require_shape("c", shape)?;
            c.to_f64("c")? * beta_f64
        }
    };
    let mut exact = source.clone();
    ndarray::linalg::general_mat_mul(alpha, &a, &b, 1.0, &mut exact);
    let magnitude = a.mapv_into(f64::abs).dot(&b.mapv_into(f64::abs));
    Ok(Reference { exact, magnitude, source, alpha, k })
}

impl Reference {
    /// The result, rows × columns.
    #[must_use]
    pub fn exact(&self) -> &Array2<f64> {
        &self.exact
    }

    /// Compares a kernel's D element by element with the bound that [`Accumulation`] derives.
    ///
    /// # Errors
    /// [`Error::ZeroReference`] when the reference is zero everywhere, [`Error::Shape`], [`Error::BufferTooSmall`],
    /// [`Error::Dimension`] when k is so large that there is no bound. A difference is no error here: see
    /// [`Comparison::check`].
    pub fn compare<T: Element>(&self, d: &MatrixRef<'_, T>, accumulation: Accumulation) -> Result<Comparison> {
        let bound = Bound::new(accumulation, T::KIND, self.k)?;
        let mut bounds = Array2::zeros(self.exact.dim());
        Zip::from(&mut bounds).and(&self.exact).and(&self.magnitude).and(&self.source).for_each(
            |allowed, &exact, &magnitude, &source| *allowed = bound.element(exact, magnitude, source, self.alpha),
        );
        self.compare_within(d, &bounds)
    }

    /// Compares a kernel's D with the reference rounded once to `T`: every element must be equal. That is what
    /// integers give whose sums stay exact in the accumulator.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn compare_exactly<T: Element>(&self, d: &MatrixRef<'_, T>) -> Result<Comparison> {
        // Through f32, whose rounding is none for values that an f32 accumulator held exactly.
        let rounded = self.exact.mapv(|value| f64::from(T::from_f32(value as f32).to_f32()));
        let exact = Self { exact: rounded, ..self.clone() };
        exact.compare_within(d, &Array2::zeros(self.exact.dim()))
    }

    fn compare_within<T: Element>(&self, d: &MatrixRef<'_, T>, bounds: &Array2<f64>) -> Result<Comparison> {
        d.require_shape("d", [self.exact.nrows(), self.exact.ncols()])?;
        Comparison::new(&self.exact, &d.to_f64("d")?, bounds, bound::largest_finite(T::KIND))
    }
}

#[cfg(test)]
mod tests;
