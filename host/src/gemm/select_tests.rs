//! Selection on a made-up catalogue: two tiles, widths 8, 2 and 1 in f16, all orders; and the three tiles of `wgmma`.

use super::*;
use crate::gemm::testing::{device, tiled, wgmma};
use crate::{ElementKind, Gemm, Order, f16};
use Order::{ColumnMajor, RowMajor};

fn catalogue() -> Vec<Candidate> {
    let mut kernels = Vec::new();
    for tile in [64, 128] {
        for a in [RowMajor, ColumnMajor] {
            for b in [RowMajor, ColumnMajor] {
                for alignment in [1, 2, 8] {
                    let name = format!("f16_{tile}_{}{}_{alignment}", a.letter(), b.letter());
                    kernels.push(tiled(name.leak(), ElementKind::F16, tile, [a, b], alignment));
                }
            }
        }
    }
    kernels
}

fn chosen(catalogue: &[Candidate], gemm: &Gemm<f16>, device: &DeviceInfo) -> Vec<&'static str> {
    let problem = gemm.problem().unwrap().oriented();
    let ranked = ranked(catalogue, &problem, device);
    best_of_each_alignment(&ranked, &problem).iter().map(|candidate| candidate.name).collect()
}

fn plan(gemm: &Gemm<f16>) -> Vec<&'static str> {
    chosen(&catalogue(), gemm, &device())
}

/// Microseconds with tiles of 64 × 64 and 128 × 128 on an H200, k = 2048 unless said otherwise.
const MEASURED: [(OpClass, [u64; 2], [f64; 2]); 24] = [
    (OpClass::TensorOp, [4096, 4096], [536.4, 302.8]), // k = 4096
    (OpClass::TensorOp, [8192, 8192], [509.0, 334.7]), // k = 1024
    (OpClass::TensorOp, [2048, 2048], [65.5, 41.2]),
    (OpClass::TensorOp, [1536, 1408], [34.4, 25.0]),
    (OpClass::TensorOp, [1536, 1536], [43.5, 41.4]),
    (OpClass::TensorOp, [1664, 1664], [51.2, 41.4]),
    (OpClass::TensorOp, [1024, 1024], [38.3, 42.8]), // k = 4096
    (OpClass::TensorOp, [3072, 3072], [142.4, 102.6]),
    (OpClass::TensorOp, [1536, 2816], [66.1, 41.7]),
    (OpClass::TensorOp, [2048, 2176], [73.7, 62.6]),
    (OpClass::TensorOp, [256, 8192], [35.4, 27.3]),
    (OpClass::TensorOp, [768, 768], [21.3, 24.5]),
    (OpClass::Simt, [4096, 4096], [4140.0, 3115.3]), // k = 4096
    (OpClass::Simt, [8192, 8192], [4060.0, 3139.7]), // k = 1024
    (OpClass::Simt, [2048, 2048], [533.5, 399.8]),
    (OpClass::Simt, [1536, 1408], [270.9, 218.2]),
    (OpClass::Simt, [1536, 1536], [340.0, 400.9]),
    (OpClass::Simt, [1664, 1664], [416.4, 398.5]),
    (OpClass::Simt, [1024, 1024], [286.5, 453.6]), // k = 4096
    (OpClass::Simt, [3072, 3072], [1181.9, 989.2]),
    (OpClass::Simt, [1536, 2816], [532.8, 399.8]),
    (OpClass::Simt, [2048, 2176], [593.3, 607.9]),
    (OpClass::Simt, [256, 8192], [268.4, 237.2]),
    (OpClass::Simt, [768, 768], [143.5, 212.9]),
];

#[test]
fn the_chosen_tile_is_never_more_than_three_percent_slower_than_the_other() {
    for (op_class, [m, n], [small, large]) in MEASURED {
        let mut candidates = catalogue();
        candidates.iter_mut().for_each(|candidate| candidate.gemm.op_class = op_class as u32);
        let problem = Gemm::<f16>::new(m, n, 2048).problem().unwrap();
        let chosen = ranked(&candidates, &problem.oriented(), &device())[0];
        let time = if chosen.gemm.tile[0] == 64 { small } else { large };
        assert!(time <= 1.03 * small.min(large), "{op_class:?} {m} × {n}: {}", chosen.name);
    }
}

