//! The parts that GEMM and convolution kernels are composed of.
//!
//! A kernel is a type that names its parts ([`kernel::GemmConfig`]); each part is a trait with a
//! folder of its own:
//!
//! | module | trait | who runs it |
//! |---|---|---|
//! | [`arch`] | none: one function per PTX instruction | thread, warp |
//! | [`numeric`] | [`Element`](numeric::Element) | thread |
//! | [`layout`] | [`StorageOrder`](layout::StorageOrder); values [`Layout`](layout::Layout), [`Swizzle`](layout::Swizzle), [`MatrixView`](layout::MatrixView) | host and device |
//! | [`fragment`] | [`Fragment`](fragment::Fragment) | thread |
//! | [`iterator`] | [`OperandTile`](iterator::OperandTile), [`TileIterator`](iterator::TileIterator), [`SharedLayout`](iterator::SharedLayout) | block |
//! | [`warp`] | [`WarpMma`](warp::WarpMma), [`WarpOperand`](warp::WarpOperand) | warp |
//! | [`threadblock`] | [`Mainloop`](threadblock::Mainloop) | block |
//! | [`epilogue`] | [`Epilogue`](epilogue::Epilogue), [`OutputOp`](epilogue::OutputOp) | block |
//! | [`schedule`] | [`TileScheduler`](schedule::TileScheduler) | grid |
//! | [`mod@kernel`] | [`Kernel`](kernel::Kernel) | grid |
//!
//! The crate compiles for two targets. On `nvptx64-nvidia-cuda` everything is there, and
//! [`kernel!`] makes entry points. On the host the pure parts are there (layouts, fragment maps,
//! tile iterators, schedulers, descriptions and parameter blocks), so that host and device cannot
//! disagree about them, and so that they are tested natively.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(stdarch_nvptx, asm_experimental_arch, core_float_math))]

#[cfg(any(target_arch = "nvptx64", doc))]
pub mod arch;
pub mod epilogue;
pub mod fragment;
pub mod iterator;
pub mod kernel;
pub mod layout;
pub mod numeric;
pub mod schedule;
#[cfg(any(target_arch = "nvptx64", doc))]
pub mod threadblock;
pub mod warp;
