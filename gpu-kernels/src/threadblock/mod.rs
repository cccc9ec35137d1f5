//! The K loop of a block: from tiles in global memory to accumulators in registers.

mod multistage;
mod pipeline;
mod specialized;
mod stage_reader;
mod tma_pipeline;
mod turns;
mod two_stage;

pub use multistage::Multistage;
pub use pipeline::{CpAsyncPipeline, Filling, Ready};
pub use specialized::Specialized;
pub use tma_pipeline::{Consumer, Producer, TmaPipeline};
pub use turns::Turns;
pub use two_stage::TwoStage;

use crate::arch::shared::SharedPtr;
use crate::arch::{thread, warp};
use crate::kernel::GemmConfig;
use crate::warp::WarpMma;

/// Where a thread stands in its block.
#[derive(Clone, Copy, Debug)]
pub struct ThreadPosition {
    /// Position in the block.
    pub thread: u32,
    /// Position in the warp.
    pub lane: u32,
    /// Row of the warp in the block's grid of warps. The same in the whole warp.
    pub warp_m: u32,
    /// Column of the warp in the block's grid of warps. The same in the whole warp.
    pub warp_n: u32,
}

impl ThreadPosition {
    /// The position of the calling thread in a block of `warps_m` rows of warps.
    ///
    /// # Safety
    /// Every thread of the warp reaches the same call.
    #[inline(always)]
    #[must_use]
    pub unsafe fn current(warps_m: u32) -> Self {
        let thread = thread::thread_idx_x();
        // SAFETY: the caller vouches for convergence.
        let warp = unsafe { warp::broadcast_first(thread / 32) };
        Self { thread, lane: thread::lane_id(), warp_m: warp % warps_m, warp_n: warp / warps_m }
    }
}

/// D ← A·B + D over all of K, for the tile of one block.
pub trait Mainloop<C: GemmConfig>: 'static {
    /// Shared memory in bytes.
    const SHARED_BYTES: u32;
    /// Tiles of each operand in shared memory.
    const STAGES: u32;

    /// Runs `k_tiles` tiles. When it returns, the shared memory is free for other use.
    ///
    /// # Safety
    /// Every thread of the block reaches the same call with its own iterators, whose valid
    /// accesses are readable; `shared` is [`SHARED_BYTES`](Self::SHARED_BYTES) that nobody else accesses meanwhile.
    unsafe fn run(
        d: &mut <C::Mma as WarpMma>::Accumulators,
        a: C::IteratorA,
        b: C::IteratorB,
        k_tiles: u32,
        shared: SharedPtr,
        position: ThreadPosition,
    );
}
