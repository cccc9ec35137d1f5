//! What a launch executed: instructions by class, bank conflicts, sectors, and the same for each PTX line.

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Classes of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Class {
    /// Integer arithmetic, logic, shifts, comparisons, address arithmetic.
    Integer,
    /// Floating-point arithmetic and comparisons.
    Float,
    /// `cvt`.
    Conversion,
    /// Moves, selects, packing, `cvta`.
    Move,
    /// Branches, calls, exits.
    Control,
    /// `ld.global`, generic loads.
    GlobalLoad,
    /// `st.global`, generic stores.
    GlobalStore,
    /// `ld.shared`.
    SharedLoad,
    /// `st.shared`.
    SharedStore,
    /// `ld.local`, `st.local`.
    Local,
    /// `ld.param`, `ld.const`.
    Parameter,
    /// `ldmatrix`, `stmatrix`, `movmatrix`.
    MatrixMove,
    /// `mma`, `wgmma`.
    MatrixMultiply,
    /// `cp.async`, bulk copies, and their groups.
    AsyncCopy,
    /// `bar`, `barrier`, `mbarrier`, `membar`, `fence`.
    Barrier,
    /// `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`.
    Shuffle,
    /// `atom`, `red`.
    Atomic,
    /// Anything else.
    Other,
}

/// Counts of one PTX instruction, or of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Times a warp issued it.
    pub warps: u64,
    /// Times a thread executed it.
    pub threads: u64,
    /// Requests to shared memory.
    pub shared_requests: u64,
    /// Cycles shared memory took for them.
    pub wavefronts: u64,
    /// Wavefronts beyond those that the width alone costs.
    pub conflicts: u64,
    /// Requests to global memory.
    pub global_requests: u64,
    /// 32-byte sectors they touched.
    pub sectors: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.warps += other.warps;
        self.threads += other.threads;
        self.shared_requests += other.shared_requests;
        self.wavefronts += other.wavefronts;
        self.conflicts += other.conflicts;
        self.global_requests += other.global_requests;
        self.sectors += other.sectors;
    }
}

/// One instruction of the PTX text and what it counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionCount {
    /// The instruction as written: guard, opcode, operands.
    pub instruction: String,
    /// Line in the PTX text.
    pub ptx_line: u32,
    /// Its class.
    pub class: Class,
    /// File and line of the source, from `.loc`.
    pub source_location: Option<(String, u32)>,
    /// The counts.
    pub count: Count,
}

/// What one or several launches executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Blocks that ran.
    pub blocks: u64,
    /// By class. Classes that never ran are absent.
    pub classes: BTreeMap<Class, Count>,
    /// By kernel and position of the instruction in it. Instructions that never ran are absent.
    pub instructions: BTreeMap<(String, u32), InstructionCount>,
}

impl Counters {
    /// Counts of `class`, zeros when it never ran.
    #[must_use]
    pub fn class(&self, class: Class) -> Count {
        self.classes.get(&class).copied().unwrap_or_default()
    }

    /// Sum over all classes.
    #[must_use]
    pub fn total(&self) -> Count {
        let mut total = Count::default();
        for count in self.classes.values() {
            total += *count;
        }
        total
    }

    /// Sum over the instructions whose opcode starts with `opcode`, such as `ldmatrix` or `ld.shared.v4`.
    #[must_use]
    pub fn opcode(&self, opcode: &str) -> Count {
        self.sum(|i| {
            let text = &i.instruction;
            let unguarded = text.strip_prefix('@').and_then(|t| t.split_once(' '));
            unguarded.map_or(text.as_str(), |(_, rest)| rest).starts_with(opcode)
        })
    }

    /// Sum over the instructions on line `ptx_line`.
    #[must_use]
    pub fn line(&self, ptx_line: u32) -> Count {
        self.sum(|i| i.ptx_line == ptx_line)
    }

    pub(crate) fn add(&mut self, kernel: &str, index: u32, counted: InstructionCount) {
        *self.classes.entry(counted.class).or_default() += counted.count;
        self.instructions.insert((kernel.to_owned(), index), counted);
    }

    fn sum(&self, chosen: impl Fn(&InstructionCount) -> bool) -> Count {
        let mut total = Count::default();
        for instruction in self.instructions.values().filter(|i| chosen(i)) {
            total += instruction.count;
        }
        total
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        for (class, count) in other.classes {
            *self.classes.entry(class).or_default() += count;
        }
        for (key, counted) in other.instructions {
            match self.instructions.get_mut(&key) {
                Some(known) => known.count += counted.count,
                None => {
                    self.instructions.insert(key, counted);
                }
            }
        }
    }
}
