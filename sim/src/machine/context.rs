//! What an instruction sees when it runs.

use super::barriers::Barriers;
use super::registers::{Predicate, Registers, Row, Slot, Word};
use super::warp::Warp;
use crate::counters::Count;
use crate::fault::FaultKind;
use crate::memory::global::View;
use crate::memory::shared::{Agent, Shared};

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
pub(crate) type Operation = Box<dyn Fn(&mut Context<'_>) -> Outcome + Send + Sync>;

/// State of a block that its warps share.
pub(crate) struct BlockState {
    pub(crate) index: [u32; 3],
    pub(crate) shared: Shared,
    pub(crate) barriers: Barriers,
}

/// What stays the same for a whole launch.
pub(crate) struct LaunchState {
    /// Kernel parameters as laid out in the parameter space.
    pub(crate) parameters: Vec<u8>,
    /// Addresses of the module's global and constant variables.
    pub(crate) variables: Vec<u64>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
    pub(crate) total_shared: u32,
    pub(crate) multiprocessors: u32,
}

/// The state an instruction works on.
pub(crate) struct Context<'a> {
    pub(crate) registers: &'a mut Registers,
    pub(crate) warp: &'a mut Warp,
    pub(crate) block: &'a mut BlockState,
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

impl Context<'_> {
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
        Agent { warp: self.warp.index, lane, pc: self.pc }
    }

    /// Refuses a collective that not exactly the lanes in `expected` have reached.
    #[inline]
    pub(crate) fn require_active(&self, expected: u32) -> Result<(), Box<Trap>> {
        if self.active == expected {
            return Ok(());
        }
        Err(Trap::warp(FaultKind::Divergence { active: self.active, expected }))
    }
}
