//! `ldmatrix`, `stmatrix`, `movmatrix` and `mma` against plain loops.

use super::common::{Run, module};

fn half_words(values: &[f32]) -> Vec<u32> {
    let bits = |v: f32| u32::from(half::f16::from_f32(v).to_bits());
    values.chunks(2).map(|pair| bits(pair[0]) | bits(pair[1]) << 16).collect()
}

fn integers(count: usize, modulus: usize, shift: f32) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + i / 5) % modulus) as f32 - shift).collect()
}

/// A 16 × 16 row-major and B 16 × 8 row-major in global memory; through shared memory, `ldmatrix` (B transposed) and
/// one `mma` to D 16 × 8.
#[test]
fn ldmatrix_and_mma_multiply_a_tile() {
    let kernel = module(
        &["a", "b", "d"],
        "ld.param.b64 %rd1, [a];
         ld.param.b64 %rd2, [b];
         ld.param.b64 %rd3, [d];
         mov.u32 %r1, %tid.x;
         mov.b32 %r2, dynamic;
         mul.wide.u32 %rd4, %r1, 16;
         add.s64 %rd5, %rd1, %rd4;
         mad.lo.s32 %r3, %r1, 16, %r2;
         cp.async.ca.shared.global [%r3], [%rd5], 16;
         mul.wide.u32 %rd6, %r1, 8;
         add.s64 %rd7, %rd2, %rd6;
         mad.lo.s32 %r4, %r1, 8, %r2;
         cp.async.ca.shared.global [%r4+512], [%rd7], 8;
         cp.async.wait_all;
         bar.warp.sync -1;
         and.b32 %r5, %r1, 15;
         shr.u32 %r6, %r1, 4;
         mad.lo.s32 %r7, %r5, 32, %r2;
         mad.lo.s32 %r7, %r6, 16, %r7;
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r7];
         mad.lo.s32 %r8, %r5, 16, %r2;
         ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r14, %r15}, [%r8+512];
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {0f3F000000, 0f3F000000, 0f3F000000, 0f3F000000};
         shr.u32 %r30, %r1, 2;
         and.b32 %r31, %r1, 3;
         mul.wide.u32 %rd10, %r30, 32;
         mul.wide.u32 %rd11, %r31, 8;
         add.s64 %rd12, %rd3, %rd10;
         add.s64 %rd12, %rd12, %rd11;
         st.global.v2.b32 [%rd12], {%r20, %r21};
         st.global.v2.b32 [%rd12+256], {%r22, %r23};
         ret;",
    );
    let (a, b) = (integers(256, 13, 6.0), integers(128, 11, 5.0));
    let run = Run::new();
    let (pa, pb, pd) = (run.words(&half_words(&a)), run.words(&half_words(&b)), run.empty(512));
    run.block(&kernel, 32, &[pa, pb, pd]).unwrap();
    for (at, &found) in run.read(pd, 128).iter().enumerate() {
        let (row, column) = (at / 8, at % 8);
        let expected: f32 = (0..16).map(|k| a[row * 16 + k] * b[k * 8 + column]).sum::<f32>() + 0.5;
        assert_eq!(f32::from_bits(found), expected, "({row}, {column})");
    }
}

