//! Comparisons: `setp`, `set`, `slct`.

use super::lane::{Lane, by_integer, ternary};
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::{Guard, Inst};
use crate::error::ParseError;
use crate::machine::context::{Context, Flow};
use crate::machine::registers::{LANES, Predicate};
use crate::numeric::format::{BF16, F16, Format};
use crate::parse::ast::Operand;
use std::cmp::Ordering;

/// A relation: whether it holds for each outcome of a comparison.
#[derive(Clone, Copy)]
struct Relation {
    less: bool,
    equal: bool,
    greater: bool,
    unordered: bool,
}

impl Relation {
    fn parse(name: &str) -> Self {
        let base = name.strip_suffix('u').filter(|b| b.len() == 2).unwrap_or(name);
        let unordered = base != name || name == "nan";
        let (less, equal, greater) = match base {
            "eq" => (false, true, false),
            "ne" => (true, false, true),
            "lt" | "lo" => (true, false, false),
            "le" | "ls" => (true, true, false),
            "gt" | "hi" => (false, false, true),
            "ge" | "hs" => (false, true, true),
            "num" => (true, true, true),
            _ => (false, false, false),
        };
        Self { less, equal, greater, unordered }
    }

    #[inline]
    fn holds(self, order: Option<Ordering>) -> bool {
        match order {
            Some(Ordering::Less) => self.less,
            Some(Ordering::Equal) => self.equal,
            Some(Ordering::Greater) => self.greater,
            None => self.unordered,
        }
    }
}

const RELATIONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

/// A comparison of all lanes: one bit each.
type Comparison = Box<dyn Fn(&Context<'_, '_>) -> u32 + Send + Sync>;

/// `setp`, `set`, `slct`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "setp" => setp(i),
        "set" => set(i),
        _ => slct(i),
    }
}

fn comparison(i: &mut Inst<'_, '_>, name: &str) -> Result<Comparison, ParseError> {
    let relation = i.choose(&RELATIONS).map(Relation::parse).ok_or_else(|| i.unknown())?;
    let flush = i.flag("ftz");
    match name {
        "f32" if flush => compared(i, move |a: f32, b: f32| {
            let flush = |v: f32| if v.is_subnormal() { 0.0 } else { v };
            relation.holds(flush(a).partial_cmp(&flush(b)))
        }),
        "f32" => compared(i, move |a: f32, b: f32| relation.holds(a.partial_cmp(&b))),
        "f64" => compared(i, move |a: f64, b: f64| relation.holds(a.partial_cmp(&b))),
        "f16" | "bf16" => {
            let format = if name == "f16" { F16 } else { BF16 };
            compared(i, move |a: u16, b: u16| {
                relation.holds(format.decode(a.into()).partial_cmp(&format.decode(b.into())))
            })
        }
        _ => by_integer!(name, T => compared(i, move |a: T, b: T| relation.holds(Some(a.cmp(&b)))),
            else Err(i.unknown_modifier(name))),
    }
}

fn compared<T: Lane>(
    i: &mut Inst<'_, '_>,
    holds: impl Fn(T, T) -> bool + Send + Sync + 'static,
) -> Result<Comparison, ParseError> {
    let (a, b) = (i.source::<T::Storage>(1)?, i.source::<T::Storage>(2)?);
    Ok(Box::new(move |c| {
        let (a, b) = (c.row(a), c.row(b));
        let mut bits = 0;
        for lane in 0..LANES {
            bits |= u32::from(holds(T::read(a[lane]), T::read(b[lane]))) << lane;
        }
        bits
    }))
}

fn combine(name: Option<&str>) -> fn(u32, u32) -> u32 {
    match name {
        Some("and") => |a, b| a & b,
        Some("or") => |a, b| a | b,
        Some(_) => |a, b| a ^ b,
        None => |a, _| a,
    }
}

/// The third source, with which `.and`, `.or`, `.xor` combine the comparison.
fn third(i: &mut Inst<'_, '_>, boolean: Option<&str>) -> Result<Option<Guard>, ParseError> {
    boolean.map(|_| i.guard(3)).transpose()
}

