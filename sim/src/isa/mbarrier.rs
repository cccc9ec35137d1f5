//! `mbarrier`: arrivals, announced bytes and waits.
//!
//! A state is the number of phases completed in the upper half of its 64 bits and the arrivals pending before it in the lower.

use super::data::space;
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::{Address, Inst};
use crate::error::ParseError;
use crate::fault::{FaultKind, MbarrierProblem, Space};
use crate::machine::context::{Context, Flow, Outcome, Trap, lanes};
use crate::machine::registers::{LANES, Predicate, Slot};
use crate::machine::team::BlockState;
use crate::machine::warp::Wait;
use crate::memory::clocks::Clocks;
use crate::memory::mbarrier::Mbarrier;
use crate::memory::window;
use crate::parse::ast::Operand;

const CLASS: Class = Class::Barrier;

/// One wait for an mbarrier in so many fails at once, as hardware's may time out.
const EARLY_TIMEOUT: u64 = 8;

/// `mbarrier.*`
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    const OPERATIONS: [&str; 9] = [
        "init",
        "inval",
        "arrive",
        "arrive_drop",
        "expect_tx",
        "complete_tx",
        "test_wait",
        "try_wait",
        "pending_count",
    ];
    let operation = i.choose(&OPERATIONS[..4]).or_else(|| i.choose(&OPERATIONS[4..]));
    let is_relaxed = i.choose(&["acquire", "release", "relaxed"]) == Some("relaxed");
    i.choose(&["cta", "cluster"]);
    match operation {
        Some("init") => initialise(i),
        Some("inval") => invalidate(i),
        Some("arrive") => arrive(i, !is_relaxed, false),
        Some("arrive_drop") => arrive(i, !is_relaxed, true),
        Some("expect_tx") => transact(i, true),
        Some("complete_tx") => transact(i, false),
        Some("test_wait" | "try_wait") => wait(i, !is_relaxed),
        Some(_) => pending_count(i),
        None => Err(i.unknown()),
    }
}

/// Where a barrier is: in the block's shared memory, or anywhere in the cluster's.
#[derive(Clone, Copy)]
struct Place {
    address: Address,
    space: Option<Space>,
}

impl Place {
    fn decode(i: &mut Inst<'_, '_>, operand: usize) -> Result<Self, ParseError> {
        let space = space(i);
        if i.take_type() != "b64" || !matches!(space, None | Some(Space::Shared | Space::SharedCluster)) {
            return Err(i.unknown());
        }
        Ok(Self { address: i.address(operand)?, space })
    }

    /// Block and offset of the barrier of `lane`, whose address is `address`.
    fn resolve(self, c: &mut Context<'_, '_>, lane: u32, address: u64) -> Result<(u32, u32), Box<Trap>> {
        self.try_resolve(c, address).map_err(|kind| Trap::lane(lane, *kind))
    }

    fn try_resolve(self, c: &mut Context<'_, '_>, address: u64) -> Result<(u32, u32), Box<FaultKind>> {
        let (space, address) = match self.space {
            Some(space) => (space, address),
            None => window::resolve(address),
        };
        let (rank, local) = match space {
            Space::SharedCluster => c.visit(address)?,
            Space::Shared => (c.block.rank, address),
            _ => {
                let nearest = None;
                return Err(Box::new(FaultKind::OutOfBounds { space: Space::Shared, address, bytes: 8, nearest }));
            }
        };
        let offset = match c.block_at(rank) {
            Some((block, _)) => block.shared.locate(local, 8)?,
            None => 0,
        };
        Ok((rank, offset as u32))
    }
}

/// Runs `f` on the barrier of one lane, after checking that its initialisation is ordered before.
fn on_barrier<R>(
    c: &mut Context<'_, '_>,
    lane: u32,
    (rank, offset): (u32, u32),
    f: impl FnOnce(&mut Mbarrier, &mut Clocks, u32) -> Result<R, MbarrierProblem>,
) -> Result<R, Box<Trap>> {
    let agent = c.warp.agent;
    let missing = Err(MbarrierProblem::Uninitialised);
    let result = match c.block_at(rank) {
        Some((block, clocks)) => {
            if block.mbarriers.at(offset).is_ok() {
                block.shared.check_order(clocks, agent, offset).map_err(|kind| Trap::lane(lane, *kind))?;
            }
            block.mbarriers.at_mut(offset).and_then(|barrier| f(barrier, clocks, agent))
        }
        None => missing,
    };
    result.map_err(|problem| misuse(lane, offset, problem))
}

