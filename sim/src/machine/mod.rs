//! The machine that runs decoded kernels: warps, blocks, the grid.

pub(crate) mod barriers;
pub(crate) mod bulk;
pub(crate) mod cluster;
pub(crate) mod context;
pub(crate) mod copies;
pub(crate) mod grid;
pub(crate) mod registers;
pub(crate) mod team;
pub(crate) mod warp;
pub(crate) mod warpgroup;
