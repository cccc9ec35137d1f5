//! Walking the tiles of an operand: who moves which vector, from where in global memory, to where
//! in shared memory.
//!
//! Each operand is an MN × K matrix (MN is M for A and N for B). A block copies it tile by tile
//! along K. [`OperandTile`] says what a tile is and which thread moves which vector of it;
//! [`TileIterator`] knows where those vectors lie in global memory; [`SharedLayout`] where they go
//! in shared memory; [`SharedTile`] does the copying.

mod operand;
mod predicated;
mod shared_layout;
#[cfg(any(target_arch = "nvptx64", doc))]
mod shared_tile;
#[cfg(any(target_arch = "nvptx64", doc))]
mod tma;

pub use operand::OperandTile;
pub use predicated::{PredicatedTile, PredicatedTileParams};
pub use shared_layout::{PaddedMnMajor, SharedLayout, Swizzled, Unswizzled};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use shared_tile::{MAX_ACCESSES, SharedTile, Staged};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use tma::TmaTile;

/// Walks the tiles of one operand along K, as one thread sees it: a fixed number of vector
/// accesses a tile, each with an address and a predicate.
///
/// The *first* tile is the partial one when K is not a multiple of the tile, so that all later
/// tiles are full and their predicates do not change.
pub trait TileIterator: Sized {
    /// The tile, and how it is spread over the threads.
    type Tile: OperandTile;
    /// What the host says about the operand.
    type Params: Copy;

    /// The iterator of thread `thread` at the first tile of row (or column) of tiles `mn_tile`, of
    /// an operand with extents `mn` × `k`.
    fn new(params: &Self::Params, mn: u32, k: u32, mn_tile: u32, thread: u32) -> Self;

    /// Global address of access `access` of the current tile.
    fn get(&self, access: u32) -> u64;

    /// Whether access `access` of the current tile lies within the operand.
    fn valid(&self, access: u32) -> bool;

    /// Moves from the first tile, which may be partial, to the second.
    fn advance_residue(&mut self);

    /// Moves from a full tile to the next.
    fn advance(&mut self);

    /// Makes every access invalid from here on.
    fn clear(&mut self);
}