/// One `mma` with fragments loaded element by element as the PTX ISA's tables say.
/// `a` and `b` hold elements of `bits` bits; `fragment` words are gathered on the host.
fn multiply(opcode: &str, m: usize, k: usize, bits: usize, a: &[u64], b: &[u64], c: &[u32]) -> Vec<u32> {
    let per = 32 / bits;
    let word =
        |elements: Vec<u64>| elements.iter().rev().fold(0u32, |word, &e| (u64::from(word) << bits) as u32 | e as u32);
    let (words_a, words_b) = (m * k / per / 32, k * 8 / per / 32);
    let mut words = Vec::new();
    for lane in 0..32 {
        let (g, t) = (lane / 4, lane % 4);
        for r in 0..words_a {
            let (row, step) = if m == 16 { (g + 8 * (r % 2), r / 2) } else { (g, r) };
            words.push(word((0..per).map(|i| a[row * k + t * per + 4 * per * step + i]).collect()));
        }
        for r in 0..words_b {
            words.push(word((0..per).map(|i| b[(t * per + 4 * per * r + i) * 8 + g]).collect()));
        }
        for j in 0..m / 4 {
            words.push(c[(g + 8 * (j / 2)) * 8 + 2 * t + j % 2]);
        }
    }
    let (first_b, first_c) = (words_a, words_a + words_b);
    let total = first_c + m / 4;
    let list = |from: usize, to: usize| {
        let names: Vec<String> = (from..to).map(|r| format!("%r{}", 10 + r)).collect();
        format!("{{{}}}", names.join(", "))
    };
    let loads: String = (0..total).map(|r| format!("ld.global.b32 %r{}, [%rd5+{}];\n", 10 + r, 4 * r)).collect();
    let stores: String = (0..m / 4).map(|j| format!("st.global.b32 [%rd6+{}], %r{};\n", 4 * j, 60 + j)).collect();
    let results: Vec<String> = (0..m / 4).map(|j| format!("%r{}", 60 + j)).collect();
    let kernel = module(
        &["in", "out"],
        &format!(
            "ld.param.b64 %rd1, [in];
             ld.param.b64 %rd2, [out];
             mov.u32 %r1, %tid.x;
             mad.wide.u32 %rd5, %r1, {}, %rd1;
             mad.wide.u32 %rd6, %r1, {}, %rd2;
             {loads}
             mma.sync.aligned.{opcode} {{{}}}, {}, {}, {};
             {stores}
             ret;",
            4 * total,
            m,
            results.join(", "),
            list(0, first_b),
            list(first_b, first_c),
            list(first_c, total),
        ),
    );
    let run = Run::new();
    let (input, out) = (run.words(&words), run.empty(32 * m));
    run.block(&kernel, 32, &[input, out]).unwrap();
    let found = run.read(out, 8 * m);
    let mut d = vec![0; m * 8];
    for lane in 0..32 {
        for j in 0..m / 4 {
            d[(lane / 4 + 8 * (j / 2)) * 8 + 2 * (lane % 4) + j % 2] = found[lane * (m / 4) + j];
        }
    }
    d
}

#[test]
fn integer_products_are_exact() {
    for (opcode, m, k, bits, signed) in [
        ("m16n8k16.row.col.s32.s8.s8.s32", 16, 16, 8, true),
        ("m16n8k32.row.col.s32.u8.u8.s32", 16, 32, 8, false),
        ("m16n8k32.row.col.s32.s8.s8.s32", 16, 32, 8, true),
        ("m8n8k16.row.col.s32.s8.s8.s32", 8, 16, 8, true),
        ("m16n8k64.row.col.s32.s4.s4.s32", 16, 64, 4, true),
        ("m16n8k64.row.col.s32.u4.u4.s32", 16, 64, 4, false),
    ] {
        let mask = (1u64 << bits) - 1;
        let a: Vec<u64> = (0..m * k).map(|i| (i * 37 + i / 3) as u64 & mask).collect();
        let b: Vec<u64> = (0..k * 8).map(|i| (i * 53 + 11) as u64 & mask).collect();
        let c: Vec<u32> = (0..m * 8).map(|i| (i as u32).wrapping_mul(0x9e37_79b9)).collect();
        let value = |e: u64| {
            if signed { (e as i64) << (64 - bits) >> (64 - bits) } else { e as i64 }
        };
        let found = multiply(opcode, m, k, bits, &a, &b, &c);
        for row in 0..m {
            for column in 0..8 {
                let sum: i64 = (0..k).map(|i| value(a[row * k + i]) * value(b[i * 8 + column])).sum();
                let expected = (sum as u32).wrapping_add(c[row * 8 + column]);
                assert_eq!(found[row * 8 + column], expected, "{opcode} ({row}, {column})");
            }
        }
    }
}

