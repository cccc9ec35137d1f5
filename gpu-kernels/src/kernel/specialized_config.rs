//! A warp-specialised GEMM as a list of parts. sm_90a.

use crate::arch::wgmma::Transposition;
use crate::epilogue::OutputOp;
use crate::iterator::TmaTile;
use crate::layout::{Major, StorageOrder};
use crate::numeric::HalfElement;
use crate::schedule::TileScheduler;
use crate::warp::WarpgroupMma;
use core::marker::PhantomData;

/// How the consumer warpgroups of a block share its tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All work on one tile, each on its rows: the largest tile, hence the fewest bytes a product.
    Cooperative,
    /// Each works on a tile of its own, in turn, so that one's epilogue overlaps the other's products.
    Pingpong,
}

impl Sharing {
    /// The name used in kernel names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cooperative => "cooperative",
            Self::Pingpong => "pingpong",
        }
    }
}

/// The parts of a GEMM whose producer warp feeds consumer warpgroups through the copy engine.
pub trait SpecializedConfig: Sized + 'static {
    /// What a warpgroup multiplies.
    type Mma: WarpgroupMma;
    /// Storage order of A (M × K).
    type OrderA: StorageOrder;
    /// Storage order of B (K × N).
    type OrderB: StorageOrder;
    /// Consumer warpgroups.
    const CONSUMERS: u32;
    /// How they share the work.
    const SHARING: Sharing;
    /// Tiles of A and B in shared memory.
    const STAGES: u32;
    /// Blocks of a cluster, one below the other along M; they share B.
    const CLUSTER: u32;
    /// The element-wise end.
    type OutputOp: OutputOp<Output: HalfElement>;
    /// Which cluster computes which tiles.
    type Scheduler: TileScheduler;

    /// Extent of a tile along K: 128 bytes.
    const K: u32 = 4 * <Self::Mma as WarpgroupMma>::K;
    /// Rows of the block's tile.
    const TILE_M: u32 = match Self::SHARING {
        Sharing::Cooperative => Self::Mma::M * Self::CONSUMERS,
        Sharing::Pingpong => Self::Mma::M,
    };
    /// Columns of the block's tile.
    const TILE_N: u32 = Self::Mma::N;
    /// Threads: the producer's warpgroup and the consumers'.
    const THREADS: u32 = 128 * (1 + Self::CONSUMERS);
}

/// The tile of A that a block of `C` copies.
#[derive(Debug)]
pub struct TmaA<C>(PhantomData<C>);

/// The tile of B that the cluster of a block of `C` copies.
#[derive(Debug)]
pub struct TmaB<C>(PhantomData<C>);

impl<C: SpecializedConfig> TmaTile for TmaA<C> {
    type Element = <C::Mma as WarpgroupMma>::Element;
    const MAJOR: Major = Major::of_a(C::OrderA::ORDER);
    const MN: u32 = C::TILE_M;
    const K: u32 = C::K;
    const SHARES: u32 = 1;
}

impl<C: SpecializedConfig> TmaTile for TmaB<C> {
    type Element = <C::Mma as WarpgroupMma>::Element;
    const MAJOR: Major = Major::of_b(C::OrderB::ORDER);
    const MN: u32 = C::TILE_N;
    const K: u32 = C::K;
    const SHARES: u32 = C::CLUSTER;
}

/// Which operands of `C` are MN-major.
#[derive(Debug)]
pub struct Transposed<C>(PhantomData<C>);

impl<C: SpecializedConfig> Transposition for Transposed<C> {
    const A: bool = matches!(TmaA::<C>::MAJOR, Major::Mn);
    const B: bool = matches!(TmaB::<C>::MAJOR, Major::Mn);
}
