//! What a kernel needs, exported beside its entry point so that nobody repeats it by hand.

use crate::layout::Order;
use crate::numeric::ElementKind;

/// First word of every description.
pub const MAGIC: u32 = 0x4643_4C46;
/// Version of the word layout.
pub const VERSION: u32 = 1;
/// Symbol of the description of entry point `NAME` is this prefix followed by `NAME`.
pub const SYMBOL_PREFIX: &str = "falchion_description_";

/// The launch requirements of a kernel, and what its payload describes. All words are
/// little-endian `u32`; a payload type follows directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`VERSION`].
    pub version: u32,
    /// Words of header and payload together.
    pub words: u32,
    /// Lowest compute capability, ten times major plus minor: 80 is sm_80.
    pub arch: u32,
    /// 1 when the kernel uses instructions of that architecture alone (sm_90a).
    pub arch_specific: u32,
    /// Threads a block.
    pub threads: u32,
    /// Blocks that must fit on one multiprocessor; the compiler's register budget.
    pub blocks_per_multiprocessor: u32,
    /// Blocks of one cluster in x, y, z; all 1 without clusters.
    pub cluster: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// Which payload follows.
    pub kind: u32,
}

/// [`Header::kind`] of a kernel without payload.
pub const KIND_PLAIN: u32 = 0;
/// [`Header::kind`] of a GEMM: a [`GemmDescription`] follows.
pub const KIND_GEMM: u32 = 1;

impl Header {
    /// Number of words of the header.
    pub const WORDS: usize = core::mem::size_of::<Self>() / 4;

    /// A header for `sm_80` blocks of `threads` with no payload; set what differs.
    #[must_use]
    pub const fn new(threads: u32, shared_bytes: u32) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            words: Self::WORDS as u32,
            arch: 80,
            arch_specific: 0,
            threads,
            blocks_per_multiprocessor: 1,
            cluster: [1; 3],
            shared_bytes,
            kind: KIND_PLAIN,
        }
    }

    /// Reads a header; `None` when `words` is no description of this version.
    #[must_use]
    pub fn from_words(words: &[u32]) -> Option<Self> {
        let &[magic, version, count, arch, arch_specific, threads, blocks, x, y, z, shared_bytes, kind, ..] = words
        else {
            return None;
        };
        (magic == MAGIC && version == VERSION && count as usize == words.len()).then_some(Self {
            magic,
            version,
            words: count,
            arch,
            arch_specific,
            threads,
            blocks_per_multiprocessor: blocks,
            cluster: [x, y, z],
            shared_bytes,
            kind,
        })
    }
}

/// The unit that multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum OpClass {
    /// Fused multiply-adds of the CUDA cores.
    Simt = 0,
    /// `mma.sync` of the tensor cores.
    TensorOp = 1,
    /// `wgmma` of the tensor cores.
    Wgmma = 2,
}

impl OpClass {
    /// The name used in kernel names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simt => "simt",
            Self::TensorOp => "tensorop",
            Self::Wgmma => "wgmma",
        }
    }
}

/// What a GEMM kernel computes and how: D = op(α·A·B + β·C) with A M×K, B K×N, C and D M×N row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct GemmDescription {
    /// Launch requirements.
    pub header: Header,
    /// Output rows, output columns and k-extent of a block's tile.
    pub tile: [u32; 3],
    /// Tiles of A and B in flight in shared memory.
    pub stages: u32,
    /// [`ElementKind`] of A, B, C and D, and of the accumulators.
    pub elements: [u32; 4],
    /// [`Order`] of A and of B.
    pub orders: [u32; 2],
    /// Elements that one access of A and of B moves: pointer and leading dimension must be multiples.
    pub alignment: [u32; 2],
    /// [`OpClass`].
    pub op_class: u32,
    /// Warps along M and N of the tile.
    pub warps: [u32; 2],
    /// Size of the kernel's parameter block in bytes.
    pub params_bytes: u32,
}

impl GemmDescription {
    /// Number of words.
    pub const WORDS: usize = core::mem::size_of::<Self>() / 4;

    /// Reads a description; `None` when `words` describes no GEMM of this version.
    #[must_use]
    pub fn from_words(words: &[u32]) -> Option<Self> {
        let header = Header::from_words(words)?;
        if header.kind != KIND_GEMM {
            return None;
        }
        let &[
            m,
            n,
            k,
            stages,
            a,
            b,
            c,
            accumulator,
            order_a,
            order_b,
            align_a,
            align_b,
            op_class,
            warps_m,
            warps_n,
            params_bytes,
        ] = words.get(Header::WORDS..)?
        else {
            return None;
        };
        Some(Self {
            header,
            tile: [m, n, k],
            stages,
            elements: [a, b, c, accumulator],
            orders: [order_a, order_b],
            alignment: [align_a, align_b],
            op_class,
            warps: [warps_m, warps_n],
            params_bytes,
        })
    }

    /// Element types of A, B, C and D, and of the accumulators.
    #[must_use]
    pub fn element_kinds(&self) -> Option<[ElementKind; 4]> {
        let [a, b, c, d] = self.elements.map(ElementKind::from_code);
        Some([a?, b?, c?, d?])
    }

    /// Storage orders of A and B.
    #[must_use]
    pub fn storage_orders(&self) -> Option<[Order; 2]> {
        let [a, b] = self.orders.map(Order::from_code);
        Some([a?, b?])
    }
}

const _: () = assert!(GemmDescription::WORDS == Header::WORDS + 16, "a description is words and nothing else");
