//! The K loop of a warp-specialised block: what its producer thread does, and what its consumer warpgroups do.

use super::{Consumer, Producer};
use crate::arch::shared::SharedPtr;
use crate::arch::{thread, wgmma};
use crate::iterator::TmaTile;
use crate::kernel::{Sharing, SpecializedConfig, TmaA, TmaB, Transposed};
use crate::warp::WarpgroupMma;
use core::marker::PhantomData;

/// One thread copies tiles by the copy engine; consumer warpgroups multiply them from shared memory, with one
/// group of products in flight while the next stage is waited for.
pub struct Specialized<C>(PhantomData<C>);

impl<C: SpecializedConfig> Specialized<C> {
    /// Bytes of one stage.
    pub const STAGE_BYTES: u32 = <TmaA<C> as TmaTile>::BYTES + <TmaB<C> as TmaTile>::BYTES;
    /// Arrivals that empty a stage: of one thread of each consumer that reads it, of each block that B is shared with.
    pub const RELEASES: u32 = match C::SHARING {
        Sharing::Cooperative => C::CONSUMERS * C::CLUSTER,
        Sharing::Pingpong => C::CLUSTER,
    };

    #[inline(always)]
    fn stage(tiles: SharedPtr, stage: u32) -> (SharedPtr, SharedPtr) {
        let a = tiles.add(stage * Self::STAGE_BYTES);
        (a, a.add(<TmaA<C> as TmaTile>::BYTES))
    }

    /// Copies the `k_tiles` tiles of A from row `m` on and of B from column `n` on.
    ///
    /// # Safety
    /// One thread of the block; `maps` are the addresses of the tensor maps of A and B; `tiles` has room for all stages.
    #[inline(always)]
    pub unsafe fn produce(
        producer: &mut Producer,
        tiles: SharedPtr,
        maps: [u64; 2],
        [m, n]: [u32; 2],
        k_tiles: u32,
        rank: u32,
    ) {
        for tile in 0..k_tiles {
            // SAFETY: the caller vouches for maps and room; the stage is empty.
            unsafe {
                let filling = producer.acquire(Self::STAGE_BYTES);
                let (a, b) = Self::stage(tiles, filling.stage);
                <TmaA<C> as TmaTile>::load(maps[0], a, filling.full, m, tile * C::K, 0);
                <TmaB<C> as TmaTile>::load(maps[1], b, filling.full, n, tile * C::K, rank);
            }
        }
    }

    /// Multiplies the `k_tiles` tiles that come, for rows `row …` of the block's tile: D = A·B. Calls `all_seen` when the last has
    /// come, before its products are done.
    ///
    /// # Safety
    /// Every thread of the warpgroup reaches the same call, and every consumer of the cluster makes as many.
    #[inline(always)]
    pub unsafe fn consume(
        consumer: &mut Consumer,
        tiles: SharedPtr,
        d: &mut <C::Mma as WarpgroupMma>::Accumulators,
        row: u32,
        k_tiles: u32,
        all_seen: impl FnOnce(),
    ) {
        let thread = thread::thread_idx_x() % 128;
        let tell = (thread < C::CLUSTER).then_some(thread);
        // SAFETY: a stage is full when it is multiplied, and released when its products are over.
        unsafe {
            let mut previous = None;
            for tile in 0..k_tiles {
                let ready = consumer.wait();
                let (a, b) = Self::stage(tiles, ready.stage);
                let a = <TmaA<C> as TmaTile>::descriptor(a, row);
                let b = <TmaB<C> as TmaTile>::descriptor(b, 0);
                wgmma::fence();
                for step in 0..C::K / C::Mma::K {
                    let a = a.add(step * <TmaA<C> as TmaTile>::STEP_BYTES);
                    let b = b.add(step * <TmaB<C> as TmaTile>::STEP_BYTES);
                    C::Mma::mma::<Transposed<C>>(d, a, <TmaA<C> as TmaTile>::BLOCK_BYTES, b, tile != 0 || step != 0);
                }
                wgmma::commit_group();
                wgmma::wait_group::<1>();
                if let Some(previous) = previous.replace(ready) {
                    consumer.release(previous, tell);
                }
            }
            all_seen();
            wgmma::wait_group::<0>();
            if let Some(last) = previous {
                consumer.release(last, tell);
            }
        }
    }
}
