//! Moves: `mov` with packing, `selp`, address conversions.

use super::lane::unary;
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::fault::Space;
use crate::machine::context::Flow;
use crate::machine::registers::{LANES, Row, Slot, Word};
use crate::memory::window;
use crate::parse::ast::Operand;

const CLASS: Class = Class::Move;

/// `mov`, `selp`, `cvta`, `isspacep`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "mov" => mov(i),
        "selp" => selp(i),
        "cvta" => cvta(i),
        _ => isspacep(i),
    }
}

/// Bytes of the word that holds a value of the type `name`; 0 for a predicate.
pub(crate) fn word_bytes(name: &str) -> Option<u32> {
    Some(match name {
        "pred" => 0,
        "b8" | "u8" | "s8" | "b16" | "u16" | "s16" | "f16" | "bf16" | "b32" | "u32" | "s32" | "f32" | "f16x2"
        | "bf16x2" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}

fn mov(i: &mut Inst<'_, '_>) -> Decoding {
    let name = i.take_type();
    let (destination, source) = (i.operand(0)?, i.operand(1)?);
    if let Operand::Name(register, 0) = source
        && matches!(register.as_str(), "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo")
    {
        return clock(i, register == "%clock_hi");
    }
    match (destination, source) {
        (_, Operand::Vector(parts)) => return pack(i, name, parts),
        (Operand::Vector(parts), _) => return unpack(i, name, parts),
        _ => {}
    }
    match word_bytes(name) {
        Some(0) => {
            let d = i.dest_predicate(0)?;
            if let Operand::Integer(value) = source {
                let bits = if *value == 0 { 0 } else { u32::MAX };
                return Ok(Decoded::new(CLASS, move |c| {
                    c.put_predicate(d, bits);
                    Ok(Flow::Next)
                }));
            }
            let a = i.guard(1)?;
            Ok(Decoded::new(CLASS, move |c| {
                c.put_predicate(d, a.lanes(c));
                Ok(Flow::Next)
            }))
        }
        Some(4) => copy::<u32>(i),
        Some(8) => copy::<u64>(i),
        Some(_) => copy::<u128>(i),
        None => Err(i.unknown_modifier(name)),
    }
}

fn copy<T: Word>(i: &mut Inst<'_, '_>) -> Decoding {
    let (d, a) = (i.dest::<T>(0)?, i.source::<T>(1)?);
    Ok(Decoded::new(CLASS, move |c| {
        let row = *c.row(a);
        c.put(d, &row);
        Ok(Flow::Next)
    }))
}

/// Time is the number of instructions the warp has issued: monotonic, and the same in every run.
fn clock(i: &mut Inst<'_, '_>, high: bool) -> Decoding {
    if i.register_bytes(0)? == Some(8) {
        let d = i.dest::<u64>(0)?;
        return Ok(Decoded::new(CLASS, move |c| {
            c.put(d, &[c.warp.issued; LANES]);
            Ok(Flow::Next)
        }));
    }
    let d = i.dest::<u32>(0)?;
    Ok(Decoded::new(CLASS, move |c| {
        let now = c.warp.issued;
        c.put(d, &[if high { (now >> 32) as u32 } else { now as u32 }; LANES]);
        Ok(Flow::Next)
    }))
}

/// A register of any word size.
#[derive(Clone, Copy)]
pub(crate) enum Any {
    Narrow(Slot<u32>),
    Wide(Slot<u64>),
    Double(Slot<u128>),
}

impl Any {
    pub(crate) fn dest(
        i: &mut Inst<'_, '_>,
        index: usize,
        operand: &Operand,
        bytes: u32,
    ) -> Result<Self, crate::error::ParseError> {
        Ok(match bytes {
            ..=4 => Any::Narrow(i.dest_operand(index, operand)?),
            8 => Any::Wide(i.dest_operand(index, operand)?),
            _ => Any::Double(i.dest_operand(index, operand)?),
        })
    }

    pub(crate) fn source(
        i: &mut Inst<'_, '_>,
        index: usize,
        operand: &Operand,
        bytes: u32,
    ) -> Result<Self, crate::error::ParseError> {
        Ok(match bytes {
            ..=4 => Any::Narrow(i.source_operand(index, operand)?),
            8 => Any::Wide(i.source_operand(index, operand)?),
            _ => Any::Double(i.source_operand(index, operand)?),
        })
    }

    /// The bits in `lane`.
    #[inline]
    pub(crate) fn get(self, registers: &crate::machine::registers::Registers, lane: usize) -> u128 {
        match self {
            Any::Narrow(slot) => registers.row(slot)[lane].into(),
            Any::Wide(slot) => registers.row(slot)[lane].into(),
            Any::Double(slot) => registers.row(slot)[lane],
        }
    }

    /// Sets the bits in `lane`.
    #[inline]
    pub(crate) fn set(self, registers: &mut crate::machine::registers::Registers, lane: usize, bits: u128) {
        match self {
            Any::Narrow(slot) => u32::row_mut(registers, slot)[lane] = bits as u32,
            Any::Wide(slot) => u64::row_mut(registers, slot)[lane] = bits as u64,
            Any::Double(slot) => u128::row_mut(registers, slot)[lane] = bits,
        }
    }
}

/// Bytes of a type as a part of a packed move.
fn packed_bytes(name: &str, parts: usize) -> Option<(u32, u32)> {
    let whole = match name {
        "b16" => 2,
        "b32" => 4,
        "b64" => 8,
        "b128" => 16,
        _ => return None,
    };
    let part = whole / parts as u32;
    (part * parts as u32 == whole && part.is_power_of_two()).then_some((whole, part))
}

/// `mov.b32 d, {a, b}`: the first part is the least significant.
fn pack(i: &mut Inst<'_, '_>, name: &str, parts: &[Operand]) -> Decoding {
    let (whole, part) = packed_bytes(name, parts.len()).ok_or_else(|| i.unknown_modifier(name))?;
    let destination = i.operand(0)?;
    let d = Any::dest(i, 0, destination, whole)?;
    let sources: Vec<Any> = parts.iter().map(|p| Any::source(i, 1, p, part)).collect::<Result<_, _>>()?;
    let mask = u128::MAX >> (128 - 8 * part);
    Ok(Decoded::new(CLASS, move |c| {
        let mut out: Row<u128> = [0; LANES];
        for (at, source) in sources.iter().enumerate() {
            for (lane, out) in out.iter_mut().enumerate() {
                *out |= (source.get(c.registers, lane) & mask) << (8 * part as usize * at);
            }
        }
        for lane in crate::machine::context::lanes(c.active) {
            d.set(c.registers, lane as usize, out[lane as usize]);
        }
        Ok(Flow::Next)
    }))
}

/// `mov.b32 {a, b}, c`
fn unpack(i: &mut Inst<'_, '_>, name: &str, parts: &[Operand]) -> Decoding {
    let (whole, part) = packed_bytes(name, parts.len()).ok_or_else(|| i.unknown_modifier(name))?;
    let source = i.operand(1)?;
    let a = Any::source(i, 1, source, whole)?;
    let destinations: Vec<Any> = parts.iter().map(|p| Any::dest(i, 0, p, part)).collect::<Result<_, _>>()?;
    let mask = u128::MAX >> (128 - 8 * part);
    Ok(Decoded::new(CLASS, move |c| {
        for lane in crate::machine::context::lanes(c.active) {
            let bits = a.get(c.registers, lane as usize);
            for (at, d) in destinations.iter().enumerate() {
                d.set(c.registers, lane as usize, bits >> (8 * part as usize * at) & mask);
            }
        }
        Ok(Flow::Next)
    }))
}

fn selp(i: &mut Inst<'_, '_>) -> Decoding {
    let name = i.take_type();
    match word_bytes(name) {
        Some(4) => select::<u32>(i),
        Some(8) => select::<u64>(i),
        _ => Err(i.unknown_modifier(name)),
    }
}

fn select<T: Word>(i: &mut Inst<'_, '_>) -> Decoding {
    let (d, a, b, p) = (i.dest::<T>(0)?, i.source::<T>(1)?, i.source::<T>(2)?, i.guard(3)?);
    Ok(Decoded::new(CLASS, move |c| {
        let bits = p.lanes(c);
        let (a, b) = (c.row(a), c.row(b));
        let mut out = [T::default(); LANES];
        for lane in 0..LANES {
            out[lane] = if bits >> lane & 1 == 1 { a[lane] } else { b[lane] };
        }
        c.put(d, &out);
        Ok(Flow::Next)
    }))
}

/// The state space a modifier names; constant memory lies in global memory.
pub(crate) fn space(i: &mut Inst<'_, '_>) -> Option<Space> {
    let name = i.choose(&[
        "global",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "const",
        "param",
        "param::entry",
        "param::func",
    ])?;
    Some(match name {
        "global" | "const" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "shared::cluster" => Space::SharedCluster,
        "local" => Space::Local,
        _ => Space::Parameter,
    })
}

/// `cvta` to a generic address, `cvta.to` from one.
fn cvta(i: &mut Inst<'_, '_>) -> Decoding {
    let to = i.flag("to");
    let Some(space) = space(i) else { return Err(i.unknown()) };
    let start = window::start(space);
    match i.take_type() {
        "u64" if to => unary(i, CLASS, move |a: u64| a.wrapping_sub(start)),
        "u64" => unary(i, CLASS, move |a: u64| a.wrapping_add(start)),
        other => Err(i.unknown_modifier(other)),
    }
}

fn isspacep(i: &mut Inst<'_, '_>) -> Decoding {
    let Some(space) = space(i) else { return Err(i.unknown()) };
    let (p, a) = (i.dest_predicate(0)?, i.source::<u64>(1)?);
    // The block's own window is part of the cluster's.
    let is_in = move |address: u64| match window::resolve(address).0 {
        Space::Shared => matches!(space, Space::Shared | Space::SharedCluster),
        found => found == space,
    };
    Ok(Decoded::new(CLASS, move |c| {
        let row = c.row(a);
        let bits = (0..LANES).fold(0, |bits, lane| bits | u32::from(is_in(row[lane])) << lane);
        c.put_predicate(p, bits);
        Ok(Flow::Next)
    }))
}
