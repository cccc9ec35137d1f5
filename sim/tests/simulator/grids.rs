//! Blocks of a grid: order, waiting for each other, reproducible counts.

use super::common::{Run, module};
use falchion_sim::{Launch, Module, Settings, Simulator};

fn settings(workers: usize, seed: u64) -> Settings {
    let mut settings = Settings::default();
    settings.workers = workers;
    settings.seed = seed;
    settings
}

/// Block 0 waits for a flag that the last block sets, on a single worker.
#[test]
fn a_block_that_waits_for_a_later_one_does_not_starve_it() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %ctaid.x;
         setp.eq.b32 %p1, %r1, 3;
         @%p1 bra $set;
         setp.ne.b32 %p2, %r1, 0;
         @%p2 bra $end;
         $wait:
         ld.acquire.gpu.global.b32 %r2, [%rd1];
         setp.eq.b32 %p3, %r2, 0;
         @%p3 bra $wait;
         ld.global.b32 %r3, [%rd1+4];
         st.global.b32 [%rd1+8], %r3;
         bra.uni $end;
         $set:
         st.global.b32 [%rd1+4], 77;
         fence.acq_rel.gpu;
         st.release.gpu.global.b32 [%rd1], 1;
         $end: ret;",
    );
    let run = Run { device: Simulator::new(settings(1, 1)) };
    let out = run.words(&[0, 0, 0]);
    run.launch(&kernel, Launch::new([4, 1, 1], [1, 1, 1]), &[out]).unwrap();
    assert_eq!(run.read(out, 3), [1, 77, 77]);
}

/// Counts depend on the kernel and its input only.
#[test]
fn counts_are_the_same_for_every_seed_and_number_of_workers() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         mov.u32 %r2, %ctaid.x;
         mov.b32 %r3, dynamic;
         mad.lo.s32 %r4, %r1, 8, %r3;
         st.shared.b32 [%r4], %r2;
         bar.sync 0;
         xor.b32 %r5, %r4, 256;
         ld.shared.b32 %r6, [%r5];
         red.global.add.u32 [%rd1], %r6;
         ret;",
    );
    let count = |workers, seed| {
        let run = Run { device: Simulator::new(settings(workers, seed)) };
        let out = run.words(&[0]);
        let launch = Launch::new([16, 1, 1], [128, 1, 1]).dynamic_shared(1024);
        let counters = run.launch(&kernel, launch, &[out]).unwrap();
        assert_eq!(run.read(out, 1), [15 * 16 / 2 * 128]);
        counters
    };
    let first = count(1, 1);
    assert_eq!(first.opcode("st.shared").conflicts, 16 * 4);
    for (workers, seed) in [(1, 2), (2, 1), (4, 9)] {
        assert_eq!(count(workers, seed), first);
    }
}

#[test]
fn modules_and_devices_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Module>();
    shared::<Simulator>();
}
