//! Every kind of fault, planted and caught.

use super::common::{Run, module, text};
use falchion_sim::{Awaited, FaultKind, Launch, LaunchError, Module, Settings, Simulator, Space};

/// `%r1` thread, `%r2` its word in dynamic shared memory, `%r3` the word of the thread one warp on.
const SHARED_WORDS: &str = "mov.u32 %r1, %tid.x;
    mov.b32 %r4, dynamic;
    shl.b32 %r5, %r1, 2;
    add.s32 %r2, %r4, %r5;
    xor.b32 %r6, %r5, 128;
    add.s32 %r3, %r4, %r6;\n";

fn shared(body: &str) -> Module {
    module(&["data"], &format!("{SHARED_WORDS}{body}\nret;"))
}

/// All orders of two warps that 20 seeds give.
fn faults_of(kernel: &Module) -> Vec<FaultKind> {
    (1..=20)
        .map(|seed| {
            let mut settings = Settings::default();
            settings.seed = seed;
            let run = Run { device: Simulator::new(settings) };
            run.fault(kernel, 64, &[0]).kind
        })
        .collect()
}

#[test]
fn a_missing_barrier_between_write_and_read_is_a_race_in_every_order() {
    let kernel = shared(
        "st.shared.b32 [%r2], 0;
         barrier.sync.aligned 0;
         st.shared.b32 [%r2], %r1;
         ld.shared.b32 %r7, [%r3];",
    );
    for kind in faults_of(&kernel) {
        assert!(matches!(kind, FaultKind::Race { space: Space::Shared, .. }), "{kind}");
    }
}

#[test]
fn a_missing_barrier_between_read_and_write_is_a_race_in_every_order() {
    let kernel = shared(
        "st.shared.b32 [%r2], 0;
         barrier.sync.aligned 0;
         ld.shared.b32 %r7, [%r3];
         st.shared.b32 [%r2], %r1;",
    );
    for kind in faults_of(&kernel) {
        assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
    }
}

#[test]
fn a_missing_barrier_before_the_first_read_is_a_race_or_an_uninitialised_read() {
    let kernel = shared("st.shared.b32 [%r2], %r1; ld.shared.b32 %r7, [%r3];");
    for kind in faults_of(&kernel) {
        assert!(matches!(kind, FaultKind::Race { .. } | FaultKind::Uninitialised { .. }), "{kind}");
    }
}

#[test]
fn the_barrier_makes_it_right() {
    let kernel = shared(
        "st.shared.b32 [%r2], %r1;
         barrier.sync.aligned 0;
         ld.shared.b32 %r7, [%r3];
         barrier.sync.aligned 0;
         st.shared.b32 [%r3], %r7;",
    );
    Run::new().block(&kernel, 64, &[0]).unwrap();
}

/// Thread pairs of two warps write the halves of one word.
#[test]
fn neighbours_in_one_word_are_no_race() {
    let kernel = shared(
        "shl.b32 %r5, %r1, 1;
         mad.lo.s32 %r5, %r1, 64, 0;
         and.b32 %r6, %r1, 31;
         shr.u32 %r7, %r1, 5;
         mad.lo.s32 %r8, %r6, 4, %r4;
         mad.lo.s32 %r8, %r7, 2, %r8;
         cvt.u16.u32 %rs1, %r1;
         st.shared.b16 [%r8], %rs1;
         ld.shared.b16 %rs2, [%r8];",
    );
    Run::new().block(&kernel, 64, &[0]).unwrap();
}

#[test]
fn a_flag_passed_by_atomics_orders_what_came_before() {
    let kernel = shared(
        "setp.ne.b32 %p1, %r1, 0;
         @%p1 bra $wait;
         st.shared.b32 [%r4+2048], 0;
         $wait:
         barrier.sync.aligned 0;
         setp.gt.u32 %p2, %r1, 31;
         @%p2 bra $consumer;
         st.shared.b32 [%r2], %r1;
         bar.warp.sync -1;
         setp.ne.b32 %p3, %r1, 0;
         @%p3 bra $end;
         atom.shared.exch.b32 %r7, [%r4+2048], 1;
         bra.uni $end;
         $consumer:
         atom.shared.or.b32 %r7, [%r4+2048], 0;
         setp.eq.b32 %p4, %r7, 0;
         @%p4 bra $consumer;
         ld.shared.b32 %r8, [%r3];
         $end:",
    );
    Run::new().block(&kernel, 64, &[0]).unwrap();
}

#[test]
fn an_off_by_one_predicate_is_out_of_bounds_and_names_the_thread() {
    let kernel = module(
        &["data", "n"],
        "ld.param.b64 %rd1, [data];
         ld.param.b32 %r2, [n];
         mov.u32 %r1, %tid.x;
         setp.gt.u32 %p1, %r1, %r2;
         mul.wide.u32 %rd2, %r1, 4;
         add.s64 %rd3, %rd1, %rd2;
         @!%p1 st.global.b32 [%rd3], %r1;
         ret;",
    );
    let run = Run::new();
    let data = run.empty(4 * 20);
    let fault = run.fault(&kernel, 64, &[data, 20]);
    assert_eq!(fault.thread, Some([20, 0, 0]));
    let nearest = Some((data, 80));
    let space = Space::Global;
    assert_eq!(fault.kind, FaultKind::OutOfBounds { space, address: data + 80, bytes: 4, nearest });
    let text = fault.to_string();
    assert!(text.contains("0 bytes past its end") && text.contains("thread (20, 0, 0)"), "{text}");
    assert!(text.contains("`@!%p1 st.global.b32 [%rd3], %r1`"), "{text}");
}

