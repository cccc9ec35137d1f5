//! Barriers and fences.

use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::{Guard, Inst};
use crate::error::ParseError;
use crate::machine::barriers::Reduction;
use crate::machine::context::{Context, Flow, Outcome, Trap};
use crate::machine::registers::{LANES, Predicate, Slot};
use crate::machine::warp::Wait;

const CLASS: Class = Class::Barrier;

/// `bar`, `barrier`, `membar`, `fence`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "membar" => {
            i.choose(&["cta", "gl", "sys", "gpu"]);
            Ok(Decoded::new(CLASS, |_| Ok(Flow::Next)))
        }
        "fence" => {
            if i.flag("proxy") {
                return super::cluster::proxy_fence(i);
            }
            // Orders initialisations of mbarriers, which here are ordered like every other write.
            i.flag("mbarrier_init");
            i.choose(&["sc", "acq_rel", "acquire", "release"]);
            i.choose(&["cta", "cluster", "gpu", "sys"]);
            Ok(Decoded::new(CLASS, |_| Ok(Flow::Next)))
        }
        _ => {
            // A `barrier` without `.aligned` may be reached by lanes one after the other; the machine runs a
            // warp's lanes through it together, and refuses the rest as divergence.
            i.flag("aligned");
            if i.flag("cluster") {
                return super::cluster::barrier(i);
            }
            i.flag("cta");
            if i.flag("warp") {
                return warp_sync(i);
            }
            match i.choose(&["sync", "arrive", "red"]) {
                Some("sync") => sync(i),
                Some("arrive") => arrive(i),
                Some(_) => reduce(i),
                None => Err(i.unknown()),
            }
        }
    }
}

/// `bar.warp.sync mask`: the running lanes must be those of the mask that are alive.
fn warp_sync(i: &mut Inst<'_, '_>) -> Decoding {
    i.flag("sync");
    let mask = i.source::<u32>(0)?;
    Ok(Decoded::new(CLASS, move |c| {
        let first = c.active.trailing_zeros() as usize % LANES;
        let expected = c.row(mask)[first] & c.warp.alive;
        if c.active & expected != expected {
            c.require_active(expected)?;
        }
        Ok(Flow::Next)
    }))
}

/// Barrier and thread count; both are the same in all lanes.
#[derive(Clone, Copy)]
struct Place {
    barrier: Slot<u32>,
    threads: Slot<u32>,
}

impl Place {
    fn decode(i: &mut Inst<'_, '_>, first: usize, operands: usize) -> Result<Self, ParseError> {
        let barrier = i.source(first)?;
        let threads = if operands > 1 { i.source(first + 1)? } else { i.constant(0) };
        Ok(Self { barrier, threads })
    }

    fn arrive(self, c: &mut Context<'_, '_>, waits: bool, part: Reduction) -> Result<u32, Box<Trap>> {
        c.require_active(c.warp.alive)?;
        let lane = c.active.trailing_zeros() as usize;
        let (barrier, threads) = (c.row(self.barrier)[lane], c.row(self.threads)[lane]);
        let block = &mut *c.block;
        block
            .barriers
            .arrive(&mut c.team.clocks, c.warp.index, barrier, threads, waits, part)
            .map_err(|kind| Trap::warp(*kind))?;
        c.team.progress += 1;
        Ok(barrier)
    }

    /// Arrives the first time; on every run asks whether the barrier has completed and gives its result to `done`.
    fn wait(self, c: &mut Context<'_, '_>, part: Reduction, done: impl Fn(&mut Context<'_, '_>, Reduction)) -> Outcome {
        if c.warp.waiting.is_none() {
            let barrier = self.arrive(c, true, part)?;
            c.warp.waiting = Some((Wait::Barrier(barrier), c.pc));
        }
        match c.block.barriers.take_release(c.warp.index) {
            Some(reduction) => {
                c.warp.waiting = None;
                done(c, reduction);
                Ok(Flow::Yield)
            }
            None => Ok(Flow::Wait),
        }
    }
}

fn sync(i: &mut Inst<'_, '_>) -> Decoding {
    let place = Place::decode(i, 0, i.operand_count())?;
    Ok(Decoded::new(CLASS, move |c| place.wait(c, Reduction::default(), |_, _| {})))
}

fn arrive(i: &mut Inst<'_, '_>) -> Decoding {
    let place = Place::decode(i, 0, i.operand_count())?;
    Ok(Decoded::new(CLASS, move |c| {
        place.arrive(c, false, Reduction::default())?;
        Ok(Flow::Next)
    }))
}

/// `bar.red.popc.u32 d, a{, b}, p` and `bar.red.{and,or}.pred q, a{, b}, p`.
fn reduce(i: &mut Inst<'_, '_>) -> Decoding {
    enum Result {
        Count(Slot<u32>),
        All(Predicate),
        Any(Predicate),
    }
    let operation = i.choose(&["popc", "and", "or"]);
    i.take_type();
    let result = match operation {
        Some("popc") => Result::Count(i.dest(0)?),
        Some("and") => Result::All(i.dest_predicate(0)?),
        Some(_) => Result::Any(i.dest_predicate(0)?),
        None => return Err(i.unknown()),
    };
    let count = i.operand_count();
    let place = Place::decode(i, 1, count.saturating_sub(2))?;
    let source: Guard = i.guard(count - 1)?;
    Ok(Decoded::new(CLASS, move |c| {
        let part = Reduction { count: (source.lanes(c) & c.active).count_ones(), threads: c.active.count_ones() };
        place.wait(c, part, |c, total| match result {
            Result::Count(d) => c.put(d, &[total.count; LANES]),
            Result::All(p) => c.put_predicate(p, if total.count == total.threads { u32::MAX } else { 0 }),
            Result::Any(p) => c.put_predicate(p, if total.count > 0 { u32::MAX } else { 0 }),
        })
    }))
}
