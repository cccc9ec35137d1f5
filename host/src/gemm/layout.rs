//! How the operands of a GEMM are stored.

use crate::Order;

/// How a matrix is stored, apart from its extents: which dimension is contiguous, and the distance
/// between neighbours in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixLayout {
    /// The storage order.
    pub order: Order,
    /// Elements from one row to the next (row-major) or from one column to the next (column-major);
    /// `None` is packed: the contiguous extent.
    pub leading_dimension: Option<u64>,
}

impl MatrixLayout {
    /// No gaps between rows or columns.
    #[must_use]
    pub const fn packed(order: Order) -> Self {
        Self { order, leading_dimension: None }
    }

    /// `leading_dimension` elements from one row (column) to the next.
    #[must_use]
    pub const fn strided(order: Order, leading_dimension: u64) -> Self {
        Self { order, leading_dimension: Some(leading_dimension) }
    }
}

impl From<Order> for MatrixLayout {
    fn from(order: Order) -> Self {
        Self::packed(order)
    }
}

impl From<(Order, u64)> for MatrixLayout {
    fn from((order, leading_dimension): (Order, u64)) -> Self {
        Self::strided(order, leading_dimension)
    }
}

/// Extents and storage of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperandLayout {
    /// Number of rows.
    pub rows: u32,
    /// Number of columns.
    pub columns: u32,
    /// The storage order.
    pub order: Order,
    /// Elements from one row (row-major) or column (column-major) to the next.
    pub leading_dimension: u64,
}

impl OperandLayout {
    /// Extent of the contiguous dimension.
    #[must_use]
    pub const fn contiguous(&self) -> u32 {
        match self.order {
            Order::RowMajor => self.columns,
            Order::ColumnMajor => self.rows,
        }
    }

    /// Extent of the other dimension: the number of contiguous runs.
    #[must_use]
    pub const fn runs(&self) -> u32 {
        match self.order {
            Order::RowMajor => self.rows,
            Order::ColumnMajor => self.columns,
        }
    }

    /// Elements from the first to the last, both included: (runs − 1)·ld + contiguous, or 0 when there
    /// are no entries. No storage is as large as the value at which this saturates.
    #[must_use]
    pub const fn required_elements(&self) -> u64 {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        (self.runs() as u64 - 1).saturating_mul(self.leading_dimension).saturating_add(self.contiguous() as u64)
    }

    /// The same storage read as the transpose.
    #[must_use]
    pub const fn transposed(&self) -> Self {
        Self { rows: self.columns, columns: self.rows, order: self.order.transposed(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_elements_reach_from_the_first_to_the_last_entry() {
        let layout =
            |rows, columns, order, leading_dimension| OperandLayout { rows, columns, order, leading_dimension };
        assert_eq!(layout(3, 5, Order::RowMajor, 8).required_elements(), 2 * 8 + 5);
        assert_eq!(layout(3, 5, Order::ColumnMajor, 8).required_elements(), 4 * 8 + 3);
        assert_eq!(layout(0, 5, Order::RowMajor, 8).required_elements(), 0);
        assert_eq!(layout(3, 0, Order::RowMajor, 0).required_elements(), 0);
        assert_eq!(layout(u32::MAX, 1, Order::RowMajor, u64::MAX).required_elements(), u64::MAX);
    }
}
