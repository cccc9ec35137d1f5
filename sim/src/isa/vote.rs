//! Votes, matches, elections and reductions over a warp.

use super::shuffle::require_members;
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::machine::context::{Flow, lanes};
use crate::machine::registers::{LANES, Word};
use crate::parse::ast::Operand;

const CLASS: Class = Class::Shuffle;

/// `vote`, `match`, `activemask`, `elect`, `redux`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    let mnemonic = i.mnemonic();
    if mnemonic == "activemask" {
        i.take_type();
        let d = i.dest::<u32>(0)?;
        return Ok(Decoded::new(CLASS, move |c| {
            c.put(d, &[c.active; LANES]);
            Ok(Flow::Next)
        }));
    }
    if !i.flag("sync") {
        return Err(i.unknown());
    }
    match mnemonic {
        "vote" => vote(i),
        "match" => matched(i),
        "elect" => elect(i),
        _ => reduce(i),
    }
}

fn vote(i: &mut Inst<'_, '_>) -> Decoding {
    let Some(mode) = i.choose(&["all", "any", "uni", "ballot"]) else { return Err(i.unknown()) };
    i.take_type();
    let (p, members) = (i.guard(1)?, i.source::<u32>(2)?);
    if mode == "ballot" {
        let d = i.dest::<u32>(0)?;
        return Ok(Decoded::new(CLASS, move |c| {
            require_members(c, members)?;
            let votes = p.lanes(c) & c.active;
            let out = c.row(members).map(|mask| mask & votes);
            c.put(d, &out);
            Ok(Flow::Next)
        }));
    }
    let d = i.dest_predicate(0)?;
    Ok(Decoded::new(CLASS, move |c| {
        require_members(c, members)?;
        let votes = p.lanes(c) & c.active;
        let mut bits = 0;
        for lane in lanes(c.active) {
            let mask = c.row(members)[lane as usize];
            let yes = votes & mask;
            let holds = match mode {
                "all" => yes == mask,
                "any" => yes != 0,
                _ => yes == mask || yes == 0,
            };
            bits |= u32::from(holds) << lane;
        }
        c.put_predicate(d, bits);
        Ok(Flow::Next)
    }))
}

fn matched(i: &mut Inst<'_, '_>) -> Decoding {
    let all = match i.choose(&["all", "any"]) {
        Some(mode) => mode == "all",
        None => return Err(i.unknown()),
    };
    match i.take_type() {
        "b32" => matched_words::<u32>(i, all),
        "b64" => matched_words::<u64>(i, all),
        other => Err(i.unknown_modifier(other)),
    }
}

/// `match.any`: the lanes with the same value; `match.all`: all members if they agree, else none.
fn matched_words<T: Word + PartialEq>(i: &mut Inst<'_, '_>, all: bool) -> Decoding {
    let (d, p) = match i.operand(0)? {
        Operand::Pair(d, p) => (i.dest_operand::<u32>(0, d)?, Some(i.dest_predicate_operand(0, p)?)),
        _ => (i.dest::<u32>(0)?, None),
    };
    let (a, members) = (i.source::<T>(1)?, i.source::<u32>(2)?);
    Ok(Decoded::new(CLASS, move |c| {
        require_members(c, members)?;
        let row = *c.row(a);
        let mut out = [0; LANES];
        let mut agreed = 0;
        for lane in lanes(c.active) {
            let mask = c.row(members)[lane as usize];
            let same = lanes(mask)
                .filter(|&other| row[other as usize] == row[lane as usize])
                .fold(0, |bits, other| bits | 1 << other);
            out[lane as usize] = if !all || same == mask { same } else { 0 };
            agreed |= u32::from(same == mask) << lane;
        }
        c.put(d, &out);
        if let Some(p) = p {
            c.put_predicate(p, agreed);
        }
        Ok(Flow::Next)
    }))
}

/// `elect.sync d|p, members`: the lowest member.
fn elect(i: &mut Inst<'_, '_>) -> Decoding {
    let Operand::Pair(d, p) = i.operand(0)? else {
        return Err(i.operand_error(0, "a pair of a register and a predicate is required"));
    };
    let (d, p) = (i.dest_operand::<u32>(0, d)?, i.dest_predicate_operand(0, p)?);
    let members = i.source::<u32>(1)?;
    Ok(Decoded::new(CLASS, move |c| {
        require_members(c, members)?;
        let leaders = c.row(members).map(u32::trailing_zeros);
        let elected = lanes(c.active).filter(|&l| leaders[l as usize] == l).fold(0, |bits, l| bits | 1 << l);
        c.put(d, &leaders);
        c.put_predicate(p, elected);
        Ok(Flow::Next)
    }))
}

fn reduce(i: &mut Inst<'_, '_>) -> Decoding {
    let operation = i.choose(&["add", "min", "max", "and", "or", "xor"]);
    let signed = i.take_type() == "s32";
    let f: fn(u32, u32) -> u32 = match (operation, signed) {
        (Some("add"), _) => u32::wrapping_add,
        (Some("min"), false) => |a, b| a.min(b),
        (Some("max"), false) => |a, b| a.max(b),
        (Some("min"), true) => |a, b| (a as i32).min(b as i32) as u32,
        (Some("max"), true) => |a, b| (a as i32).max(b as i32) as u32,
        (Some("and"), _) => |a, b| a & b,
        (Some("or"), _) => |a, b| a | b,
        (Some("xor"), _) => |a, b| a ^ b,
        _ => return Err(i.unknown()),
    };
    let (d, a, members) = (i.dest::<u32>(0)?, i.source::<u32>(1)?, i.source::<u32>(2)?);
    Ok(Decoded::new(CLASS, move |c| {
        require_members(c, members)?;
        let row = *c.row(a);
        let out = c.row(members).map(|mask| lanes(mask).map(|l| row[l as usize]).reduce(f).unwrap_or(0));
        c.put(d, &out);
        Ok(Flow::Next)
    }))
}