#[test]
fn every_float_type_multiplies_small_integers_exactly() {
    type Encode = fn(f32) -> u64;
    let cases: [(&str, usize, usize, Encode); 6] = [
        ("m16n8k8.row.col.f32.f16.f16.f32", 8, 16, |v| half::f16::from_f32(v).to_bits().into()),
        ("m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, |v| half::bf16::from_f32(v).to_bits().into()),
        ("m16n8k4.row.col.f32.tf32.tf32.f32", 4, 32, |v| v.to_bits().into()),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", 8, 32, |v| v.to_bits().into()),
        // Small integers as e5m2: the upper byte of half precision.
        ("m16n8k32.row.col.f32.e5m2.e5m2.f32", 32, 8, |v| u64::from(half::f16::from_f32(v).to_bits() >> 8)),
        // 0, ±1, ±2 as e4m3.
        ("m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 8, |v| {
            let magnitude = [0, 0x38, 0x40][v.abs() as usize];
            if v < 0.0 { magnitude | 0x80 } else { magnitude }
        }),
    ];
    for (opcode, k, bits, encode) in cases {
        let (a, b) = (integers(16 * k, 5, 2.0), integers(k * 8, 3, 1.0));
        let c: Vec<f32> = integers(128, 17, 8.0);
        let encoded = |values: &[f32]| values.iter().map(|&v| encode(v)).collect::<Vec<_>>();
        let c_bits: Vec<u32> = c.iter().map(|v| v.to_bits()).collect();
        let found = multiply(opcode, 16, k, bits, &encoded(&a), &encoded(&b), &c_bits);
        for row in 0..16 {
            for column in 0..8 {
                let sum: f32 = (0..k).map(|i| a[row * k + i] * b[i * 8 + column]).sum();
                let found = f32::from_bits(found[row * 8 + column]);
                assert_eq!(found, sum + c[row * 8 + column], "{opcode} ({row}, {column})");
            }
        }
    }
}

#[test]
fn doubles_multiply_in_their_own_fragments() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         cvt.rn.f64.u32 %rd2, %r1;
         mov.b64 %rd3, 0;
         mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd4, %rd5}, {%rd2}, {%rd2}, {%rd3, %rd3};
         mad.wide.u32 %rd6, %r1, 16, %rd1;
         st.global.v2.b64 [%rd6], {%rd4, %rd5};
         ret;",
    );
    let run = Run::new();
    let out = run.empty(512);
    run.block(&kernel, 32, &[out]).unwrap();
    let mut bytes = [0; 512];
    run.device.read(out, &mut bytes).unwrap();
    for (at, word) in bytes.chunks(8).enumerate() {
        let (lane, j) = (at / 2, at % 2);
        let (row, column) = (lane / 4, 2 * (lane % 4) + j);
        // Lane l holds A (l / 4, l mod 4) and B (l mod 4, l / 4), both of value l.
        let expected: f64 = (0..4).map(|k| ((row * 4 + k) * (column * 4 + k)) as f64).sum();
        assert_eq!(f64::from_le_bytes(word.try_into().unwrap()), expected);
    }
}

#[test]
fn stmatrix_undoes_ldmatrix_and_movmatrix_transposes() {
    let kernel = module(
        &["out"],
        "ld.param.b64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         mov.b32 %r2, dynamic;
         and.b32 %r3, %r1, 7;
         mad.lo.s32 %r4, %r3, 16, %r2;
         mad.lo.s32 %r5, %r1, 2, 1;
         shl.b32 %r6, %r5, 16;
         mad.lo.s32 %r7, %r1, 2, %r6;
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r7};
         bar.warp.sync -1;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r4];
         ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r9}, [%r4];
         movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r7;
         mad.lo.s32 %r11, %r1, 4, %r2;
         ld.shared.b32 %r12, [%r11];
         mad.wide.u32 %rd2, %r1, 16, %rd1;
         st.global.v4.b32 [%rd2], {%r8, %r9, %r10, %r12};
         ret;",
    );
    let run = Run::new();
    let out = run.empty(512);
    run.block(&kernel, 32, &[out]).unwrap();
    let element = |row: u32, column: u32| row * 8 + column;
    for (lane, found) in run.read(out, 128).chunks(4).enumerate() {
        let (row, column) = (lane as u32 / 4, lane as u32 % 4 * 2);
        let plain = element(row, column) | element(row, column + 1) << 16;
        let transposed = element(column, row) | element(column + 1, row) << 16;
        assert_eq!(found, [plain, transposed, transposed, plain], "lane {lane}");
    }
}