#[test]
fn a_misaligned_vector_load_is_caught() {
    let kernel = module(&["data"], "ld.param.b64 %rd1, [data]; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+8]; ret;");
    let run = Run::new();
    let data = run.words(&[0; 64]);
    let kind = run.fault(&kernel, 32, &[data]).kind;
    assert_eq!(kind, FaultKind::Misaligned { space: Space::Global, address: data + 8, required: 16 });
}

#[test]
fn reading_what_nothing_wrote_is_caught_in_every_space() {
    let run = Run::new();
    let data = run.empty(256);
    let bodies = [
        ("ld.param.b64 %rd1, [data]; ld.global.b32 %r1, [%rd1]; ret;", Space::Global),
        ("mov.b32 %r1, dynamic; ld.shared.b32 %r2, [%r1+64]; ret;", Space::Shared),
        (".local .align 4 .b8 depot[16]; mov.b64 %rd1, depot; ld.local.b32 %r2, [%rd1+4]; ret;", Space::Local),
    ];
    for (body, expected) in bodies {
        match run.fault(&module(&["data"], body), 32, &[data]).kind {
            FaultKind::Uninitialised { space, .. } => assert_eq!(space, expected),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn memory_that_was_freed_is_named_as_such() {
    let kernel = module(&["data"], "ld.param.b64 %rd1, [data]; ld.global.b32 %r1, [%rd1+4]; ret;");
    let run = Run::new();
    let data = run.words(&[1, 2]);
    run.device.free(data).unwrap();
    assert_eq!(run.fault(&kernel, 32, &[data]).kind, FaultKind::UseAfterFree { address: data + 4 });
}

#[test]
fn a_barrier_in_a_divergent_branch_is_divergence() {
    let kernel = shared(
        "setp.gt.u32 %p1, %r1, 7;
         @%p1 bra $end;
         barrier.sync.aligned 0;
         $end:",
    );
    let kind = Run::new().fault(&kernel, 64, &[0]).kind;
    assert_eq!(kind, FaultKind::Divergence { active: 0xff, expected: u32::MAX });
}

#[test]
fn a_shuffle_without_a_named_lane_is_divergence() {
    let kernel = shared(
        "setp.eq.b32 %p1, %r1, 3;
         @%p1 bra $end;
         shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1;
         $end:",
    );
    let kind = Run::new().fault(&kernel, 32, &[0]).kind;
    assert_eq!(kind, FaultKind::Divergence { active: !8, expected: u32::MAX });
}

#[test]
fn warps_at_different_named_barriers_deadlock() {
    let kernel = shared("shr.u32 %r7, %r1, 5; add.s32 %r7, %r7, 1; barrier.sync.aligned %r7, 64;");
    match Run::new().fault(&kernel, 64, &[0]).kind {
        FaultKind::Deadlock { waiting } => {
            let found: Vec<_> = waiting.iter().map(|w| (w.warp, w.at, w.arrived, w.expected)).collect();
            assert_eq!(found, [(0, Awaited::Barrier(1), 32, 64), (1, Awaited::Barrier(2), 32, 64)]);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn an_endless_loop_is_livelock() {
    let mut settings = Settings::default();
    settings.instruction_budget = 10_000;
    let run = Run { device: Simulator::new(settings) };
    let kernel = module(&[], "$loop: bra.uni $loop;");
    assert_eq!(run.fault(&kernel, 32, &[]).kind, FaultKind::Livelock { instructions: 10_000 });
}

#[test]
fn constants_and_parameters_are_read_only() {
    let run = Run::new();
    let kernel = module(&["data"], "mov.b64 %rd1, data; cvta.param.u64 %rd1, %rd1; st.b32 [%rd1], 1; ret;");
    let kind = run.fault(&kernel, 32, &[0]).kind;
    assert_eq!(kind, FaultKind::WriteToReadOnly { space: Space::Parameter, address: 0 });
    let text = text(&[], "mov.b64 %rd1, table; st.global.b32 [%rd1], 1; ret;")
        .replace(".visible .entry", ".const .align 4 .b8 table[4] = {1, 2, 3, 4};\n.visible .entry");
    let kind = run.fault(&Module::parse(&text).unwrap(), 32, &[]).kind;
    assert!(matches!(kind, FaultKind::WriteToReadOnly { space: Space::Global, .. }), "{kind}");
}

#[test]
fn a_trap_and_its_place_are_reported() {
    let body = "mov.u32 %r1, %tid.x;\n.loc 1 42 7 // here\nsetp.ne.b32 %p1, %r1, 5;\n@%p1 bra $end;\ntrap;\n$end: ret;";
    let text = format!("{}\n.file 1 \"src/kernel.rs\"\n", text(&[], body));
    let run = Run::new();
    let launch = Launch::new([2, 3, 1], [8, 4, 1]);
    match run.launch(&Module::parse(&text).unwrap(), launch, &[]) {
        Err(LaunchError::Fault(fault)) => {
            assert_eq!(fault.kind, FaultKind::Trap);
            assert_eq!(fault.thread, Some([5, 0, 0]));
            assert_eq!(fault.source_location, Some(("src/kernel.rs".into(), 42)));
            let line = text.lines().position(|l| l == "trap;").unwrap() as u32 + 1;
            assert_eq!((fault.ptx_line, fault.instruction.as_str()), (line, "trap"));
        }
        other => panic!("{other:?}"),
    }
}
