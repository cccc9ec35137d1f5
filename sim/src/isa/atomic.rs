//! Atomic read-modify-write: `atom` and `red`.

use super::data::{Any, space};
use super::lane::{Lane, by_integer};
use super::memory::{by_space, count_access, memory_bytes};
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::fault::{FaultKind, Space};
use crate::machine::context::{Flow, Trap, lanes};
use crate::machine::registers::Word;
use crate::numeric::exact::add_odd;
use crate::numeric::format::{BF16, F16, Format, Rounding};

/// `(old, b, c) → new`, on the bits of the type.
pub(crate) type Update = fn(u64, u64, u64) -> u64;

/// Sum of two 16-bit floats, rounded once.
fn add_half(format: Format, a: u64, b: u64) -> u64 {
    let decode = |bits: u64| format.decode(bits as u32 & 0xffff);
    format.encode(add_odd(decode(a), decode(b)), Rounding::Even, false).into()
}

fn add_pair(format: Format, a: u64, b: u64) -> u64 {
    add_half(format, a, b) | add_half(format, a >> 16, b >> 16) << 16
}

/// Applies `f` to the numbers of type `T` that the bits are.
fn each<T: Lane>(old: u64, b: u64, f: impl Fn(T, T) -> T) -> u64 {
    let read = |bits: u64| T::read(T::Storage::from_bits(bits.into()));
    f(read(old), read(b)).write().to_bits() as u64
}

pub(crate) fn update(operation: &str, name: &str) -> Option<Update> {
    Some(match (operation, name) {
        ("exch", _) => |_, b, _| b,
        ("cas", _) => |old, b, c| if old == b { c } else { old },
        ("and", _) => |old, b, _| old & b,
        ("or", _) => |old, b, _| old | b,
        ("xor", _) => |old, b, _| old ^ b,
        ("inc", "u32") => |old, b, _| if old >= b { 0 } else { old + 1 },
        ("dec", "u32") => |old, b, _| if old == 0 || old > b { b } else { old - 1 },
        ("add", "f32") => |old, b, _| u64::from((f32::from_bits(old as u32) + f32::from_bits(b as u32)).to_bits()),
        ("add", "f64") => |old, b, _| (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        ("add", "f16") => |old, b, _| add_half(F16, old, b),
        ("add", "bf16") => |old, b, _| add_half(BF16, old, b),
        ("add", "f16x2") => |old, b, _| add_pair(F16, old, b),
        ("add", "bf16x2") => |old, b, _| add_pair(BF16, old, b),
        ("add", _) => by_integer!(name, T => |old, b, _| each(old, b, T::wrapping_add), else return None),
        ("min", _) => by_integer!(name, T => |old, b, _| each(old, b, |x: T, y: T| x.min(y)), else return None),
        ("max", _) => by_integer!(name, T => |old, b, _| each(old, b, |x: T, y: T| x.max(y)), else return None),
        _ => return None,
    })
}

/// `atom` and `red`. Atomics on shared memory also synchronise the race detector, whatever their ordering says.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    let returns = i.mnemonic() == "atom";
    i.choose(&["relaxed", "acquire", "release", "acq_rel"]);
    i.choose(&["cta", "cluster", "gpu", "sys"]);
    i.flag("noftz");
    let space = space(i);
    let operation = i.choose(&["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"]);
    let Some(operation) = operation else { return Err(i.unknown()) };
    let name = i.take_type();
    let (Some(bytes @ (2 | 4 | 8)), Some(update)) = (memory_bytes(name), update(operation, name)) else {
        return Err(i.unknown_modifier(name));
    };
    let first = usize::from(returns);
    let destination = if returns {
        let operand = i.operand(0)?;
        Some(Any::dest(i, 0, operand, bytes)?)
    } else {
        None
    };
    let address = i.address(first)?;
    let operand = i.operand(first + 1)?;
    let b = Any::source(i, first + 1, operand, bytes)?;
    let c_source = if operation == "cas" {
        let operand = i.operand(first + 2)?;
        Any::source(i, first + 2, operand, bytes)?
    } else {
        b
    };
    let mask = u64::MAX >> (64 - 8 * bytes);
    Ok(Decoded::new(Class::Atomic, move |c| {
        let addresses = address.lanes(c);
        by_space(c, space, addresses, |c, space, active, addresses| {
            count_access(c, space, addresses, active, bytes);
            for lane in lanes(active) {
                let value = b.get(c.registers, lane as usize) as u64 & mask;
                let third = c_source.get(c.registers, lane as usize) as u64 & mask;
                let address = addresses[lane as usize];
                let apply = |old: u64| update(old, value, third) & mask;
                let old = match space {
                    Space::Global => c.global.update(address, bytes, apply),
                    Space::Shared => {
                        let agent = c.agent(lane);
                        c.block.shared.update(&mut c.team.clocks, agent, address, bytes, apply)
                    }
                    Space::SharedCluster => {
                        let agent = c.agent(lane);
                        c.visit(address).and_then(|(rank, local)| match c.block_at(rank) {
                            Some((block, clocks)) => block.shared.update(clocks, agent, local, bytes, apply),
                            None => Ok(0),
                        })
                    }
                    Space::Local => c.warp.local.load(lane, address, bytes).and_then(|old| {
                        let old = old as u64;
                        c.warp.local.store(lane, address, bytes, apply(old).into())?;
                        Ok(old)
                    }),
                    Space::Parameter => Err(Box::new(FaultKind::WriteToReadOnly { space, address })),
                }
                .map_err(|kind| Trap::lane(lane, *kind))?;
                if let Some(d) = destination {
                    d.set(c.registers, lane as usize, old.into());
                }
            }
            Ok(())
        })?;
        Ok(Flow::Next)
    }))
}
