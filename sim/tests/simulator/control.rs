//! Divergence and reconvergence.

use super::common::{Run, module};
use falchion_sim::Launch;

/// `out[tid] = a[tid] + b[tid]` for tid below n, as LLVM prints it.
#[test]
fn threads_beyond_the_end_do_nothing() {
    let kernel = module(
        &["a", "b", "out", "n"],
        "ld.param.b64 %rd1, [a];
         ld.param.b64 %rd2, [b];
         ld.param.b64 %rd3, [out];
         ld.param.b32 %r9, [n];
         mov.u32 %r1, %ctaid.x;
         mov.u32 %r2, %ntid.x;
         mov.u32 %r3, %tid.x;
         mad.lo.s32 %r4, %r1, %r2, %r3;
         setp.ge.u32 %p1, %r4, %r9;
         @%p1 bra $L__BB0_2;
         mul.wide.u32 %rd4, %r4, 4;
         add.s64 %rd5, %rd1, %rd4;
         add.s64 %rd6, %rd2, %rd4;
         add.s64 %rd7, %rd3, %rd4;
         ld.global.nc.b32 %r5, [%rd5];
         ld.global.nc.b32 %r6, [%rd6];
         add.rn.f32 %r7, %r5, %r6;
         st.global.b32 [%rd7], %r7;
         $L__BB0_2:
         ret;",
    );
    let run = Run::new();
    let n = 1000usize;
    let values: Vec<u32> = (0..n).map(|i| (i as f32 * 0.25).to_bits()).collect();
    let (a, b, out) = (run.words(&values), run.words(&values), run.empty(4 * n));
    let counters = run.launch(&kernel, Launch::new([8, 1, 1], [128, 1, 1]), &[a, b, out, n as u64]).unwrap();
    let expected: Vec<u32> = (0..n).map(|i| (i as f32 * 0.5).to_bits()).collect();
    assert_eq!(run.read(out, n), expected);
    assert_eq!(counters.blocks, 8);
    assert_eq!(counters.opcode("st.global").threads, n as u64);
}

/// Lane l loops l times: `out = l (l + 1) / 2`.
#[test]
fn lanes_leave_a_loop_each_in_its_own_turn() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         mov.b32 %r2, 0;
         mov.b32 %r3, 0;
         setp.eq.b32 %p1, %r1, 0;
         @%p1 bra $exit;
         $loop:
         add.s32 %r3, %r3, 1;
         add.s32 %r2, %r2, %r3;
         setp.lt.u32 %p2, %r3, %r1;
         @%p2 bra $loop;
         $exit:
         activemask.b32 %r5;
         mul.wide.u32 %rd2, %r1, 8;
         add.s64 %rd3, %rd1, %rd2;
         st.global.v2.b32 [%rd3], {%r2, %r5};
         ret;",
    );
    let run = Run::new();
    let out = run.empty(64 * 8);
    run.block(&kernel, 64, &[out]).unwrap();
    for (lane, pair) in run.read(out, 128).chunks(2).enumerate() {
        assert_eq!(pair, [(lane * (lane + 1) / 2) as u32, u32::MAX], "thread {lane}");
    }
}

/// A nested if; every path writes its own digits, the join sees all lanes.
#[test]
fn nested_branches_reconverge_at_their_post_dominators() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         mov.b32 %r2, 0;
         and.b32 %r3, %r1, 1;
         setp.eq.b32 %p1, %r3, 0;
         @%p1 bra $even;
         and.b32 %r4, %r1, 2;
         setp.eq.b32 %p2, %r4, 0;
         @!%p2 bra $three;
         mov.b32 %r2, 1;
         bra.uni $odd;
         $three: mov.b32 %r2, 3;
         $odd:
         activemask.b32 %r5;
         add.s32 %r2, %r2, 10;
         bra.uni $join;
         $even:
         activemask.b32 %r5;
         mov.b32 %r2, 7;
         $join:
         activemask.b32 %r6;
         mul.wide.u32 %rd2, %r1, 16;
         add.s64 %rd3, %rd1, %rd2;
         st.global.v4.b32 [%rd3], {%r2, %r5, %r6, %r1};
         ret;",
    );
    let run = Run::new();
    let out = run.empty(32 * 16);
    run.block(&kernel, 32, &[out]).unwrap();
    for (lane, found) in run.read(out, 128).chunks(4).enumerate() {
        let (value, mask) = match lane % 4 {
            1 => (11, 0xaaaa_aaaa),
            3 => (13, 0xaaaa_aaaa),
            _ => (7, 0x5555_5555),
        };
        assert_eq!(found, [value, mask, u32::MAX, lane as u32], "lane {lane}");
    }
}

#[test]
fn lanes_that_returned_are_missing_afterwards() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         setp.gt.u32 %p1, %r1, 15;
         @%p1 ret;
         activemask.b32 %r2;
         mul.wide.u32 %rd2, %r1, 4;
         add.s64 %rd3, %rd1, %rd2;
         st.global.b32 [%rd3], %r2;
         ret;",
    );
    let run = Run::new();
    let out = run.empty(64);
    run.block(&kernel, 32, &[out]).unwrap();
    assert_eq!(run.read(out, 16), [0xffff; 16]);
}

#[test]
fn an_indexed_branch_sends_each_lane_to_its_target() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         and.b32 %r2, %r1, 3;
         $table: .branchtargets $a, $b, $c, $b;
         brx.idx %r2, $table;
         $a: mov.b32 %r3, 100; bra.uni $end;
         $b: mov.b32 %r3, 200; bra.uni $end;
         $c: mov.b32 %r3, 300;
         $end:
         mul.wide.u32 %rd2, %r1, 4;
         add.s64 %rd3, %rd1, %rd2;
         st.global.b32 [%rd3], %r3;
         ret;",
    );
    let run = Run::new();
    let out = run.empty(128);
    run.block(&kernel, 32, &[out]).unwrap();
    let expected: Vec<u32> = (0..32).map(|l| [100, 200, 300, 200][l % 4]).collect();
    assert_eq!(run.read(out, 32), expected);
}

/// The lanes that work are the taken path here, those that return fall through; both ways the barrier must not see the
/// latter.
#[test]
fn lanes_that_return_early_are_not_missed_at_a_barrier() {
    for branch in ["setp.lt.u32 %p1, %r1, 40; @%p1 bra $work; ret; $work:", "setp.ge.u32 %p1, %r1, 40; @%p1 bra $gone;"]
    {
        let kernel = module(
            &["out"],
            &format!(
                "ld.param.b64 %rd1, [out];
                 mov.u32 %r1, %tid.x;
                 {branch}
                 barrier.sync.aligned 0;
                 mul.wide.u32 %rd2, %r1, 4;
                 add.s64 %rd3, %rd1, %rd2;
                 st.global.b32 [%rd3], %r1;
                 ret;
                 $gone: ret;"
            ),
        );
        let run = Run::new();
        let out = run.empty(160);
        run.block(&kernel, 64, &[out]).unwrap();
        assert_eq!(run.read(out, 40), (0..40).collect::<Vec<_>>());
    }
}