#[test]
fn the_narrower_widths_follow_the_widest_that_layout_and_extents_allow() {
    assert_eq!(plan(&Gemm::new(64, 64, 64)), ["f16_64_tt_8", "f16_64_tt_2", "f16_64_tt_1"]);
    assert_eq!(plan(&Gemm::new(64, 64, 62)), ["f16_64_tt_2", "f16_64_tt_1"]);
    assert_eq!(plan(&Gemm::new(64, 63, 64)), ["f16_64_tt_1"]);
    assert_eq!(plan(&Gemm::new(64, 64, 64).a((RowMajor, 65))), ["f16_64_tt_1"]);
    // M is contiguous in neither factor, so it may be odd; in a column-major A it may not.
    assert_eq!(plan(&Gemm::new(63, 64, 64))[0], "f16_64_tt_8");
    assert_eq!(plan(&Gemm::new(63, 64, 64).a(ColumnMajor)), ["f16_64_nt_1"]);
}

#[test]
fn every_order_of_the_factors_and_the_output_has_a_kernel() {
    for a in [RowMajor, ColumnMajor] {
        for b in [RowMajor, ColumnMajor] {
            assert_eq!(plan(&Gemm::new(64, 64, 64).a(a).b(b))[0], format!("f16_64_{}{}_8", a.letter(), b.letter()));
            let exchanged = format!("f16_64_{}{}_8", b.transposed().letter(), a.transposed().letter());
            assert_eq!(plan(&Gemm::new(64, 64, 64).a(a).b(b).d(ColumnMajor))[0], exchanged);
        }
    }
}

#[test]
fn empty_problems_have_a_kernel() {
    for extents in [[0, 64, 64], [64, 0, 64], [64, 64, 0], [0, 0, 0]] {
        let gemm = Gemm::<f16>::new(extents[0], extents[1], extents[2]);
        assert_eq!(plan(&gemm).len(), 3, "{extents:?}");
        assert_eq!(catalogue()[0].tiles(&gemm.problem().unwrap().oriented()), [1, 1]);
    }
}

/// What a kernel chosen by name says of a problem.
fn refusal(candidate: &Candidate, gemm: &Gemm<f16>, device: &DeviceInfo) -> String {
    candidate.serves(&gemm.problem().unwrap().oriented(), device).unwrap_err().to_string()
}

#[test]
fn refusals_name_operand_required_and_actual() {
    let wide = tiled("wide", ElementKind::F16, 64, [RowMajor, ColumnMajor], 8);
    let gemm = || Gemm::<f16>::new(64, 64, 64).b(ColumnMajor);
    let prefix = "kernel `wide` cannot serve this problem: ";
    for (problem, expected) in [
        (gemm().a(ColumnMajor), "a has order column-major, the kernel requires row-major"),
        (gemm().b(RowMajor), "b has order row-major, the kernel requires column-major"),
        (gemm().a((RowMajor, 65)), "a has leading dimension 65, the kernel requires a multiple of 8"),
        (
            Gemm::new(64, 64, 60).b((ColumnMajor, 64)).a((RowMajor, 64)),
            "a has contiguous extent 60, the kernel requires a multiple of 8",
        ),
        // Exchanged: the kernel's A is the caller's B, and both are seen as their transposes.
        (
            gemm().b((ColumnMajor, 65)).a(RowMajor).d(ColumnMajor),
            "b has leading dimension 65, the kernel requires a multiple of 8",
        ),
        (gemm().b(RowMajor).d(ColumnMajor), "b has order row-major, the kernel requires column-major"),
    ] {
        assert_eq!(refusal(&wide, &problem, &device()), format!("{prefix}{expected}"));
    }
    let single = tiled("single", ElementKind::F32, 64, [RowMajor, ColumnMajor], 1);
    let expected = "kernel `single` cannot serve this problem: a has element type f16, the kernel requires f32";
    assert_eq!(refusal(&single, &gemm(), &device()), expected);
}

#[test]
fn a_kernel_for_another_device_is_refused_with_both_named() {
    let mut hopper = tiled("hopper", ElementKind::F16, 64, [RowMajor, RowMajor], 8);
    hopper.gemm.header.arch = 90;
    hopper.gemm.header.arch_specific = 1;
    let gemm = Gemm::new(64, 64, 64);
    for compute_capability in [80, 89, 100] {
        let device = DeviceInfo { compute_capability, ..device() };
        let (major, minor) = (compute_capability / 10, compute_capability % 10);
        let expected =
            format!("kernel `hopper` needs sm_90a, the device is cuda of compute capability {major}.{minor}");
        assert_eq!(refusal(&hopper, &gemm, &device), expected);
    }
    assert!(hopper.serves(&gemm.problem().unwrap().oriented(), &device()).is_ok());
    let small = DeviceInfo { max_dynamic_shared_bytes: 47 * 1024, ..device() };
    let expected = "kernel `hopper` needs 49152 bytes of dynamic shared memory, a block has at most 48128";
    assert_eq!(refusal(&hopper, &gemm, &small), expected);
}

