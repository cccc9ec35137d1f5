//! Single and double precision (PTX ISA, "Floating Point Instructions").
//!
//! `.approx` functions are computed in double precision and rounded: hardware is allowed more error, never less.

use super::lane::{Lane, binary, ternary, unary};
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::machine::context::Flow;
use crate::numeric::exact::add_odd;
use crate::numeric::format::{F32, Rounding};

const CLASS: Class = Class::Float;

/// `.ftz`, `.sat` and `.relu` of an `f32` instruction.
#[derive(Clone, Copy)]
struct Finish {
    flush: bool,
    saturate: bool,
}

fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

impl Finish {
    fn source(self, value: f32) -> f32 {
        if self.flush { flushed(value) } else { value }
    }

    fn result(self, value: f32) -> f32 {
        let mut value = if value.is_nan() { f32::from_bits(0x7fff_ffff) } else { value };
        if self.flush {
            value = flushed(value);
        }
        if self.saturate {
            value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        }
        value
    }

    fn is_plain(self) -> bool {
        !self.flush && !self.saturate
    }
}

fn unary32(i: &mut Inst<'_, '_>, finish: Finish, f: impl Fn(f32) -> f32 + Send + Sync + 'static) -> Decoding {
    unary(i, CLASS, move |a| finish.result(f(finish.source(a))))
}

fn binary32(i: &mut Inst<'_, '_>, finish: Finish, f: impl Fn(f32, f32) -> f32 + Send + Sync + 'static) -> Decoding {
    if finish.is_plain() {
        return binary(i, CLASS, move |a, b| canonical(f(a, b)));
    }
    binary(i, CLASS, move |a, b| finish.result(f(finish.source(a), finish.source(b))))
}

/// The NaN every operation returns.
#[inline]
fn canonical(value: f32) -> f32 {
    if value.is_nan() { f32::from_bits(0x7fff_ffff) } else { value }
}

fn ternary32(
    i: &mut Inst<'_, '_>,
    finish: Finish,
    f: impl Fn(f32, f32, f32) -> f32 + Send + Sync + 'static,
) -> Decoding {
    if finish.is_plain() {
        return ternary(i, CLASS, move |a, b, c| canonical(f(a, b, c)));
    }
    ternary(i, CLASS, move |a, b, c| finish.result(f(finish.source(a), finish.source(b), finish.source(c))))
}

/// `f32` and `f64` arithmetic.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "min" | "max" => return extremum(i),
        "copysign" => return copysign(i),
        "testp" => return testp(i),
        "tanh" | "ex2" if i.peek_type() != "f32" => return super::half_float::decode(i),
        _ => {}
    }
    let finish = Finish { flush: i.flag("ftz"), saturate: i.flag("sat") };
    let exactness = i.choose(&["rn", "rz", "rm", "rp", "full", "approx"]);
    let rounding = exactness.and_then(Rounding::parse).unwrap_or(Rounding::Even);
    match i.take_type() {
        "f32" if rounding == Rounding::Even => single(i, finish),
        "f32" => directed(i, finish, rounding),
        "f64" if rounding == Rounding::Even => double(i),
        other => Err(i.unknown_modifier(other)),
    }
}

fn single(i: &mut Inst<'_, '_>, finish: Finish) -> Decoding {
    match i.mnemonic() {
        "add" => binary32(i, finish, |a, b| a + b),
        "sub" => binary32(i, finish, |a, b| a - b),
        "mul" => binary32(i, finish, |a, b| a * b),
        "div" => binary32(i, finish, |a, b| a / b),
        "fma" | "mad" => ternary32(i, finish, f32::mul_add),
        "abs" => unary(i, CLASS, move |a: f32| finish.source(a).abs()),
        "neg" => unary(i, CLASS, move |a: f32| -finish.source(a)),
        "rcp" => unary32(i, finish, |a| 1.0 / a),
        "sqrt" => unary32(i, finish, f32::sqrt),
        "rsqrt" => unary32(i, finish, |a| (1.0 / f64::from(a).sqrt()) as f32),
        "ex2" => unary32(i, finish, |a| f64::from(a).exp2() as f32),
        "lg2" => unary32(i, finish, |a| f64::from(a).log2() as f32),
        "sin" => unary32(i, finish, |a| f64::from(a).sin() as f32),
        "cos" => unary32(i, finish, |a| f64::from(a).cos() as f32),
        "tanh" => unary32(i, finish, |a| f64::from(a).tanh() as f32),
        _ => Err(i.unknown()),
    }
}

