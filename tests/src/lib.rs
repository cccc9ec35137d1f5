//! What the tests of whole kernels share: the device, guarded matrices, and a GEMM case with its check.
//!
//! The device is chosen by the environment variable `FALCHION_BACKEND`: `auto` (default), `cuda` or `sim`.

mod case;
mod device;
mod guarded;
mod kernels;
mod random;

pub use case::{GemmCase, Values};
pub use device::{device, is_simulator, skipped};
pub use guarded::Guarded;
pub use kernels::{TEST_KERNELS, TestKernel};
pub use random::Random;
