//! The state spaces: global allocations, shared memory with its shadow, local memory, generic addresses.

pub(crate) mod banks;
pub(crate) mod bulk;
pub(crate) mod clocks;
pub(crate) mod global;
pub(crate) mod local;
pub(crate) mod mbarrier;
pub(crate) mod shared;
pub(crate) mod window;
