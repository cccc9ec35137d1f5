//! Clusters, mbarriers and bulk copies, in small kernels.

use super::common::{Run, module, text};
use falchion_sim::{
    Awaited, Fault, FaultKind, Launch, LaunchError, MbarrierProblem, Module, Settings, Simulator, Space, TensorElement,
    TensorMap, TensorSwizzle,
};

/// A module whose kernel runs in clusters of two blocks.
fn cluster(params: &[&str], body: &str) -> Module {
    let clustered = text(params, body).replacen(")\n{", ")\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{", 1);
    Module::parse(&clustered).unwrap()
}

fn seeded(seed: u64) -> Run {
    let mut settings = Settings::default();
    settings.seed = seed;
    Run { device: Simulator::new(settings) }
}

fn pair() -> Launch {
    Launch::new([2, 1, 1], [32, 1, 1]).dynamic_shared(4096)
}

fn cluster_faults(kernel: &Module) -> Vec<FaultKind> {
    (1..=10)
        .map(|seed| {
            let run = seeded(seed);
            match run.launch(kernel, pair(), &[run.empty(256)]) {
                Err(LaunchError::Fault(fault)) => fault.kind,
                other => panic!("a fault was planted, the launch gave {other:?}"),
            }
        })
        .collect()
}

const SYNC: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

/// Each thread writes its number + 100 rank, then reads what its neighbour in the other block wrote.
fn exchange(before: &str, after: &str) -> Module {
    cluster(
        &["out"],
        &format!(
            "ld.param.b64 %rd1, [out];
             mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.b32 %r3, dynamic;
             shl.b32 %r4, %r1, 2; add.s32 %r5, %r3, %r4;
             mad.lo.s32 %r6, %r2, 100, %r1;
             st.shared.b32 [%r5], %r6;
             {before}
             xor.b32 %r7, %r2, 1;
             mapa.shared::cluster.u32 %r8, %r5, %r7;
             ld.shared::cluster.b32 %r9, [%r8];
             getctarank.shared::cluster.u32 %r10, %r8;
             mov.u32 %r11, %cluster_nctarank;
             mad.lo.s32 %r9, %r10, 1000, %r9;
             mad.lo.s32 %r9, %r11, 10000, %r9;
             shl.b32 %r12, %r2, 7; add.s32 %r12, %r12, %r4;
             cvt.u64.u32 %rd2, %r12; add.s64 %rd3, %rd1, %rd2;
             st.global.b32 [%rd3], %r9;
             {after}
             ret;"
        ),
    )
}

#[test]
fn blocks_of_a_cluster_read_each_other() {
    let run = Run::new();
    let out = run.empty(256);
    run.launch(&exchange(SYNC, SYNC), pair(), &[out]).unwrap();
    let expected: Vec<u32> = (0..64).map(|i| 20000 + (1 - i / 32) * 1100 + i % 32).collect();
    assert_eq!(run.read(out, 64), expected);
}

#[test]
fn reading_another_block_too_early_is_caught() {
    for kind in cluster_faults(&exchange("", SYNC)) {
        let early = matches!(kind, FaultKind::Uninitialised { .. } | FaultKind::Race { space: Space::Shared, .. });
        assert!(early, "{kind}");
    }
}

#[test]
fn a_block_that_leaves_while_it_may_be_read_is_caught_in_every_order() {
    for kind in cluster_faults(&exchange(SYNC, "")) {
        assert!(matches!(kind, FaultKind::LeftCluster { .. }), "{kind}");
    }
}

#[test]
fn atomics_and_generic_addresses_reach_the_other_block() {
    let kernel = cluster(
        &["out"],
        &format!(
            "ld.param.b64 %rd1, [out];
             mov.u32 %r2, %cluster_ctarank; mov.b32 %r3, dynamic; mov.u32 %r1, %tid.x;
             setp.eq.u32 %p1, %r1, 0;
             @%p1 st.shared.b32 [%r3], 7;
             {SYNC}
             cvt.u64.u32 %rd2, %r3; cvta.shared.u64 %rd3, %rd2;
             mapa.u64 %rd4, %rd3, 0;
             atom.add.u32 %r4, [%rd4], 1;
             {SYNC}
             ld.b32 %r5, [%rd4];
             shl.b32 %r6, %r2, 2; cvt.u64.u32 %rd5, %r6; add.s64 %rd6, %rd1, %rd5;
             @%p1 st.global.b32 [%rd6], %r5;
             {SYNC}
             ret;"
        ),
    );
    let run = Run::new();
    let out = run.empty(8);
    run.launch(&kernel, pair(), &[out]).unwrap();
    assert_eq!(run.read(out, 2), [71, 71]);
}