#[test]
fn more_tiles_than_a_grid_has_blocks_are_refused() {
    let narrow = tiled("narrow", ElementKind::F16, 64, [RowMajor, RowMajor], 1);
    let huge = 1 << 30;
    let text = refusal(&narrow, &Gemm::new(huge, huge, 1), &device());
    assert!(text.starts_with("dimension m·n, in tiles, is 281474976710656"), "{text}");
}

/// All kernels for row-major A and column-major B.
fn hopper() -> Vec<Candidate> {
    let orders = [RowMajor, ColumnMajor];
    let mut kernels = catalogue();
    kernels.extend([
        wgmma("128x256", [128, 256], 2, orders),
        wgmma("128x128", [128, 128], 2, orders),
        wgmma("64x128", [64, 128], 1, orders),
    ]);
    kernels
}

fn packed(m: u64, n: u64, k: u64) -> Gemm<f16> {
    Gemm::new(m, n, k).b(ColumnMajor)
}

/// Microseconds with tiles of 128 × 256, 128 × 128 (in clusters of two) and 64 × 128 on an H200, for m, n and k.
const MEASURED_WGMMA: [([u64; 3], [f64; 3]); 25] = [
    ([4096, 4096, 4096], [172.2, 183.1, 215.5]),
    ([8192, 8192, 1024], [194.6, 200.4, 210.6]),
    ([8192, 8192, 8192], [1353.8, 1497.3, 1938.1]),
    ([2048, 2048, 2048], [28.5, 28.7, 29.5]),
    ([1536, 1408, 2048], [26.4, 15.3, 15.7]),
    ([1536, 1536, 2048], [25.0, 25.7, 23.9]),
    ([1664, 1664, 2048], [24.7, 25.1, 26.6]),
    ([1024, 1024, 4096], [42.0, 22.9, 14.4]),
    ([1024, 1024, 1024], [14.2, 8.8, 6.1]),
    ([3072, 3072, 2048], [69.8, 59.8, 56.0]),
    ([1536, 2816, 2048], [25.4, 25.4, 26.0]),
    ([2048, 2176, 2048], [46.1, 35.8, 31.7]),
    ([256, 8192, 2048], [24.7, 14.5, 14.7]),
    ([768, 768, 2048], [24.1, 13.6, 8.5]),
    ([512, 512, 2048], [23.5, 13.5, 8.3]),
    ([512, 512, 512], [9.4, 6.2, 4.5]),
    ([256, 256, 2048], [23.2, 13.0, 8.0]),
    ([128, 4096, 4096], [41.8, 22.9, 12.8]),
    ([2048, 1024, 2048], [23.5, 14.1, 14.4]),
    ([1280, 1280, 2048], [23.4, 13.7, 14.7]),
    ([4096, 1024, 4096], [45.8, 50.4, 51.9]),
    ([2560, 2560, 2048], [46.5, 47.3, 43.7]),
    ([6144, 4096, 2048], [136.1, 143.0, 145.3]),
    ([64, 8192, 4096], [44.3, 38.1, 21.4]),
    ([4096, 512, 4096], [43.4, 25.9, 26.4]),
];

#[test]
fn the_chosen_wgmma_tile_is_within_a_hundredth_of_the_fastest_but_once() {
    let mut slower = 0;
    for ([m, n, k], times) in MEASURED_WGMMA {
        let name = chosen(&hopper(), &packed(m, n, k), &device())[0];
        let tile = ["128x256", "128x128", "64x128"].iter().position(|tile| *tile == name).unwrap();
        let loss = times[tile] / times.into_iter().fold(f64::INFINITY, f64::min);
        assert!(loss < 1.08, "{m} × {n} × {k}: {name} takes {loss} of the best time");
        slower += u32::from(loss > 1.01);
    }
    assert!(slower <= 1);
}

