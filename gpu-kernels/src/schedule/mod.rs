//! Which block computes which output tile.

mod identity;
mod raster;

pub use identity::Identity;
pub use raster::{RasterParams, Rasterised};

/// Position of an output tile, in tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileCoordinate {
    /// Which row of tiles.
    pub m: u32,
    /// Which column of tiles.
    pub n: u32,
}

/// A bijection between the blocks of a grid and the tiles of the output.
pub trait TileScheduler: 'static {
    /// The grid that covers `params.tiles_m` × `params.tiles_n` tiles. Called by the host.
    fn grid(params: &RasterParams) -> [u32; 3];

    /// The tile of the block at `block` in that grid. Called by every thread.
    fn tile(params: &RasterParams, block: [u32; 3]) -> TileCoordinate;
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::num::NonZeroU32;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn covers_every_tile_once<S: TileScheduler>(params: &RasterParams) {
        let grid = S::grid(params);
        let mut seen = HashSet::new();
        for z in 0..grid[2] {
            for y in 0..grid[1] {
                for x in 0..grid[0] {
                    let tile = S::tile(params, [x, y, z]);
                    assert!(tile.m < params.tiles_m.get() && tile.n < params.tiles_n.get(), "{tile:?} of {params:?}");
                    assert!(seen.insert((tile.m, tile.n)), "{tile:?} twice in {params:?}");
                }
            }
        }
        assert_eq!(seen.len() as u32, params.tiles_m.get() * params.tiles_n.get());
    }

    proptest! {
        #[test]
        fn schedulers_cover_every_tile_once(m in 1u32..40, n in 1u32..40, group in 1u32..10) {
            let params = RasterParams {
                tiles_m: NonZeroU32::new(m).unwrap(),
                tiles_n: NonZeroU32::new(n).unwrap(),
                group: NonZeroU32::new(group).unwrap(),
            };
            covers_every_tile_once::<Identity>(&params);
            covers_every_tile_once::<Rasterised>(&params);
        }
    }
}
