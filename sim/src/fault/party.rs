//! Who is involved in a fault: who accessed, who waits and for what, what was wrong with a barrier.

use super::triple;
use std::fmt;

/// Who accessed memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Actor {
    /// A thread.
    Thread {
        /// Rank of its block in the cluster.
        rank: u32,
        /// Thread index within the block.
        thread: [u32; 3],
    },
    /// The tensor cores, for the `wgmma` of a warpgroup.
    Products {
        /// Rank of its block in the cluster.
        rank: u32,
        /// Index of the warpgroup in the block.
        group: u32,
    },
    /// The copy engine, reading for a bulk store that a warpgroup issued.
    Store {
        /// Rank of its block in the cluster.
        rank: u32,
        /// Index of the warpgroup in the block.
        group: u32,
    },
    /// The copy engine, writing for a bulk load.
    Copy,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Thread { rank: 0, thread } => triple(f, "thread", *thread),
            Actor::Thread { rank, thread } => {
                triple(f, "thread", *thread)?;
                write!(f, " of the cluster's block {rank}")
            }
            Actor::Products { rank, group } => {
                write!(f, "the wgmma of warpgroup {group} of the cluster's block {rank}")
            }
            Actor::Store { rank, group } => {
                write!(f, "a bulk store of warpgroup {group} of the cluster's block {rank}")
            }
            Actor::Copy => f.write_str("a bulk copy"),
        }
    }
}

/// The earlier of the two accesses of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaceParty {
    /// Who.
    pub by: Actor,
    /// Line in the PTX text.
    pub ptx_line: u32,
    /// Whether it wrote.
    pub is_write: bool,
}

/// What a warp waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaited {
    /// One of the sixteen barriers of the block; progress is counted in threads.
    Barrier(u32),
    /// `barrier.cluster.wait`; progress is counted in warps.
    Cluster,
    /// A phase of an mbarrier; progress is counted in arrivals.
    Mbarrier {
        /// Its address in shared memory.
        address: u64,
        /// Rank of its block in the cluster.
        rank: u32,
        /// Announced bytes that no copy has delivered; negative if more were delivered than announced.
        transactions: i64,
    },
    /// Registers, for `setmaxnreg.inc`; progress is the registers the pool has and those the warp asks for.
    Registers,
    /// The other warps of its warpgroup, for a `wgmma`; progress is counted in warps.
    Warpgroup,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Awaited::Barrier(barrier) => write!(f, "at barrier {barrier}, in threads"),
            Awaited::Cluster => f.write_str("at the cluster's barrier, in warps"),
            Awaited::Mbarrier { address, rank, transactions } => write!(
                f,
                "for the mbarrier at {address:#x} of the cluster's block {rank} ({transactions} bytes outstanding), in arrivals"
            ),
            Awaited::Registers => f.write_str("for registers of the pool"),
            Awaited::Warpgroup => f.write_str("for its warpgroup to run the same wgmma, in warps"),
        }
    }
}

/// A warp that waits in a deadlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Rank of its block in the cluster.
    pub rank: u32,
    /// Index of the warp in the block.
    pub warp: u32,
    /// What for.
    pub at: Awaited,
    /// Line of the instruction it waits in.
    pub ptx_line: u32,
    /// What has arrived.
    pub arrived: u32,
    /// What must arrive.
    pub expected: u32,
}

/// How an mbarrier was misused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MbarrierProblem {
    /// Nothing initialised it, or it was invalidated.
    #[error("is not initialised")]
    Uninitialised,
    /// Initialised while it is one.
    #[error("is initialised a second time with no `mbarrier.inval` between")]
    Initialised,
    /// Read or written as plain memory.
    #[error("is accessed as plain memory")]
    Accessed,
    /// An arrival count outside 1 to 2^20 − 1.
    #[error("takes counts of 1 to 1048575, not {count}")]
    Count {
        /// The count.
        count: u32,
    },
    /// More arrivals than the phase needs.
    #[error("needs {pending} more arrivals in this phase, {arriving} arrive")]
    Arrivals {
        /// Arrivals the phase still needs.
        pending: u32,
        /// Arrivals at once.
        arriving: u32,
    },
    /// A transaction count beyond ±(2^20 − 1).
    #[error("counts at most 1048575 bytes, not {count}")]
    Transactions {
        /// The count.
        count: i64,
    },
    /// A state that is neither of the current phase nor of the one before.
    #[error("is waited for with the state of phase {state}, it is in phase {phase}")]
    State {
        /// Phase of the state.
        state: u32,
        /// Current phase.
        phase: u32,
    },
}
