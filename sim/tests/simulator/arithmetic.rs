//! Integer and floating-point arithmetic against exact arithmetic of the host.

use super::common::{Run, module};
use proptest::prelude::*;

/// One lane: 64-bit inputs `%rd1 %rd2 %rd3` (low halves `%r1 %r2 %r3`), outputs `%rd10…` of `count`.
fn evaluate(inputs: [u64; 3], body: &str, count: usize) -> Vec<u64> {
    let stores: String = (0..count).map(|at| format!("st.global.b64 [%rd9+{}], %rd{};\n", 8 * at, 10 + at)).collect();
    let kernel = module(
        &["a", "b", "c", "out"],
        &format!(
            "ld.param.b64 %rd1, [a];
             ld.param.b64 %rd2, [b];
             ld.param.b64 %rd3, [c];
             ld.param.b64 %rd9, [out];
             cvt.u32.u64 %r1, %rd1;
             cvt.u32.u64 %r2, %rd2;
             cvt.u32.u64 %r3, %rd3;
             {body}
             {stores}
             ret;"
        ),
    );
    let run = Run::new();
    let out = run.empty(8 * count);
    run.block(&kernel, 1, &[inputs[0], inputs[1], inputs[2], out]).unwrap();
    run.read(out, 2 * count).chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect()
}

