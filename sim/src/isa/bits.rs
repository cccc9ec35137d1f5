//! Logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions" and bit-field integer instructions).

use super::lane::{binary, by_integer, ternary, unary};
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::machine::context::Flow;

const CLASS: Class = Class::Integer;

/// `and` … `lop3`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "and" | "or" | "xor" | "not" if i.peek_type() == "pred" => predicate_logic(i),
        "and" | "or" | "xor" | "not" | "cnot" => logic(i),
        "shl" | "shr" => shift(i),
        "shf" => funnel(i),
        "prmt" => permute(i),
        "bfe" | "bfi" | "bmsk" | "szext" => field(i),
        "bfind" | "clz" | "popc" | "brev" => count(i),
        "lop3" => lop3(i),
        _ => Err(i.unknown()),
    }
}

fn predicate_logic(i: &mut Inst<'_, '_>) -> Decoding {
    i.take_type();
    let d = i.dest_predicate(0)?;
    let a = i.guard(1)?;
    let mnemonic = i.mnemonic();
    if mnemonic == "not" {
        return Ok(Decoded::new(CLASS, move |c| {
            c.put_predicate(d, !a.lanes(c));
            Ok(Flow::Next)
        }));
    }
    let b = i.guard(2)?;
    let f: fn(u32, u32) -> u32 = match mnemonic {
        "and" => |a, b| a & b,
        "or" => |a, b| a | b,
        _ => |a, b| a ^ b,
    };
    Ok(Decoded::new(CLASS, move |c| {
        c.put_predicate(d, f(a.lanes(c), b.lanes(c)));
        Ok(Flow::Next)
    }))
}

fn logic(i: &mut Inst<'_, '_>) -> Decoding {
    let mnemonic = i.mnemonic();
    let name = i.take_type();
    by_integer!(name, T => match mnemonic {
        "and" => binary(i, CLASS, |a: T, b: T| a & b),
        "or" => binary(i, CLASS, |a: T, b: T| a | b),
        "xor" => binary(i, CLASS, |a: T, b: T| a ^ b),
        "not" => unary(i, CLASS, |a: T| !a),
        _ => unary(i, CLASS, |a: T| T::from(a == 0)),
    }, else Err(i.unknown_modifier(name)))
}

/// Amounts beyond the width shift everything out.
fn shift(i: &mut Inst<'_, '_>) -> Decoding {
    let left = i.mnemonic() == "shl";
    let name = i.take_type();
    by_integer!(name, T => if left {
        binary(i, CLASS, |a: T, b: u32| a.checked_shl(b).unwrap_or(0))
    } else {
        binary(i, CLASS, |a: T, b: u32| a.checked_shr(b).unwrap_or(if i128::from(a) < 0 { !0 } else { 0 }))
    }, else Err(i.unknown_modifier(name)))
}

/// `shf d, low, high, amount`: 32 bits of the 64-bit number `high:low`.
fn funnel(i: &mut Inst<'_, '_>) -> Decoding {
    let left = i.choose(&["l", "r"]) == Some("l");
    let Some(mode) = i.choose(&["wrap", "clamp"]) else { return Err(i.unknown()) };
    i.take_type();
    let wrap = mode == "wrap";
    ternary(i, CLASS, move |low: u32, high: u32, amount: u32| {
        let amount = if wrap { amount & 31 } else { amount.min(32) };
        let both = u64::from(high) << 32 | u64::from(low);
        if left { (both << amount >> 32) as u32 } else { (both >> amount) as u32 }
    })
}

/// `prmt`: each byte of the result is one of the eight bytes of `b:a`, or copies of its sign.
fn permute(i: &mut Inst<'_, '_>) -> Decoding {
    let mode = i.choose(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]);
    i.take_type();
    ternary(i, CLASS, move |a: u32, b: u32, selector: u32| {
        let bytes = u64::from(b) << 32 | u64::from(a);
        let by_mode = |at: u32| {
            let s = selector & 3;
            match mode {
                Some("f4e") => s + at,
                Some("b4e") => (s + 8 - at) & 7,
                Some("rc8") => s,
                Some("ecl") => at.max(s),
                Some("ecr") => at.min(s),
                Some(_) => (s & 1) * 2 + (at & 1),
                None => selector >> (4 * at) & 0xf,
            }
        };
        (0..4).fold(0, |word, at| {
            let chosen = by_mode(at);
            let byte = (bytes >> (8 * (chosen & 7))) as u8;
            let byte = if chosen & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
            word | u32::from(byte) << (8 * at)
        })
    })
}

