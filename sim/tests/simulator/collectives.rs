//! Shuffles, votes, reductions, barriers.

use super::common::{Run, module};
use falchion_sim::{Settings, Simulator};

/// Runs `body`, which leaves its result in `%r9`, and returns it for each of `threads` threads.
fn results(threads: u32, body: &str) -> Vec<u32> {
    let kernel = module(
        &["out"],
        &format!(
            "mov.u32 %r1, %tid.x;
             {body}
             ld.param.b64 %rd1, [out];
             mul.wide.u32 %rd2, %r1, 4;
             add.s64 %rd3, %rd1, %rd2;
             st.global.b32 [%rd3], %r9;
             ret;"
        ),
    );
    let run = Run::new();
    let out = run.empty(4 * threads as usize);
    run.block(&kernel, threads, &[out]).unwrap();
    run.read(out, threads as usize)
}

fn lanes(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn a_butterfly_of_shuffles_sums_the_warp() {
    let mut body = String::from("mov.b32 %r9, %r1;");
    for offset in [16, 8, 4, 2, 1] {
        body += &format!("shfl.sync.bfly.b32 %r8|%p1, %r9, {offset}, 31, -1; add.s32 %r9, %r9, %r8;");
    }
    assert_eq!(results(32, &body), [496; 32]);
}

#[test]
fn shuffles_stay_within_their_segments() {
    let run = |mode: &str, b: u32, c: u32| {
        results(
            32,
            &format!(
                "shfl.sync.{mode}.b32 %r8|%p1, %r1, {b}, {c}, -1; selp.b32 %r7, 256, 0, %p1; add.s32 %r9, %r8, %r7;"
            ),
        )
    };
    let flagged = |valid: bool, from: u32, lane: u32| if valid { from + 256 } else { lane };
    assert_eq!(run("up", 3, 0), lanes(|l| flagged(l >= 3, l.wrapping_sub(3), l)));
    assert_eq!(run("down", 3, 31), lanes(|l| flagged(l + 3 < 32, l + 3, l)));
    // Segments of 8 lanes.
    assert_eq!(run("down", 3, 0x181f), lanes(|l| flagged(l % 8 + 3 < 8, l + 3, l)));
    assert_eq!(run("idx", 2, 0x181f), lanes(|l| flagged(true, l / 8 * 8 + 2, l)));
    assert_eq!(run("bfly", 4, 0x181f), lanes(|l| flagged(true, l ^ 4, l)));
}

/// 16 lanes reduce with the whole warp's width: what comes from the others is undefined, and not used.
#[test]
fn lanes_that_take_no_part_give_nothing() {
    let mut body = String::from("mov.b32 %r9, %r1; setp.gt.u32 %p1, %r1, 15; @%p1 bra $end;");
    for offset in [8, 4, 2, 1] {
        body += &format!("shfl.sync.down.b32 %r8, %r9, {offset}, 31, 65535; add.s32 %r9, %r9, %r8;");
    }
    assert_eq!(results(32, &format!("{body} $end:"))[0], 120);
    let body = "mov.b32 %r9, 0; setp.gt.u32 %p1, %r1, 15; @!%p1 shfl.sync.down.b32 %r9, %r1, 8, 31, 65535;";
    assert_eq!(results(32, body)[12], 0x7fff_7fff);
}

#[test]
fn votes_matches_elections_and_reductions_see_the_members() {
    assert_eq!(results(32, "setp.gt.u32 %p1, %r1, 28; vote.sync.ballot.b32 %r9, %p1, -1;"), [0xe000_0000; 32]);
    let body = "setp.gt.u32 %p1, %r1, 28; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;";
    assert_eq!(results(32, body), [1; 32]);
    let body = "and.b32 %r2, %r1, 1; match.any.sync.b32 %r9, %r2, -1;";
    assert_eq!(results(32, body), lanes(|l| if l % 2 == 0 { 0x5555_5555 } else { 0xaaaa_aaaa }));
    let body = "elect.sync %r8|%p1, -1; selp.b32 %r9, 1, 0, %p1;";
    assert_eq!(results(32, body), lanes(|l| u32::from(l == 0)));
    assert_eq!(results(32, "redux.sync.max.u32 %r9, %r1, -1;"), [31; 32]);
    assert_eq!(results(32, "sub.s32 %r2, %r1, 40; redux.sync.min.s32 %r9, %r2, -1;"), [-40i32 as u32; 32]);
}

#[test]
fn a_block_reduces_through_shared_memory_in_every_order_of_its_warps() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         mov.b32 %r2, dynamic;
         mad.lo.s32 %r3, %r1, 4, %r2;
         add.s32 %r4, %r1, 1;
         st.shared.b32 [%r3], %r4;
         mov.b32 %r5, 128;
         $loop:
         bar.sync 0;
         setp.ge.u32 %p1, %r1, %r5;
         @%p1 bra $skip;
         mad.lo.s32 %r6, %r5, 4, %r3;
         ld.shared.b32 %r7, [%r6];
         ld.shared.b32 %r8, [%r3];
         add.s32 %r8, %r8, %r7;
         st.shared.b32 [%r3], %r8;
         $skip:
         shr.u32 %r5, %r5, 1;
         setp.ne.b32 %p2, %r5, 0;
         @%p2 bra $loop;
         setp.ne.b32 %p3, %r1, 0;
         @%p3 bra $end;
         ld.shared.b32 %r9, [%r2];
         st.global.b32 [%rd1], %r9;
         $end: ret;",
    );
    for seed in 1..10 {
        let mut settings = Settings::default();
        settings.seed = seed;
        let run = Run { device: Simulator::new(settings) };
        let out = run.empty(4);
        run.block(&kernel, 256, &[out]).unwrap();
        assert_eq!(run.read(out, 1), [256 * 257 / 2]);
    }
}

#[test]
fn a_barrier_reduces_a_predicate_over_the_block() {
    let body = "setp.lt.u32 %p1, %r1, 70; barrier.red.popc.aligned.u32 %r9, 0, %p1;";
    assert_eq!(results(96, body), [70; 96]);
    let body = "setp.lt.u32 %p1, %r1, 70; barrier.red.or.aligned.pred %p2, 0, %p1; selp.b32 %r9, 1, 0, %p2;";
    assert_eq!(results(96, body), [1; 96]);
}

/// Warp 0 arrives without waiting, warp 1 waits for it.
#[test]
fn a_producer_arrives_and_a_consumer_waits() {
    let body = "mov.b32 %r2, dynamic;
         and.b32 %r3, %r1, 31;
         mad.lo.s32 %r3, %r3, 4, %r2;
         mov.b32 %r9, 0;
         setp.gt.u32 %p1, %r1, 31;
         @%p1 bra $consumer;
         st.shared.b32 [%r3], %r1;
         barrier.arrive.aligned 3, 64;
         bra.uni $end;
         $consumer:
         barrier.sync.aligned 3, 64;
         ld.shared.b32 %r9, [%r3];
         $end:";
    let expected: Vec<u32> = (0..64u32).map(|t| t.saturating_sub(32)).collect();
    assert_eq!(results(64, body), expected);
}
