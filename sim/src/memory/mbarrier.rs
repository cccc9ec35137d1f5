//! `mbarrier` objects (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").
//!
//! A phase is complete when no arrival is pending and the bytes that copies delivered equal those that were announced.

use super::clocks::{Clock, Clocks};
use crate::fault::MbarrierProblem;

/// Largest arrival count.
const MAX_ARRIVALS: u32 = (1 << 20) - 1;
/// Largest magnitude of the transaction count.
const MAX_TRANSACTIONS: i64 = (1 << 20) - 1;

/// One barrier.
#[derive(Debug, Clone)]
pub(crate) struct Mbarrier {
    /// Offset in shared memory.
    pub(crate) offset: u32,
    /// Agent that writes what copies deliver to it.
    pub(crate) agent: u32,
    /// Arrivals of a phase.
    pub(crate) expected: u32,
    /// Arrivals the current phase still needs.
    pub(crate) pending: u32,
    /// Bytes announced and not yet delivered.
    pub(crate) transactions: i64,
    /// Phases completed.
    pub(crate) phase: u32,
    /// What arrived in the current phase.
    clock: Clock,
    /// What arrived in all phases before.
    completed: Clock,
}

type Checked = Result<(), MbarrierProblem>;

impl Mbarrier {
    /// A barrier of `expected` arrivals, initialised by `initialiser`.
    pub(crate) fn new(
        clocks: &mut Clocks,
        initialiser: u32,
        offset: u32,
        expected: u32,
    ) -> Result<Self, MbarrierProblem> {
        if expected == 0 || expected > MAX_ARRIVALS {
            return Err(MbarrierProblem::Count { count: expected });
        }
        let agent = clocks.add_barrier();
        let mut completed = Clock::new();
        clocks.release_into(initialiser, &mut completed);
        let clock = Clock::new();
        Ok(Self { offset, agent, expected, pending: expected, transactions: 0, phase: 0, clock, completed })
    }

    /// Whether the phase of parity `parity`, the current one or the one before, is complete.
    pub(crate) fn is_complete(&self, parity: u32) -> bool {
        self.phase & 1 != parity & 1
    }

    /// `agent` has seen the latest completed phase.
    pub(crate) fn acquire(&self, clocks: &mut Clocks, agent: u32) {
        clocks.acquire_from(agent, &self.completed);
        clocks.learn(agent, self.agent, self.phase);
    }

    /// Announces `bytes`.
    pub(crate) fn expect(&mut self, bytes: u32) -> Checked {
        self.transact(i64::from(bytes))?;
        self.complete();
        Ok(())
    }

    /// `count` arrivals by `agent`; releases what it did unless `relaxed`. With `drop`, later phases need fewer.
    pub(crate) fn arrive(
        &mut self,
        clocks: &mut Clocks,
        agent: u32,
        count: u32,
        announced: Option<u32>,
        release: bool,
        drop: bool,
    ) -> Checked {
        if count == 0 {
            return Err(MbarrierProblem::Count { count });
        }
        if let Some(bytes) = announced {
            self.transact(i64::from(bytes))?;
        }
        if count > self.pending {
            return Err(MbarrierProblem::Arrivals { pending: self.pending, arriving: count });
        }
        self.pending -= count;
        if drop {
            self.expected -= count;
        }
        if release {
            clocks.release_into(agent, &mut self.clock);
        }
        self.complete();
        Ok(())
    }

    /// A copy has delivered `bytes`.
    pub(crate) fn deliver(&mut self, bytes: u32) -> Checked {
        self.transact(-i64::from(bytes))?;
        self.complete();
        Ok(())
    }

    fn transact(&mut self, bytes: i64) -> Checked {
        let total = self.transactions + bytes;
        if total.abs() > MAX_TRANSACTIONS {
            return Err(MbarrierProblem::Transactions { count: total });
        }
        self.transactions = total;
        Ok(())
    }

    fn complete(&mut self) {
        if self.pending > 0 || self.transactions != 0 {
            return;
        }
        self.phase += 1;
        self.pending = self.expected;
        let clock = std::mem::take(&mut self.clock);
        super::clocks::join(&mut self.completed, &clock);
    }
}

/// The barriers of a block.
#[derive(Debug, Default)]
pub(crate) struct Mbarriers {
    barriers: Vec<Mbarrier>,
}

impl Mbarriers {
    pub(crate) fn at(&self, offset: u32) -> Result<&Mbarrier, MbarrierProblem> {
        self.barriers.iter().find(|b| b.offset == offset).ok_or(MbarrierProblem::Uninitialised)
    }

    pub(crate) fn at_mut(&mut self, offset: u32) -> Result<&mut Mbarrier, MbarrierProblem> {
        self.barriers.iter_mut().find(|b| b.offset == offset).ok_or(MbarrierProblem::Uninitialised)
    }

    pub(crate) fn insert(&mut self, barrier: Mbarrier) {
        self.barriers.push(barrier);
    }

    pub(crate) fn remove(&mut self, offset: u32) -> Checked {
        let at = self.barriers.iter().position(|b| b.offset == offset).ok_or(MbarrierProblem::Uninitialised)?;
        self.barriers.swap_remove(at);
        Ok(())
    }
}
