//! Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions").

use super::Decoding;
use super::lane::{binary, by_integer, ternary, unary};
use crate::counters::Class;
use crate::decode::Inst;

const CLASS: Class = Class::Integer;

/// Integer `add` … `dp2a`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "mul" | "mad" => return product(i),
        "mul24" | "mad24" => return product24(i),
        "dp4a" | "dp2a" => return dot(i),
        "add" | "sub" | "min" | "max" | "abs" | "neg" if matches!(i.peek_type(), "u16x2" | "s16x2") => {
            return packed(i);
        }
        _ => {}
    }
    let saturate = i.flag("sat");
    let relu = i.flag("relu");
    let name = i.take_type();
    if (saturate || relu) && name != "s32" {
        return Err(i.unknown_modifier(if saturate { "sat" } else { "relu" }));
    }
    let mnemonic = i.mnemonic();
    match (mnemonic, saturate) {
        ("add", true) => return binary(i, CLASS, i32::saturating_add),
        ("sub", true) => return binary(i, CLASS, i32::saturating_sub),
        (_, true) => return Err(i.unknown_modifier("sat")),
        _ => {}
    }
    if relu {
        return match mnemonic {
            "min" => binary(i, CLASS, |a: i32, b: i32| a.min(b).max(0)),
            "max" => binary(i, CLASS, |a: i32, b: i32| a.max(b).max(0)),
            _ => Err(i.unknown_modifier("relu")),
        };
    }
    by_integer!(name, T => match mnemonic {
        "add" => binary(i, CLASS, T::wrapping_add),
        "sub" => binary(i, CLASS, T::wrapping_sub),
        // Division by zero is not a fault on hardware: all ones, and the dividend as remainder.
        "div" => binary(i, CLASS, |a: T, b: T| if b == 0 { !0 } else { a.wrapping_div(b) }),
        "rem" => binary(i, CLASS, |a: T, b: T| if b == 0 { a } else { a.wrapping_rem(b) }),
        "min" => binary(i, CLASS, |a: T, b: T| a.min(b)),
        "max" => binary(i, CLASS, |a: T, b: T| a.max(b)),
        "abs" => unary(i, CLASS, |a: T| if i128::from(a) < 0 { (0 as T).wrapping_sub(a) } else { a }),
        "neg" => unary(i, CLASS, |a: T| (0 as T).wrapping_sub(a)),
        "sad" => ternary(i, CLASS, |a: T, b: T, c: T| c.wrapping_add(if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) })),
        _ => Err(i.unknown()),
    }, else Err(i.unknown_modifier(name)))
}

/// `mul` and `mad` with `.lo`, `.hi` or `.wide`.
fn product(i: &mut Inst<'_, '_>) -> Decoding {
    let half = i.choose(&["lo", "hi", "wide"]);
    let saturate = i.flag("sat");
    let name = i.take_type();
    let is_mad = i.mnemonic() == "mad";
    if saturate {
        if half != Some("hi") || name != "s32" || !is_mad {
            return Err(i.unknown_modifier("sat"));
        }
        return ternary(i, CLASS, |a: i32, b: i32, c: i32| {
            (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
        });
    }
    match half {
        Some("wide") => wide(i, name, is_mad),
        Some("hi") => by_integer!(name, T => if is_mad {
            ternary(i, CLASS, |a: T, b: T, c: T| (high(a.into(), b.into(), T::BITS) as T).wrapping_add(c))
        } else {
            binary(i, CLASS, |a: T, b: T| high(a.into(), b.into(), T::BITS) as T)
        }, else Err(i.unknown_modifier(name))),
        Some("lo") => by_integer!(name, T => if is_mad {
            ternary(i, CLASS, |a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c))
        } else {
            binary(i, CLASS, T::wrapping_mul)
        }, else Err(i.unknown_modifier(name))),
        _ => Err(i.unknown_modifier(name)),
    }
}

/// Bits above `bits` of a · b.
fn high(a: i128, b: i128, bits: u32) -> i128 {
    // The product of two unsigned 64-bit numbers does not fit an `i128` as a number, but it does as bits.
    if bits == 64 && a >= 0 && b >= 0 {
        return ((a as u128 * b as u128) >> 64) as i128;
    }
    (a * b) >> bits
}