/// Bit patterns near the ends of the ranges as often as in between.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u64..4).prop_map(|small| small.wrapping_sub(2)),
        (0u64..3).prop_map(|small| (i64::MIN as u64).wrapping_add(small).wrapping_sub(1)),
        (0u64..3).prop_map(|small| 0x8000_0000u64.wrapping_add(small).wrapping_sub(1)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn products_agree_with_128_bit_arithmetic(a in word(), b in word(), c in word()) {
        let found = evaluate([a, b, c], "
            mul.hi.u64 %rd10, %rd1, %rd2;
            mul.hi.s64 %rd11, %rd1, %rd2;
            mad.lo.s64 %rd12, %rd1, %rd2, %rd3;
            mad.wide.u32 %rd13, %r1, %r2, %rd3;
            mad.wide.s32 %rd14, %r1, %r2, %rd3;
            mul.hi.s32 %r4, %r1, %r2; cvt.s64.s32 %rd15, %r4;
            mul.hi.u32 %r4, %r1, %r2; cvt.u64.u32 %rd16, %r4;
            mad.hi.u32 %r4, %r1, %r2, %r3; cvt.u64.u32 %rd17, %r4;", 8);
        let (sa, sb) = (a as i64, b as i64);
        let (na, nb) = (a as u32, b as u32);
        let (ia, ib) = (na as i32, nb as i32);
        let high = ((u128::from(na) * u128::from(nb)) >> 32) as u32;
        prop_assert_eq!(found, vec![
            ((u128::from(a) * u128::from(b)) >> 64) as u64,
            ((i128::from(sa) * i128::from(sb)) >> 64) as u64,
            a.wrapping_mul(b).wrapping_add(c),
            (u128::from(na) * u128::from(nb) + u128::from(c)) as u64,
            (i128::from(ia) * i128::from(ib) + i128::from(c as i64)) as u64,
            ((i128::from(ia) * i128::from(ib)) >> 32) as i32 as u64,
            high.into(),
            high.wrapping_add(c as u32).into(),
        ]);
    }

    #[test]
    fn carries_chain_64_bit_sums_out_of_32_bit_halves(a in word(), b in word(), c in word()) {
        let found = evaluate([a, b, c], "
            shr.u64 %rd4, %rd1, 32; cvt.u32.u64 %r4, %rd4;
            shr.u64 %rd4, %rd2, 32; cvt.u32.u64 %r5, %rd4;
            add.cc.u32 %r6, %r1, %r2; addc.u32 %r7, %r4, %r5; mov.b64 %rd10, {%r6, %r7};
            sub.cc.u32 %r6, %r1, %r2; subc.u32 %r7, %r4, %r5; mov.b64 %rd11, {%r6, %r7};
            mad.lo.cc.u32 %r6, %r1, %r2, %r3; madc.hi.u32 %r7, %r1, %r2, 0; mov.b64 %rd12, {%r6, %r7};", 3);
        let narrow = |word: u64| word & 0xffff_ffff;
        prop_assert_eq!(found, vec![
            a.wrapping_add(b),
            a.wrapping_sub(b),
            narrow(a).wrapping_mul(narrow(b)).wrapping_add(narrow(c)),
        ]);
    }

    #[test]
    fn shifts_and_fields_keep_their_bits(a in word(), b in word(), s in 0u32..70, l in 0u32..40) {
        let found = evaluate([a, b, u64::from(s) | u64::from(l) << 32], "
            shr.u64 %rd4, %rd3, 32; cvt.u32.u64 %r4, %rd4;
            shl.b64 %rd10, %rd1, %r3;
            shr.s64 %rd11, %rd1, %r3;
            shr.u32 %r5, %r1, %r3; cvt.u64.u32 %rd12, %r5;
            bfe.u64 %rd13, %rd1, %r3, %r4;
            bfe.s32 %r5, %r1, %r3, %r4; cvt.s64.s32 %rd14, %r5;
            bfi.b64 %rd15, %rd1, %rd2, %r3, %r4;
            shf.l.wrap.b32 %r5, %r1, %r2, %r3; cvt.u64.u32 %rd16, %r5;", 7);
        let ones = (1u128 << l) - 1;
        let sign_extended = i128::from(a as u32 as i32);
        let field = if l == 0 { 0 } else {
            let low = (sign_extended >> s.min(100)) & ones as i128;
            let top = (s + l - 1).min(31);
            if sign_extended >> top & 1 == 1 { low | !(ones as i128) } else { low }
        };
        let mask = (ones << s) as u64;
        prop_assert_eq!(found, vec![
            a.checked_shl(s).unwrap_or(0),
            (a as i64 >> s.min(63)) as u64,
            (a as u32).checked_shr(s).unwrap_or(0).into(),
            ((u128::from(a) >> s) & ones) as u64,
            field as i32 as u64,
            b & !mask | ((u128::from(a) << s) as u64 & mask),
            ((u128::from(b as u32) << 32 | u128::from(a as u32)) << (s & 31) >> 32) as u32 as u64,
        ]);
    }

    #[test]
    fn float_results_are_rounded_once(a in any::<f32>(), b in any::<f32>(), c in any::<f32>()) {
        let bits = [a, b, c].map(|v| u64::from(v.to_bits()));
        let found = evaluate(bits, "
            fma.rn.f32 %r4, %r1, %r2, %r3; cvt.u64.u32 %rd10, %r4;
            fma.rz.f32 %r4, %r1, %r2, %r3; cvt.u64.u32 %rd11, %r4;
            min.f32 %r4, %r1, %r2; cvt.u64.u32 %rd12, %r4;
            setp.ltu.f32 %p1, %r1, %r2; selp.b64 %rd13, 1, 0, %p1;", 4);
        let canonical = |v: f32| if v.is_nan() { 0x7fff_ffff } else { u64::from(v.to_bits()) };
        let exact = a.mul_add(b, c);
        prop_assert_eq!(found[0], canonical(exact));
        let toward_zero = f32::from_bits(found[1] as u32);
        if exact.is_finite() {
            // Rounding to nearest is at most one step farther from zero.
            prop_assert!(toward_zero == exact || toward_zero.to_bits() + 1 == exact.to_bits() || toward_zero.is_infinite());
        }
        // The smaller of two zeros is the negative one.
        let smaller = if a == b { f32::from_bits(a.to_bits() | b.to_bits()) } else { a.min(b) };
        prop_assert_eq!(found[2], canonical(smaller));
        prop_assert_eq!(found[3], u64::from(a < b || a.is_nan() || b.is_nan()));
    }

    #[test]
    fn half_sums_and_products_agree_with_the_half_crate(a in any::<u16>(), b in any::<u16>()) {
        let found = evaluate([a.into(), b.into(), 0], "
            cvt.u16.u32 %rs1, %r1; cvt.u16.u32 %rs2, %r2;
            add.rn.f16 %rs3, %rs1, %rs2; cvt.u64.u16 %rd10, %rs3;
            mul.rn.f16 %rs3, %rs1, %rs2; cvt.u64.u16 %rd11, %rs3;
            fma.rn.bf16 %rs3, %rs1, %rs2, 0x8000; cvt.u64.u16 %rd12, %rs3;
            mov.b32 %r4, {%rs1, %rs2}; mov.b32 %r5, {%rs2, %rs1};
            add.f16x2 %r6, %r4, %r5; cvt.u64.u32 %rd13, %r6;", 4);
        let (x, y) = (half::f16::from_bits(a), half::f16::from_bits(b));
        let bits = |v: half::f16| if v.is_nan() { 0x7fff } else { u64::from(v.to_bits()) };
        prop_assert_eq!(found[0], bits(x + y));
        prop_assert_eq!(found[1], bits(x * y));
        let (x16, y16) = (half::bf16::from_bits(a), half::bf16::from_bits(b));
        let product = half::bf16::from_f64(x16.to_f64() * y16.to_f64());
        let product = if product.is_nan() { 0x7fff } else { u64::from(product.to_bits()) };
        prop_assert_eq!(found[2], product);
        prop_assert_eq!(found[3], bits(x + y) | bits(x + y) << 16);
    }
}

#[test]
fn division_by_zero_gives_all_ones_and_the_dividend() {
    let found = evaluate([7, 0, 0], "div.u64 %rd10, %rd1, %rd2; rem.u64 %rd11, %rd1, %rd2; div.u64 %rd12, %rd1, 2;", 3);
    assert_eq!(found, [u64::MAX, 7, 3]);
}

#[test]
fn bits_are_counted_found_permuted_and_looked_up() {
    let found = evaluate(
        [0x0000_f0f0_1234_5678, 0x00ff, 0xaaaa_5555],
        "
        popc.b64 %r4, %rd1; cvt.u64.u32 %rd10, %r4;
        clz.b64 %r4, %rd1; cvt.u64.u32 %rd11, %r4;
        bfind.u32 %r4, %r2; cvt.u64.u32 %rd12, %r4;
        prmt.b32 %r4, %r1, %r2, 0x4321; cvt.u64.u32 %rd13, %r4;
        brev.b32 %r4, %r2; cvt.u64.u32 %rd14, %r4;
        lop3.b32 %r4, %r1, %r2, %r3, 0x96; cvt.u64.u32 %rd15, %r4;
        dp4a.u32.u32 %r4, %r1, 0x01010101, %r2; cvt.u64.u32 %rd16, %r4;
        min.s32 %r4, %r3, 3; cvt.u64.u32 %rd17, %r4;",
        8,
    );
    let bytes = 0x12 + 0x34 + 0x56 + 0x78;
    assert_eq!(
        found,
        [
            0x0000_f0f0_1234_5678u64.count_ones().into(),
            16,
            7,
            0xff12_3456,
            0xff00_0000,
            0x1234_5678 ^ 0x00ff ^ 0xaaaa_5555,
            bytes + 0xff,
            0xaaaa_5555,
        ]
    );
}

#[test]
fn halves_of_a_pair_are_compared_apart() {
    // (2, 1) < (1, 2) holds in the lower half only; NaN is below nothing.
    let body = "setp.lt.f16x2 %p1|%p2, %r1, %r2; selp.b64 %rd10, 1, 0, %p1; selp.b64 %rd11, 1, 0, %p2;
        setp.ltu.f16x2 %p3|%p4, %r1, %r3; selp.b64 %rd12, 1, 0, %p3; selp.b64 %rd13, 1, 0, %p4;";
    assert_eq!(evaluate([0x4000_3c00, 0x3c00_4000, 0x7fff_0000], body, 4), [1, 0, 0, 1]);
}
