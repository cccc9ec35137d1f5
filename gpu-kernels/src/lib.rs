//! The parts that GEMM and convolution kernels are composed of.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(stdarch_nvptx, asm_experimental_arch, core_float_math))]

pub mod epilogue;
pub mod kernel;
pub mod layout;
pub mod numeric;
pub mod schedule;