#[test]
fn hopper_multiplies_by_wgmma_with_the_tile_whose_waves_take_least_time() {
    for ([m, n], expected) in [
        // Many waves: the tile that moves the fewest bytes.
        ([4096, 4096], "128x256"),
        ([8192, 8192], "128x256"),
        ([16384, 16384], "128x256"),
        // 64 of 66 clusters in one wave.
        ([2048, 2048], "128x256"),
        // Large tiles would leave three of four multiprocessors idle, small ones are 128 for 132.
        ([1024, 1024], "64x128"),
        ([512, 512], "64x128"),
        ([1, 8], "64x128"),
        // One wave of 64 clusters of 256 × 128 against half a wave, and against two.
        ([2048, 1024], "128x128"),
    ] {
        assert_eq!(chosen(&hopper(), &packed(m, n, 4096), &device())[0], expected, "{m} × {n}");
    }
}

#[test]
fn other_architectures_multiply_without_wgmma() {
    for compute_capability in [80, 89, 100] {
        let device = DeviceInfo { compute_capability, ..device() };
        assert_eq!(chosen(&hopper(), &packed(4096, 4096, 4096), &device)[0], "f16_128_tn_8");
    }
}

#[test]
fn what_the_copy_engine_cannot_address_takes_the_other_kernels() {
    let plan = |gemm: &Gemm<f16>| chosen(&hopper(), gemm, &device());
    let others = ["f16_64_tn_8", "f16_64_tn_2", "f16_64_tn_1"];
    assert_eq!(plan(&packed(64, 64, 64)), ["64x128", others[0], others[1], others[2]]);
    // An empty sum.
    assert_eq!(plan(&packed(64, 64, 0)), others);
    // Leading dimensions of A, B and D.
    assert_eq!(plan(&packed(64, 64, 64).a((RowMajor, 66))), others[1..]);
    assert_eq!(plan(&packed(64, 64, 64).b((ColumnMajor, 65))), others[2..]);
    assert_eq!(plan(&packed(64, 64, 64).d((RowMajor, 68))), others);
    // Whether C is read is known when the plan is run.
    assert_eq!(plan(&packed(64, 64, 64).c((RowMajor, 67)))[0], "64x128");
    // M and k may be anything, as long as rows start at multiples of 16 bytes: here only 2-byte loads fit otherwise.
    let ragged = |n| packed(63, n, 67).a((RowMajor, 72)).b((ColumnMajor, 80)).d((RowMajor, 64));
    assert_eq!(plan(&ragged(56)), ["64x128", others[2]]);
    // Rows of D also end at such multiples.
    assert_eq!(plan(&ragged(57)), others[2..]);
    // A column-major output is the row-major output of the exchanged factors.
    let exchanged = |m| Gemm::new(m, 63, 64).a(RowMajor).b(ColumnMajor).d((ColumnMajor, 64));
    assert_eq!(plan(&exchanged(56))[0], "64x128");
    assert_eq!(plan(&exchanged(57))[0], others[0]);
}

#[test]
fn a_wgmma_kernel_says_what_the_copy_engine_requires() {
    let kernel = wgmma("128x256", [128, 256], 2, [RowMajor, ColumnMajor]);
    let prefix = "kernel `128x256` cannot serve this problem: ";
    for (problem, expected) in [
        (packed(64, 64, 0), "a has extent k 0, the kernel requires at least 1"),
        (packed(64, 64, 60), "a has leading dimension 60, the kernel requires a multiple of 8"),
        (packed(64, 60, 64), "d has leading dimension 60, the kernel requires a multiple of 8"),
        (packed(64, 60, 64).d((RowMajor, 64)), "d has contiguous extent 60, the kernel requires a multiple of 8"),
        (
            packed(64, 64, 64).b((ColumnMajor, 1 << 39)),
            "b has leading dimension 549755813888, the kernel requires at most 549755813880",
        ),
    ] {
        assert_eq!(refusal(&kernel, &problem, &device()), format!("{prefix}{expected}"));
    }
    let longest = packed(64, 64, 64).b((ColumnMajor, (1 << 39) - 8));
    assert!(kernel.serves(&longest.problem().unwrap().oriented(), &device()).is_ok());
    let mut damaged = kernel;
    damaged.gemm.params_bytes = 104;
    let expected = "kernel `128x256` is damaged: 104 bytes of parameters instead of 544; build it again";
    assert_eq!(refusal(&damaged, &packed(64, 64, 64), &device()), expected);
}