/// `%r2` is dynamic shared memory, `%r1` the thread, `%p1` whether it is the first.
const START: &str = "mov.u32 %r1, %tid.x; mov.b32 %r2, dynamic; setp.eq.u32 %p1, %r1, 0;\n";

fn small(body: &str) -> Module {
    module(&["data"], &format!("ld.param.b64 %rd1, [data];\n{START}{body}\nret;"))
}

fn problem_of(body: &str) -> MbarrierProblem {
    match Run::new().fault(&small(body), 64, &[0]).kind {
        FaultKind::Mbarrier { problem, .. } => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn phases_complete_when_all_have_arrived_and_order_what_came_before() {
    let kernel = small(
        "@%p1 mbarrier.init.shared::cta.b64 [%r2], 64;
         barrier.sync.aligned 0;
         shl.b32 %r3, %r1, 2; add.s32 %r4, %r2, %r3; xor.b32 %r5, %r3, 128; add.s32 %r5, %r5, %r2;
         st.shared.b32 [%r4+64], %r1;
         mbarrier.arrive.shared::cta.b64 %rd2, [%r2];
         $wait: mbarrier.test_wait.shared::cta.b64 %p2, [%r2], %rd2; @!%p2 bra $wait;
         ld.shared.b32 %r6, [%r5+64];
         mbarrier.arrive.release.cta.shared::cta.b64 _, [%r2], 1;
         $more: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2], 1; @!%p2 bra $more;
         st.shared.b32 [%r5+64], %r6;
         cvt.u64.u32 %rd3, %r3; add.s64 %rd4, %rd1, %rd3; st.global.b32 [%rd4], %r6;",
    );
    for seed in 1..=10 {
        let run = seeded(seed);
        let out = run.empty(256);
        run.block(&kernel, 64, &[out]).unwrap();
        assert_eq!(run.read(out, 64), (0..64).map(|i| i ^ 32).collect::<Vec<_>>());
    }
}

#[test]
fn misused_mbarriers_are_caught() {
    let init = "@%p1 mbarrier.init.shared::cta.b64 [%r2], 64; barrier.sync.aligned 0;";
    assert_eq!(problem_of("mbarrier.arrive.shared::cta.b64 _, [%r2];"), MbarrierProblem::Uninitialised);
    assert_eq!(problem_of(&format!("{init} @%p1 st.shared.b32 [%r2+4], 1;")), MbarrierProblem::Accessed);
    assert_eq!(
        problem_of(&format!("{init} @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;")),
        MbarrierProblem::Initialised
    );
    assert_eq!(problem_of("@%p1 mbarrier.init.shared::cta.b64 [%r2], 0;"), MbarrierProblem::Count { count: 0 });
    assert_eq!(
        problem_of(&format!("{init} @%p1 mbarrier.arrive.shared::cta.b64 _, [%r2], 65;")),
        MbarrierProblem::Arrivals { pending: 64, arriving: 65 }
    );
    assert_eq!(
        problem_of(&format!("{init} @%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 1048576;")),
        MbarrierProblem::Transactions { count: 1_048_576 }
    );
    let gone = format!("{init} @%p1 mbarrier.inval.shared::cta.b64 [%r2]; barrier.sync.aligned 0;");
    assert_eq!(
        problem_of(&format!("{gone} mbarrier.arrive.shared::cta.b64 _, [%r2];")),
        MbarrierProblem::Uninitialised
    );
}

#[test]
fn memory_of_an_invalidated_mbarrier_is_plain_again() {
    let kernel = small(
        "@%p1 mbarrier.init.shared::cta.b64 [%r2], 64;
         @%p1 mbarrier.inval.shared::cta.b64 [%r2];
         @%p1 st.shared.b32 [%r2], 5;",
    );
    Run::new().block(&kernel, 64, &[0]).unwrap();
}

#[test]
fn an_mbarrier_used_before_its_initialisation_is_ordered_is_caught() {
    for seed in 1..=10 {
        let fault = seeded(seed).fault(
            &small("@%p1 mbarrier.init.shared::cta.b64 [%r2], 64; mbarrier.arrive.shared::cta.b64 _, [%r2];"),
            64,
            &[0],
        );
        let found = matches!(
            fault.kind,
            FaultKind::Race { .. } | FaultKind::Mbarrier { problem: MbarrierProblem::Uninitialised, .. }
        );
        assert!(found, "{fault}");
    }
}

#[test]
fn a_spin_that_nothing_can_end_is_a_deadlock_that_names_the_barrier() {
    for wait in ["test_wait", "try_wait"] {
        let kernel = small(&format!(
            "@%p1 mbarrier.init.shared::cta.b64 [%r2], 65;
             barrier.sync.aligned 0;
             mbarrier.arrive.shared::cta.b64 _, [%r2];
             $wait: mbarrier.{wait}.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra $wait;"
        ));
        let fault = Run::new().fault(&kernel, 64, &[0]);
        let FaultKind::Deadlock { waiting } = &fault.kind else { panic!("{fault}") };
        assert_eq!(waiting.len(), 2);
        for w in waiting {
            assert_eq!(w.at, Awaited::Mbarrier { address: 1024, rank: 0, transactions: 0 });
            assert_eq!((w.arrived, w.expected), (64, 65));
        }
    }
}

#[test]
fn a_wait_that_fails_lets_the_warp_do_what_ends_it() {
    let kernel = small(
        "@%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
         barrier.sync.aligned 0;
         mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
         @%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];
         $wait: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra $wait;",
    );
    for seed in 1..=10 {
        seeded(seed).block(&kernel, 32, &[0]).unwrap();
    }
}