fn misuse(lane: u32, offset: u32, problem: MbarrierProblem) -> Box<Trap> {
    let address = u64::from(offset + window::SHARED_BASE);
    Trap::lane(lane, FaultKind::Mbarrier { address, problem })
}

fn initialise(i: &mut Inst<'_, '_>) -> Decoding {
    let place = Place::decode(i, 0)?;
    let count = i.source::<u32>(1)?;
    Ok(Decoded::new(CLASS, move |c| {
        let addresses = place.address.lanes(c);
        for lane in lanes(c.active) {
            let (rank, offset) = place.resolve(c, lane, addresses[lane as usize])?;
            let (agent, count) = (c.agent(lane), c.row(count)[lane as usize]);
            let Some((block, clocks)) = c.block_at(rank) else { continue };
            let BlockState { shared, mbarriers, .. } = block;
            if mbarriers.at(offset).is_ok() {
                return Err(misuse(lane, offset, MbarrierProblem::Initialised));
            }
            shared.mark_barrier(clocks, agent, offset, true).map_err(|kind| Trap::lane(lane, *kind))?;
            let barrier = Mbarrier::new(clocks, agent.id, offset, count);
            mbarriers.insert(barrier.map_err(|problem| misuse(lane, offset, problem))?);
        }
        Ok(Flow::Next)
    }))
}

fn invalidate(i: &mut Inst<'_, '_>) -> Decoding {
    let place = Place::decode(i, 0)?;
    Ok(Decoded::new(CLASS, move |c| {
        let addresses = place.address.lanes(c);
        for lane in lanes(c.active) {
            let (rank, offset) = place.resolve(c, lane, addresses[lane as usize])?;
            let agent = c.agent(lane);
            on_barrier(c, lane, (rank, offset), |_, _, _| Ok(()))?;
            let Some((block, clocks)) = c.block_at(rank) else { continue };
            block.mbarriers.remove(offset).map_err(|problem| misuse(lane, offset, problem))?;
            block.shared.mark_barrier(clocks, agent, offset, false).map_err(|kind| Trap::lane(lane, *kind))?;
        }
        Ok(Flow::Next)
    }))
}

/// `mbarrier.arrive{_drop}{.expect_tx}{.noComplete} state, [barrier]{, count or bytes}`
fn arrive(i: &mut Inst<'_, '_>, release: bool, drop: bool) -> Decoding {
    let announces = i.flag("expect_tx");
    let no_complete = i.flag("noComplete");
    let is_relaxed = i.choose(&["release", "relaxed"]) == Some("relaxed");
    i.choose(&["cta", "cluster"]);
    let release = release && !is_relaxed;
    let place = Place::decode(i, 1)?;
    let state = match i.operand(0)? {
        Operand::Sink => None,
        operand => Some(i.dest_operand::<u64>(0, operand)?),
    };
    let amount: Slot<u32> = if i.operand_count() > 2 { i.source(2)? } else { i.constant(1) };
    Ok(Decoded::new(CLASS, move |c| {
        let addresses = place.address.lanes(c);
        let mut states = [0; LANES];
        for lane in lanes(c.active) {
            let at = place.resolve(c, lane, addresses[lane as usize])?;
            let amount = c.row(amount)[lane as usize];
            let (count, announced) = if announces { (1, Some(amount)) } else { (amount, None) };
            states[lane as usize] = on_barrier(c, lane, at, |barrier, clocks, agent| {
                let before = u64::from(barrier.phase) << 32 | u64::from(barrier.pending);
                if no_complete && count >= barrier.pending {
                    let pending = barrier.pending.saturating_sub(1);
                    return Err(MbarrierProblem::Arrivals { pending, arriving: count });
                }
                barrier.arrive(clocks, agent, count, announced, release, drop)?;
                Ok(before)
            })?;
        }
        c.team.progress += 1;
        if let Some(state) = state {
            c.put(state, &states);
        }
        Ok(Flow::Next)
    }))
}

