//! A GEMM as a list of parts.

use crate::epilogue::{Epilogue, OutputOp};
use crate::iterator::{OperandTile, PredicatedTileParams, SharedLayout, TileIterator};
use crate::layout::{Major, StorageOrder};
use crate::schedule::TileScheduler;
use crate::threadblock::Mainloop;
use crate::warp::WarpMma;
use core::marker::PhantomData;

/// The parts of a GEMM kernel. Everything else (tile extents, threads, shared memory, who moves
/// which byte) follows from them; what does not fit together does not compile.
pub trait GemmConfig: Sized + 'static {
    /// What a warp multiplies.
    type Mma: WarpMma;
    /// Storage order of A (M × K).
    type OrderA: StorageOrder;
    /// Storage order of B (K × N).
    type OrderB: StorageOrder;
    /// Warps along M and along N: the block's tile is that many warp tiles.
    const WARPS: [u32; 2];
    /// Extent of a tile along K.
    const K: u32;
    /// Elements of A and of B that one access moves.
    const ALIGNMENT: [u32; 2];
    /// Blocks that should fit on one multiprocessor: bounds the registers of a thread.
    const BLOCKS_PER_MULTIPROCESSOR: u32;

    /// Walks A in global memory.
    type IteratorA: TileIterator<Tile = OperandA<Self>, Params = PredicatedTileParams>;
    /// Walks B in global memory.
    type IteratorB: TileIterator<Tile = OperandB<Self>, Params = PredicatedTileParams>;
    /// Where A's tile lies in shared memory.
    type SharedA: SharedLayout<Tile = OperandA<Self>>;
    /// Where B's tile lies in shared memory.
    type SharedB: SharedLayout<Tile = OperandB<Self>>;
    /// The K loop.
    type Mainloop: Mainloop<Self>;
    /// The element-wise end.
    type OutputOp: OutputOp;
    /// How accumulators reach D.
    type Epilogue: Epilogue<Self>;
    /// Which block computes which tile.
    type Scheduler: TileScheduler;

    /// Threads of a block.
    const THREADS: u32 = 32 * Self::WARPS[0] * Self::WARPS[1];
    /// Rows of the block's tile.
    const TILE_M: u32 = Self::Mma::M * Self::WARPS[0];
    /// Columns of the block's tile.
    const TILE_N: u32 = Self::Mma::N * Self::WARPS[1];
}

/// The tile of A that a block of `C` copies.
#[derive(Debug)]
pub struct OperandA<C>(PhantomData<C>);

/// The tile of B that a block of `C` copies.
#[derive(Debug)]
pub struct OperandB<C>(PhantomData<C>);

impl<C: GemmConfig> OperandTile for OperandA<C> {
    type Element = <C::Mma as WarpMma>::Element;
    const MAJOR: Major = Major::of_a(C::OrderA::ORDER);
    const MN: u32 = C::TILE_M;
    const K: u32 = C::K;
    const THREADS: u32 = C::THREADS;
    const VECTOR: u32 = C::ALIGNMENT[0];
}

impl<C: GemmConfig> OperandTile for OperandB<C> {
    type Element = <C::Mma as WarpMma>::Element;
    const MAJOR: Major = Major::of_b(C::OrderB::ORDER);
    const MN: u32 = C::TILE_N;
    const K: u32 = C::K;
    const THREADS: u32 = C::THREADS;
    const VECTOR: u32 = C::ALIGNMENT[1];
}
