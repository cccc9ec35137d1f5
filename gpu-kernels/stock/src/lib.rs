//! The kernels that Falchion ships: one composed type a line, for the device only.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![cfg(target_arch = "nvptx64")]

use falchion_device::layout::{ColumnMajor, RowMajor};

mod hopper;
mod simt;
mod tensor_op;

// Storage orders of A and B in BLAS's letters: `n` is column-major, `t` row-major.
type Tt = (RowMajor, RowMajor);
type Tn = (RowMajor, ColumnMajor);
type Nt = (ColumnMajor, RowMajor);
type Nn = (ColumnMajor, ColumnMajor);
