//! Whole kernels: what they are made of, what they need, and what they are called with.

#[cfg(any(target_arch = "nvptx64", doc))]
mod config;
#[cfg(any(target_arch = "nvptx64", doc))]
mod default;
#[cfg(any(target_arch = "nvptx64", doc))]
mod default_specialized;
mod description;
mod entry;
#[cfg(any(target_arch = "nvptx64", doc))]
mod gemm;
mod name;
mod params;
#[cfg(any(target_arch = "nvptx64", doc))]
mod specialized;
#[cfg(any(target_arch = "nvptx64", doc))]
mod specialized_config;
mod tensor_map;

#[cfg(any(target_arch = "nvptx64", doc))]
pub use config::{GemmConfig, OperandA, OperandB};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use default::{
    DefaultGemm, GemmTile, Orders, Simt64x64, Simt128x128, TensorOp64x64, TensorOp64x64Staged, TensorOp128x128,
    TensorOp128x128Staged,
};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use default_specialized::{
    DefaultSpecialized, SpecializedTile, Wgmma64x128, Wgmma128x128, Wgmma128x192, Wgmma128x256, WgmmaPingpong128x128,
};
pub use description::{GemmDescription, Header, KIND_GEMM, KIND_PLAIN, MAGIC, OpClass, SYMBOL_PREFIX, VERSION};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use gemm::Gemm;
pub use name::KernelName;
pub use params::{GemmParams, GemmShape, MatrixOperand, SpecializedParams};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use specialized::SpecializedGemm;
#[cfg(any(target_arch = "nvptx64", doc))]
pub use specialized_config::{Sharing, SpecializedConfig, TmaA, TmaB, Transposed};
pub use tensor_map::TensorMap;

/// A kernel: a composition of parts with everything the host must know about it.
pub trait Kernel: 'static {
    /// The parameter block, by value.
    type Params: Copy + 'static;
    /// [`Header`], and what else the kind of kernel says of itself.
    type Description: Copy + Send + Sync + 'static;
    /// What a launch needs.
    const DESCRIPTION: Self::Description;
    /// The name of the entry point, which encodes the configuration.
    const NAME: KernelName;

    /// The work of one thread.
    ///
    /// # Safety
    /// Called by every thread of a launch as [`DESCRIPTION`](Self::DESCRIPTION) demands, with the same `params`, whose
    /// operands lie in device memory. `address` is the generic address of `params` in the kernel's parameter space.
    unsafe fn run(params: &Self::Params, address: u64);
}
