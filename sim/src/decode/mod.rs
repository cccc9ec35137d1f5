//! Syntax tree to runnable kernels: registers to slots, names to addresses, labels to indices, branches to their
//! reconvergence points, instructions to operations.

mod builder;
pub(crate) mod flow;
mod inline;
pub(crate) mod instruction;
pub(crate) mod kernel;
mod slots;
pub(crate) mod special;

pub(crate) use instruction::{Address, Guard, Inst};
pub(crate) use kernel::{Kernel, decode};
pub(crate) use slots::visit;
