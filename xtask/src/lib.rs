//! What the two programs of this package share: `xtask`, which builds, and `falchion`, which runs kernels.
//!
//! `xtask` compiles without any kernel. `falchion` embeds the kernels, so `xtask` builds them before it builds `falchion`;
//! a bundle carries `falchion` alone.

pub mod arguments;
pub mod bench;
pub mod failure;
pub mod table;
