//! What a kernel did wrong, and where.

use std::fmt;

/// A state space, as named in faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Space {
    /// Device memory, module variables included.
    Global,
    /// Memory of the block.
    Shared,
    /// Shared memory of the blocks of the cluster.
    SharedCluster,
    /// Memory of the thread.
    Local,
    /// Kernel parameters.
    Parameter,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::SharedCluster => "cluster-shared",
            Space::Local => "local",
            Space::Parameter => "parameter",
        })
    }
}

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

/// The kinds of misbehaviour the simulator refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside every allocation, or beyond the end of one.
    OutOfBounds {
        /// Where.
        space: Space,
        /// First byte of the access.
        address: u64,
        /// Width of the access.
        bytes: u32,
        /// Base and length of the closest allocation below.
        nearest: Option<(u64, u64)>,
    },
    /// An address that is not a multiple of what the access needs.
    Misaligned {
        /// Where.
        space: Space,
        /// The address.
        address: u64,
        /// The multiple it must be of.
        required: u32,
    },
    /// A read of bytes nothing wrote.
    Uninitialised {
        /// Where.
        space: Space,
        /// First byte of the access.
        address: u64,
    },
    /// An access to an allocation that was freed.
    UseAfterFree {
        /// The address.
        address: u64,
    },
    /// Two warps access the same bytes of shared memory, one of them writing, with no synchronisation between.
    Race {
        /// Where.
        space: Space,
        /// The address.
        address: u64,
        /// The earlier access.
        first: RaceParty,
        /// Whether the access that faulted writes.
        is_write: bool,
    },
    /// An access to shared bytes that an asynchronous copy has not delivered yet.
    Pending {
        /// The address in shared memory.
        address: u64,
        /// PTX line of the copy.
        copy_line: u32,
    },
    /// A collective with other lanes than it demands.
    Divergence {
        /// Lanes that reached it.
        active: u32,
        /// Lanes that must reach it together.
        expected: u32,
    },
    /// Every warp left waits.
    Deadlock {
        /// What each waits for.
        waiting: Vec<Waiting>,
    },
    /// A warp ran more instructions than the budget allows.
    Livelock {
        /// The budget.
        instructions: u64,
    },
    /// A write to constant or parameter memory.
    WriteToReadOnly {
        /// Where.
        space: Space,
        /// The address.
        address: u64,
    },
    /// A barrier number above 15, a thread count that is not a positive multiple of 32, or one that differs from what
    /// the threads that have arrived asked for.
    BadBarrier {
        /// The barrier.
        barrier: u32,
        /// The thread count, 0 for all threads.
        threads: u32,
    },
    /// An indexed branch beyond its table.
    BadBranchIndex {
        /// The index.
        index: u32,
        /// Length of the table.
        targets: u32,
    },
    /// A misused mbarrier.
    Mbarrier {
        /// Its address in shared memory.
        address: u64,
        /// What was wrong.
        problem: MbarrierProblem,
    },
    /// An asynchronous operation reads shared memory that a thread wrote without `fence.proxy.async` afterwards, or
    /// with one that is not ordered before the operation.
    MissingProxyFence {
        /// The address in shared memory.
        address: u64,
        /// Who wrote.
        by: Actor,
        /// Line of the store.
        store_line: u32,
    },
    /// A block ended while others of its cluster still used its shared memory: the access is not ordered before its end.
    LeftCluster {
        /// Rank of the block that ended.
        rank: u32,
        /// Line of the access to its shared memory.
        access_line: u32,
    },
    /// A block ended while a bulk store still read its shared memory.
    UnfinishedStore {
        /// Line of the store.
        store_line: u32,
    },
    /// A tensor map that is none, or one that does not fit the instruction.
    TensorMap {
        /// Its address.
        address: u64,
        /// What is wrong.
        problem: String,
    },
    /// A register of a `wgmma` accessed before a wait covered the product.
    PendingRegister {
        /// Line of the `wgmma.mma_async`.
        product_line: u32,
    },
    /// A `wgmma` on registers that were accessed since the last `wgmma.fence`.
    MissingProductFence,
    /// A matrix descriptor that `wgmma` does not take.
    Descriptor {
        /// The descriptor.
        descriptor: u64,
        /// What is wrong.
        problem: String,
    },
    /// Warps of a warpgroup that disagree about a `wgmma`, or a warpgroup that is not whole.
    Warpgroup {
        /// What is wrong.
        problem: String,
    },
    /// `setmaxnreg` with a count that does not fit what the warp has.
    RegisterCount {
        /// Registers a thread has.
        current: u32,
        /// Registers asked for.
        requested: u32,
    },
    /// `barrier.cluster.arrive` twice, or `wait` without it.
    ClusterBarrier {
        /// What is wrong.
        problem: &'static str,
    },
    /// The kernel executed `trap`.
    Trap,
}

/// A refused instruction and everything needed to find it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// Entry point.
    pub kernel: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index within the block; `None` when a whole warp or block is at fault.
    pub thread: Option<[u32; 3]>,
    /// Line in the PTX text.
    pub ptx_line: u32,
    /// The instruction as written.
    pub instruction: String,
    /// File and line of the source, from `.loc`.
    pub source_location: Option<(String, u32)>,
    /// What happened.
    pub kind: FaultKind,
}

