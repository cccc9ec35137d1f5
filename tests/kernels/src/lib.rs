//! Kernels that only tests run: other compositions of the parts, and kernels with planted faults.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![cfg(target_arch = "nvptx64")]

mod compositions;
mod faults;