/// Runs a kernel with a tensor map as its first parameter and the address of a buffer as its second.
fn tensor(map: &TensorMap, run: &Run, out: u64, body: &str) -> Result<(), LaunchError> {
    let text = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dynamic[];\n\
         .visible .entry k(.param .align 64 .b8 map[128], .param .u64 data)\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n\
         mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2; ld.param.b64 %rd1, [data];\n{START}\n\
         @%p1 mbarrier.init.shared::cta.b64 [%r2+4096], 1;\nfence.mbarrier_init.release.cluster; barrier.sync.aligned 0; add.s32 %r3, %r2, 4096;\n{body}\nret;\n}}\n"
    );
    let map: Vec<u8> = map.encode().unwrap().into_iter().flat_map(u64::to_le_bytes).collect();
    let launch = Launch::new([1, 1, 1], [32, 1, 1]).dynamic_shared(8192);
    run.device.launch(&Module::parse(&text).unwrap(), "k", &launch, &[&map, &out.to_le_bytes()]).map(|_| ())
}

fn fault_of(result: Result<(), LaunchError>) -> Fault {
    match result {
        Err(LaunchError::Fault(fault)) => *fault,
        other => panic!("a fault was planted, the launch gave {other:?}"),
    }
}

const WAIT: &str = "$w: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra $w;";

/// Each thread sends word `tid + 32 i` of shared memory to `data`.
fn dump(words: usize) -> String {
    (0..words / 32)
        .map(|i| {
            let at = i * 128;
            format!(
                "shl.b32 %r4, %r1, 2; add.s32 %r5, %r4, %r2; ld.shared.b32 %r6, [%r5+{at}];
                 cvt.u64.u32 %rd4, %r4; add.s64 %rd5, %rd1, %rd4; st.global.b32 [%rd5+{at}], %r6;\n"
            )
        })
        .collect()
}

#[test]
fn a_box_of_a_three_dimensional_tensor_is_clipped_strided_and_filled() {
    let run = Run::new();
    // 10 × 6 × 4 words in rows of 12.
    let data: Vec<u32> = (0..12 * 6 * 4).map(|i| if i % 12 < 10 { i as u32 } else { 9999 }).collect();
    let (source, out) = (run.words(&data), run.empty(512));
    let mut map = TensorMap::new(TensorElement::U32, source, &[10, 6, 4], &[48, 288], &[8, 8, 4]);
    map.element_strides = vec![1, 2, 1];
    map.swizzle = TensorSwizzle::B32;
    let body = format!(
        "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512;
         @%p1 cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd2, {{4, -1, 2}}], [%r3];
         {WAIT}{}",
        dump(128)
    );
    tensor(&map, &run, out, &body).unwrap();
    let expected: Vec<u32> = (0..128)
        .map(|word| {
            // A row has two units; the swizzle exchanges them in every other 128 bytes.
            let word = word ^ ((word / 32 % 2) * 4);
            let (x, y, z) = (4 + word % 8, word / 8 % 4 * 2, 2 + word / 32);
            let y = y as i32 - 1;
            if x < 10 && (0..6).contains(&y) && z < 4 { (z * 72 + y as usize * 12 + x) as u32 } else { 0 }
        })
        .collect();
    assert_eq!(run.read(out, 128), expected);
}

#[test]
fn outside_the_tensor_is_nan_when_asked_for() {
    let run = Run::new();
    let (source, out) = (run.words(&[1f32.to_bits(); 8]), run.empty(128));
    let mut map = TensorMap::new(TensorElement::F32, source, &[8], &[], &[32]);
    map.nan_fill = true;
    let body = format!(
        "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;
         @%p1 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2, {{-4}}], [%r3];
         {WAIT}{}",
        dump(32)
    );
    tensor(&map, &run, out, &body).unwrap();
    for (at, word) in run.read(out, 32).into_iter().enumerate() {
        let value = f32::from_bits(word);
        assert!(if (4..12).contains(&at) { value == 1.0 } else { value.is_nan() }, "{at}: {value}");
    }
}

