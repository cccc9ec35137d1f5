//! Extended-precision arithmetic: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
//!
//! The carry flag `CC.CF` is one bit a lane, kept with the warp.

use super::lane::{Lane, by_integer};
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::error::ParseError;
use crate::machine::context::Flow;
use crate::machine::registers::{LANES, Slot, Word};

/// `add.cc`, `sub.cc`, `mad.cc`: set the carry, do not read it.
pub(crate) fn decode_setting(i: &mut Inst<'_, '_>) -> Decoding {
    with_flags(i, true, false)
}

/// `addc`, `subc`, `madc`: read the carry, set it with `.cc`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    let sets = i.flag("cc");
    with_flags(i, sets, true)
}

fn with_flags(i: &mut Inst<'_, '_>, sets: bool, reads: bool) -> Decoding {
    let half = i.choose(&["lo", "hi"]);
    let name = i.take_type();
    match (i.mnemonic(), half) {
        ("add" | "addc", None) => by_integer!(name, T => sum::<T>(i, sets, reads), else Err(i.unknown_modifier(name))),
        ("sub" | "subc", None) => {
            by_integer!(name, T => difference::<T>(i, sets, reads), else Err(i.unknown_modifier(name)))
        }
        ("mad" | "madc", Some(half)) => {
            let high = half == "hi";
            by_integer!(name, T => product::<T>(i, sets, reads, move |a, b| {
                let bits = i128::from(a as T).wrapping_mul(i128::from(b as T));
                (if high { bits >> T::BITS } else { bits }) as u64
            }), else Err(i.unknown_modifier(name)))
        }
        _ => Err(i.unknown()),
    }
}

/// Bits of `T` as an unsigned number, the carry beyond them.
fn add<T: Lane>(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let bits = T::Storage::BYTES * 8;
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    (sum as u64 & (u64::MAX >> (64 - bits)), sum >> bits & 1 == 1)
}

fn run<T: Lane>(
    slots: [Slot<T::Storage>; 3],
    destination: Slot<T::Storage>,
    sets: bool,
    reads: bool,
    f: impl Fn([u64; 3], bool) -> (u64, bool) + Send + Sync + 'static,
) -> Decoded {
    Decoded::new(Class::Integer, move |c| {
        let mut out = [T::Storage::default(); LANES];
        let mut carries = 0u32;
        for (lane, out) in out.iter_mut().enumerate() {
            let sources = slots.map(|slot| c.row(slot)[lane].to_bits() as u64);
            let carry = reads && c.warp.carry >> lane & 1 == 1;
            let (value, carry) = f(sources, carry);
            *out = T::Storage::from_bits(u128::from(value));
            carries |= u32::from(carry) << lane;
        }
        c.put(destination, &out);
        if sets {
            c.warp.carry = c.warp.carry & !c.active | carries & c.active;
        }
        Ok(Flow::Next)
    })
}

fn sum<T: Lane>(i: &mut Inst<'_, '_>, sets: bool, reads: bool) -> Result<Decoded, ParseError> {
    let (d, a, b) = (i.dest(0)?, i.source(1)?, i.source(2)?);
    Ok(run::<T>([a, b, b], d, sets, reads, |[a, b, _], carry| add::<T>(a, b, carry)))
}

/// The flag of a subtraction is the borrow.
fn difference<T: Lane>(i: &mut Inst<'_, '_>, sets: bool, reads: bool) -> Result<Decoded, ParseError> {
    let (d, a, b) = (i.dest(0)?, i.source(1)?, i.source(2)?);
    Ok(run::<T>([a, b, b], d, sets, reads, |[a, b, _], borrow| {
        let below = u128::from(a) < u128::from(b) + u128::from(borrow);
        let bits = T::Storage::BYTES * 8;
        (a.wrapping_sub(b).wrapping_sub(u64::from(borrow)) & (u64::MAX >> (64 - bits)), below)
    }))
}

fn product<T: Lane>(
    i: &mut Inst<'_, '_>,
    sets: bool,
    reads: bool,
    f: impl Fn(u64, u64) -> u64 + Send + Sync + 'static,
) -> Result<Decoded, ParseError> {
    let (d, a, b, c) = (i.dest(0)?, i.source(1)?, i.source(2)?, i.source(3)?);
    let bits = T::Storage::BYTES * 8;
    Ok(run::<T>([a, b, c], d, sets, reads, move |[a, b, c], carry| {
        add::<T>(f(a, b) & (u64::MAX >> (64 - bits)), c, carry)
    }))
}
