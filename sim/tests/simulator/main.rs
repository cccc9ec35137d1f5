//! Whole kernels on the simulator, one file a property.

mod common;
mod control;
