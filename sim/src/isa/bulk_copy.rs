//! Bulk copies: `cp.async.bulk`, with and without a tensor map, and their groups.
//!
//! A load to shared memory is delivered some time after its issue, at the latest when nothing else can happen; until then its
//! destination may not be touched. A store reads its source when a wait asks for it and not before, and writes when one asks
//! for that.

use super::atomic::update;
use super::memory::memory_bytes;
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::{Address, Inst};
use crate::error::ParseError;
use crate::fault::{FaultKind, MbarrierProblem, Space};
use crate::machine::bulk::{Combine, Issuer, Load, Place};
use crate::machine::context::{Context, Flow, Outcome, Trap, lanes};
use crate::machine::registers::Slot;
use crate::machine::warpgroup::WARPS;
use crate::memory::shared::Agent;
use crate::memory::window;
use crate::tensor_map::{TensorMap, TensorSwizzle};
use std::sync::Arc;

const CLASS: Class = Class::AsyncCopy;
/// Alignment of a box in shared memory.
const BOX_ALIGNMENT: u32 = 128;
/// Alignment and unit of a copy without tensor map.
const UNIT: u32 = 16;

/// `cp{.reduce}.async.bulk…`
pub(crate) fn decode(i: &mut Inst<'_, '_>, reduces: bool) -> Decoding {
    match i.choose(&["commit_group", "wait_group", "prefetch"]) {
        Some("commit_group") => Ok(Decoded::new(CLASS, |c| {
            c.warp.stores.commit(c.active);
            Ok(Flow::Next)
        })),
        Some("wait_group") => {
            let complete = !i.flag("read");
            let allowed = i.immediate(0)? as u32;
            Ok(Decoded::new(CLASS, move |c| wait(c, allowed, complete)))
        }
        Some(_) => prefetch(i),
        None if i.flag("bulk_group") => store(i, reduces),
        None if reduces => Err(i.unknown()),
        None => load(i),
    }
}

/// `prefetch{.space}.tensormap [map]`
pub(crate) fn prefetch_map(i: &mut Inst<'_, '_>) -> Decoding {
    let space = super::data::space(i);
    let address = i.address(0)?;
    Ok(Decoded::new(CLASS, move |c| {
        let addresses = address.lanes(c);
        for lane in lanes(c.active) {
            tensor_map(c, lane, addresses[lane as usize] + space.map_or(0, window::start))?;
        }
        Ok(Flow::Next)
    }))
}

/// `cp.async.bulk.prefetch.tensor.Nd.L2.global [map, {…}]` and `cp.async.bulk.prefetch.L2.global [from], bytes`
fn prefetch(i: &mut Inst<'_, '_>) -> Decoding {
    i.drop_modifiers(|m| m == "L2" || m == "global" || m.starts_with("L2::"));
    let far = Far::decode(i, 0, 1)?;
    Ok(Decoded::new(CLASS, move |c| {
        for lane in lanes(c.active) {
            far.place(c, lane)?;
        }
        Ok(Flow::Next)
    }))
}

/// The side in global memory as the instruction names it.
enum Far {
    Box { map: Address, coordinates: Vec<Slot<u32>> },
    Bytes { address: Address, bytes: Slot<u32> },
}

impl Far {
    /// Operand `index` is the address, operand `size` the number of bytes where there is no tensor map.
    fn decode(i: &mut Inst<'_, '_>, index: usize, size: usize) -> Result<Self, ParseError> {
        if !i.flag("tensor") {
            return Ok(Far::Bytes { address: i.address(index)?, bytes: i.source(size)? });
        }
        i.flag("tile");
        let rank = i.choose(&["1d", "2d", "3d", "4d", "5d"]);
        let (map, coordinates) = i.tensor(index)?;
        if rank.is_none_or(|rank| !rank.starts_with(&coordinates.len().to_string())) {
            return Err(i.operand_error(index, format!("{} coordinates", coordinates.len())));
        }
        Ok(Far::Box { map, coordinates })
    }

    fn alignment(&self) -> u32 {
        if matches!(self, Far::Box { .. }) { BOX_ALIGNMENT } else { UNIT }
    }