#[test]
fn a_reduction_adds_to_what_is_there() {
    let run = Run::new();
    let out = run.words(&[2.5f32.to_bits(); 40]);
    let map = TensorMap::new(TensorElement::F32, out, &[30], &[], &[32]);
    let body = "cvt.rn.f32.u32 %r8, %r1; shl.b32 %r4, %r1, 2; add.s32 %r5, %r4, %r2; st.shared.b32 [%r5], %r8;
         fence.proxy.async.shared::cta; barrier.sync.aligned 0;
         @%p1 cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd2, {0}], [%r2];
         @%p1 cp.async.bulk.commit_group;
         @%p1 cp.async.bulk.wait_group 0;";
    tensor(&map, &run, 0, body).unwrap();
    for (at, word) in run.read(out, 40).into_iter().enumerate() {
        assert_eq!(f32::from_bits(word), if at < 30 { 2.5 + at as f32 } else { 2.5 });
    }
}

/// On an H200 such a store overwrote what followed the row.
#[test]
fn a_store_of_a_row_that_ends_inside_a_unit_of_16_bytes_is_caught() {
    let run = Run::new();
    let out = run.words(&[0; 40]);
    let body = "shl.b32 %r4, %r1, 2; add.s32 %r5, %r4, %r2; st.shared.b32 [%r5], %r1;
         fence.proxy.async.shared::cta; barrier.sync.aligned 0;
         @%p1 cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd2, {0}], [%r2];
         @%p1 cp.async.bulk.commit_group;
         @%p1 cp.async.bulk.wait_group 0;";
    let row = |words| TensorMap::new(TensorElement::F32, out, &[words], &[], &[32]);
    let fault = fault_of(tensor(&row(30), &run, 0, body));
    assert!(matches!(fault.kind, FaultKind::PartialUnit { bytes: 8, .. }), "{fault}");
    tensor(&row(28), &run, 0, body).unwrap();
    let expected: Vec<u32> = (0..40).map(|at| if at < 28 { at } else { 0 }).collect();
    assert_eq!(run.read(out, 40), expected);
}

#[test]
fn bytes_travel_there_and_back_without_a_tensor_map() {
    let run = Run::new();
    let data: Vec<u32> = (0..64).collect();
    let buffer = run.words(&[data.clone(), vec![0; 64]].concat());
    let map = TensorMap::new(TensorElement::U32, buffer, &[64], &[], &[32]);
    let body = format!(
        "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;
         @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 256, [%r3];
         {WAIT}
         @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1+256], [%r2], 256;
         @%p1 cp.async.bulk.commit_group;
         @%p1 cp.async.bulk.wait_group.read 0;"
    );
    tensor(&map, &run, buffer, &body).unwrap();
    assert_eq!(run.read(buffer, 128), [data.clone(), data].concat());
}

#[test]
fn misplaced_boxes_and_maps_are_caught() {
    let run = Run::new();
    let source = run.words(&[0; 64]);
    let map = TensorMap::new(TensorElement::U32, source, &[64], &[], &[32]);
    let load = |to: &str, map: &str, rank: u32| {
        let at = vec!["0"; rank as usize].join(", ");
        format!(
            "add.s64 %rd3, %rd2, 32; add.s32 %r9, %r2, 16;
             @%p1 cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [{map}, {{{at}}}], [%r3];"
        )
    };
    let kind = |body: String| fault_of(tensor(&map, &run, 0, &body)).kind;
    let found = kind(load("%r9", "%rd2", 1));
    assert!(matches!(found, FaultKind::Misaligned { space: Space::Shared, required: 128, .. }), "{found}");
    let found = kind(load("%r2", "%rd3", 1));
    assert!(matches!(found, FaultKind::Misaligned { space: Space::Parameter, required: 64, .. }), "{found}");
    let found = kind(load("%r2", "%rd2", 2));
    assert!(matches!(found, FaultKind::TensorMap { .. }), "{found}");
    // The box lands on the barrier.
    let found = kind(load("%r3", "%rd2", 1));
    assert!(matches!(found, FaultKind::Mbarrier { problem: MbarrierProblem::Accessed, .. }), "{found}");
}

#[test]
fn registers_of_the_pool_cannot_be_conjured() {
    let kernel = small("setmaxnreg.dec.sync.aligned.u32 256;");
    let kind = Run::new().fault(&kernel, 64, &[0]).kind;
    assert_eq!(kind, FaultKind::RegisterCount { current: 255, requested: 256 });
}