fn field(i: &mut Inst<'_, '_>) -> Decoding {
    let mode = i.choose(&["clamp", "wrap"]);
    let name = i.take_type();
    match (i.mnemonic(), name, mode) {
        ("bfe", "u32" | "s32" | "u64" | "s64", None) => {
            let signed = name.starts_with('s');
            by_integer!(name, T => ternary(i, CLASS, move |a: T, start: u32, length: u32| {
                extract(signed, a.into(), start & 0xff, length & 0xff, T::BITS) as T
            }), else Err(i.unknown()))
        }
        ("bfi", "b32" | "b64", None) => insert(i, name),
        ("bmsk", "b32", Some(mode)) => {
            let wrap = mode == "wrap";
            binary(i, CLASS, move |start: u32, length: u32| {
                let (start, length) = if wrap { (start & 31, length & 31) } else { (start, length.min(32)) };
                let ones = if length == 32 { !0 } else { (1u32 << length) - 1 };
                ones.checked_shl(start).unwrap_or(0)
            })
        }
        ("szext", "u32" | "s32", Some(mode)) => {
            let (wrap, signed) = (mode == "wrap", name == "s32");
            binary(i, CLASS, move |a: u32, bits: u32| {
                let bits = if wrap { bits & 31 } else { bits.min(32) };
                extract(signed, if signed { i128::from(a as i32) } else { a.into() }, 0, bits, 32) as u32
            })
        }
        _ => Err(i.unknown()),
    }
}

/// `length` bits of `a` from `start`. For a signed operand (given sign-extended) the field's highest bit repeats;
/// a field that ends above the operand has the operand's sign there.
fn extract(signed: bool, a: i128, start: u32, length: u32, bits: u32) -> i128 {
    if length == 0 {
        return 0;
    }
    let length = length.min(bits);
    let ones = (1i128 << length) - 1;
    let low = a >> start.min(bits) & ones;
    // Unsigned operands come in without a sign, so only signed ones are extended.
    let top = (start + length - 1).min(bits - 1);
    if signed && a >> top & 1 == 1 { low | !ones } else { low }
}

fn insert(i: &mut Inst<'_, '_>, name: &str) -> Decoding {
    fn merge(a: u64, b: u64, start: u32, length: u32, bits: u32) -> u64 {
        let (start, length) = (start & 0xff, length & 0xff);
        let ones = 1u64.checked_shl(length.min(bits)).map_or(!0, |one| one.wrapping_sub(1));
        let mask = ones.checked_shl(start).unwrap_or(0);
        b & !mask | a.checked_shl(start).unwrap_or(0) & mask
    }
    macro_rules! operation {
        ($type:ty) => {{
            let (d, a, b) = (i.dest::<$type>(0)?, i.source::<$type>(1)?, i.source::<$type>(2)?);
            let (start, length) = (i.source::<u32>(3)?, i.source::<u32>(4)?);
            Ok(Decoded::new(CLASS, move |c| {
                let out: [$type; 32] = std::array::from_fn(|l| {
                    let (start, length) = (c.row(start)[l], c.row(length)[l]);
                    merge(c.row(a)[l].into(), c.row(b)[l].into(), start, length, <$type>::BITS) as $type
                });
                c.put(d, &out);
                Ok(Flow::Next)
            }))
        }};
    }
    if name == "b32" { operation!(u32) } else { operation!(u64) }
}

fn count(i: &mut Inst<'_, '_>) -> Decoding {
    let amount = i.flag("shiftamt");
    let mnemonic = i.mnemonic();
    let name = i.take_type();
    by_integer!(name, T => match mnemonic {
        "clz" => unary(i, CLASS, |a: T| a.leading_zeros()),
        "popc" => unary(i, CLASS, |a: T| a.count_ones()),
        "brev" => unary(i, CLASS, |a: T| a.reverse_bits()),
        _ => unary(i, CLASS, move |a: T| {
            // The highest bit that differs from the sign.
            let zeros = if i128::from(a) < 0 { (!a).leading_zeros() } else { a.leading_zeros() };
            if zeros == T::BITS { u32::MAX } else if amount { zeros } else { T::BITS - 1 - zeros }
        }),
    }, else Err(i.unknown_modifier(name)))
}

/// `lop3 d, a, b, c, table`: bit `4a + 2b + c` of the table.
fn lop3(i: &mut Inst<'_, '_>) -> Decoding {
    i.take_type();
    let table = i.immediate(4)? as u32;
    ternary(i, CLASS, move |a: u32, b: u32, c: u32| {
        (0..8u32).filter(|row| table >> row & 1 == 1).fold(0, |out, row| {
            let pick = |bit: u32, word: u32| if row >> bit & 1 == 1 { word } else { !word };
            out | pick(2, a) & pick(1, b) & pick(0, c)
        })
    })
}