    /// What `lane` copies.
    fn place(&self, c: &mut Context<'_, '_>, lane: u32) -> Result<Place, Box<Trap>> {
        let at = lane as usize;
        match self {
            Far::Box { map, coordinates } => {
                let address = map.lanes(c)[at];
                let coordinates: Vec<i32> = coordinates.iter().map(|&slot| c.row(slot)[at] as i32).collect();
                let map = tensor_map(c, lane, address)?;
                let problem = if map.sizes.len() != coordinates.len() {
                    Some(format!("rank {}, the instruction gives {} coordinates", map.sizes.len(), coordinates.len()))
                } else if map.swizzle != TensorSwizzle::None && !map.box_bytes().is_multiple_of(map.swizzle.span()) {
                    Some(format!(
                        "a box of {} bytes is no multiple of its swizzle's {}",
                        map.box_bytes(),
                        map.swizzle.span()
                    ))
                } else {
                    None
                };
                match problem {
                    Some(problem) => Err(Trap::lane(lane, FaultKind::TensorMap { address, problem })),
                    None => Ok(Place::Box { map: Arc::new(map), coordinates }),
                }
            }
            Far::Bytes { address, bytes } => {
                let (address, bytes) = (address.lanes(c)[at], c.row(*bytes)[at]);
                for value in [address, bytes.into()] {
                    if !value.is_multiple_of(UNIT.into()) {
                        let kind = FaultKind::Misaligned { space: Space::Global, address: value, required: UNIT };
                        return Err(Trap::lane(lane, kind));
                    }
                }
                Ok(Place::Bytes { address, bytes })
            }
        }
    }
}

/// The tensor map at a generic address.
fn tensor_map(c: &mut Context<'_, '_>, lane: u32, address: u64) -> Result<TensorMap, Box<Trap>> {
    if !address.is_multiple_of(64) {
        let (space, _) = window::resolve(address);
        return Err(Trap::lane(lane, FaultKind::Misaligned { space, address, required: 64 }));
    }
    let mut bytes = [0; 128];
    let found = match window::resolve(address) {
        (Space::Parameter, at) => {
            let range = c.launch.parameters.get(at as usize..at as usize + 128);
            range
                .map(|range| bytes.copy_from_slice(range))
                .ok_or_else(|| "it does not lie inside the parameters".into())
        }
        (Space::Global, at) => {
            c.global.read_bytes(at, &mut bytes).map_err(|kind| Trap::lane(lane, *kind))?;
            Ok(())
        }
        (space, _) => Err(format!("it lies in {space} memory; global memory or the parameters are required")),
    };
    let map = found.and_then(|()| TensorMap::decode(&bytes).ok_or_else(|| "these bytes are no tensor map".to_owned()));
    map.map_err(|problem| Trap::lane(lane, FaultKind::TensorMap { address, problem }))
}

/// Counts the sectors a copy touches.
fn count(c: &mut Context<'_, '_>, place: &Place) {
    let mut sectors = 0;
    let mut add = |address: u64, bytes: usize| sectors += ((address + bytes as u64 - 1) >> 5) - (address >> 5) + 1;
    match place {
        Place::Box { map, coordinates } => {
            let counted = map.rows(coordinates, |_, address, bytes| {
                add(address, bytes);
                Ok::<(), std::convert::Infallible>(())
            });
            counted.unwrap_or_else(|never| match never {});
        }
        Place::Bytes { bytes: 0, .. } => {}
        Place::Bytes { address, bytes } => add(*address, *bytes as usize),
    }
    c.count.global_requests += 1;
    c.count.sectors += sectors;
}

/// `cp.async.bulk{.tensor}….shared::cluster.global.mbarrier::complete_tx::bytes [to], from{, bytes}, [barrier]{, mask}{, policy}`
fn load(i: &mut Inst<'_, '_>) -> Decoding {
    let to_shared = i.choose(&["shared::cluster", "shared::cta"]).is_some();
    if !(to_shared && i.flag("global") && i.flag("mbarrier::complete_tx::bytes")) {
        return Err(i.unknown());
    }
    let multicast = i.flag("multicast::cluster");
    let has_policy = i.flag("L2::cache_hint");
    let to = i.address(0)?;
    let far = Far::decode(i, 1, 2)?;
    let mut next = if matches!(far, Far::Box { .. }) { 2 } else { 3 };
    let barrier = i.address(next)?;
    next += 1;
    let mask: Option<Slot<u32>> = if multicast {
        next += 1;
        Some(i.source(next - 1)?)
    } else {
        None
    };
    if has_policy {
        i.source::<u64>(next)?;
    }
    Ok(Decoded::new(CLASS, move |c| {
        let (to, barriers) = (to.lanes(c), barrier.lanes(c));
        for lane in lanes(c.active) {
            let at = lane as usize;
            let place = far.place(c, lane)?;
            count(c, &place);
            let (rank, destination) = window::split_rank(to[at]);
            let (_, barrier) = window::split_rank(barriers[at]);
            let own = rank.unwrap_or(c.block.rank);
            let blocks = mask.map_or(1 << own.min(31), |mask| c.row(mask)[at] & 0xffff);
            let mut targets = Vec::new();
            for rank in lanes(blocks) {
                let bytes = place.bytes();
                let target = begin(c, lane, rank, [destination, barrier], bytes, far.alignment());
                let (offset, barrier) = target.map_err(|kind| Trap::lane(lane, *kind))?;
                targets.push((rank, offset, barrier));
            }
            let issuer = Issuer { rank: c.block.rank, warp: c.warp.index, lane, pc: c.pc };
            c.team.loads.push(Load { issuer, from: place, to: targets });
        }
        Ok(Flow::Next)
    }))
}