/// `.rz`, `.rm`, `.rp`: computed to odd in double precision, then rounded once.
fn directed(i: &mut Inst<'_, '_>, finish: Finish, rounding: Rounding) -> Decoding {
    let round = move |value: f64| f32::from_bits(F32.encode(value, rounding, false));
    let wide = f64::from;
    match i.mnemonic() {
        "add" => binary32(i, finish, move |a, b| round(add_odd(wide(a), wide(b)))),
        "sub" => binary32(i, finish, move |a, b| round(add_odd(wide(a), -wide(b)))),
        "mul" => binary32(i, finish, move |a, b| round(wide(a) * wide(b))),
        "fma" | "mad" => ternary32(i, finish, move |a, b, c| round(add_odd(wide(a) * wide(b), wide(c)))),
        _ => Err(i.unknown()),
    }
}

fn double(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "add" => binary(i, CLASS, |a: f64, b: f64| a + b),
        "sub" => binary(i, CLASS, |a: f64, b: f64| a - b),
        "mul" => binary(i, CLASS, |a: f64, b: f64| a * b),
        "div" => binary(i, CLASS, |a: f64, b: f64| a / b),
        "fma" | "mad" => ternary(i, CLASS, f64::mul_add),
        "abs" => unary(i, CLASS, f64::abs),
        "neg" => unary(i, CLASS, |a: f64| -a),
        "rcp" => unary(i, CLASS, |a: f64| 1.0 / a),
        "sqrt" => unary(i, CLASS, f64::sqrt),
        "rsqrt" => unary(i, CLASS, |a: f64| 1.0 / a.sqrt()),
        _ => Err(i.unknown()),
    }
}

/// The smaller (`minimum`) or larger of two numbers; a NaN loses unless `keep_nan`; −0 is below +0.
pub(crate) fn extreme(a: f64, b: f64, minimum: bool, keep_nan: bool) -> f64 {
    if a.is_nan() || b.is_nan() {
        return if keep_nan || (a.is_nan() && b.is_nan()) {
            f64::NAN
        } else if a.is_nan() {
            b
        } else {
            a
        };
    }
    let a_first = a < b || (a == b && a.is_sign_negative());
    if a_first == minimum { a } else { b }
}

fn extremum(i: &mut Inst<'_, '_>) -> Decoding {
    let minimum = i.mnemonic() == "min";
    let finish = Finish { flush: i.flag("ftz"), saturate: false };
    let keep_nan = i.flag("NaN");
    let magnitude = i.flag("xorsign") && i.flag("abs");
    match (i.take_type(), magnitude) {
        ("f32", false) => binary32(i, finish, move |a, b| extreme(a.into(), b.into(), minimum, keep_nan) as f32),
        ("f64", false) => binary(i, CLASS, move |a: f64, b: f64| extreme(a, b, minimum, keep_nan)),
        ("f32", true) => binary32(i, finish, move |a, b| {
            let value = extreme(a.abs().into(), b.abs().into(), minimum, keep_nan) as f32;
            if a.is_sign_negative() != b.is_sign_negative() { -value } else { value }
        }),
        (other, _) => Err(i.unknown_modifier(other)),
    }
}

/// `copysign d, a, b`: the sign of `a` on the magnitude of `b`.
fn copysign(i: &mut Inst<'_, '_>) -> Decoding {
    match i.take_type() {
        "f32" => binary(i, CLASS, |a: f32, b: f32| b.copysign(a)),
        "f64" => binary(i, CLASS, |a: f64, b: f64| b.copysign(a)),
        other => Err(i.unknown_modifier(other)),
    }
}

fn testp(i: &mut Inst<'_, '_>) -> Decoding {
    let test = i.choose(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
    let Some(test) = test else { return Err(i.unknown()) };
    let holds = move |value: f64, normal: bool, subnormal: bool| match test {
        "finite" => value.is_finite(),
        "infinite" => value.is_infinite(),
        "number" => !value.is_nan(),
        "notanumber" => value.is_nan(),
        "normal" => normal,
        _ => subnormal,
    };
    match i.take_type() {
        "f32" => tested(i, move |a: f32| holds(a.into(), a.is_normal(), a.is_subnormal())),
        "f64" => tested(i, move |a: f64| holds(a, a.is_normal(), a.is_subnormal())),
        other => Err(i.unknown_modifier(other)),
    }
}

fn tested<T: Lane>(i: &mut Inst<'_, '_>, holds: impl Fn(T) -> bool + Send + Sync + 'static) -> Decoding {
    let (p, a) = (i.dest_predicate(0)?, i.source::<T::Storage>(1)?);
    Ok(Decoded::new(CLASS, move |c| {
        let row = c.row(a);
        let bits = (0..32).fold(0, |bits, lane| bits | u32::from(holds(T::read(row[lane]))) << lane);
        c.put_predicate(p, bits);
        Ok(Flow::Next)
    }))
}
