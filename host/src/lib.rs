//! Matrix kernels composed of Rust traits, on NVIDIA GPUs and on a PTX simulator.
//!
//! ```no_run
//! use falchion::{Backend, Device, Gemm, GemmArguments, Order, f16};
//! let device = Device::open(Backend::Auto)?;
//! let plan = Gemm::<f16>::new(1024, 512, 256).b(Order::ColumnMajor).plan(&device)?;
//! let a = device.upload(&vec![f16::ONE; 1024 * 256])?;
//! let b = device.upload(&vec![f16::ONE; 256 * 512])?;
//! let d = device.alloc(1024 * 512)?;
//! plan.run(&device.default_stream()?, GemmArguments::new(&a, &b, &d).alpha(0.5))?; // D = α·A·B
//! assert_eq!(d.download()?[0], f16::from_f32(128.0));
//! # Ok::<(), falchion::Error>(())
//! ```
//!
//! - [`Device`]: a GPU through the CUDA driver, or the simulator; [`Buffer`] and [`Slice`] are its memory,
//!   [`Stream`] and [`Event`] its order and clock.
//! - [`Gemm`]: a problem, checked and planned once, run many times. What cannot be served is refused
//!   before anything is launched, by an [`Error`] that names the operand, what is required and what was given.
//! - [`Module`] and [`Kernel`]: kernels of your own, compiled with `falchion-build`; [`Device::tensor_map`] encodes what
//!   their copies by the engine of sm_90 need.
//! - [`mod@reference`]: products in f64, and the error that rounding allows.
//! - [`stock`]: the kernels this crate carries.
//!
//! # Features
//! - `sim` (default): the simulator as a device.
//! - `cuda`: NVIDIA GPUs. [`Backend::Auto`] then prefers a GPU. Links `libcuda.so.1`, which the
//!   NVIDIA driver installs: a program built with it does not start without.
//!
//! At least one of the two is needed.

#[cfg(not(any(feature = "sim", feature = "cuda")))]
compile_error!("falchion needs a kind of device: enable its feature `sim`, `cuda`, or both");

mod arch;
mod buffer;
mod device;
mod error;
mod gemm;
mod module;
pub mod reference;
pub mod stock;
mod stream;

pub use arch::Arch;
pub use buffer::{Buffer, Slice};
pub use bytemuck;
pub use device::{
    Backend, CudaVersion, Device, DeviceInfo, DeviceKind, L2Promotion, TensorMapError, TensorMapRequest,
    TensorMapSwizzle,
};
pub use error::{DriverStatus, Error, KernelFault, Operand, Result};
pub use falchion_device::kernel::TensorMap;
pub use falchion_device::layout::Order;
pub use falchion_device::numeric::{Element, ElementKind, bf16, f16};
#[cfg(feature = "sim")]
pub use falchion_sim as sim;
pub use gemm::{Gemm, GemmArguments, GemmPlan, GemmProblem, MatrixLayout, OperandLayout};
pub use module::{Kernel, KernelParameters, LaunchConfig, Module, ModuleSource};
pub use stream::{Event, Stream};

#[cfg(all(test, feature = "sim"))]
mod tests;