fn triple(f: &mut fmt::Formatter<'_>, name: &str, at: [u32; 3]) -> fmt::Result {
    write!(f, "{name} ({}, {}, {})", at[0], at[1], at[2])
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: kernel `{}`, ", self.kind, self.kernel)?;
        triple(f, "block", self.block)?;
        if let Some(thread) = self.thread {
            triple(f, ", thread", thread)?;
        }
        write!(f, ", ptx line {}: `{}`", self.ptx_line, self.instruction)?;
        if let Some((file, line)) = &self.source_location {
            write!(f, " ({file}:{line})")?;
        }
        Ok(())
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::OutOfBounds { space, address, bytes, nearest } => {
                write!(f, "{space} access of {bytes} bytes at {address:#x} out of bounds")?;
                match nearest {
                    Some((base, length)) => {
                        let beyond = address.wrapping_sub(base + length) as i64;
                        write!(f, " (the nearest allocation below, {base:#x}, has {length} bytes; ")?;
                        if beyond >= 0 {
                            write!(f, "this is {beyond} bytes past its end)")
                        } else {
                            write!(f, "this starts {} bytes before its end)", -beyond)
                        }
                    }
                    None => Ok(()),
                }
            }
            FaultKind::Misaligned { space, address, required } => {
                write!(f, "{space} address {address:#x} is not a multiple of {required}")
            }
            FaultKind::Uninitialised { space, address } => {
                write!(f, "read of {space} memory at {address:#x} that nothing wrote")
            }
            FaultKind::UseAfterFree { address } => {
                write!(f, "access to {address:#x} in memory that was freed")
            }
            FaultKind::Race { space, address, first, is_write } => {
                let verb = |write: bool| if write { "write" } else { "read" };
                write!(
                    f,
                    "race: {} of {space} memory at {address:#x} with no synchronisation since the {} by ",
                    verb(*is_write),
                    verb(first.is_write)
                )?;
                write!(f, "{} at ptx line {}", first.by, first.ptx_line)
            }
            FaultKind::Pending { address, copy_line } => write!(
                f,
                "access to shared memory at {address:#x} before the asynchronous copy of ptx line {copy_line} was waited for"
            ),
            FaultKind::Divergence { active, expected } => {
                write!(f, "divergence at a collective: lanes {active:#010x} reached it, it needs {expected:#010x}")
            }
            FaultKind::Deadlock { waiting } => {
                write!(f, "deadlock:")?;
                for (index, w) in waiting.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(
                        f,
                        "{comma} warp {} of the cluster's block {} waits {}: {} of {}, in ptx line {}",
                        w.warp, w.rank, w.at, w.arrived, w.expected, w.ptx_line
                    )?;
                }
                Ok(())
            }
            FaultKind::Livelock { instructions } => {
                write!(f, "livelock: a warp ran {instructions} instructions")
            }
            FaultKind::WriteToReadOnly { space, address } => {
                write!(f, "write to read-only {space} memory at {address:#x}")
            }
            FaultKind::BadBarrier { barrier, threads } => {
                write!(
                    f,
                    "barrier {barrier} for {threads} threads: barriers are 0 to 15, counts are positive multiples of 32 and the same for all who meet"
                )
            }
            FaultKind::BadBranchIndex { index, targets } => {
                write!(f, "branch index {index} into a table of {targets}")
            }
            FaultKind::Mbarrier { address, problem } => write!(f, "the mbarrier at {address:#x} {problem}"),
            FaultKind::MissingProxyFence { address, by, store_line } => write!(
                f,
                "asynchronous read of shared memory at {address:#x} that {by} wrote at ptx line {store_line} with no `fence.proxy.async` between"
            ),
            FaultKind::LeftCluster { rank, access_line } => write!(
                f,
                "block {rank} of the cluster ends with no synchronisation after the access to its shared memory at ptx line {access_line}"
            ),
            FaultKind::UnfinishedStore { store_line } => write!(
                f,
                "the block ends while the bulk store of ptx line {store_line} may still read its shared memory"
            ),
            FaultKind::TensorMap { address, problem } => write!(f, "tensor map at {address:#x}: {problem}"),
            FaultKind::PendingRegister { product_line } => write!(
                f,
                "access to a register of the wgmma of ptx line {product_line} before `wgmma.wait_group` covered it"
            ),
            FaultKind::MissingProductFence => {
                f.write_str("wgmma on registers that were accessed since the last `wgmma.fence`")
            }
            FaultKind::Descriptor { descriptor, problem } => {
                write!(f, "matrix descriptor {descriptor:#018x}: {problem}")
            }
            FaultKind::Warpgroup { problem } => f.write_str(problem),
            FaultKind::RegisterCount { current, requested } => {
                write!(f, "setmaxnreg to {requested} registers of a warp that has {current} a thread")
            }
            FaultKind::ClusterBarrier { problem } => f.write_str(problem),
            FaultKind::Trap => f.write_str("trap"),
        }
    }
}