fn setp(i: &mut Inst<'_, '_>) -> Decoding {
    let boolean = i.choose(&["and", "or", "xor"]);
    let name = i.take_type();
    let class = if name.contains('f') { Class::Float } else { Class::Integer };
    if matches!(name, "f16x2" | "bf16x2") {
        return setp_pair(i, if name == "f16x2" { F16 } else { BF16 });
    }
    let compare = comparison(i, name)?;
    let (p, q): (Predicate, Option<Predicate>) = match i.operand(0)? {
        Operand::Pair(p, q) => (i.dest_predicate_operand(0, p)?, Some(i.dest_predicate_operand(0, q)?)),
        _ => (i.dest_predicate(0)?, None),
    };
    let third = third(i, boolean)?;
    let combine = combine(boolean);
    Ok(Decoded::new(class, move |c| {
        let bits = compare(c);
        let other = third.map_or(0, |guard| guard.lanes(c));
        c.put_predicate(p, combine(bits, other));
        if let Some(q) = q {
            c.put_predicate(q, combine(!bits, other));
        }
        Ok(Flow::Next)
    }))
}

/// `setp.cmp.f16x2 p|q, a, b`: `p` from the lower halves, `q` from the upper ones.
fn setp_pair(i: &mut Inst<'_, '_>, format: Format) -> Decoding {
    let relation = i.choose(&RELATIONS).map(Relation::parse).ok_or_else(|| i.unknown())?;
    let Operand::Pair(p, q) = i.operand(0)? else {
        return Err(i.operand_error(0, "a pair of predicates is required"));
    };
    let (p, q) = (i.dest_predicate_operand(0, p)?, i.dest_predicate_operand(0, q)?);
    let (a, b) = (i.source::<u32>(1)?, i.source::<u32>(2)?);
    Ok(Decoded::new(Class::Float, move |c| {
        for (predicate, shift) in [(p, 0), (q, 16)] {
            let half = |word: u32| format.decode(word >> shift & 0xffff);
            let (a, b) = (c.row(a), c.row(b));
            let bits = (0..LANES).fold(0, |bits, lane| {
                bits | u32::from(relation.holds(half(a[lane]).partial_cmp(&half(b[lane])))) << lane
            });
            c.put_predicate(predicate, bits);
        }
        Ok(Flow::Next)
    }))
}

/// `set.cmp.dtype.stype`: all ones or zero, or 1.0 or 0.0.
fn set(i: &mut Inst<'_, '_>) -> Decoding {
    let boolean = i.choose(&["and", "or", "xor"]);
    let source = i.take_type();
    let yes = match i.take_type() {
        "u32" | "s32" => u32::MAX,
        "f32" => 1f32.to_bits(),
        "u16" | "s16" => 0xffff,
        "f16" => 0x3c00,
        "bf16" => 0x3f80,
        other => return Err(i.unknown_modifier(other)),
    };
    let compare = comparison(i, source)?;
    let d = i.dest::<u32>(0)?;
    let third = third(i, boolean)?;
    let combine = combine(boolean);
    Ok(Decoded::new(Class::Integer, move |c| {
        let other = third.map_or(0, |guard| guard.lanes(c));
        let bits = combine(compare(c), other);
        let out = std::array::from_fn(|lane| if bits >> lane & 1 == 1 { yes } else { 0 });
        c.put(d, &out);
        Ok(Flow::Next)
    }))
}

/// `slct.dtype.ctype d, a, b, c`: `a` if `c` ≥ 0, else `b`.
fn slct(i: &mut Inst<'_, '_>) -> Decoding {
    i.flag("ftz");
    let selector = i.take_type();
    let name = i.take_type();
    let wide = matches!(name, "b64" | "u64" | "s64" | "f64");
    match (selector, wide) {
        ("s32", false) => ternary(i, Class::Move, |a: u32, b: u32, c: i32| if c >= 0 { a } else { b }),
        ("s32", true) => ternary(i, Class::Move, |a: u64, b: u64, c: i32| if c >= 0 { a } else { b }),
        ("f32", false) => ternary(i, Class::Move, |a: u32, b: u32, c: f32| if c >= 0.0 { a } else { b }),
        ("f32", true) => ternary(i, Class::Move, |a: u64, b: u64, c: f32| if c >= 0.0 { a } else { b }),
        (other, _) => Err(i.unknown_modifier(other)),
    }
}
