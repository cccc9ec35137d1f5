//! f16 and bf16 on the tensor cores through `mma.sync`: two tiles, every order of the factors, accesses of 16, 4 and 2 bytes.

use super::{Nn, Nt, Tn, Tt};
use falchion_device::kernel;
use falchion_device::kernel::{
    DefaultGemm, Gemm, TensorOp64x64, TensorOp64x64Staged, TensorOp128x128, TensorOp128x128Staged,
};
use falchion_device::numeric::{bf16, f16};

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
