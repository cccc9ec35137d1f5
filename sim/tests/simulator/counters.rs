//! Bank conflicts, sectors and instruction counts of known patterns.

use super::common::{Run, module};
use falchion_sim::{Class, Count};

/// Counts of `ld.shared` by 32 lanes at `lane × stride` bytes, the memory written first.
fn shared_load(vector: &str, registers: &str, stride: u32) -> Count {
    let body = format!(
        "mov.u32 %r1, %tid.x;
         mov.b32 %r2, dynamic;
         mov.b32 %r3, 0;
         $fill:
         shl.b32 %r4, %r3, 7;
         mad.lo.s32 %r5, %r1, 4, %r4;
         add.s32 %r5, %r5, %r2;
         st.shared.b32 [%r5], %r1;
         add.s32 %r3, %r3, 1;
         setp.lt.u32 %p1, %r3, 128;
         @%p1 bra $fill;
         bar.warp.sync -1;
         mad.lo.s32 %r6, %r1, {stride}, %r2;
         ld.shared{vector}.b32 {registers}, [%r6];
         ret;"
    );
    let counters = Run::new().block(&module(&[], &body), 32, &[]).unwrap();
    counters.opcode("ld.shared")
}

#[test]
fn strided_words_conflict_as_the_banks_say() {
    for (stride, expected) in [(4, 1), (8, 2), (12, 1), (128, 32), (132, 1), (0, 1)] {
        let count = shared_load("", "%r7", stride);
        assert_eq!((count.wavefronts, count.conflicts), (expected, expected - 1), "stride {stride}");
    }
}

#[test]
fn a_row_of_float4_costs_its_four_phases() {
    let count = shared_load(".v4", "{%r7, %r8, %r9, %r10}", 16);
    assert_eq!((count.shared_requests, count.wavefronts, count.conflicts), (1, 4, 0));
    let count = shared_load(".v4", "{%r7, %r8, %r9, %r10}", 64);
    assert_eq!((count.wavefronts, count.conflicts), (16, 12));
}

/// Row r of an 8-row, 64-byte-pitch tile: 16-byte chunk `r mod 8` lands in two banks' worth of rows without a swizzle.
#[test]
fn ldmatrix_shows_the_conflicts_of_an_unswizzled_tile_and_none_of_a_swizzled_one() {
    let count = |swizzle: &str| {
        let body = format!(
            "mov.u32 %r1, %tid.x;
             mov.b32 %r2, dynamic;
             mad.lo.s32 %r3, %r1, 64, %r2;
             st.shared.v4.b32 [%r3], {{%r1, %r1, %r1, %r1}};
             st.shared.v4.b32 [%r3+16], {{%r1, %r1, %r1, %r1}};
             st.shared.v4.b32 [%r3+32], {{%r1, %r1, %r1, %r1}};
             st.shared.v4.b32 [%r3+48], {{%r1, %r1, %r1, %r1}};
             {swizzle}
             ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r4, %r5, %r6, %r7}}, [%r3];
             ret;"
        );
        Run::new().block(&module(&[], &body), 32, &[]).unwrap().opcode("ldmatrix")
    };
    let plain = count("");
    assert_eq!((plain.wavefronts, plain.conflicts), (16, 12));
    // Swizzle<2, 4, 3>: bits 4 and 5 of the offset are exchanged with bits 7 and 8.
    let swizzled = count("shr.u32 %r8, %r3, 3; and.b32 %r8, %r8, 48; xor.b32 %r3, %r3, %r8;");
    assert_eq!((swizzled.wavefronts, swizzled.conflicts), (4, 0));
}

#[test]
fn global_requests_count_the_sectors_they_touch() {
    let sectors = |stride: u32, offset: u32| {
        let body = format!(
            "ld.param.b64 %rd1, [data];
             mov.u32 %r1, %tid.x;
             mul.wide.u32 %rd2, %r1, {stride};
             add.s64 %rd3, %rd1, %rd2;
             ld.global.b32 %r2, [%rd3+{offset}];
             ret;"
        );
        let run = Run::new();
        let data = run.words(&[0; 2048]);
        let counters = run.block(&module(&["data"], &body), 32, &[data]).unwrap();
        let count = counters.class(Class::GlobalLoad);
        assert_eq!(count.global_requests, 1);
        count.sectors
    };
    assert_eq!(sectors(4, 0), 4);
    assert_eq!(sectors(4, 4), 5);
    assert_eq!(sectors(8, 0), 8);
    assert_eq!(sectors(32, 0), 32);
    assert_eq!(sectors(0, 0), 1);
}

#[test]
fn instructions_are_counted_by_class_line_and_merge() {
    let body = "mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nadd.rn.f32 %r3, %r2, %r2;\nsetp.lt.u32 %p1, %r1, 8;\n@%p1 add.s32 %r2, %r2, 1;\nret;";
    let kernel = module(&[], body);
    let run = Run::new();
    let mut counters = run.block(&kernel, 64, &[]).unwrap();
    let integer = counters.class(Class::Integer);
    assert_eq!((integer.warps, integer.threads), (6, 64 + 64 + 8));
    assert_eq!(counters.class(Class::Float).threads, 64);
    let line = counters.instructions.values().find(|i| i.instruction.starts_with("@%p1")).unwrap();
    assert_eq!(counters.line(line.ptx_line).threads, 8);
    assert_eq!(counters.opcode("add.s32").warps, 4);
    counters += run.block(&kernel, 64, &[]).unwrap();
    assert_eq!(counters.blocks, 2);
    assert_eq!(counters.class(Class::Integer).threads, 2 * integer.threads);
    assert_eq!(counters.opcode("add.s32").warps, 8);
}
