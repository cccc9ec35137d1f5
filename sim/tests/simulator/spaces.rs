//! State spaces, generic addresses, vectors, atomics, scopes of inline assembly, and output of the real compiler.

use super::common::{Run, module, text};
use falchion_sim::{Launch, Module};

fn run_text(text: &str, threads: u32, words: usize) -> Vec<u32> {
    let run = Run::new();
    let out = run.empty(4 * words);
    run.block(&Module::parse(text).unwrap(), threads, &[out]).unwrap();
    run.read(out, words)
}

#[test]
fn generic_addresses_reach_every_space() {
    let text = text(
        &["out"],
        ".local .align 8 .b8 depot[16];
         .shared .align 4 .b8 block[8];
         ld.param.b64 %rd1, [out];
         mov.b64 %rd2, depot;
         cvta.local.u64 %rd3, %rd2;
         st.b32 [%rd3+4], 11;
         ld.local.b32 %r1, [%rd2+4];
         mov.b64 %rd4, block;
         cvta.shared.u64 %rd5, %rd4;
         st.b32 [%rd5], 22;
         ld.shared.b32 %r2, [block];
         cvta.to.shared.u64 %rd6, %rd5;
         cvt.u32.u64 %r9, %rd6;
         ld.shared.b32 %r3, [%r9];
         mov.b64 %rd7, out;
         cvta.param.u64 %rd8, %rd7;
         ld.b64 %rd9, [%rd8];
         setp.eq.s64 %p1, %rd9, %rd1;
         selp.b32 %r4, 1, 0, %p1;
         ld.const.b32 %r5, [table+4];
         ld.global.b64 %rd10, [pointer];
         ld.b32 %r6, [%rd10];
         st.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r4};
         st.global.v2.b32 [%rd1+16], {%r5, %r6};
         ret;",
    )
    .replace(
        ".visible .entry",
        ".const .align 4 .u32 table[2] = {5, 6};\n.global .align 8 .u64 pointer[1] = {generic(table)};\n.visible .entry",
    );
    assert_eq!(run_text(&text, 1, 6), [11, 22, 22, 1, 6, 5]);
}

#[test]
fn narrow_and_wide_accesses_keep_sign_and_order() {
    let body = "ld.param.b64 %rd1, [out];
         st.global.b32 [%rd1], 0x80ff7f01;
         ld.global.s8 %r1, [%rd1+2];
         ld.global.u8 %rs1, [%rd1+3];
         cvt.u32.u16 %r2, %rs1;
         ld.global.s16 %rd2, [%rd1+2];
         cvt.u32.u64 %r3, %rd2;
         ld.global.v2.b16 {%rs2, %rs3}, [%rd1];
         mov.b32 %r4, {%rs3, %rs2};
         mov.b64 %rd3, {%r1, %r2};
         mov.b64 {%r5, %r6}, %rd3;
         st.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r4};
         st.global.v2.b32 [%rd1+16], {%r5, %r6};
         st.global.b8 [%rd1+23], 0x55;
         ret;";
    let found = run_text(&text(&["out"], body), 1, 6);
    assert_eq!(found, [0xffff_ffff, 0x80, 0xffff_80ff, 0x7f01_80ff, 0xffff_ffff, 0x5500_0080]);
}

#[test]
fn atomics_of_a_whole_grid_add_up() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         atom.global.add.u32 %r2, [%rd1], 1;
         red.global.max.u32 [%rd1+4], %r1;
         red.global.add.f32 [%rd1+8], 0f3F800000;
         red.relaxed.gpu.global.add.u64 [%rd1+16], 4294967297;
         atom.global.cas.b32 %r3, [%rd1+12], 7, %r1;
         red.global.add.noftz.f16x2 [%rd1+24], 0x3C004000;
         ret;",
    );
    let run = Run::new();
    let out = run.words(&[0, 0, 0, 9, 0, 0, 0, 0]);
    run.launch(&kernel, Launch::new([8, 2, 1], [64, 1, 1]), &[out]).unwrap();
    assert_eq!(run.read(out, 7), [1024, 63, 1024f32.to_bits(), 9, 1024, 1024, 0x6400_6800]);
}

#[test]
fn registers_and_labels_of_inline_assembly_stay_in_their_braces() {
    let body = "ld.param.b64 %rd1, [out];
         mov.b32 %r1, 3;
         { .reg .pred p; .reg .b32 x; mov.b32 x, 5; setp.eq.b32 p, x, 5; @p mov.b32 %r1, 4; DONE: }
         { .reg .pred p; .reg .b32 %r1; mov.b32 %r1, 9; bra DONE; DONE: }
         st.global.b32 [%rd1], %r1;
         ret;";
    assert_eq!(run_text(&text(&["out"], body), 1, 1), [4]);
}

#[test]
fn special_registers_describe_the_launch() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.y;
         mov.u32 %r2, %ntid.x;
         mov.u32 %r3, %tid.x;
         mad.lo.s32 %r4, %r1, %r2, %r3;
         mov.u32 %r5, %ctaid.z;
         mov.u32 %r6, %nctaid.y;
         mov.u32 %r7, %laneid;
         mov.u32 %r8, %warpid;
         setp.ne.b32 %p1, %r4, 37;
         @%p1 ret;
         mov.u32 %r9, %lanemask_lt;
         mov.u32 %r10, %dynamic_smem_size;
         st.global.v4.b32 [%rd1], {%r5, %r6, %r7, %r8};
         st.global.v2.b32 [%rd1+16], {%r9, %r10};
         ret;",
    );
    let run = Run::new();
    let out = run.empty(24);
    run.launch(&kernel, Launch::new([1, 2, 1], [10, 5, 1]).dynamic_shared(4096), &[out]).unwrap();
    assert_eq!(run.read(out, 6), [0, 2, 5, 1, 0x1f, 4096]);
}

/// `k1` of a small Rust crate, as rustc and LLVM print it: eight fused multiply-adds folded to constants, a guarded
/// run of stores, a barrier, debug sections and all.
#[test]
fn output_of_the_real_compiler_runs() {
    let module = Module::parse(include_str!("../ptx/guarded_store.ptx")).unwrap();
    let run = Run::new();
    let out = run.empty(20 * 32);
    let params: [&[u8]; 3] = [&out.to_le_bytes(), &20u32.to_le_bytes(), &2u16.to_le_bytes()];
    run.device.launch(&module, "k1", &Launch::new([1, 1, 1], [32, 1, 1]), &params).unwrap();
    assert_eq!(run.read(out, 160), [5f32.to_bits(); 160]);
    assert_eq!(module.global_bytes("falchion_description_k1"), Some(&[1, 0, 0, 0, 2, 0, 0, 0, 3][..]));
}

/// A kernel that calls a function that calls another, as LLVM prints it; both return early on some lanes.
#[test]
fn calls_run_as_if_inlined() {
    let run = Run::new();
    let out = run.empty(128);
    run.block(&Module::parse(include_str!("../ptx/calls.ptx")).unwrap(), 32, &[out]).unwrap();
    let helper = |a: u32, b: u32| if a == 0 { b } else { a * b };
    let expected: Vec<u32> = (0..32).map(|t| helper(helper(t, 5) + t, 3)).collect();
    assert_eq!(run.read(out, 32), expected);
}
