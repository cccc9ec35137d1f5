//! Operand tiles that the copy engine brings, and their descriptors for `wgmma`.

use crate::arch::shared::SharedPtr;
use crate::arch::tma;
use crate::arch::wgmma::Descriptor;
use crate::layout::Major;
use crate::numeric::Element;

/// A tile of one operand in shared memory, MN × K, in rows of 128 bytes swizzled by 128.
///
/// K-major: MN rows of 128 bytes of K. MN-major: boxes of 128 bytes of MN by K rows, one after the
/// other along MN. Either way the tile is 128 bytes deep along the swizzled dimension, so K of a
/// K-major tile is 128 bytes of elements.
pub trait TmaTile: 'static {
    /// Element type.
    type Element: Element;
    /// Contiguous dimension in global memory.
    const MAJOR: Major;
    /// Extent in M (of A) or N (of B).
    const MN: u32;
    /// Extent in K.
    const K: u32;
    /// Blocks of a cluster among which the tile is divided, each of which brings its part to all.
    const SHARES: u32;

    /// Elements in 128 bytes.
    const SPAN: u32 = 128 / Self::Element::BYTES as u32;
    /// Bytes of a tile.
    const BYTES: u32 = Self::MN * Self::K * Self::Element::BYTES as u32;
    /// The box of one copy, contiguous extent first.
    const BOX: [u32; 2] = match Self::MAJOR {
        Major::K => [Self::SPAN, Self::MN / Self::SHARES],
        Major::Mn => [Self::SPAN, Self::K],
    };
    /// Bytes between a descriptor and that of the next step of 32 bytes of K.
    const STEP_BYTES: u32 = match Self::MAJOR {
        Major::K => 32,
        Major::Mn => 32 / Self::Element::BYTES as u32 * 128,
    };

    /// Bytes between 64 entries along MN and the next.
    const BLOCK_BYTES: u32 = match Self::MAJOR {
        Major::K => 64 * 128,
        Major::Mn => 64 / Self::SPAN * 128 * Self::K,
    };

    /// Issues this block's share of the copies of the tile at (`mn`, `k`).
    ///
    /// # Safety
    /// One thread; `map` is the tensor map of the operand with boxes of [`BOX`](Self::BOX), swizzled by 128 bytes;
    /// `to` is a multiple of 1,024 with room for the tile in every block that shares it, and they expect the bytes at `full`.
    #[inline(always)]
    unsafe fn load(map: u64, to: SharedPtr, full: SharedPtr, mn: u32, k: u32, rank: u32) {
        const {
            assert!(matches!(Self::MAJOR, Major::Mn) || Self::K == Self::SPAN, "a K-major tile is 128 bytes of K deep");
            assert!(
                Self::MN.is_multiple_of(Self::SPAN * Self::SHARES) || matches!(Self::MAJOR, Major::K),
                "an MN-major tile must be whole 128-byte boxes for each block that shares it"
            );
            assert!(Self::BOX[1] <= 256, "a box has at most 256 rows");
        }
        let share = Self::MN / Self::SHARES;
        let blocks = (1u16 << Self::SHARES) - 1;
        let first = if Self::SHARES == 1 { 0 } else { rank * share };
        let copy = |to: SharedPtr, x: u32, y: u32| {
            // SAFETY: the caller vouches for the map and the room.
            unsafe {
                if Self::SHARES == 1 {
                    tma::load_2d(to, map, full, x, y);
                } else {
                    tma::load_2d_multicast(to, map, full, x, y, blocks);
                }
            }
        };
        match Self::MAJOR {
            Major::K => copy(to.add(first * 128), k, mn + first),
            Major::Mn => {
                for span in 0..share / Self::SPAN {
                    let at = first + span * Self::SPAN;
                    copy(to.add(at / Self::SPAN * 128 * Self::K), mn + at, k);
                }
            }
        }
    }

    /// The descriptor of the first step of the tile at `start`, from `mn` on, a multiple of 64.
    #[inline(always)]
    fn descriptor(start: SharedPtr, mn: u32) -> Descriptor {
        match Self::MAJOR {
            // Eight rows of 128 bytes repeat every 1,024; the leading dimension is not used.
            Major::K => Descriptor::swizzle_128(start.add(mn / 64 * Self::BLOCK_BYTES), 16, 1024),
            // Boxes follow each other along MN; eight rows of K take 1,024 bytes.
            Major::Mn => Descriptor::swizzle_128(start.add(mn / 64 * Self::BLOCK_BYTES), 128 * Self::K, 1024),
        }
    }
}
