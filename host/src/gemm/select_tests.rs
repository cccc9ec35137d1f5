//! Selection on a made-up catalogue: two tiles, widths 8, 2 and 1 in f16, all orders.

use super::*;
use crate::{CudaVersion, DeviceKind, Gemm, f16};
use Order::{ColumnMajor, RowMajor};
use falchion_device::kernel::{Header, KIND_GEMM, OpClass};

fn device() -> DeviceInfo {
    DeviceInfo {
        kind: DeviceKind::Cuda,
        name: "test".to_owned(),
        compute_capability: 90,
        multiprocessors: 132,
        l2_bytes: 50 << 20,
        memory_bytes: 1 << 36,
        driver: Some(CudaVersion { major: 13, minor: 0 }),
        max_dynamic_shared_bytes: 227 * 1024,
    }
}

fn kernel(name: &'static str, element: ElementKind, tile: u32, orders: [Order; 2], alignment: u32) -> Candidate {
    let mut header = Header::new(128, 48 * 1024);
    header.words = GemmDescription::WORDS as u32;
    header.kind = KIND_GEMM;
    let gemm = GemmDescription {
        header,
        tile: [tile, tile, 32],
        stages: 4,
        elements: [element as u32, element as u32, element as u32, ElementKind::F32 as u32],
        orders: orders.map(|order| order as u32),
        alignment: [alignment; 2],
        op_class: OpClass::TensorOp as u32,
        warps: [2, 2],
        params_bytes: size_of::<StockParams>() as u32,
    };
    Candidate { name, gemm, index: 0 }
}

fn catalogue() -> Vec<Candidate> {
    let mut kernels = Vec::new();
    for tile in [64, 128] {
        for a in [RowMajor, ColumnMajor] {
            for b in [RowMajor, ColumnMajor] {
                for alignment in [1, 2, 8] {
                    let name = format!("f16_{tile}_{}{}_{alignment}", a.letter(), b.letter());
                    kernels.push(kernel(name.leak(), ElementKind::F16, tile, [a, b], alignment));
                }
            }
        }
    }
    kernels
}

fn plan(gemm: &Gemm<f16>) -> Vec<&'static str> {
    let problem = gemm.problem().unwrap();
    let ranked = ranked(&catalogue(), &problem.oriented(), problem.element(), &device());
    best_of_each_width(&ranked).iter().map(|candidate| candidate.name).collect()
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
        let chosen = ranked(&candidates, &problem.oriented(), problem.element(), &device())[0];
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
fn empty_problems_have_a_kernel_and_a_raster() {
    for extents in [[0, 64, 64], [64, 0, 64], [64, 64, 0], [0, 0, 0]] {
        let gemm = Gemm::<f16>::new(extents[0], extents[1], extents[2]);
        assert_eq!(plan(&gemm).len(), 3, "{extents:?}");
        let raster = catalogue()[0].raster(&gemm.problem().unwrap().oriented(), &device());
        assert!(raster.tiles_m.get() == 1 && raster.tiles_n.get() == 1);
    }
}

/// What a kernel chosen by name says of a problem.
fn refusal(candidate: &Candidate, gemm: &Gemm<f16>, device: &DeviceInfo) -> String {
    let problem = gemm.problem().unwrap();
    candidate.serves(&problem.oriented(), problem.element(), device).unwrap_err().to_string()
}

#[test]
fn refusals_name_operand_required_and_actual() {
    let wide = kernel("wide", ElementKind::F16, 64, [RowMajor, ColumnMajor], 8);
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
    let single = kernel("single", ElementKind::F32, 64, [RowMajor, ColumnMajor], 1);
    let expected = "kernel `single` cannot serve this problem: a has element type f16, the kernel requires f32";
    assert_eq!(refusal(&single, &gemm(), &device()), expected);
}

#[test]
fn a_kernel_for_another_device_is_refused_with_both_named() {
    let mut hopper = kernel("hopper", ElementKind::F16, 64, [RowMajor, RowMajor], 8);
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
    let problem = gemm.problem().unwrap();
    assert!(hopper.serves(&problem.oriented(), ElementKind::F16, &device()).is_ok());
    let small = DeviceInfo { max_dynamic_shared_bytes: 47 * 1024, ..device() };
    let expected = "kernel `hopper` needs 49152 bytes of dynamic shared memory, a block has at most 48128";
    assert_eq!(refusal(&hopper, &gemm, &small), expected);
}

#[test]
fn more_tiles_than_a_grid_has_blocks_are_refused() {
    let narrow = kernel("narrow", ElementKind::F16, 64, [RowMajor, RowMajor], 1);
    let huge = 1 << 30;
    let text = refusal(&narrow, &Gemm::new(huge, huge, 1), &device());
    assert!(text.starts_with("dimension m·n, in tiles, is 281474976710656"), "{text}");
}

#[test]
fn vectors_of_the_output_need_address_row_length_and_leading_dimension() {
    let layout = |columns, leading_dimension| OperandLayout { rows: 5, columns, order: RowMajor, leading_dimension };
    let (even, odd_columns, odd_stride) = (layout(64, 72), layout(63, 72), layout(64, 71));
    assert_eq!(output_alignment((&even, 512), None, 2), 8);
    assert_eq!(output_alignment((&even, 512), None, 4), 4);
    assert_eq!(output_alignment((&even, 520), None, 2), 1);
    assert_eq!(output_alignment((&odd_columns, 512), None, 2), 1);
    assert_eq!(output_alignment((&odd_stride, 512), None, 2), 1);
    assert_eq!(output_alignment((&even, 512), Some((&even, 528)), 2), 8);
    assert_eq!(output_alignment((&even, 512), Some((&even, 514)), 2), 1);
    assert_eq!(output_alignment((&even, 512), Some((&odd_stride, 528)), 2), 1);
}

#[test]
fn a_raster_group_minimises_what_a_wave_reads() {
    // A square wave of 132 blocks is about 11 × 12: the largest group wins.
    assert_eq!(raster_group([64, 64], [128, 128], 132), 8);
    // With few columns a wave covers all of B whatever the group.
    assert_eq!(raster_group([64, 1], [128, 128], 132), 1);
    assert_eq!(raster_group([3, 64], [128, 128], 132), 3);
    assert_eq!(raster_group([1, 1], [128, 128], 132), 1);
    // Tall tiles make rows dear: fewer of them.
    assert!(raster_group([64, 64], [1024, 64], 132) < 8);
}
