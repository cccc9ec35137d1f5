//! `cvt`: conversions between all integer and floating-point types.

use super::lane::{Lane, by_integer};
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::error::ParseError;
use crate::machine::context::{Context, Flow};
use crate::machine::registers::{Row, Word};
use crate::numeric::format::{BF16, E4M3, E5M2, F16, F32, Format, Rounding, tf32};

const CLASS: Class = Class::Conversion;

/// A number on its way from one type to another: every integer and float of PTX is exactly one of these.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f64),
}

/// Modifiers of a conversion.
#[derive(Debug, Clone, Copy)]
struct Mode {
    rounding: Rounding,
    /// A rounding to an integral value was asked for: `.rni` and its relatives.
    integral: Option<Rounding>,
    flush: bool,
    saturate: bool,
    saturate_finite: bool,
    relu: bool,
}

impl Mode {
    fn decode(i: &mut Inst<'_, '_>) -> Self {
        let integral = match i.choose(&["rni", "rzi", "rmi", "rpi"]) {
            Some("rni") => Some(Rounding::Even),
            Some("rzi") => Some(Rounding::Zero),
            Some("rmi") => Some(Rounding::Down),
            Some(_) => Some(Rounding::Up),
            None => None,
        };
        let rounding = i.choose(&["rn", "rna", "rz", "rm", "rp"]).and_then(Rounding::parse);
        Self {
            rounding: rounding.unwrap_or(Rounding::Even),
            integral,
            flush: i.flag("ftz"),
            saturate: i.flag("sat"),
            saturate_finite: i.flag("satfinite"),
            relu: i.flag("relu"),
        }
    }
}

fn to_integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Even => value.round_ties_even(),
        Rounding::Away => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// A type as source.
fn read(name: &str) -> Option<fn(u128) -> Number> {
    Some(match name {
        "f16" => |b| Number::Float(F16.decode(b as u32 & 0xffff)),
        "bf16" => |b| Number::Float(BF16.decode(b as u32 & 0xffff)),
        "f32" => |b| Number::Float(f64::from(f32::from_bits(b as u32))),
        "f64" => |b| Number::Float(f64::from_bits(b as u64)),
        _ => by_integer!(name, T => |b| {
            Number::Integer(i128::from(T::read(<T as Lane>::Storage::from_bits(b))))
        }, else return None),
    })
}

fn float(number: Number) -> f64 {
    match number {
        // 64-bit integers do not fit; to odd, so that the rounding that follows is the only one.
        Number::Integer(value) => {
            let high = (value >> 32) as f64 * 4_294_967_296.0;
            crate::numeric::exact::add_odd(high, (value & 0xffff_ffff) as f64)
        }
        Number::Float(value) => value,
    }
}

fn finish_float(number: Number, mode: Mode) -> f64 {
    let mut value = float(number);
    if let Some(rounding) = mode.integral {
        value = to_integral(value, rounding);
    }
    if mode.saturate {
        value = if value > 0.0 { value.min(1.0) } else { 0.0 };
    }
    if mode.relu && value < 0.0 {
        value = 0.0;
    }
    value
}

fn encode(format: Format, number: Number, mode: Mode) -> u32 {
    format.encode(finish_float(number, mode), mode.rounding, mode.saturate_finite)
}

/// A type as destination.
fn write(name: &str) -> Option<fn(Number, Mode) -> u128> {
    Some(match name {
        "f16" => |n, mode| encode(F16, n, mode).into(),
        "bf16" => |n, mode| encode(BF16, n, mode).into(),
        "f32" => |n, mode| {
            let bits = encode(F32, n, mode);
            let subnormal = bits & 0x7f80_0000 == 0;
            u128::from(if mode.flush && subnormal { bits & 0x8000_0000 } else { bits })
        },
        "f64" => |n, mode| match n {
            Number::Integer(value) if mode.rounding == Rounding::Even => (value as f64).to_bits().into(),
            _ => finish_float(n, mode).to_bits().into(),
        },
        _ => by_integer!(name, T => |n, mode| {
            let value = match n {
                Number::Integer(value) if mode.saturate => value.clamp(T::MIN.into(), T::MAX.into()) as T,
                Number::Integer(value) => value as T,
                // Floating point always clamps to the range; NaN is zero.
                Number::Float(value) => to_integral(value, mode.integral.unwrap_or(Rounding::Zero)) as T,
            };
            value.write().to_bits()
        }, else return None),
    })
}

