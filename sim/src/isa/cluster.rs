//! Clusters, their barrier, proxy fences, the register pool, grid dependencies.

use super::data::space;
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::fault::{FaultKind, Space};
use crate::machine::context::{Flow, Trap};
use crate::machine::registers::{LANES, Slot};
use crate::machine::warp::Wait;
use crate::memory::window;

/// `mapa`, `getctarank`, `setmaxnreg`, `griddepcontrol`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "mapa" => map(i),
        "getctarank" => rank(i),
        "setmaxnreg" => registers(i),
        _ => {
            // Launches run one after the other: everything a launch depends on is over.
            if i.choose(&["launch_dependents", "wait"]).is_none() {
                return Err(i.unknown());
            }
            Ok(Decoded::new(Class::Other, |_| Ok(Flow::Next)))
        }
    }
}

/// `mapa{.shared::cluster}.type d, a, rank`: the address of `a` in the block of `rank`.
fn map(i: &mut Inst<'_, '_>) -> Decoding {
    let start = if i.flag("shared::cluster") { 0 } else { window::start(Space::Shared) };
    let rank = i.source::<u32>(2)?;
    let mapped = move |address: u64, rank: u32| start + window::map_rank(address - start, rank);
    match i.take_type() {
        "u32" => {
            let (d, a) = (i.dest::<u32>(0)?, i.source::<u32>(1)?);
            Ok(Decoded::new(Class::Integer, move |c| {
                let out = std::array::from_fn(|l| mapped(c.row(a)[l].into(), c.row(rank)[l] & 0xff) as u32);
                c.put(d, &out);
                Ok(Flow::Next)
            }))
        }
        "u64" => {
            let (d, a) = (i.dest::<u64>(0)?, i.source::<u64>(1)?);
            Ok(Decoded::new(Class::Integer, move |c| {
                let out = std::array::from_fn(|l| mapped(c.row(a)[l].max(start), c.row(rank)[l] & 0xff));
                c.put(d, &out);
                Ok(Flow::Next)
            }))
        }
        other => Err(i.unknown_modifier(other)),
    }
}

/// `getctarank{.shared::cluster}.type d, a`
fn rank(i: &mut Inst<'_, '_>) -> Decoding {
    let start = if i.flag("shared::cluster") { 0 } else { window::start(Space::Shared) };
    let is_wide = match i.take_type() {
        "u32" => false,
        "u64" => true,
        other => return Err(i.unknown_modifier(other)),
    };
    enum Source {
        Narrow(Slot<u32>),
        Wide(Slot<u64>),
    }
    let d = i.dest::<u32>(0)?;
    let a = if is_wide { Source::Wide(i.source(1)?) } else { Source::Narrow(i.source(1)?) };
    Ok(Decoded::new(Class::Integer, move |c| {
        let own = c.block.rank;
        let out = std::array::from_fn(|lane| {
            let address = match a {
                Source::Narrow(a) => c.row(a)[lane].into(),
                Source::Wide(a) => c.row(a)[lane],
            };
            window::split_rank(address.wrapping_sub(start)).0.unwrap_or(own)
        });
        c.put(d, &out);
        Ok(Flow::Next)
    }))
}

/// `barrier.cluster.arrive{.sem}{.aligned}` and `barrier.cluster.wait{.acquire}{.aligned}`.
pub(crate) fn barrier(i: &mut Inst<'_, '_>) -> Decoding {
    let Some(operation) = i.choose(&["arrive", "wait"]) else { return Err(i.unknown()) };
    let relaxed = i.choose(&["release", "acquire", "relaxed"]) == Some("relaxed");
    if operation == "arrive" {
        return Ok(Decoded::new(Class::Barrier, move |c| {
            c.require_active(c.warp.alive)?;
            if c.warp.cluster_arrival.is_some() {
                let problem = "`barrier.cluster.arrive` a second time with no `barrier.cluster.wait` between";
                return Err(Trap::warp(FaultKind::ClusterBarrier { problem }));
            }
            c.warp.cluster_arrival = Some(c.team.barrier.generation);
            c.team.arrive(c.warp.agent, !relaxed);
            Ok(Flow::Next)
        }));
    }
    Ok(Decoded::new(Class::Barrier, move |c| {
        c.require_active(c.warp.alive)?;
        let Some(generation) = c.warp.cluster_arrival else {
            let problem = "`barrier.cluster.wait` with no `barrier.cluster.arrive` before";
            return Err(Trap::warp(FaultKind::ClusterBarrier { problem }));
        };
        if c.team.barrier.generation == generation {
            return c.wait(Wait::Cluster(generation));
        }
        c.warp.waiting = None;
        c.warp.cluster_arrival = None;
        let team = &mut *c.team;
        team.clocks.acquire_from(c.warp.agent, &team.barrier.completed);
        Ok(Flow::Yield)
    }))
}

/// `fence.proxy.async{.space}`, `fence.proxy.alias`, `fence.proxy.tensormap…`.
pub(crate) fn proxy_fence(i: &mut Inst<'_, '_>) -> Decoding {
    if i.choose(&["alias"]).is_some() {
        return Ok(Decoded::new(Class::Barrier, |_| Ok(Flow::Next)));
    }
    if i.flag("tensormap::generic") {
        // Tensor maps are read when they are used, from memory as it is then.
        let acquires = i.choose(&["release", "acquire"]) == Some("acquire");
        i.choose(&["cta", "cluster", "gpu", "sys"]);
        if acquires {
            i.address(0)?;
            i.immediate(1)?;
        }
        return Ok(Decoded::new(Class::Barrier, |_| Ok(Flow::Next)));
    }
    if !i.flag("async") {
        return Err(i.unknown());
    }
    let covers_shared = !matches!(space(i), Some(Space::Global));
    Ok(Decoded::new(Class::Barrier, move |c| {
        if covers_shared {
            c.team.clocks.fence_proxy(c.warp.agent, c.active);
        }
        Ok(Flow::Next)
    }))
}

/// `setmaxnreg.{inc,dec}.sync.aligned.u32 n`: moves registers between the warp and the block's pool.
fn registers(i: &mut Inst<'_, '_>) -> Decoding {
    let Some(direction) = i.choose(&["inc", "dec"]) else { return Err(i.unknown()) };
    if !(i.flag("sync") && i.flag("aligned")) || i.take_type() != "u32" {
        return Err(i.unknown());
    }
    let requested = i.immediate(0)? as u32;
    if !(24..=256).contains(&requested) || !requested.is_multiple_of(8) {
        return Err(i.operand_error(0, format!("{requested} registers; a multiple of 8 in 24 to 256 is required")));
    }
    let lanes = LANES as u32;
    Ok(Decoded::new(Class::Other, move |c| {
        c.require_active(u32::MAX)?;
        let current = c.warp.register_count;
        let refused = || Err(Trap::warp(FaultKind::RegisterCount { current, requested }));
        if direction == "dec" {
            let Some(freed) = current.checked_sub(requested) else { return refused() };
            c.block.free_registers += freed * lanes;
        } else {
            let Some(wanted) = requested.checked_sub(current) else { return refused() };
            if c.block.free_registers < wanted * lanes {
                return c.wait(Wait::Registers(wanted * lanes));
            }
            c.block.free_registers -= wanted * lanes;
            c.warp.waiting = None;
        }
        c.warp.register_count = requested;
        c.team.progress += 1;
        Ok(Flow::Next)
    }))
}
