//! What a comparison found.

use crate::{Error, Result};
use ndarray::Array2;
use std::fmt;

/// A kernel's result beside the reference. `check` turns a difference into an error.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Number of elements compared.
    pub elements: usize,
    /// The largest |d − D| / bound over all elements: a correct result has at most 1. An element that had to be
    /// equal and is not, and one that should be finite and is not, count as ∞.
    pub max_ratio: f64,
    /// Row and column where that is.
    pub worst: [usize; 2],
    /// The element there.
    pub actual: f64,
    /// The reference there.
    pub expected: f64,
    /// The bound there.
    pub bound: f64,
    /// The largest |d − D| over all elements.
    pub max_error: f64,
    /// ‖d − D‖₂ / ‖D‖₂ over all elements (Frobenius).
    pub relative_l2: f64,
}

impl Comparison {
    /// Compares `actual` with `expected`; values beyond `largest` overflow the output type.
    pub(super) fn new(
        expected: &Array2<f64>,
        actual: &Array2<f64>,
        bounds: &Array2<f64>,
        largest: f64,
    ) -> Result<Self> {
        let norm = expected.iter().map(|value| value * value).sum::<f64>().sqrt();
        if norm == 0.0 {
            return Err(Error::ZeroReference);
        }
        let mut comparison = Self {
            elements: expected.len(),
            max_ratio: -1.0,
            worst: [0, 0],
            actual: 0.0,
            expected: 0.0,
            bound: 0.0,
            max_error: 0.0,
            relative_l2: 0.0,
        };
        let mut squares = 0.0;
        for (((row, column), &expected), (&actual, &bound)) in expected.indexed_iter().zip(actual.iter().zip(bounds)) {
            let error = error(expected, actual, bound, largest);
            let ratio = if error == 0.0 { 0.0 } else { error / bound };
            // A NaN ratio cannot come up: an error is never NaN, and a bound of NaN has an error of 0 or ∞.
            let ratio = if ratio.is_nan() { f64::INFINITY } else { ratio };
            if ratio > comparison.max_ratio {
                comparison = Self { max_ratio: ratio, worst: [row, column], actual, expected, bound, ..comparison };
            }
            comparison.max_error = comparison.max_error.max(error);
            squares += error * error;
        }
        comparison.relative_l2 = squares.sqrt() / norm;
        Ok(comparison)
    }

    /// Whether every element is within its bound.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.max_ratio <= 1.0
    }

    /// The comparison, when every element is within its bound.
    ///
    /// # Errors
    /// [`Error::Mismatch`].
    pub fn check(self) -> Result<Self> {
        if self.passes() { Ok(self) } else { Err(Error::Mismatch(Box::new(self))) }
    }
}

/// |actual − expected|, where infinities and NaNs are right (0) or wrong (∞).
fn error(expected: f64, actual: f64, bound: f64, largest: f64) -> f64 {
    if expected.is_nan() {
        return if actual.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if actual.is_infinite() && actual.signum() == expected.signum() && expected.abs() + bound >= largest {
        return 0.0;
    }
    let error = (actual - expected).abs();
    if error.is_nan() { f64::INFINITY } else { error }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [row, column] = self.worst;
        write!(
            f,
            "worst element ({row}, {column}) is {}, reference {}, allowed error {:.3e} (used {:.3} of it); \
             largest error {:.3e}, relative l2 {:.3e} over {} elements",
            self.actual, self.expected, self.bound, self.max_ratio, self.max_error, self.relative_l2, self.elements
        )
    }
}
