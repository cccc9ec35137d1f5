//! One thin function per PTX instruction, and nothing else.
//!
//! Names follow `cuda_std` where it has them. This is the only module that knows the back end;
//! everything above it is generic Rust. Functions that every thread of a warp must reach together
//! say so under Safety; the build marks their call sites convergent.

pub mod async_copy;
pub mod cluster;
pub mod convert;
pub mod global;
pub mod matrix;
pub mod mbarrier;
pub mod shared;
pub mod sync;
pub mod thread;
pub mod tma;
pub mod warp;
pub mod wgmma;
