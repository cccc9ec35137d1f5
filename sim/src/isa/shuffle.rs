//! `shfl.sync`: lanes read each other's registers.

use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::machine::context::{Context, Flow, Trap, lanes};
use crate::machine::registers::Slot;
use crate::parse::ast::Operand;

/// Refuses a `.sync` collective unless every lane of the member mask, given per lane, runs it.
pub(crate) fn require_members(c: &Context<'_, '_>, members: Slot<u32>) -> Result<(), Box<Trap>> {
    let mask = c.row(members);
    for lane in lanes(c.active) {
        let expected = mask[lane as usize];
        // A lane must name itself, and all it names must be here.
        if expected & c.active != expected || expected >> lane & 1 == 0 {
            c.require_active(expected)?;
        }
    }
    Ok(())
}

/// What a lane reads from one that does not take part. PTX leaves it undefined; a NaN in every floating-point type
/// shows when it is used after all.
const UNDEFINED: u32 = 0x7fff_7fff;

/// `shfl.sync.mode.b32 d|p, a, b, c, members`
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    if !i.flag("sync") {
        return Err(i.unknown());
    }
    let Some(mode) = i.choose(&["up", "down", "bfly", "idx"]) else { return Err(i.unknown()) };
    i.take_type();
    let (d, p) = match i.operand(0)? {
        Operand::Pair(d, p) => (i.dest_operand::<u32>(0, d)?, Some(i.dest_predicate_operand(0, p)?)),
        _ => (i.dest::<u32>(0)?, None),
    };
    let (a, b, clamp) = (i.source::<u32>(1)?, i.source::<u32>(2)?, i.source::<u32>(3)?);
    let members = i.source::<u32>(4)?;
    Ok(Decoded::new(Class::Shuffle, move |c| {
        require_members(c, members)?;
        let (source, offsets, clamps) = (c.row(a), c.row(b), c.row(clamp));
        let mut out = [0; 32];
        let mut in_range = 0;
        for lane in 0..32u32 {
            let offset = offsets[lane as usize] & 0x1f;
            let limit = clamps[lane as usize] & 0x1f;
            let segment = clamps[lane as usize] >> 8 & 0x1f;
            let last = lane & segment | limit & !segment;
            let first = lane & segment;
            let (from, valid) = match mode {
                "up" => (lane.wrapping_sub(offset), lane as i32 - offset as i32 >= last as i32),
                "down" => (lane + offset, lane + offset <= last),
                "bfly" => (lane ^ offset, lane ^ offset <= last),
                _ => (first | offset & !segment, (first | offset & !segment) <= last),
            };
            let from = if valid { from } else { lane } & 31;
            out[lane as usize] = if c.active >> from & 1 == 1 { source[from as usize] } else { UNDEFINED };
            in_range |= u32::from(valid) << lane;
        }
        c.put(d, &out);
        if let Some(p) = p {
            c.put_predicate(p, in_range);
        }
        Ok(Flow::Next)
    }))
}
