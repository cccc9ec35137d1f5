//! One block a tile, in an order that keeps the tiles in flight close together.

use super::{TileCoordinate, TileScheduler};
use core::num::NonZeroU32;

/// Extents of the grid of tiles and the width of a rasterisation group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::NoUninit)]
#[repr(C)]
pub struct RasterParams {
    /// Rows of tiles: ⌈m / tile m⌉.
    pub tiles_m: NonZeroU32,
    /// Columns of tiles: ⌈n / tile n⌉.
    pub tiles_n: NonZeroU32,
    /// Rows of tiles that are walked together.
    pub group: NonZeroU32,
}

/// Blocks are numbered along one dimension, and walk the output in horizontal bands of
/// [`group`](RasterParams::group) tile rows, down each column of a band before the next column.
/// A wave of W blocks then reads about `group` tile rows of A and `W / group` tile columns of B,
/// least when the two are equal, instead of the whole of one operand; the rest hits in L2.
#[derive(Clone, Copy, Debug)]
pub struct Rasterised;

impl TileScheduler for Rasterised {
    fn grid(params: &RasterParams) -> [u32; 3] {
        [params.tiles_m.get() * params.tiles_n.get(), 1, 1]
    }

    #[inline(always)]
    fn tile(params: &RasterParams, block: [u32; 3]) -> TileCoordinate {
        let group = params.group.get();
        let band_tiles = params.tiles_n.saturating_mul(params.group);
        let band = block[0] / band_tiles;
        let within = block[0] % band_tiles;
        // The last band may be lower than the others; it has at least one row.
        let height = NonZeroU32::new(group.min(params.tiles_m.get() - band * group)).unwrap_or(NonZeroU32::MIN);
        TileCoordinate { m: band * group + within % height, n: within / height }
    }
}
