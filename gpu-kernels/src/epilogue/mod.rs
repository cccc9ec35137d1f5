//! From accumulators to D.

#[cfg(any(target_arch = "nvptx64", doc))]
mod exchange;
mod output_op;
#[cfg(any(target_arch = "nvptx64", doc))]
mod tma_store;

#[cfg(any(target_arch = "nvptx64", doc))]
pub use exchange::SharedExchange;
pub use output_op::{LinearCombination, LinearCombinationParams, OutputOp};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use tma_store::TmaStore;

#[cfg(any(target_arch = "nvptx64", doc))]
use crate::{
    arch::shared::SharedPtr,
    kernel::{GemmConfig, GemmParams},
    schedule::TileCoordinate,
    threadblock::ThreadPosition,
    warp::WarpMma,
};

/// D ← op(accumulators, C) for the tile of one block.
#[cfg(any(target_arch = "nvptx64", doc))]
pub trait Epilogue<C: GemmConfig>: 'static {
    /// Shared memory in bytes.
    const SHARED_BYTES: u32;

    /// Stores the tile. Entries outside D are left alone.
    ///
    /// # Safety
    /// Every thread of the block reaches the same call with its own accumulators; `shared` is
    /// [`SHARED_BYTES`](Self::SHARED_BYTES) that nobody else accesses meanwhile; C, where the op needs it, and D are
    /// accessible as `params` describes them.
    unsafe fn run(
        params: &GemmParams<<C::OutputOp as OutputOp>::Params>,
        accumulators: &<C::Mma as WarpMma>::Accumulators,
        tile: TileCoordinate,
        shared: SharedPtr,
        position: ThreadPosition,
    );
}
