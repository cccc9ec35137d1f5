//! f16 and bf16 on the tensor cores of Hopper through `wgmma`: fed by the copy engine, five tiles and every order of the
//! factors.

use super::{Nn, Nt, Tn, Tt};
use falchion_device::kernel;
use falchion_device::kernel::{
    DefaultSpecialized, SpecializedGemm, Wgmma64x128, Wgmma128x128, Wgmma128x192, Wgmma128x256, WgmmaPingpong128x128,
};
use falchion_device::numeric::{bf16, f16};

kernel! {
    falchion_wgmma_s64x16gemm_f16_128x256x64_2x1x1_3_tt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x256<f16>, Tt>>;
    falchion_wgmma_s64x16gemm_f16_128x256x64_2x1x1_3_tn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x256<f16>, Tn>>;
    falchion_wgmma_s64x16gemm_f16_128x256x64_2x1x1_3_nt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x256<f16>, Nt>>;
    falchion_wgmma_s64x16gemm_f16_128x256x64_2x1x1_3_nn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x256<f16>, Nn>>;
    falchion_wgmma_s64x16gemm_f16_128x192x64_2x1x1_4_tn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x192<f16>, Tn>>;
    falchion_wgmma_s64x16gemm_f16_128x192x64_2x1x1_4_nn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x192<f16>, Nn>>;
    falchion_wgmma_s64x16gemm_f16_128x128x64_2x1x1_6_tt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x128<f16>, Tt>>;
    falchion_wgmma_s64x16gemm_f16_128x128x64_2x1x1_6_tn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x128<f16>, Tn>>;
    falchion_wgmma_s64x16gemm_f16_128x128x64_2x1x1_6_nt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x128<f16>, Nt>>;
    falchion_wgmma_s64x16gemm_f16_128x128x64_2x1x1_6_nn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x128<f16>, Nn>>;
    falchion_wgmma_s64x16gemm_f16_128x128x64_2x1x1_5_tt_pingpong: SpecializedGemm<DefaultSpecialized<WgmmaPingpong128x128<f16>, Tt>>;
    falchion_wgmma_s64x16gemm_f16_128x128x64_2x1x1_5_tn_pingpong: SpecializedGemm<DefaultSpecialized<WgmmaPingpong128x128<f16>, Tn>>;
    falchion_wgmma_s64x16gemm_f16_128x128x64_2x1x1_5_nt_pingpong: SpecializedGemm<DefaultSpecialized<WgmmaPingpong128x128<f16>, Nt>>;
    falchion_wgmma_s64x16gemm_f16_128x128x64_2x1x1_5_nn_pingpong: SpecializedGemm<DefaultSpecialized<WgmmaPingpong128x128<f16>, Nn>>;
    falchion_wgmma_s64x16gemm_f16_64x128x64_1x1x1_8_tt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma64x128<f16>, Tt>>;
    falchion_wgmma_s64x16gemm_f16_64x128x64_1x1x1_8_tn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma64x128<f16>, Tn>>;
    falchion_wgmma_s64x16gemm_f16_64x128x64_1x1x1_8_nt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma64x128<f16>, Nt>>;
    falchion_wgmma_s64x16gemm_f16_64x128x64_1x1x1_8_nn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma64x128<f16>, Nn>>;
}

kernel! {
    falchion_wgmma_s64x16gemm_bf16_128x256x64_2x1x1_3_tt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x256<bf16>, Tt>>;
    falchion_wgmma_s64x16gemm_bf16_128x256x64_2x1x1_3_tn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x256<bf16>, Tn>>;
    falchion_wgmma_s64x16gemm_bf16_128x256x64_2x1x1_3_nt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x256<bf16>, Nt>>;
    falchion_wgmma_s64x16gemm_bf16_128x256x64_2x1x1_3_nn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x256<bf16>, Nn>>;
    falchion_wgmma_s64x16gemm_bf16_128x192x64_2x1x1_4_tn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x192<bf16>, Tn>>;
    falchion_wgmma_s64x16gemm_bf16_128x192x64_2x1x1_4_nn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x192<bf16>, Nn>>;
    falchion_wgmma_s64x16gemm_bf16_128x128x64_2x1x1_6_tt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x128<bf16>, Tt>>;
    falchion_wgmma_s64x16gemm_bf16_128x128x64_2x1x1_6_tn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x128<bf16>, Tn>>;
    falchion_wgmma_s64x16gemm_bf16_128x128x64_2x1x1_6_nt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x128<bf16>, Nt>>;
    falchion_wgmma_s64x16gemm_bf16_128x128x64_2x1x1_6_nn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma128x128<bf16>, Nn>>;
    falchion_wgmma_s64x16gemm_bf16_128x128x64_2x1x1_5_tt_pingpong: SpecializedGemm<DefaultSpecialized<WgmmaPingpong128x128<bf16>, Tt>>;
    falchion_wgmma_s64x16gemm_bf16_128x128x64_2x1x1_5_tn_pingpong: SpecializedGemm<DefaultSpecialized<WgmmaPingpong128x128<bf16>, Tn>>;
    falchion_wgmma_s64x16gemm_bf16_128x128x64_2x1x1_5_nt_pingpong: SpecializedGemm<DefaultSpecialized<WgmmaPingpong128x128<bf16>, Nt>>;
    falchion_wgmma_s64x16gemm_bf16_128x128x64_2x1x1_5_nn_pingpong: SpecializedGemm<DefaultSpecialized<WgmmaPingpong128x128<bf16>, Nn>>;
    falchion_wgmma_s64x16gemm_bf16_64x128x64_1x1x1_8_tt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma64x128<bf16>, Tt>>;
    falchion_wgmma_s64x16gemm_bf16_64x128x64_1x1x1_8_tn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma64x128<bf16>, Tn>>;
    falchion_wgmma_s64x16gemm_bf16_64x128x64_1x1x1_8_nt_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma64x128<bf16>, Nt>>;
    falchion_wgmma_s64x16gemm_bf16_64x128x64_1x1x1_8_nn_cooperative: SpecializedGemm<DefaultSpecialized<Wgmma64x128<bf16>, Nn>>;
}
