//! Whole kernels, what they need, and what they are called with.

mod description;
mod params;

pub use description::{GemmDescription, Header, KIND_GEMM, KIND_PLAIN, MAGIC, OpClass, SYMBOL_PREFIX, VERSION};
pub use params::{GemmParams, GemmShape, MatrixOperand};
