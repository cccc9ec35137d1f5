//! Loads and stores.

use super::data::{Any, space, word_bytes};
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::{Address, Inst};
use crate::error::ParseError;
use crate::fault::{FaultKind, Space};
use crate::machine::context::{Context, Flow, Trap, lanes};
use crate::machine::registers::Row;
use crate::memory::banks::{sectors, wavefronts};
use crate::memory::clocks::Clocks;
use crate::memory::window;
use crate::parse::ast::{Operand, Width};

/// Bytes of a type in memory.
pub(crate) fn memory_bytes(name: &str) -> Option<u32> {
    Some(match name {
        "b8" | "u8" | "s8" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// Drops what only steers caches. These change no result.
fn drop_cache_hints(i: &mut Inst<'_, '_>) {
    i.drop_modifiers(|m| {
        m.starts_with("L1::")
            || m.starts_with("L2::")
            || matches!(m, "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc" | "level::eviction_priority")
    });
}

/// Whether the access is strong (ordered with others of its kind): volatile, relaxed, acquire, release.
fn strength(i: &mut Inst<'_, '_>) -> bool {
    let strong = i.choose(&["volatile", "relaxed", "acquire", "release", "mmio"]).is_some();
    i.choose(&["cta", "cluster", "gpu", "sys"]);
    i.flag("weak");
    strong
}

/// `ld`, `st` and the hints beside them.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "ld" | "ldu" => load(i),
        "st" => store(i),
        "prefetch" if i.flag("tensormap") => super::bulk_copy::prefetch_map(i),
        "prefetch" | "prefetchu" => {
            i.drop_modifiers(|m| matches!(m, "global" | "local" | "L1" | "L2") || m.starts_with("L2::"));
            i.address(0)?;
            Ok(Decoded::new(Class::Other, |_| Ok(Flow::Next)))
        }
        "discard" | "applypriority" => {
            i.drop_modifiers(|m| m == "global" || m.starts_with("L2::") || m == "L2");
            i.address(0)?;
            i.immediate(1)?;
            Ok(Decoded::new(Class::Other, |_| Ok(Flow::Next)))
        }
        "createpolicy" => {
            i.drop_modifiers(|m| m == "fractional" || m.starts_with("L2::"));
            i.take_type();
            let d = i.dest::<u64>(0)?;
            if i.operand_count() > 1 {
                i.operand(1)?;
            }
            Ok(Decoded::new(Class::Other, move |c| {
                c.put(d, &[0; 32]);
                Ok(Flow::Next)
            }))
        }
        _ => Err(i.unknown()),
    }
}

/// Everything of a load or store but its direction.
struct Access {
    space: Option<Space>,
    address: Address,
    parts: Vec<Any>,
    /// Bytes of one part in memory.
    part: u32,
    signed: bool,
    strong: bool,
}

impl Access {
    fn decode(i: &mut Inst<'_, '_>, address: usize, data: usize) -> Result<Self, ParseError> {
        let has_policy = i.flag("L2::cache_hint");
        drop_cache_hints(i);
        let strong = strength(i);
        let space = space(i);
        let vector = i.choose(&["v2", "v4"]);
        let name = i.take_type();
        let part = memory_bytes(name).ok_or_else(|| i.unknown_modifier(name))?;
        let items = i.items(data)?;
        let expected = match vector {
            Some("v2") => 2,
            Some(_) => 4,
            None => 1,
        };
        if items.len() != expected || part * expected as u32 > 16 {
            return Err(i.operand_error(
                data,
                format!("{expected} registers of {part} bytes are required, found {}", items.len()),
            ));
        }
        let is_load = data == 0;
        let parts = items.iter().map(|item| part_register(i, data, item, name, is_load)).collect::<Result<_, _>>()?;
        let address = i.address(address)?;
        if has_policy {
            i.source::<u64>(2)?;
        }
        // `.param` variables of a function body are private to the thread.
        let space = match (space, address.space) {
            (Some(Space::Parameter), Some(named)) => Some(named),
            (space, _) => space,
        };
        Ok(Self { space, address, parts, part, signed: name.starts_with('s'), strong })
    }

    fn bytes(&self) -> u32 {
        self.part * self.parts.len() as u32
    }

    fn class(&self, is_load: bool) -> Class {
        match (self.space, is_load) {
            (Some(Space::Shared | Space::SharedCluster), true) => Class::SharedLoad,
            (Some(Space::Shared | Space::SharedCluster), false) => Class::SharedStore,
            (Some(Space::Local), _) => Class::Local,
            (Some(Space::Parameter), _) => Class::Parameter,
            (_, true) => Class::GlobalLoad,
            (_, false) => Class::GlobalStore,
        }
    }
}

/// A data register: PTX allows it to be wider than the type in memory.
fn part_register(
    i: &mut Inst<'_, '_>,
    index: usize,
    item: &Operand,
    name: &str,
    is_load: bool,
) -> Result<Any, ParseError> {
    let bytes = match item {
        Operand::Register(register) => match i.builder.function.registers[register.0 as usize] {
            Width::B64 => 8,
            Width::B128 => 16,
            _ => 4,
        },
        _ => word_bytes(name).unwrap_or(4),
    };
    if is_load { Any::dest(i, index, item, bytes) } else { Any::source(i, index, item, bytes) }
}

/// Counts an access of the active lanes in one space.
#[inline]
pub(crate) fn count_access(c: &mut Context<'_, '_>, space: Space, addresses: &Row<u64>, active: u32, bytes: u32) {
    match space {
        Space::Shared | Space::SharedCluster => {
            let found = wavefronts(addresses, active, bytes);
            c.count.shared_requests += 1;
            c.count.wavefronts += u64::from(found.wavefronts);
            c.count.conflicts += u64::from(found.wavefronts - found.ideal);
        }
        Space::Global => {
            c.count.global_requests += 1;
            c.count.sectors += u64::from(sectors(addresses, active));
        }
        Space::Local | Space::Parameter => {}
    }
}

/// The space and addresses of an access whose space is known, or of each lane of a generic one.
/// Calls `run` for each space that occurs with its lanes and their addresses there.
pub(crate) fn by_space(
    c: &mut Context<'_, '_>,
    space: Option<Space>,
    addresses: Row<u64>,
    mut run: impl FnMut(&mut Context<'_, '_>, Space, u32, &Row<u64>) -> Result<(), Box<Trap>>,
) -> Result<(), Box<Trap>> {
    if let Some(space) = space {
        return run(c, space, c.active, &addresses);
    }
    let mut resolved = addresses;
    let mut masks = [0u32; 5];
    const SPACES: [Space; 5] = [Space::Global, Space::Shared, Space::Local, Space::Parameter, Space::SharedCluster];
    for lane in lanes(c.active) {
        let (space, address) = window::resolve(addresses[lane as usize]);
        resolved[lane as usize] = address;
        let at = SPACES.iter().position(|&s| s == space).unwrap_or(0);
        masks[at] |= 1 << lane;
    }
    for (space, mask) in SPACES.into_iter().zip(masks) {
        if mask != 0 {
            run(c, space, mask, &resolved)?;
        }
    }
    Ok(())
}

/// Reads parameter space.
fn load_parameter(parameters: &[u8], address: u64, bytes: u32) -> Result<u128, Box<FaultKind>> {
    let end = address.saturating_add(u64::from(bytes));
    if end > parameters.len() as u64 {
        return Err(Box::new(FaultKind::OutOfBounds {
            space: Space::Parameter,
            address,
            bytes,
            nearest: Some((0, parameters.len() as u64)),
        }));
    }
    if !address.is_multiple_of(u64::from(bytes)) {
        return Err(Box::new(FaultKind::Misaligned { space: Space::Parameter, address, required: bytes }));
    }
    let mut value = [0; 16];
    value[..bytes as usize].copy_from_slice(&parameters[address as usize..end as usize]);
    Ok(u128::from_le_bytes(value))
}

/// Reads shared memory of a block of the cluster.
#[cold]
fn load_cluster(c: &mut Context<'_, '_>, lane: u32, address: u64, bytes: u32) -> Result<u128, Box<FaultKind>> {
    let agent = c.agent(lane);
    let (rank, local) = c.visit(address)?;
    match c.block_at(rank) {
        Some((block, clocks)) => block.shared.load(clocks, agent, local, bytes),
        None => Ok(0),
    }
}

/// Writes shared memory of a block of the cluster.
#[cold]
fn store_cluster(
    c: &mut Context<'_, '_>,
    lane: u32,
    address: u64,
    bytes: u32,
    value: u128,
) -> Result<(), Box<FaultKind>> {
    let agent = c.agent(lane);
    let (rank, local) = c.visit(address)?;
    match c.block_at(rank) {
        Some((block, clocks)) => block.shared.store(clocks, agent, local, bytes, value),
        None => Ok(()),
    }
}

#[inline]
fn load_lane(c: &mut Context<'_, '_>, space: Space, lane: u32, address: u64, bytes: u32) -> Result<u128, Box<Trap>> {
    match space {
        Space::Global => c.global.load(address, bytes),
        Space::Shared => {
            let agent = c.agent(lane);
            c.block.shared.load(&c.team.clocks, agent, address, bytes)
        }
        Space::SharedCluster => load_cluster(c, lane, address, bytes),
        Space::Local => c.warp.local.load(lane, address, bytes),
        Space::Parameter => load_parameter(&c.launch.parameters, address, bytes),
    }
    .map_err(|kind| Trap::lane(lane, *kind))
}

fn is_shared(space: Space) -> bool {
    matches!(space, Space::Shared | Space::SharedCluster)
}

/// Runs `f` with the clocks, the agent and the synchronisation object at a shared address.
fn order(
    c: &mut Context<'_, '_>,
    lane: u32,
    space: Space,
    address: u64,
    f: impl FnOnce(&mut Clocks, u32, u64),
) -> Result<(), Box<Trap>> {
    let agent = c.warp.agent;
    let (rank, local) = match space {
        Space::SharedCluster => c.visit(address).map_err(|kind| Trap::lane(lane, *kind))?,
        _ => (c.block.rank, address),
    };
    if let Some((block, clocks)) = c.block_at(rank) {
        f(clocks, agent, block.shared.object(local));
    }
    Ok(())
}

fn load(i: &mut Inst<'_, '_>) -> Decoding {
    let access = Access::decode(i, 1, 0)?;
    let class = access.class(true);
    let bytes = access.bytes();
    let bits = access.part * 8;
    let mask = u128::MAX >> (128 - bits);
    Ok(Decoded::new(class, move |c| {
        let addresses = access.address.lanes(c);
        by_space(c, access.space, addresses, |c, space, active, addresses| {
            count_access(c, space, addresses, active, bytes);
            for lane in lanes(active) {
                let address = addresses[lane as usize];
                if access.strong && is_shared(space) {
                    order(c, lane, space, address, |clocks, agent, object| clocks.acquire(agent, object))?;
                }
                let value = load_lane(c, space, lane, address, bytes)?;
                for (at, part) in access.parts.iter().enumerate() {
                    let mut field = value >> (bits as usize * at) & mask;
                    if access.signed {
                        field = ((field << (128 - bits)) as i128 >> (128 - bits)) as u128;
                    }
                    part.set(c.registers, lane as usize, field);
                }
            }
            Ok(())
        })?;
        Ok(Flow::Next)
    }))
}

fn store(i: &mut Inst<'_, '_>) -> Decoding {
    let access = Access::decode(i, 0, 1)?;
    let class = access.class(false);
    let bytes = access.bytes();
    let bits = access.part * 8;
    let mask = u128::MAX >> (128 - bits);
    Ok(Decoded::new(class, move |c| {
        let addresses = access.address.lanes(c);
        by_space(c, access.space, addresses, |c, space, active, addresses| {
            count_access(c, space, addresses, active, bytes);
            for lane in lanes(active) {
                let mut value = 0;
                for (at, part) in access.parts.iter().enumerate() {
                    value |= (part.get(c.registers, lane as usize) & mask) << (bits as usize * at);
                }
                let address = addresses[lane as usize];
                match space {
                    Space::Global => c.global.store(address, bytes, value),
                    Space::Shared => {
                        let agent = c.agent(lane);
                        c.block.shared.store(&c.team.clocks, agent, address, bytes, value)
                    }
                    Space::SharedCluster => store_cluster(c, lane, address, bytes, value),
                    Space::Local => c.warp.local.store(lane, address, bytes, value),
                    Space::Parameter => Err(Box::new(FaultKind::WriteToReadOnly { space, address })),
                }
                .map_err(|kind| Trap::lane(lane, *kind))?;
                if access.strong && is_shared(space) {
                    order(c, lane, space, address, |clocks, agent, object| clocks.release(agent, object))?;
                }
            }
            Ok(())
        })?;
        Ok(Flow::Next)
    }))
}
