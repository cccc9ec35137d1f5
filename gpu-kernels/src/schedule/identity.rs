//! One block a tile, in the order of the grid.

use super::{RasterParams, TileCoordinate, TileScheduler};

/// Block (x, y) computes tile (m, n) = (x, y). The hardware limits y to 65,535, hence n to 65,535 tiles.
#[derive(Clone, Copy, Debug)]
pub struct Identity;

impl TileScheduler for Identity {
    fn grid(params: &RasterParams) -> [u32; 3] {
        [params.tiles_m.get(), params.tiles_n.get(), 1]
    }

    #[inline(always)]
    fn tile(_: &RasterParams, block: [u32; 3]) -> TileCoordinate {
        TileCoordinate { m: block[0], n: block[1] }
    }
}
