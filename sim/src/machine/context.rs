//! What an instruction sees when it runs.

use super::cluster::Block;
use super::registers::{Predicate, Registers, Row, Slot, Word};
use super::team::{BlockState, Team};
use super::warp::{Wait, Warp};
use crate::counters::Count;
use crate::fault::{FaultKind, Space};
use crate::memory::clocks::Clocks;
use crate::memory::global::View;
use crate::memory::shared::Agent;
use crate::memory::window;

/// A fault on its way out of an instruction; the machine adds where it happened.
#[derive(Debug)]
pub(crate) struct Trap {
    pub(crate) lane: Option<u32>,
    pub(crate) kind: FaultKind,
}

impl Trap {
    /// A fault of one lane.
    #[cold]
    pub(crate) fn lane(lane: u32, kind: FaultKind) -> Box<Self> {
        Box::new(Self { lane: Some(lane), kind })
    }

    /// A fault of the warp.
    #[cold]
    pub(crate) fn warp(kind: FaultKind) -> Box<Self> {
        Box::new(Self { lane: None, kind })
    }
}

/// What the warp does after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Goes on; branches have already redirected it.
    Next,
    /// Waits, and runs the same instruction again when it wakes.
    Wait,
    /// Goes on, but another warp runs first.
    Yield,
}

/// Result of an instruction.
pub(crate) type Outcome = Result<Flow, Box<Trap>>;

/// A decoded instruction.
pub(crate) type Operation = Box<dyn Fn(&mut Context<'_, '_>) -> Outcome + Send + Sync>;

/// What stays the same for a whole launch.
pub(crate) struct LaunchState {
    /// Kernel parameters as laid out in the parameter space.
    pub(crate) parameters: Vec<u8>,
    /// Addresses of the module's global and constant variables.
    pub(crate) variables: Vec<u64>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Blocks of a cluster along each axis.
    pub(crate) cluster: [u32; 3],
    pub(crate) dynamic_shared: u32,
    pub(crate) total_shared: u32,
    pub(crate) multiprocessors: u32,
    /// Registers of a thread at the start.
    pub(crate) registers: u32,
}

impl LaunchState {
    /// Blocks of a cluster.
    pub(crate) fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }
}

/// The other blocks of the cluster: those of lower and of higher rank.
pub(crate) struct Peers<'a> {
    pub(crate) before: &'a mut [Block],
    pub(crate) after: &'a mut [Block],
}

/// The state an instruction works on.
pub(crate) struct Context<'a, 'p> {
    pub(crate) registers: &'a mut Registers,
    pub(crate) warp: &'a mut Warp,
    pub(crate) block: &'a mut BlockState,
    pub(crate) peers: &'a mut Peers<'p>,
    pub(crate) team: &'a mut Team,
    pub(crate) global: &'a mut View,
    pub(crate) launch: &'a LaunchState,
    pub(crate) count: &'a mut Count,
    /// Lanes that execute the instruction: those of the running group whose guard holds.
    pub(crate) active: u32,
    /// Lanes of the running group.
    pub(crate) group: u32,
    pub(crate) pc: u32,
}

/// Indices of the set bits of `mask`.
#[inline]
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

impl Context<'_, '_> {
    #[inline]
    pub(crate) fn row<T: Word>(&self, slot: Slot<T>) -> &Row<T> {
        self.registers.row(slot)
    }

    /// Writes the active lanes of a register.
    #[inline]
    pub(crate) fn put<T: Word>(&mut self, slot: Slot<T>, values: &Row<T>) {
        self.registers.put(slot, self.active, values);
    }

    /// Writes the active lanes of a predicate.
    #[inline]
    pub(crate) fn put_predicate(&mut self, predicate: Predicate, bits: u32) {
        self.registers.put_predicate(predicate, self.active, bits);
    }

    #[inline]
    pub(crate) fn agent(&self, lane: u32) -> Agent {
        Agent { id: self.warp.agent, lane, pc: self.pc }
    }

    /// Refuses a collective that not exactly the lanes in `expected` have reached.
    #[inline]
    pub(crate) fn require_active(&self, expected: u32) -> Result<(), Box<Trap>> {
        if self.active == expected {
            return Ok(());
        }
        Err(Trap::warp(FaultKind::Divergence { active: self.active, expected }))
    }

    /// Waits for `what` in this instruction.
    pub(crate) fn wait(&mut self, what: Wait) -> Outcome {
        self.warp.waiting = Some((what, self.pc));
        Ok(Flow::Wait)
    }

    /// The block of `rank` and the clocks.
    pub(crate) fn block_at(&mut self, rank: u32) -> Option<(&mut BlockState, &mut Clocks)> {
        let own = self.block.rank;
        let state = if rank == own {
            &mut *self.block
        } else if rank < own {
            &mut self.peers.before.get_mut(rank as usize)?.state
        } else {
            &mut self.peers.after.get_mut((rank - own - 1) as usize)?.state
        };
        Some((state, &mut self.team.clocks))
    }

    /// The block a shared address of the cluster names, and the address there. Notes the access, so that a block that
    /// ends before it is over is caught.
    pub(crate) fn visit(&mut self, address: u64) -> Result<(u32, u64), Box<FaultKind>> {
        let (rank, local) = window::split_rank(address);
        let Some(rank) = rank.filter(|&rank| rank != self.block.rank) else { return Ok((self.block.rank, local)) };
        let (agent, pc) = (self.warp.agent, self.pc);
        let ended = self.team.ended;
        let Some((block, clocks)) = self.block_at(rank) else {
            return Err(Box::new(FaultKind::OutOfBounds {
                space: Space::SharedCluster,
                address,
                bytes: 1,
                nearest: None,
            }));
        };
        let visit = (agent, clocks.now(agent), pc);
        match block.visitors.iter_mut().find(|visitor| visitor.0 == agent) {
            Some(known) => *known = visit,
            None => block.visitors.push(visit),
        }
        if ended >> rank & 1 == 1 {
            let access_line = block.shared.line_of(pc);
            return Err(Box::new(FaultKind::LeftCluster { rank, access_line }));
        }
        Ok((rank, local))
    }
}
