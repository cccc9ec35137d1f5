//! f16 and bf16, alone and in pairs. Every operation is computed exactly or to odd in double precision and
//! rounded once.

use super::Decoding;
use super::float::extreme;
use super::lane::{binary, ternary, unary};
use crate::counters::Class;
use crate::decode::Inst;
use crate::numeric::exact::add_odd;
use crate::numeric::format::{BF16, F16, Format, Rounding};

const CLASS: Class = Class::Float;

/// Format, packing and the modifiers that act on each half.
#[derive(Clone, Copy)]
struct Kind {
    format: Format,
    packed: bool,
    flush: bool,
    saturate: bool,
    relu: bool,
}

impl Kind {
    fn read(self, bits: u32) -> f64 {
        let bits = bits & 0xffff;
        let value = self.format.decode(bits);
        // The smallest normal magnitude of f16 is 2^-14; only f16 has `.ftz`.
        if self.flush && value.abs() < 6.103515625e-5 { 0f64.copysign(value) } else { value }
    }

    fn write(self, value: f64) -> u32 {
        let mut value = value;
        if self.saturate {
            value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        }
        if self.relu && value < 0.0 {
            value = 0.0;
        }
        let bits = self.format.encode(value, Rounding::Even, false);
        if self.flush && bits & 0x7c00 == 0 { bits & 0x8000 } else { bits }
    }

    /// Applies `f` to the one half or to both.
    fn each(self, f: impl Fn(u32) -> f64) -> u32 {
        let low = self.write(f(0));
        if self.packed { low | self.write(f(16)) << 16 } else { low }
    }

    fn unary(self, i: &mut Inst<'_, '_>, f: fn(f64) -> f64) -> Decoding {
        unary(i, CLASS, move |a: u32| self.each(|shift| f(self.read(a >> shift))))
    }

    fn binary(self, i: &mut Inst<'_, '_>, f: impl Fn(f64, f64) -> f64 + Send + Sync + 'static) -> Decoding {
        binary(i, CLASS, move |a: u32, b: u32| self.each(|shift| f(self.read(a >> shift), self.read(b >> shift))))
    }
}

/// f16 and bf16 arithmetic.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    let (format, packed) = match i.take_type() {
        "f16" => (F16, false),
        "f16x2" => (F16, true),
        "bf16" => (BF16, false),
        "bf16x2" => (BF16, true),
        other => return Err(i.unknown_modifier(other)),
    };
    i.choose(&["rn", "approx"]);
    let kind = Kind { format, packed, flush: i.flag("ftz"), saturate: i.flag("sat"), relu: i.flag("relu") };
    let keep_nan = i.flag("NaN");
    let sign = if packed { 0x8000_8000 } else { 0x8000 };
    match i.mnemonic() {
        "add" => kind.binary(i, add_odd),
        "sub" => kind.binary(i, |a, b| add_odd(a, -b)),
        "mul" => kind.binary(i, |a, b| a * b),
        "min" => kind.binary(i, move |a, b| extreme(a, b, true, keep_nan)),
        "max" => kind.binary(i, move |a, b| extreme(a, b, false, keep_nan)),
        "fma" => ternary(i, CLASS, move |a: u32, b: u32, c: u32| {
            kind.each(|shift| {
                let (a, b, c) = (kind.read(a >> shift), kind.read(b >> shift), kind.read(c >> shift));
                add_odd(a * b, c)
            })
        }),
        "neg" => unary(i, CLASS, move |a: u32| a ^ sign),
        "abs" => unary(i, CLASS, move |a: u32| a & !sign),
        "tanh" => kind.unary(i, f64::tanh),
        "ex2" => kind.unary(i, f64::exp2),
        _ => Err(i.unknown()),
    }
}
