//! Errors outside a running kernel: unreadable PTX, wrong host calls, refused launches.

use crate::fault::Fault;

/// Why PTX text cannot be run. Every variant carries the line in the text, counted from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The text does not follow the grammar.
    #[error("ptx line {line}: found {found}, expected {expected}")]
    Syntax {
        /// Line in the PTX text.
        line: u32,
        /// The token that stands there.
        found: String,
        /// What the grammar asks for.
        expected: String,
    },
    /// The text ends inside a construct.
    #[error("ptx line {line}: the text ends where {expected} is expected")]
    UnexpectedEnd {
        /// Last line of the text.
        line: u32,
        /// What the grammar asks for.
        expected: &'static str,
    },
    /// A directive the simulator does not know.
    #[error("ptx line {line}: unknown directive `{directive}`")]
    UnknownDirective {
        /// Line in the PTX text.
        line: u32,
        /// The directive.
        directive: String,
    },
    /// An instruction the simulator does not know.
    #[error("ptx line {line}: unknown instruction `{opcode}`")]
    UnknownInstruction {
        /// Line in the PTX text.
        line: u32,
        /// The opcode with its modifiers.
        opcode: String,
    },
    /// A known instruction with a modifier, or a combination of modifiers, the simulator does not know.
    #[error("ptx line {line}: `{opcode}` with modifier `{modifier}` is not known")]
    UnknownModifier {
        /// Line in the PTX text.
        line: u32,
        /// The opcode with its modifiers.
        opcode: String,
        /// The offending modifier.
        modifier: String,
    },
    /// An operand of a kind or width the instruction does not take, or a missing or surplus operand.
    #[error("ptx line {line}: `{opcode}`, operand {index}: {problem}")]
    Operand {
        /// Line in the PTX text.
        line: u32,
        /// The opcode with its modifiers.
        opcode: String,
        /// Position of the operand, from 0 (the destination, if any).
        index: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A register, variable, function or label nothing declares.
    #[error("ptx line {line}: `{name}` is not declared")]
    UnknownName {
        /// Line in the PTX text.
        line: u32,
        /// The name.
        name: String,
    },
    /// Two labels of one name in one scope.
    #[error("ptx line {line}: label `{label}` stands twice in one scope")]
    DuplicateLabel {
        /// Line in the PTX text.
        line: u32,
        /// The label.
        label: String,
    },
    /// A module for 32-bit addresses.
    #[error("ptx line {line}: addresses of {bits} bits, required 64")]
    AddressSize {
        /// Line in the PTX text.
        line: u32,
        /// What the module declares.
        bits: u64,
    },
    /// Valid PTX the simulator cannot run.
    #[error("ptx line {line}: {what} is not supported by the simulator")]
    Unsupported {
        /// Line in the PTX text.
        line: u32,
        /// The construct.
        what: String,
    },
}

/// Why a host access to device memory was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The device's memory is used up.
    #[error("out of device memory: {requested} bytes requested, {available} of {limit} available")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes free.
        available: u64,
        /// Size of the device's memory.
        limit: u64,
    },
    /// The range is not inside one allocation.
    #[error("{bytes} bytes at {address:#x} are not inside one allocation{}", near(.nearest))]
    OutOfBounds {
        /// First byte.
        address: u64,
        /// Length of the range.
        bytes: u64,
        /// Base and length of the closest allocation below the address.
        nearest: Option<(u64, u64)>,
    },
    /// The range lies in memory that was freed.
    #[error("{address:#x} lies in memory that was freed")]
    UseAfterFree {
        /// First byte.
        address: u64,
    },
    /// A read of bytes that neither the host nor a kernel wrote.
    #[error("the byte at {address:#x} was never written")]
    Uninitialised {
        /// The first such byte.
        address: u64,
    },
    /// `free` of something that is not the start of a live allocation.
    #[error("{address:#x} is not the start of a live allocation")]
    NotAnAllocation {
        /// What was passed.
        address: u64,
    },
}

fn near(nearest: &Option<(u64, u64)>) -> String {
    match nearest {
        Some((base, bytes)) => format!(" (the nearest below starts at {base:#x} and has {bytes} bytes)"),
        None => String::new(),
    }
}

/// Why a kernel did not run to its end.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The module has no entry of that name.
    #[error("no kernel `{name}` in this module; it has {available:?}")]
    UnknownKernel {
        /// The name asked for.
        name: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// Too few or too many parameters.
    #[error("kernel `{kernel}` takes {required} parameters, got {actual}")]
    ParameterCount {
        /// The kernel.
        kernel: String,
        /// What it declares.
        required: usize,
        /// What was passed.
        actual: usize,
    },
    /// A parameter of the wrong size.
    #[error("parameter {index} of kernel `{kernel}` (`{parameter}`) has {required} bytes, got {actual}")]
    ParameterSize {
        /// The kernel.
        kernel: String,
        /// Position of the parameter, from 0.
        index: usize,
        /// Its name in the PTX.
        parameter: String,
        /// What the kernel declares.
        required: usize,
        /// What was passed.
        actual: usize,
    },
    /// A block shape the kernel or the device does not take.
    #[error("block of {} × {} × {} threads for kernel `{kernel}`: {reason}", block[0], block[1], block[2])]
    BadBlock {
        /// The kernel.
        kernel: String,
        /// The block asked for.
        block: [u32; 3],
        /// The limit it breaks.
        reason: String,
    },
    /// A grid shape the device does not take.
    #[error("grid of {} × {} × {} blocks for kernel `{kernel}`: every extent must be at least 1", grid[0], grid[1], grid[2])]
    BadGrid {
        /// The kernel.
        kernel: String,
        /// The grid asked for.
        grid: [u32; 3],
    },
    /// A grid that does not divide into the clusters the kernel requires.
    #[error("grid of {} × {} × {} blocks for kernel `{kernel}`: it requires whole clusters of {} × {} × {}", grid[0], grid[1], grid[2], cluster[0], cluster[1], cluster[2])]
    Cluster {
        /// The kernel.
        kernel: String,
        /// The grid asked for.
        grid: [u32; 3],
        /// Blocks of a cluster.
        cluster: [u32; 3],
    },
    /// More shared memory than a block may have.
    #[error("kernel `{kernel}` needs {requested} bytes of shared memory, a block has at most {limit}")]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Static plus dynamic bytes.
        requested: u64,
        /// What a block may have.
        limit: u64,
    },
    /// Module variables did not fit the device's memory.
    #[error("the variables of the module: {0}")]
    Memory(#[from] MemoryError),
    /// The kernel did something it must not do.
    #[error("{0}")]
    Fault(Box<Fault>),
}