fn wide(i: &mut Inst<'_, '_>, name: &str, is_mad: bool) -> Decoding {
    macro_rules! widen {
        ($narrow:ty, $wide:ty) => {
            if is_mad {
                ternary(i, CLASS, |a: $narrow, b: $narrow, c: $wide| {
                    <$wide>::from(a).wrapping_mul(<$wide>::from(b)).wrapping_add(c)
                })
            } else {
                binary(i, CLASS, |a: $narrow, b: $narrow| <$wide>::from(a).wrapping_mul(<$wide>::from(b)))
            }
        };
    }
    match name {
        "u16" => widen!(u16, u32),
        "s16" => widen!(i16, i32),
        "u32" => widen!(u32, u64),
        "s32" => widen!(i32, i64),
        _ => Err(i.unknown_modifier(name)),
    }
}

/// `mul24`, `mad24`: products of the low 24 bits; `.hi` gives bits 16 to 47.
fn product24(i: &mut Inst<'_, '_>) -> Decoding {
    let shift = match i.choose(&["lo", "hi"]) {
        Some("lo") => 0,
        Some(_) => 16,
        None => return Err(i.unknown()),
    };
    let is_mad = i.mnemonic() == "mad24";
    let name = i.take_type();
    let unsigned = move |a: u32, b: u32| {
        let low = |word: u32| u64::from(word & 0xff_ffff);
        ((low(a) * low(b)) >> shift) as u32
    };
    let signed = move |a: u32, b: u32| {
        let low = |word: u32| i64::from((word as i32) << 8 >> 8);
        ((low(a) * low(b)) >> shift) as u32
    };
    match (name, is_mad) {
        ("u32", false) => binary(i, CLASS, unsigned),
        ("s32", false) => binary(i, CLASS, signed),
        ("u32", true) => ternary(i, CLASS, move |a, b, c: u32| unsigned(a, b).wrapping_add(c)),
        ("s32", true) => ternary(i, CLASS, move |a, b, c: u32| signed(a, b).wrapping_add(c)),
        _ => Err(i.unknown_modifier(name)),
    }
}

/// Two 16-bit lanes in one register.
fn packed(i: &mut Inst<'_, '_>) -> Decoding {
    let signed = i.take_type() == "s16x2";
    let mnemonic = i.mnemonic();
    let each = |f: fn(u16, u16) -> u16| {
        move |a: u32, b: u32| u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
    };
    let f: fn(u16, u16) -> u16 = match (mnemonic, signed) {
        ("add", _) => u16::wrapping_add,
        ("min", false) => |a, b| a.min(b),
        ("max", false) => |a, b| a.max(b),
        ("min", true) => |a, b| (a as i16).min(b as i16) as u16,
        ("max", true) => |a, b| (a as i16).max(b as i16) as u16,
        _ => return Err(i.unknown()),
    };
    binary(i, CLASS, each(f))
}

/// `dp4a`, `dp2a`: dot products of packed bytes, added to `c`.
fn dot(i: &mut Inst<'_, '_>) -> Decoding {
    let b_signed = i.take_type() == "s32";
    let a_signed = i.take_type() == "s32";
    let byte = |word: u32, index: u32, signed: bool| {
        let byte = (word >> (8 * index)) as u8;
        if signed { i32::from(byte as i8) } else { i32::from(byte) }
    };
    if i.mnemonic() == "dp4a" {
        return ternary(i, CLASS, move |a: u32, b: u32, c: u32| {
            (0..4).fold(c, |sum, at| sum.wrapping_add((byte(a, at, a_signed) * byte(b, at, b_signed)) as u32))
        });
    }
    let first = match i.choose(&["lo", "hi"]) {
        Some("lo") => 0,
        Some(_) => 2,
        None => return Err(i.unknown()),
    };
    ternary(i, CLASS, move |a: u32, b: u32, c: u32| {
        (0..2).fold(c, |sum, at| {
            let word = (a >> (16 * at)) as u16;
            let word = if a_signed { i32::from(word as i16) } else { i32::from(word) };
            sum.wrapping_add(word.wrapping_mul(byte(b, first + at, b_signed)) as u32)
        })
    })
}
