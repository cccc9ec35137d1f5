//! The kernels that Falchion ships: one composed type a line, for the device only.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![cfg(target_arch = "nvptx64")]

use falchion_device::kernel;
use falchion_device::kernel::{
    DefaultGemm, Gemm, Simt64x64, Simt128x128, TensorOp64x64, TensorOp64x64Staged, TensorOp128x128,
    TensorOp128x128Staged,
};
use falchion_device::layout::{ColumnMajor, RowMajor};
use falchion_device::numeric::{bf16, f16};

type Tt = (RowMajor, RowMajor);
type Tn = (RowMajor, ColumnMajor);
type Nt = (ColumnMajor, RowMajor);
type Nn = (ColumnMajor, ColumnMajor);

kernel! {
    falchion_simt_sgemm_f32_128x128_8x2_tt_align4: Gemm<DefaultGemm<Simt128x128, Tt, 4>>;
    falchion_simt_sgemm_f32_128x128_8x2_tn_align4: Gemm<DefaultGemm<Simt128x128, Tn, 4>>;
    falchion_simt_sgemm_f32_128x128_8x2_nt_align4: Gemm<DefaultGemm<Simt128x128, Nt, 4>>;
    falchion_simt_sgemm_f32_128x128_8x2_nn_align4: Gemm<DefaultGemm<Simt128x128, Nn, 4>>;
    falchion_simt_sgemm_f32_128x128_8x2_tt_align1: Gemm<DefaultGemm<Simt128x128, Tt, 1>>;
    falchion_simt_sgemm_f32_128x128_8x2_tn_align1: Gemm<DefaultGemm<Simt128x128, Tn, 1>>;
    falchion_simt_sgemm_f32_128x128_8x2_nt_align1: Gemm<DefaultGemm<Simt128x128, Nt, 1>>;
    falchion_simt_sgemm_f32_128x128_8x2_nn_align1: Gemm<DefaultGemm<Simt128x128, Nn, 1>>;
    falchion_simt_sgemm_f32_64x64_8x2_tt_align4: Gemm<DefaultGemm<Simt64x64, Tt, 4>>;
    falchion_simt_sgemm_f32_64x64_8x2_tn_align4: Gemm<DefaultGemm<Simt64x64, Tn, 4>>;
    falchion_simt_sgemm_f32_64x64_8x2_nt_align4: Gemm<DefaultGemm<Simt64x64, Nt, 4>>;
    falchion_simt_sgemm_f32_64x64_8x2_nn_align4: Gemm<DefaultGemm<Simt64x64, Nn, 4>>;
    falchion_simt_sgemm_f32_64x64_8x2_tt_align1: Gemm<DefaultGemm<Simt64x64, Tt, 1>>;
    falchion_simt_sgemm_f32_64x64_8x2_tn_align1: Gemm<DefaultGemm<Simt64x64, Tn, 1>>;
    falchion_simt_sgemm_f32_64x64_8x2_nt_align1: Gemm<DefaultGemm<Simt64x64, Nt, 1>>;
    falchion_simt_sgemm_f32_64x64_8x2_nn_align1: Gemm<DefaultGemm<Simt64x64, Nn, 1>>;
}