/// Makes the destination in block `rank` pending; its offset and that of the mbarrier.
fn begin(
    c: &mut Context<'_, '_>,
    lane: u32,
    rank: u32,
    [to, barrier]: [u64; 2],
    bytes: u32,
    alignment: u32,
) -> Result<(u32, u32), Box<FaultKind>> {
    let agent = c.agent(lane);
    if c.team.ended >> rank & 1 == 1 {
        return Err(Box::new(FaultKind::LeftCluster { rank, access_line: c.block.shared.line_of(c.pc) }));
    }
    let Some((block, clocks)) = c.block_at(rank) else {
        let address = window::map_rank(to, rank);
        return Err(Box::new(FaultKind::OutOfBounds { space: Space::SharedCluster, address, bytes, nearest: None }));
    };
    let offset = block.shared.locate_range(to, bytes, alignment)?;
    let at = block.shared.locate(barrier, 8)? as u32;
    if block.mbarriers.at(at).is_err() {
        let problem = MbarrierProblem::Uninitialised;
        return Err(Box::new(FaultKind::Mbarrier { address: barrier, problem }));
    }
    block.shared.check_order(clocks, agent.id, at)?;
    block.shared.begin_bulk(clocks, agent, offset, bytes)?;
    Ok((offset, at))
}

/// `cp{.reduce}.async.bulk{.tensor}….global.shared::cta{.op}.bulk_group to, [from]{, bytes}{, policy}`
fn store(i: &mut Inst<'_, '_>, reduces: bool) -> Decoding {
    if !(i.flag("global") && i.flag("shared::cta")) {
        return Err(i.unknown());
    }
    let has_policy = i.flag("L2::cache_hint");
    let operation = match i.choose(&["add", "min", "max", "inc", "dec", "and", "or", "xor"]) {
        Some(operation) if reduces => Some(operation),
        None if !reduces => None,
        _ => return Err(i.unknown()),
    };
    let from = i.address(1)?;
    let far = Far::decode(i, 0, 2)?;
    let next = if matches!(far, Far::Box { .. }) { 2 } else { 3 };
    // Without a tensor map the instruction names the type.
    let typed: Option<(Combine, u32)> = match (operation, &far) {
        (Some(operation), Far::Bytes { .. }) => {
            i.flag("noftz");
            let name = i.take_type();
            let combine = update(operation, name).zip(memory_bytes(name));
            Some(combine.ok_or_else(|| i.unknown_modifier(name))?)
        }
        _ => None,
    };
    if has_policy {
        i.source::<u64>(next)?;
    }
    Ok(Decoded::new(CLASS, move |c| {
        let from = from.lanes(c);
        for lane in lanes(c.active) {
            let place = far.place(c, lane)?;
            count(c, &place);
            let combine = match (operation, &place) {
                (Some(operation), Place::Box { map, .. }) => match update(operation, map.element.ptx()) {
                    Some(combine) => Some((combine as Combine, map.element.bytes())),
                    None => {
                        let problem = format!("{:?} elements have no reduction `{operation}`", map.element);
                        let address = map.address;
                        return Err(Trap::lane(lane, FaultKind::TensorMap { address, problem }));
                    }
                },
                _ => typed,
            };
            let agent = c.team.clocks.layout.stores(c.block.rank, c.warp.index / WARPS);
            c.team.clocks.act_for(agent, std::iter::once(c.warp.agent));
            let reader = Agent { id: agent, lane, pc: c.pc };
            let shared = &mut c.block.shared;
            let offset = shared
                .locate_range(from[lane as usize], place.bytes(), far.alignment())
                .map_err(|kind| Trap::lane(lane, *kind))?;
            shared.begin_read(&c.team.clocks, reader, offset, place.bytes()).map_err(|kind| Trap::lane(lane, *kind))?;
            let clock = c.team.clocks.now(agent);
            c.team.clocks.tick(agent);
            c.warp.stores.issue(lane, c.pc, offset, place, combine, clock);
        }
        Ok(Flow::Next)
    }))
}

/// Finishes the stores of all but the latest `allowed` groups of each active lane: their reads, and their writes if
/// `complete`.
fn wait(c: &mut Context<'_, '_>, allowed: u32, complete: bool) -> Outcome {
    let agent = c.team.clocks.layout.stores(c.block.rank, c.warp.index / WARPS);
    for lane in lanes(c.active) {
        let latest = c.warp.stores.finish(lane, allowed, complete, c.block, c.global);
        if let Some(clock) = latest.map_err(|kind| Trap::lane(lane, *kind))? {
            c.team.clocks.learn(c.warp.agent, agent, clock);
        }
    }
    Ok(Flow::Next)
}
