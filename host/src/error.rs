//! The errors of this crate.

use falchion_device::layout::Order;
use falchion_device::numeric::ElementKind;
use std::fmt;

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An operand of a GEMM, as the caller named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The left factor, m × k.
    A,
    /// The right factor, k × n.
    B,
    /// The source, m × n.
    C,
    /// The output, m × n.
    D,
}

impl Operand {
    /// Its name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "d",
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A failure reported by the CUDA driver, in the driver's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverStatus {
    /// `CUresult`.
    pub code: i32,
    /// The name of the code, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub name: String,
    /// The driver's description.
    pub text: String,
}

impl fmt::Display for DriverStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name, self.code, self.text)
    }
}

/// What a faulting kernel did, as far as its device can tell.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelFault {
    /// The simulator stopped at the faulting instruction and knows everything about it.
    #[cfg(feature = "sim")]
    #[error("{0}")]
    Simulator(Box<falchion_sim::Fault>),
    /// The driver reports the class of fault only.
    #[error("{0}; the context is unusable from here on: restart the process")]
    Driver(DriverStatus),
}

/// Everything that can go wrong. Messages name the operand, what is required, what was given and,
/// where there is one, the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An extent is beyond what kernels can index.
    #[error("dimension {name} is {actual}, supported is at most {maximum}: split the problem along {name}")]
    Dimension {
        /// `m`, `n`, `k`, or what the dimension counts.
        name: &'static str,
        /// The largest supported value.
        maximum: u64,
        /// The value given.
        actual: u64,
    },
    /// Neighbouring rows or columns overlap, or the distance cannot be represented.
    #[error("leading dimension of {order} {operand} is {actual}, required is {required} to {maximum}")]
    LeadingDimension {
        /// Whose.
        operand: Operand,
        /// Its storage order.
        order: Order,
        /// The contiguous extent.
        required: u64,
        /// The largest representable value.
        maximum: u64,
        /// The value given.
        actual: u64,
    },
    /// C and D are stored in different orders.
    #[error("c is {c} and d is {d}, required is one order for both: transpose one of them")]
    OrderMismatch {
        /// Order of C.
        c: Order,
        /// Order of D.
        d: Order,
    },
    /// An address is not a multiple of what its accesses need.
    #[error("{operand} at {address:#x} is not aligned to {required} bytes: {remedy}")]
    Alignment {
        /// Whose address.
        operand: &'static str,
        /// The address.
        address: u64,
        /// The alignment it needs, in bytes.
        required: u64,
        /// What to do.
        remedy: &'static str,
    },
    /// The output shares memory with an input.
    #[error(
        "d ({bytes_d} bytes from {address_d:#x}) overlaps {operand} ({bytes} bytes from {address:#x}), required are disjoint \
         elements: only c may be d itself, with the same address and leading dimension"
    )]
    Overlap {
        /// The input.
        operand: Operand,
        /// First byte of the input.
        address: u64,
        /// Bytes from its first to its last element.
        bytes: u64,
        /// First byte of D.
        address_d: u64,
        /// Bytes from its first to its last element.
        bytes_d: u64,
    },
    /// A buffer, slice or host array has fewer elements than are accessed.
    #[error("{name} has {actual} elements, required are {required}")]
    BufferTooSmall {
        /// What is too small.
        name: &'static str,
        /// Elements that would be accessed.
        required: u64,
        /// Elements there are.
        actual: u64,
    },
    /// β is not 0, so C is read, and no C was given.
    #[error("beta is {beta} and there is no c: pass c, or beta = 0")]
    MissingSource {
        /// The factor.
        beta: f32,
    },
    /// A range beyond the end of a buffer.
    #[error("range {start}..{end} of a buffer of {length} elements")]
    Range {
        /// First element.
        start: usize,
        /// One past the last.
        end: usize,
        /// Elements there are.
        length: usize,
    },
    /// A buffer, stream or event of another device.
    #[error("{name} belongs to another device: create it on the device that runs the kernel")]
    DeviceMismatch {
        /// The object.
        name: &'static str,
    },
    /// The time between events of which one was never recorded.
    #[error("an event was never recorded: record it on a stream before asking for elapsed time")]
    EventNotRecorded,
    /// The device's memory does not suffice.
    #[error("out of device memory: {requested} bytes requested, {available} available")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes free.
        available: u64,
    },
    /// A kernel is compiled for another architecture than the device has.
    #[error("kernel `{kernel}` needs {required}, the device is {actual}")]
    WrongArch {
        /// The kernel.
        kernel: String,
        /// What it is compiled for.
        required: String,
        /// What the device is.
        actual: String,
    },
    /// The name of no architecture.
    #[error("unknown architecture `{name}`: expected sm_80, sm_90a and the like")]
    UnknownArch {
        /// The name.
        name: String,
    },
    /// A kernel needs more shared memory than a block may have.
    #[error("kernel `{kernel}` needs {required} bytes of dynamic shared memory, a block has at most {actual}")]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Bytes it needs.
        required: u32,
        /// Bytes the device gives a block.
        actual: u32,
    },
    /// This build of the crate carries no kernels.
    #[error("this build of falchion embeds no stock kernels: run `cargo xtask build` and build again")]
    NoStockKernels,
    /// Kernels there are, but none for this problem on this device.
    #[error("no stock kernel multiplies {a_order} a by {b_order} b of {element} with output in {d_order} on {device}")]
    NoKernelFits {
        /// Element type.
        element: ElementKind,
        /// Order of A.
        a_order: Order,
        /// Order of B.
        b_order: Order,
        /// Order of D.
        d_order: Order,
        /// The device.
        device: String,
    },
    /// A tensor map that cannot be.
    #[error("tensor map refused: {0}")]
    TensorMap(#[from] crate::TensorMapError),
    /// No kernel of that name.
    #[error("no kernel `{name}`; there are {available:?}")]
    UnknownKernel {
        /// The name asked for.
        name: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// The kernel asked for by name computes something else.
    #[error(
        "kernel `{kernel}` cannot serve this problem: {operand} has {property} {actual}, the kernel requires {required}"
    )]
    KernelRefused {
        /// The kernel.
        kernel: &'static str,
        /// The operand that does not fit.
        operand: Operand,
        /// Which of its properties.
        property: &'static str,
        /// What the kernel requires.
        required: String,
        /// What the problem has.
        actual: String,
    },
    /// A kernel that this crate cannot launch: a broken image, or parameters of another version.
    #[error("kernel `{kernel}` is damaged: {reason}; build it again")]
    DamagedKernel {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        reason: String,
    },
    /// A module was neither readable nor compilable.
    #[error("module `{module}` does not compile: {log}")]
    Compilation {
        /// Name of the module.
        module: String,
        /// The compiler's log.
        log: String,
    },
    /// A launch that the device refuses.
    #[error("launch of kernel `{kernel}` refused: {reason}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// The limit it breaks.
        reason: String,
    },
    /// A kernel did something it must not do.
    #[error("kernel `{kernel}` faulted: {fault}")]
    KernelFault {
        /// The kernel; on a GPU the one launched last, since faults surface later.
        kernel: String,
        /// What it did.
        fault: KernelFault,
    },
    /// An earlier kernel fault made the CUDA context unusable.
    #[error("the device is unusable since kernel `{kernel}` faulted with {status}: restart the process")]
    Poisoned {
        /// The kernel launched last before the fault surfaced.
        kernel: String,
        /// The driver's report at that time.
        status: DriverStatus,
    },
    /// A copy between host and simulator was refused.
    #[cfg(feature = "sim")]
    #[error("{operation}: {error}")]
    Memory {
        /// What was attempted.
        operation: &'static str,
        /// Why not.
        error: falchion_sim::MemoryError,
    },
    /// The driver refused a call.
    #[error("{operation}: {status}")]
    Driver {
        /// The driver's entry point.
        operation: &'static str,
        /// What it said.
        status: DriverStatus,
    },
    /// The installed driver is older than the kernels need.
    #[error("the driver supports cuda {actual}, required is at least {required}: update the nvidia driver")]
    DriverTooOld {
        /// The oldest CUDA version that works.
        required: String,
        /// What the driver supports.
        actual: String,
    },
    /// No device of the kind asked for.
    #[error("no device: {reason}")]
    NoDevice {
        /// Why.
        reason: String,
    },
    /// The device asked for needs a feature this build lacks.
    #[error("this build of falchion has no {backend} devices: enable its feature `{feature}`")]
    BackendNotBuilt {
        /// The kind of device.
        backend: &'static str,
        /// The Cargo feature.
        feature: &'static str,
    },
    /// The extents of reference operands do not fit together.
    #[error("{name} is {}×{}, required is {}×{}", .actual[0], .actual[1], .required[0], .required[1])]
    Shape {
        /// The operand.
        name: &'static str,
        /// Rows and columns it must have.
        required: [usize; 2],
        /// Rows and columns it has.
        actual: [usize; 2],
    },
    /// A comparison with zeros would prove nothing.
    #[error(
        "the reference is zero everywhere: a comparison with it would prove nothing; use inputs whose product is not zero"
    )]
    ZeroReference,
    /// A result is farther from the reference than rounding explains.
    #[error("d differs from the reference: {0}")]
    Mismatch(Box<crate::reference::Comparison>),
}