/// `cvt`
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    let mode = Mode::decode(i);
    let source = i.take_type();
    let target = i.take_type();
    match target {
        "f16x2" | "bf16x2" if source == "f32" => return pair(i, if target == "f16x2" { F16 } else { BF16 }, mode),
        "e4m3x2" | "e5m2x2" => {
            let format = if target == "e4m3x2" { E4M3 } else { E5M2 };
            return if source == "f32" { pair(i, format, mode) } else { narrow_pair(i, source, format, mode) };
        }
        "f16x2" if matches!(source, "e4m3x2" | "e5m2x2") => {
            return widen_pair(i, if source == "e4m3x2" { E4M3 } else { E5M2 }, mode);
        }
        "tf32" if source == "f32" => {
            return converted::<u32, u32>(i, move |bits| {
                tf32(f32::from_bits(bits), mode.rounding, mode.saturate_finite)
            });
        }
        _ => {}
    }
    let read = read(source).ok_or_else(|| i.unknown_modifier(source))?;
    let write = write(target).ok_or_else(|| i.unknown_modifier(target))?;
    let flush = mode.flush && source == "f32";
    let f = move |bits: u128| {
        let bits = if flush && bits as u32 & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits };
        write(read(bits), mode)
    };
    // Integer conversions may name registers wider than their type.
    let wide_source = i.register_bytes(1)?.unwrap_or(source_bytes(source)) == 8;
    let wide_target = i.register_bytes(0)?.unwrap_or(4) == 8;
    let extend = extension(target);
    match (wide_source, wide_target) {
        (false, false) => converted::<u32, u32>(i, move |bits| f(bits.into()) as u32),
        (false, true) => converted::<u32, u64>(i, move |bits| extend(f(bits.into()))),
        (true, false) => converted::<u64, u32>(i, move |bits| f(bits.into()) as u32),
        (true, true) => converted::<u64, u64>(i, move |bits| extend(f(bits.into()))),
    }
}

fn source_bytes(name: &str) -> u32 {
    super::data::word_bytes(name).unwrap_or(4)
}

/// How a result fills a register wider than its type: sign- or zero-extended by the type.
fn extension(target: &str) -> fn(u128) -> u64 {
    match target {
        "s8" => |bits| bits as u8 as i8 as u64,
        "s16" => |bits| bits as u16 as i16 as u64,
        "s32" => |bits| bits as u32 as i32 as u64,
        _ => |bits| bits as u64,
    }
}

fn converted<A: Word, D: Word>(i: &mut Inst<'_, '_>, f: impl Fn(A) -> D + Send + Sync + 'static) -> Decoding {
    let (d, a) = (i.dest::<D>(0)?, i.source::<A>(1)?);
    Ok(Decoded::new(CLASS, move |c| {
        let out: Row<D> = c.row(a).map(&f);
        c.put(d, &out);
        Ok(Flow::Next)
    }))
}

fn put_pair(
    i: &mut Inst<'_, '_>,
    f: impl Fn(&Context<'_, '_>, usize) -> u32 + Send + Sync + 'static,
) -> Result<Decoded, ParseError> {
    let d = i.dest::<u32>(0)?;
    Ok(Decoded::new(CLASS, move |c| {
        let out: Row<u32> = std::array::from_fn(|lane| f(c, lane));
        c.put(d, &out);
        Ok(Flow::Next)
    }))
}

/// Two `f32` into one register: the first source becomes the upper half.
fn pair(i: &mut Inst<'_, '_>, format: Format, mode: Mode) -> Decoding {
    let (high, low) = (i.source::<u32>(1)?, i.source::<u32>(2)?);
    let width = if matches!(format, E4M3 | E5M2) { 8 } else { 16 };
    let one = move |bits: u32| encode(format, Number::Float(f32::from_bits(bits).into()), mode);
    put_pair(i, move |c, lane| one(c.row(low)[lane]) | one(c.row(high)[lane]) << width)
}

/// `f16x2` to two bytes.
fn narrow_pair(i: &mut Inst<'_, '_>, source: &str, format: Format, mode: Mode) -> Decoding {
    if source != "f16x2" {
        return Err(i.unknown_modifier(source));
    }
    let a = i.source::<u32>(1)?;
    let one = move |bits: u32| encode(format, Number::Float(F16.decode(bits & 0xffff)), mode);
    put_pair(i, move |c, lane| one(c.row(a)[lane]) | one(c.row(a)[lane] >> 16) << 8)
}

/// Two bytes to `f16x2`.
fn widen_pair(i: &mut Inst<'_, '_>, format: Format, mode: Mode) -> Decoding {
    let a = i.source::<u32>(1)?;
    let one = move |bits: u32| encode(F16, Number::Float(format.decode(bits & 0xff)), mode);
    put_pair(i, move |c, lane| one(c.row(a)[lane]) | one(c.row(a)[lane] >> 8) << 16)
}