kernel! {
    falchion_tensorop_s16816gemm_f16_128x128_32x4_tt_align8: Gemm<DefaultGemm<TensorOp128x128<f16>, Tt, 8>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x4_tn_align8: Gemm<DefaultGemm<TensorOp128x128<f16>, Tn, 8>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x4_nt_align8: Gemm<DefaultGemm<TensorOp128x128<f16>, Nt, 8>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x4_nn_align8: Gemm<DefaultGemm<TensorOp128x128<f16>, Nn, 8>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x4_tt_align2: Gemm<DefaultGemm<TensorOp128x128<f16>, Tt, 2>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x4_tn_align2: Gemm<DefaultGemm<TensorOp128x128<f16>, Tn, 2>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x4_nt_align2: Gemm<DefaultGemm<TensorOp128x128<f16>, Nt, 2>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x4_nn_align2: Gemm<DefaultGemm<TensorOp128x128<f16>, Nn, 2>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x2_tt_align1: Gemm<DefaultGemm<TensorOp128x128Staged<f16>, Tt, 1>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x2_tn_align1: Gemm<DefaultGemm<TensorOp128x128Staged<f16>, Tn, 1>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x2_nt_align1: Gemm<DefaultGemm<TensorOp128x128Staged<f16>, Nt, 1>>;
    falchion_tensorop_s16816gemm_f16_128x128_32x2_nn_align1: Gemm<DefaultGemm<TensorOp128x128Staged<f16>, Nn, 1>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x4_tt_align8: Gemm<DefaultGemm<TensorOp64x64<f16>, Tt, 8>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x4_tn_align8: Gemm<DefaultGemm<TensorOp64x64<f16>, Tn, 8>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x4_nt_align8: Gemm<DefaultGemm<TensorOp64x64<f16>, Nt, 8>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x4_nn_align8: Gemm<DefaultGemm<TensorOp64x64<f16>, Nn, 8>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x4_tt_align2: Gemm<DefaultGemm<TensorOp64x64<f16>, Tt, 2>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x4_tn_align2: Gemm<DefaultGemm<TensorOp64x64<f16>, Tn, 2>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x4_nt_align2: Gemm<DefaultGemm<TensorOp64x64<f16>, Nt, 2>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x4_nn_align2: Gemm<DefaultGemm<TensorOp64x64<f16>, Nn, 2>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x2_tt_align1: Gemm<DefaultGemm<TensorOp64x64Staged<f16>, Tt, 1>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x2_tn_align1: Gemm<DefaultGemm<TensorOp64x64Staged<f16>, Tn, 1>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x2_nt_align1: Gemm<DefaultGemm<TensorOp64x64Staged<f16>, Nt, 1>>;
    falchion_tensorop_s16816gemm_f16_64x64_32x2_nn_align1: Gemm<DefaultGemm<TensorOp64x64Staged<f16>, Nn, 1>>;
}

kernel! {
    falchion_tensorop_s16816gemm_bf16_128x128_32x4_tt_align8: Gemm<DefaultGemm<TensorOp128x128<bf16>, Tt, 8>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x4_tn_align8: Gemm<DefaultGemm<TensorOp128x128<bf16>, Tn, 8>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x4_nt_align8: Gemm<DefaultGemm<TensorOp128x128<bf16>, Nt, 8>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x4_nn_align8: Gemm<DefaultGemm<TensorOp128x128<bf16>, Nn, 8>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x4_tt_align2: Gemm<DefaultGemm<TensorOp128x128<bf16>, Tt, 2>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x4_tn_align2: Gemm<DefaultGemm<TensorOp128x128<bf16>, Tn, 2>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x4_nt_align2: Gemm<DefaultGemm<TensorOp128x128<bf16>, Nt, 2>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x4_nn_align2: Gemm<DefaultGemm<TensorOp128x128<bf16>, Nn, 2>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x2_tt_align1: Gemm<DefaultGemm<TensorOp128x128Staged<bf16>, Tt, 1>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x2_tn_align1: Gemm<DefaultGemm<TensorOp128x128Staged<bf16>, Tn, 1>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x2_nt_align1: Gemm<DefaultGemm<TensorOp128x128Staged<bf16>, Nt, 1>>;
    falchion_tensorop_s16816gemm_bf16_128x128_32x2_nn_align1: Gemm<DefaultGemm<TensorOp128x128Staged<bf16>, Nn, 1>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x4_tt_align8: Gemm<DefaultGemm<TensorOp64x64<bf16>, Tt, 8>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x4_tn_align8: Gemm<DefaultGemm<TensorOp64x64<bf16>, Tn, 8>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x4_nt_align8: Gemm<DefaultGemm<TensorOp64x64<bf16>, Nt, 8>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x4_nn_align8: Gemm<DefaultGemm<TensorOp64x64<bf16>, Nn, 8>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x4_tt_align2: Gemm<DefaultGemm<TensorOp64x64<bf16>, Tt, 2>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x4_tn_align2: Gemm<DefaultGemm<TensorOp64x64<bf16>, Tn, 2>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x4_nt_align2: Gemm<DefaultGemm<TensorOp64x64<bf16>, Nt, 2>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x4_nn_align2: Gemm<DefaultGemm<TensorOp64x64<bf16>, Nn, 2>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x2_tt_align1: Gemm<DefaultGemm<TensorOp64x64Staged<bf16>, Tt, 1>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x2_tn_align1: Gemm<DefaultGemm<TensorOp64x64Staged<bf16>, Tn, 1>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x2_nt_align1: Gemm<DefaultGemm<TensorOp64x64Staged<bf16>, Nt, 1>>;
    falchion_tensorop_s16816gemm_bf16_64x64_32x2_nn_align1: Gemm<DefaultGemm<TensorOp64x64Staged<bf16>, Nn, 1>>;
}
