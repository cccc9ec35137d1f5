//! What the warps of a cluster share.

use super::barriers::Barriers;
use super::bulk::Load;
use super::warpgroup::Warpgroup;
use crate::memory::clocks::{Clock, Clocks};
use crate::memory::mbarrier::Mbarriers;
use crate::memory::shared::Shared;

/// xorshift64*: enough for the order of turns.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }
}

/// State of a block that its warps share.
pub(crate) struct BlockState {
    pub(crate) index: [u32; 3],
    /// Rank in the cluster.
    pub(crate) rank: u32,
    pub(crate) shared: Shared,
    pub(crate) barriers: Barriers,
    pub(crate) mbarriers: Mbarriers,
    pub(crate) groups: Vec<Warpgroup>,
    /// Registers that no warp holds.
    pub(crate) free_registers: u32,
    /// Warps that have lanes left.
    pub(crate) live_warps: u32,
    /// What the warps that ended knew.
    pub(crate) end: Clock,
    /// Accesses of other blocks to this block's shared memory: agent, clock, instruction of the latest.
    pub(crate) visitors: Vec<(u32, u32, u32)>,
}

/// The barrier of a cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// Times it has completed.
    pub(crate) generation: u32,
    pub(crate) arrived: u32,
    clock: Clock,
    pub(crate) completed: Clock,
}

/// State of a cluster that its warps share.
pub(crate) struct Team {
    pub(crate) clocks: Clocks,
    pub(crate) random: Random,
    /// Copies to shared memory that have not been delivered.
    pub(crate) loads: Vec<Load>,
    pub(crate) barrier: ClusterBarrier,
    /// Warps that have lanes left.
    pub(crate) live_warps: u32,
    /// Blocks that have ended, one bit each.
    pub(crate) ended: u32,
    /// Events that may let a waiting warp go on.
    pub(crate) progress: u64,
}

impl Team {
    /// A warp arrives at the cluster's barrier.
    pub(crate) fn arrive(&mut self, agent: u32, release: bool) {
        self.barrier.arrived += 1;
        if release {
            self.clocks.release_into(agent, &mut self.barrier.clock);
        }
        self.complete();
    }

    /// Completes the cluster's barrier when all live warps have arrived.
    fn complete(&mut self) {
        if self.barrier.arrived > 0 && self.barrier.arrived >= self.live_warps {
            self.barrier.arrived = 0;
            self.barrier.generation += 1;
            self.barrier.completed = std::mem::take(&mut self.barrier.clock);
            self.progress += 1;
        }
    }

    /// A warp has ended; `arrived` if it had arrived at the barrier that is not complete.
    pub(crate) fn leave(&mut self, arrived: bool) {
        self.live_warps -= 1;
        self.barrier.arrived -= u32::from(arrived);
        self.complete();
    }
}
