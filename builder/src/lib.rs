//! Compiles a Rust device crate to PTX and cubins, one small module a kernel, and lints what came out.
//!
//! ```no_run
//! use falchion_build::{Arch, PtxBuilder};
//!
//! let artifacts = PtxBuilder::new("kernels").cubin(Arch::Sm90a).out_dir("target/kernels").build()?;
//! for kernel in &artifacts.kernels {
//!     println!("{} for {}: {}", kernel.name, kernel.arch, kernel.ptx.display());
//! }
//! # Ok::<(), falchion_build::Error>(())
//! ```
//!
//! The device crate is an ordinary `no_std` library whose entry points are `extern "ptx-kernel"` functions. It is compiled by
//! rustc's `nvptx64-nvidia-cuda` target to LLVM bitcode; the rest of the route is this crate's:
//!
//! 1. [`Toolchain`] finds rustc with the source of `core`, the LLVM tools of the same LLVM, and `ptxas`, or installs them.
//! 2. cargo builds the crate and `core`, unoptimised; `llvm-link` makes one module, which is cut into one a kernel.
//! 3. Each kernel's IR is annotated (convergent assembly, launch bounds, architecture), optimised and translated to PTX.
//! 4. `ptxas` assembles the PTX for every requested architecture.
//! 5. [`Lint`]s refuse spills, local memory, panics, serialised `wgmma` and assembly that is not convergent.
//!
//! PTX alone needs no CUDA tool. A [`Manifest`] beside the files says what was built.

mod arch;
mod builder;
mod cargo;
mod description;
mod error;
mod ir;
mod kernel;
mod link;
mod lint;
mod manifest;
mod progress;
mod ptx;
mod ptxas;
mod toolchain;

#[cfg(test)]
mod pipeline_tests;

pub use arch::{Arch, UnknownArch};
pub use builder::PtxBuilder;
pub use description::{Description, DescriptionError};
pub use error::Error;
pub use lint::{Lint, LintError, SourceLine};
pub use manifest::{Artifacts, Cubin, KernelArtifact, Manifest};
pub use progress::Progress;
pub use toolchain::{Cuda, Origin, Toolchain};
