//! Coordinates to offsets: [`Layout`] as a value with an algebra, [`Swizzle`] as a permutation of
//! shared-memory vectors, [`MatrixView`] as pointer, size and stride, and the storage orders of a
//! matrix operand as types.
//!
//! Everything here is plain arithmetic: the same code runs on the host and on the device.

mod matrix_view;
mod order;
mod strided;
mod swizzle;

pub use matrix_view::MatrixView;
pub use order::{ColumnMajor, Major, Order, RowMajor, StorageOrder};
pub use strided::Layout;
pub use swizzle::{Swizzle, swizzle};