/// `mbarrier.expect_tx [barrier], bytes` and `mbarrier.complete_tx`.
fn transact(i: &mut Inst<'_, '_>, announces: bool) -> Decoding {
    let place = Place::decode(i, 0)?;
    let bytes = i.source::<u32>(1)?;
    Ok(Decoded::new(CLASS, move |c| {
        let addresses = place.address.lanes(c);
        for lane in lanes(c.active) {
            let at = place.resolve(c, lane, addresses[lane as usize])?;
            let bytes = c.row(bytes)[lane as usize];
            on_barrier(c, lane, at, |barrier, _, _| match announces {
                true => barrier.expect(bytes),
                false => barrier.deliver(bytes),
            })?;
        }
        c.team.progress += 1;
        Ok(Flow::Next)
    }))
}

/// `mbarrier.pending_count.b64 count, state`
fn pending_count(i: &mut Inst<'_, '_>) -> Decoding {
    i.take_type();
    let (d, state) = (i.dest::<u32>(0)?, i.source::<u64>(1)?);
    Ok(Decoded::new(CLASS, move |c| {
        let counts = c.row(state).map(|state| state as u32);
        c.put(d, &counts);
        Ok(Flow::Next)
    }))
}

/// What a wait names: a parity, or the state an arrival returned.
#[derive(Clone, Copy)]
enum Phase {
    Parity(Slot<u32>),
    State(Slot<u64>),
}

impl Phase {
    /// Whether the phase that `lane` names is complete, and the barrier's current phase.
    fn look(self, c: &mut Context<'_, '_>, lane: u32, at: (u32, u32), acquire: bool) -> Result<(bool, u32), Box<Trap>> {
        let (parity, state) = match self {
            Phase::Parity(slot) => (c.row(slot)[lane as usize], None),
            Phase::State(slot) => (0, Some((c.row(slot)[lane as usize] >> 32) as u32)),
        };
        on_barrier(c, lane, at, |barrier, clocks, agent| {
            let phase = barrier.phase;
            let complete = match state {
                None => barrier.is_complete(parity),
                Some(state) if state > phase || state + 1 < phase => {
                    return Err(MbarrierProblem::State { state, phase });
                }
                Some(state) => state < phase,
            };
            if complete && acquire {
                barrier.acquire(clocks, agent);
            }
            Ok((complete, phase))
        })
    }
}

/// `mbarrier.{test,try}_wait{.parity} p, [barrier], phase{, time}`
///
/// A warp whose phase is not complete makes way for others, and mostly looks again only when it is: hardware's
/// `try_wait` sleeps too. When nothing else can happen, the wait fails.
fn wait(i: &mut Inst<'_, '_>, acquire: bool) -> Decoding {
    let by_parity = i.flag("parity");
    let is_relaxed = i.choose(&["acquire", "relaxed"]) == Some("relaxed");
    i.choose(&["cta", "cluster"]);
    let acquire = acquire && !is_relaxed;
    let place = Place::decode(i, 1)?;
    let p: Predicate = i.dest_predicate(0)?;
    let phase = if by_parity { Phase::Parity(i.source(2)?) } else { Phase::State(i.source(2)?) };
    if i.operand_count() > 3 {
        i.source::<u32>(3)?;
    }
    Ok(Decoded::new(CLASS, move |c| attempt(c, place, phase, p, acquire)))
}

fn attempt(c: &mut Context<'_, '_>, place: Place, phase: Phase, p: Predicate, acquire: bool) -> Outcome {
    let addresses = place.address.lanes(c);
    let mut complete = 0;
    let mut awaited = None;
    for lane in lanes(c.active) {
        let at = place.resolve(c, lane, addresses[lane as usize])?;
        let (is_complete, current) = phase.look(c, lane, at, acquire)?;
        complete |= u32::from(is_complete) << lane;
        if !is_complete {
            awaited = Some(Wait::Mbarrier { rank: at.0, offset: at.1, phase: current });
        }
    }
    // Lanes that all wait for the same may sleep; where some are through, the kernel decides.
    if let (Some(wait), 0) = (awaited, complete) {
        let slept = c.warp.waiting.is_some();
        let fails =
            std::mem::take(&mut c.warp.timed_out) || (!slept && c.team.random.next().is_multiple_of(EARLY_TIMEOUT));
        if !fails {
            return c.wait(wait);
        }
    }
    c.warp.timed_out = false;
    c.warp.waiting = None;
    c.put_predicate(p, complete);
    Ok(Flow::Yield)
}
