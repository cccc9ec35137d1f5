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
            Space::Local => "local",
            Space::Parameter => "parameter",
        })
    }
}

/// The earlier of the two accesses of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaceParty {
    /// Thread index within the block.
    pub thread: [u32; 3],
    /// Line in the PTX text.
    pub ptx_line: u32,
    /// Whether it wrote.
    pub is_write: bool,
}

/// A warp that waits in a deadlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Index of the warp in the block.
    pub warp: u32,
    /// Barrier it waits at.
    pub barrier: u32,
    /// Line of the instruction it waits in.
    pub ptx_line: u32,
    /// Threads that have arrived.
    pub arrived: u32,
    /// Threads the barrier needs.
    pub expected: u32,
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
                triple(f, "thread", first.thread)?;
                write!(f, " at ptx line {}", first.ptx_line)
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
                        "{comma} warp {} waits at barrier {} ({} of {} threads) in ptx line {}",
                        w.warp, w.barrier, w.arrived, w.expected, w.ptx_line
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
            FaultKind::Trap => f.write_str("trap"),
        }
    }
}
