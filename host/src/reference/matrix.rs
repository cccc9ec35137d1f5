//! Matrices in host memory.

use crate::{Element, Error, Order, Result};
use ndarray::{Array2, ArrayView2, ShapeBuilder};

/// A matrix in host memory, borrowed, in any storage order and with any leading dimension.
#[derive(Clone, Copy, Debug)]
pub struct MatrixRef<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    order: Order,
    leading_dimension: usize,
}

impl<'a, T> MatrixRef<'a, T> {
    /// A matrix with no gaps.
    #[must_use]
    pub fn packed(data: &'a [T], rows: usize, columns: usize, order: Order) -> Self {
        let leading_dimension = match order {
            Order::RowMajor => columns,
            Order::ColumnMajor => rows,
        };
        Self { data, rows, columns, order, leading_dimension }
    }

    /// The same with `leading_dimension` elements from one row (row-major) or column (column-major) to the next.
    #[must_use]
    pub fn leading_dimension(mut self, leading_dimension: usize) -> Self {
        self.leading_dimension = leading_dimension;
        self
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn require_shape(&self, name: &'static str, required: [usize; 2]) -> Result<()> {
        let actual = [self.rows, self.columns];
        if actual == required { Ok(()) } else { Err(Error::Shape { name, required, actual }) }
    }
}

impl<T: Element> MatrixRef<'_, T> {
    /// A copy in f64.
    pub(super) fn to_f64(self, name: &'static str) -> Result<Array2<f64>> {
        let (runs, contiguous, strides) = match self.order {
            Order::RowMajor => (self.rows, self.columns, (self.leading_dimension, 1)),
            Order::ColumnMajor => (self.columns, self.rows, (1, self.leading_dimension)),
        };
        let shape = (self.rows, self.columns);
        if runs == 0 || contiguous == 0 {
            return Ok(Array2::zeros(shape));
        }
        let required = (runs - 1).saturating_mul(self.leading_dimension).saturating_add(contiguous);
        let too_small = Error::BufferTooSmall { name, required: required as u64, actual: self.data.len() as u64 };
        if required > self.data.len() {
            return Err(too_small);
        }
        // Strides that `ndarray` takes for overlapping, such as a leading dimension below the contiguous extent, are
        // the same refusal: there is no room for so many separate elements.
        let view = ArrayView2::from_shape(shape.strides(strides), self.data).map_err(|_| too_small)?;
        Ok(view.mapv(|value| f64::from(value.to_f32())))
    }
}
