//! From accumulators to D.

mod output_op;

pub use output_op::{LinearCombination, LinearCombinationParams, OutputOp};
