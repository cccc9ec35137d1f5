//! f32 on the CUDA cores: two tiles, every order of the factors, accesses of 16 and of 4 bytes.

use super::{Nn, Nt, Tn, Tt};
use falchion_device::kernel;
use falchion_device::kernel::{DefaultGemm, Gemm, Simt64x64, Simt128x128};

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
