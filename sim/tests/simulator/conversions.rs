//! `cvt` against the `half` crate and the host.

use super::common::{Run, module};
use falchion_sim::Launch;

/// `%r2` is the thread's index in the grid of 2^16; `body` leaves its result in `%r9`.
fn all_patterns(body: &str) -> Vec<u32> {
    let kernel = module(
        &["out"],
        &format!(
            "ld.param.b64 %rd1, [out];
             mov.u32 %r1, %ctaid.x;
             mov.u32 %r3, %tid.x;
             mad.lo.s32 %r2, %r1, 256, %r3;
             cvt.u16.u32 %rs1, %r2;
             {body}
             mul.wide.u32 %rd2, %r2, 4;
             add.s64 %rd3, %rd1, %rd2;
             st.global.b32 [%rd3], %r9;
             ret;"
        ),
    );
    let run = Run::new();
    let out = run.empty(4 << 16);
    run.launch(&kernel, Launch::new([256, 1, 1], [256, 1, 1]), &[out]).unwrap();
    run.read(out, 1 << 16)
}

fn check(body: &str, expected: impl Fn(u16) -> Option<u32>) {
    for (bits, &found) in all_patterns(body).iter().enumerate() {
        if let Some(expected) = expected(bits as u16) {
            assert_eq!(found, expected, "{body} of {bits:#06x}");
        }
    }
}

#[test]
fn halves_widen_exactly() {
    check("cvt.f32.f16 %r9, %rs1;", |b| {
        let value = half::f16::from_bits(b).to_f32();
        (!value.is_nan()).then_some(value.to_bits())
    });
    check("cvt.f32.bf16 %r9, %rs1;", |b| {
        let value = half::bf16::from_bits(b).to_f32();
        (!value.is_nan()).then_some(value.to_bits())
    });
}

#[test]
fn singles_narrow_to_nearest_even() {
    // The pattern is spread over sign, exponent and the mantissa bits around the rounding position.
    let spread = |b: u16| u32::from(b >> 4) << 20 | u32::from(b & 15) << 12 | (0x800 * u32::from(b & 1));
    let body = "shr.u32 %r4, %r2, 4; shl.b32 %r4, %r4, 20; and.b32 %r5, %r2, 15; shl.b32 %r5, %r5, 12;
        and.b32 %r6, %r2, 1; mul.lo.s32 %r6, %r6, 2048; or.b32 %r4, %r4, %r5; or.b32 %r4, %r4, %r6;";
    check(&format!("{body} cvt.rn.f16.f32 %rs2, %r4; cvt.u32.u16 %r9, %rs2;"), |b| {
        let value = f32::from_bits(spread(b));
        (!value.is_nan()).then(|| half::f16::from_f32(value).to_bits().into())
    });
    check(&format!("{body} cvt.rn.bf16x2.f32 %r9, %r4, 0f3F800000;"), |b| {
        let value = f32::from_bits(spread(b));
        (!value.is_nan()).then(|| u32::from(half::bf16::from_f32(value).to_bits()) << 16 | 0x3f80)
    });
}

#[test]
fn integers_and_floats_convert_as_the_host_converts() {
    check("cvt.rn.f32.s16 %r9, %rs1;", |b| Some(f32::from(b as i16).to_bits()));
    check("cvt.s32.s16 %r9, %rs1;", |b| Some(b as i16 as u32));
    check("cvt.u32.u8 %r9, %rs1;", |b| Some(u32::from(b as u8)));
    check("cvt.s32.s8 %r9, %rs1;", |b| Some(b as i8 as u32));
    check("cvt.rzi.s32.f16 %r9, %rs1;", |b| Some(half::f16::from_bits(b).to_f32() as i32 as u32));
    check("cvt.sat.u8.s16 %rs2, %rs1; cvt.u32.u16 %r9, %rs2;", |b| Some((b as i16).clamp(0, 255) as u32));
    check("cvt.rn.f16.u16 %rs2, %rs1; cvt.u32.u16 %r9, %rs2;", |b| {
        Some(half::f16::from_f32(f32::from(b)).to_bits().into())
    });
    // 2^40 + pattern · 2^15 + 1 does not fit a single; rounded once.
    let body = "cvt.u64.u32 %rd4, %r2; shl.b64 %rd4, %rd4, 15; add.s64 %rd4, %rd4, 1099511627777;";
    check(&format!("{body} cvt.rn.f32.u64 %r9, %rd4;"), |b| {
        Some((((u64::from(b) << 15) as f64 + 1_099_511_627_777.0) as f32).to_bits())
    });
    check("cvt.rni.f32.f32 %r9, %r2;", |b| Some(f32::from_bits(b.into()).round_ties_even().to_bits()));
}

#[test]
fn bytes_of_fp8_pack_and_unpack() {
    let found = all_patterns(
        "and.b32 %r4, %r2, 127; cvt.rn.f32.u32 %r5, %r4; cvt.rn.satfinite.e4m3x2.f32 %rs2, %r5, 0fC4610000; cvt.rn.f16x2.e4m3x2 %r9, %rs2;",
    );
    for (bits, &pair) in found.iter().enumerate() {
        // Four significant bits: rounded to multiples of 1, 2, 4 or 8, ties to even.
        let value = (bits & 127) as f32;
        let step = if value >= 64.0 {
            8.0
        } else if value >= 32.0 {
            4.0
        } else if value >= 16.0 {
            2.0
        } else {
            1.0
        };
        let expected = (value / step).round_ties_even() * step;
        assert_eq!(half::f16::from_bits((pair >> 16) as u16).to_f32(), expected);
        assert_eq!(half::f16::from_bits(pair as u16).to_f32(), -448.0);
    }
}
