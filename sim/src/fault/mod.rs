//! What a kernel did wrong, and where.

mod party;

pub use party::{Actor, Awaited, MbarrierProblem, RaceParty, Waiting};
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
    /// A bulk store of a tensor row that ends inside a unit of 16 bytes: the copy engine writes whole units, and so overwrites
    /// what follows the row (seen on an H200).
    PartialUnit {
        /// Where the row ends.
        address: u64,
        /// Bytes of the last unit that belong to the row.
        bytes: u32,
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
            FaultKind::PartialUnit { address, bytes } => write!(
                f,
                "bulk store of a row that ends at {address:#x}, {bytes} bytes into a unit of 16: the copy engine writes the whole unit"
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
