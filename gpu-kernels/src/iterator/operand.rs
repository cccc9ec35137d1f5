//! The tile of an operand and its division among the threads of a block.

use crate::layout::Major;
use crate::numeric::Element;

/// A tile of one operand, [`MN`](Self::MN) × [`K`](Self::K), that [`THREADS`](Self::THREADS)
/// threads copy in vectors of [`VECTOR`](Self::VECTOR) elements along its contiguous dimension.
///
/// Thread t takes vector `t mod v` of row `t div v`, where v is the number of vectors in a
/// contiguous row; access i lies `THREADS / v` rows further than access i − 1. Neighbouring threads
/// thus touch neighbouring addresses, and only the row changes from access to access.
pub trait OperandTile: 'static {
    /// Element type.
    type Element: Element;
    /// Contiguous dimension in global memory.
    const MAJOR: Major;
    /// Extent in M (of A) or N (of B).
    const MN: u32;
    /// Extent in K.
    const K: u32;
    /// Threads that copy.
    const THREADS: u32;
    /// Elements one access moves.
    const VECTOR: u32;

    /// Extent of the contiguous dimension.
    const CONTIGUOUS: u32 = match Self::MAJOR {
        Major::K => Self::K,
        Major::Mn => Self::MN,
    };
    /// Extent of the other dimension.
    const STRIDED: u32 = match Self::MAJOR {
        Major::K => Self::MN,
        Major::Mn => Self::K,
    };
    /// Vectors in one contiguous row of the tile.
    const ROW_VECTORS: u32 = Self::CONTIGUOUS / Self::VECTOR;
    /// Rows that all threads cover together in one access.
    const ROWS_PER_ACCESS: u32 = {
        assert!(Self::CONTIGUOUS.is_multiple_of(Self::VECTOR), "a tile row must be whole vectors");
        assert!(Self::THREADS.is_multiple_of(Self::ROW_VECTORS), "threads must cover whole tile rows");
        Self::THREADS / Self::ROW_VECTORS
    };
    /// Accesses each thread makes for one tile.
    const ACCESSES: u32 = {
        assert!(
            Self::STRIDED.is_multiple_of(Self::ROWS_PER_ACCESS),
            "every access of a thread must lie within the tile"
        );
        Self::STRIDED / Self::ROWS_PER_ACCESS
    };
    /// Bytes one access moves.
    const ACCESS_BYTES: u32 = Self::VECTOR * Self::Element::BYTES as u32;

    /// (contiguous, strided) position of the first element of access `access` of thread `thread`.
    #[inline(always)]
    fn position(thread: u32, access: u32) -> (u32, u32) {
        let contiguous = thread % Self::ROW_VECTORS * Self::VECTOR;
        (contiguous, thread / Self::ROW_VECTORS + access * Self::ROWS_PER_ACCESS)
    }

    /// (mn, k) position of the first element of access `access` of thread `thread`.
    #[inline(always)]
    fn coordinate(thread: u32, access: u32) -> (u32, u32) {
        let (contiguous, strided) = Self::position(thread, access);
        match Self::MAJOR {
            Major::K => (strided, contiguous),
            Major::Mn => (contiguous, strided),
        }
    }
}
