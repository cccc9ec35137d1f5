//! `cp.async` and its groups.

use super::common::{Run, module};
use falchion_sim::{FaultKind, Module};

/// Each lane copies 16 bytes of `data` to its place, in two groups; then `wait`, a barrier, and a read of the neighbour
/// warp's first group (`offset` 0) or second (`offset` 1024).
fn pipeline(wait: &str, barrier: &str, offset: u32) -> Module {
    module(
        &["data", "out"],
        &format!(
            "ld.param.b64 %rd1, [data];
             ld.param.b64 %rd2, [out];
             mov.u32 %r1, %tid.x;
             mov.b32 %r2, dynamic;
             shl.b32 %r3, %r1, 4;
             add.s32 %r4, %r2, %r3;
             cvt.u64.u32 %rd3, %r3;
             add.s64 %rd4, %rd1, %rd3;
             cp.async.cg.shared.global.L2::128B [%r4], [%rd4], 16;
             cp.async.commit_group;
             cp.async.ca.shared.global [%r4+1024], [%rd4+1024], 16, 4;
             cp.async.commit_group;
             {wait}
             {barrier}
             xor.b32 %r5, %r3, 512;
             add.s32 %r5, %r5, %r2;
             ld.shared.v4.b32 {{%r6, %r7, %r8, %r9}}, [%r5+{offset}];
             add.s64 %rd5, %rd2, %rd3;
             st.global.v4.b32 [%rd5], {{%r6, %r7, %r8, %r9}};
             ret;"
        ),
    )
}

const BARRIER: &str = "barrier.sync.aligned 0;";

fn data() -> Vec<u32> {
    (0..512).map(|i| i * 3 + 1).collect()
}

#[test]
fn groups_that_were_waited_for_have_arrived() {
    for (wait, offset) in
        [("cp.async.wait_group 1;", 0), ("cp.async.wait_group 0;", 1024), ("cp.async.wait_all;", 1024)]
    {
        let run = Run::new();
        let (input, out) = (run.words(&data()), run.empty(1024));
        run.block(&pipeline(wait, BARRIER, offset), 64, &[input, out]).unwrap();
        let found = run.read(out, 256);
        for (at, &word) in found.iter().enumerate() {
            let source = (at ^ 128) + offset as usize / 4;
            // The second group reads 4 of its 16 bytes and fills the rest with zeros.
            let expected = if offset > 0 && at % 4 != 0 { 0 } else { data()[source] };
            assert_eq!(word, expected, "word {at} after {wait}");
        }
    }
}

#[test]
fn a_missing_wait_is_caught() {
    let run = Run::new();
    let (input, out) = (run.words(&data()), run.empty(1024));
    for (wait, offset) in [("", 0), ("cp.async.wait_group 2;", 0), ("cp.async.wait_group 1;", 1024)] {
        let fault = run.fault(&pipeline(wait, BARRIER, offset), 64, &[input, out]);
        assert!(matches!(fault.kind, FaultKind::Pending { .. }), "{fault}");
    }
}

#[test]
fn a_wait_without_a_barrier_does_not_cover_other_warps() {
    let run = Run::new();
    let (input, out) = (run.words(&data()), run.empty(1024));
    let fault = run.fault(&pipeline("cp.async.wait_all;", "", 0), 64, &[input, out]);
    let caught =
        matches!(fault.kind, FaultKind::Race { .. } | FaultKind::Pending { .. } | FaultKind::Uninitialised { .. });
    assert!(caught, "{fault}");
}

#[test]
fn overwriting_a_stage_that_others_may_still_read_is_a_race() {
    let kernel = module(
        &["data"],
        "ld.param.b64 %rd1, [data];
         mov.u32 %r1, %tid.x;
         mov.b32 %r2, dynamic;
         shl.b32 %r3, %r1, 2;
         add.s32 %r4, %r2, %r3;
         xor.b32 %r5, %r3, 128;
         add.s32 %r5, %r5, %r2;
         st.shared.b32 [%r4], %r1;
         barrier.sync.aligned 0;
         ld.shared.b32 %r6, [%r5];
         cp.async.ca.shared.global [%r4], [%rd1], 4;
         cp.async.wait_all;
         ret;",
    );
    let run = Run::new();
    let input = run.words(&data());
    let fault = run.fault(&kernel, 64, &[input]);
    assert!(matches!(fault.kind, FaultKind::Race { .. } | FaultKind::Pending { .. }), "{fault}");
}

#[test]
fn a_copy_whose_source_is_ignored_reads_nothing() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.b32 %r2, dynamic;
         setp.eq.b32 %p1, %r2, %r2;
         mov.b64 %rd2, 4096;
         cp.async.ca.shared.global [%r2], [%rd2], 8, %p1;
         cp.async.ca.shared.global [%r2+8], [%rd2], 8, 0;
         cp.async.wait_all;
         ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r2];
         st.global.v4.b32 [%rd1], {%r3, %r4, %r5, %r6};
         ret;",
    );
    let run = Run::new();
    let out = run.empty(16);
    run.block(&kernel, 1, &[out]).unwrap();
    assert_eq!(run.read(out, 4), [0; 4]);
}
