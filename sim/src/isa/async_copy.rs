//! `cp.async`: copies from global to shared memory that complete when they are waited for, and not before.
//!
//! Hardware may deliver at any time between issue and wait. Here the destination stays untouchable until the issuing
//! thread waits, and the source is read only then, so a missing wait always shows.

use super::memory::count_access;
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::fault::Space;
use crate::machine::context::{Context, Flow, Trap, lanes};
use crate::machine::registers::Slot;
use crate::memory::shared::Agent;

const CLASS: Class = Class::AsyncCopy;

/// `cp.async` and its groups.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    let reduces = i.flag("reduce");
    if !i.flag("async") {
        return Err(i.unknown());
    }
    if i.flag("bulk") {
        return super::bulk_copy::decode(i, reduces);
    }
    if reduces {
        return Err(i.unknown());
    }
    match i.choose(&["commit_group", "wait_group", "wait_all"]) {
        Some("commit_group") => Ok(Decoded::new(CLASS, |c| {
            c.warp.copies.commit(c.active);
            Ok(Flow::Next)
        })),
        Some("wait_group") => {
            let allowed = i.immediate(0)? as u32;
            Ok(Decoded::new(CLASS, move |c| deliver(c, allowed)))
        }
        Some(_) => Ok(Decoded::new(CLASS, |c| {
            c.warp.copies.commit(c.active);
            deliver(c, 0)
        })),
        None => copy(i),
    }
}

/// Completes the copies of all but the latest `allowed` groups of each active lane.
fn deliver(c: &mut Context<'_, '_>, allowed: u32) -> Result<Flow, Box<Trap>> {
    for lane in lanes(c.active) {
        while let Some(copy) = c.warp.copies.next_due(lane, allowed) {
            let value = c
                .global
                .load_prefix(copy.global, copy.bytes, copy.source_bytes)
                .map_err(|kind| Trap::lane(lane, *kind))?;
            let agent = Agent { id: c.warp.agent, lane, pc: copy.pc };
            c.block.shared.finish_copy(&c.team.clocks, agent, copy.shared, copy.bytes, value);
        }
    }
    Ok(Flow::Next)
}

/// `cp.async.{ca,cg}.shared.global [dst], [src], size{, src-size | ignore-src}{, policy}`
fn copy(i: &mut Inst<'_, '_>) -> Decoding {
    let only16 = i.choose(&["ca", "cg"]) == Some("cg");
    let to_shared = i.choose(&["shared", "shared::cta"]).is_some();
    let from_global = i.flag("global");
    if !to_shared || !from_global {
        return Err(i.unknown());
    }
    let has_policy = i.flag("L2::cache_hint");
    i.drop_modifiers(|m| m.starts_with("L2::"));
    let (destination, source) = (i.address(0)?, i.address(1)?);
    let bytes = i.immediate(2)? as u32;
    if !matches!(bytes, 4 | 8 | 16) || (only16 && bytes != 16) {
        return Err(i.operand_error(2, format!("a copy of {bytes} bytes; `.ca` takes 4, 8 or 16, `.cg` 16")));
    }
    let extra = i.operand_count() - usize::from(has_policy);
    let ignore = if extra > 3 && i.is_predicate(3) { Some(i.guard(3)?) } else { None };
    let source_bytes: Option<Slot<u32>> = if extra > 3 && ignore.is_none() { Some(i.source(3)?) } else { None };
    if has_policy {
        i.source::<u64>(extra)?;
    }
    Ok(Decoded::new(CLASS, move |c| {
        let (shared, global) = (destination.lanes(c), source.lanes(c));
        let ignored = ignore.map_or(0, |guard| guard.lanes(c));
        count_access(c, Space::Shared, &shared, c.active, bytes);
        let mut reading = 0;
        for lane in lanes(c.active) {
            let at = lane as usize;
            let mut wanted = source_bytes.map_or(bytes, |slot| c.row(slot)[at].min(bytes));
            if ignored >> lane & 1 == 1 {
                wanted = 0;
            }
            reading |= u32::from(wanted > 0) << lane;
            let agent = c.agent(lane);
            // Faults of the source belong to this instruction, not to the wait.
            c.global.load_prefix(global[at], bytes, wanted).map_err(|kind| Trap::lane(lane, *kind))?;
            c.block
                .shared
                .begin_copy(&c.team.clocks, agent, shared[at], bytes)
                .map_err(|kind| Trap::lane(lane, *kind))?;
            c.warp.copies.issue(lane, shared[at], global[at], bytes, wanted, c.pc);
        }
        if reading != 0 {
            count_access(c, Space::Global, &global, reading, bytes);
        }
        Ok(Flow::Next)
    }))
}
