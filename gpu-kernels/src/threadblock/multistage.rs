//! The K loop with several tiles in flight by `cp.async`. sm_80.

use super::stage_reader::StageReader;
use super::{CpAsyncPipeline, Filling, Mainloop, ThreadPosition};
use crate::arch::shared::SharedPtr;
use crate::fragment::Fragment;
use crate::iterator::{SharedTile, TileIterator};
use crate::kernel::GemmConfig;
use crate::warp::WarpMma;

/// `STAGES` tiles of A and B in shared memory: one is multiplied while `STAGES − 1` are on their
/// way. Within a tile, the fragments of the next step are loaded while the present step is multiplied.
#[derive(Debug)]
pub struct Multistage<const STAGES: u32>;

/// The two iterators of a mainloop, with the tiles they have left.
struct Source<C: GemmConfig> {
    a: C::IteratorA,
    b: C::IteratorB,
    shared_a: SharedTile<C::SharedA>,
    shared_b: SharedTile<C::SharedB>,
    left: u32,
}

impl<C: GemmConfig> Source<C> {
    /// Issues the copies of the current tile. Beyond the last tile nothing is read and zeros are written,
    /// so that the loop needs no branch.
    #[inline(always)]
    unsafe fn copy(&mut self, stage: &Filling) {
        // SAFETY: the caller of the mainloop vouches for the iterators, the pipeline for the stage.
        unsafe {
            self.shared_a.copy_async(stage.stage(), &self.a);
            self.shared_b.copy_async(StageReader::<C>::b_of(stage.stage()), &self.b);
        }
        self.left = self.left.wrapping_sub(1);
    }

    #[inline(always)]
    fn advance_residue(&mut self) {
        self.a.advance_residue();
        self.b.advance_residue();
        self.clear_at_end();
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.a.advance();
        self.b.advance();
        self.clear_at_end();
    }

    #[inline(always)]
    fn clear_at_end(&mut self) {
        if self.left == 0 {
            self.a.clear();
            self.b.clear();
        }
    }
}

impl<C: GemmConfig, const STAGES: u32> Mainloop<C> for Multistage<STAGES> {
    const SHARED_BYTES: u32 = STAGES * StageReader::<C>::STAGE_BYTES;
    const STAGES: u32 = STAGES;

    #[inline(always)]
    unsafe fn run(
        d: &mut <C::Mma as WarpMma>::Accumulators,
        a: C::IteratorA,
        b: C::IteratorB,
        k_tiles: u32,
        shared: SharedPtr,
        position: ThreadPosition,
    ) {
        let steps = const { StageReader::<C>::STEPS };
        if k_tiles == 0 {
            return;
        }
        let reader = StageReader::<C>::new(position);
        let mut pipeline = CpAsyncPipeline::<STAGES>::new(shared, StageReader::<C>::STAGE_BYTES);
        let mut source: Source<C> = Source {
            a,
            b,
            shared_a: SharedTile::new(position.thread),
            shared_b: SharedTile::new(position.thread),
            left: k_tiles,
        };
        // SAFETY: all threads of the block run the same tiles, hence the same waits.
        unsafe {
            // Prologue: all stages but one.
            for stage in 0..STAGES - 1 {
                let filling = pipeline.acquire();
                source.copy(&filling);
                pipeline.commit(filling);
                if stage == 0 { source.advance_residue() } else { source.advance() }
            }
            let mut ready = pipeline.first();
            let mut fragments = [(Fragment::ZERO, Fragment::ZERO); 2];
            fragments[0] = reader.load(ready.stage(), 0);

            // Steady loop.
            for _ in 0..k_tiles {
                for step in 0..steps {
                    if step == steps - 1 {
                        ready = pipeline.next(ready);
                    }
                    fragments[(step as usize + 1) % 2] = reader.load(ready.stage(), (step + 1) % steps);
                    if step == 0 {
                        let filling = pipeline.acquire();
                        source.copy(&filling);
                        pipeline.commit(filling);
                        source.advance();
                    }
                    let (a, b) = &fragments[step as usize % 2];
                    C::Mma::mma(d, a, b);
                }
            }

            pipeline.drain(ready);
        }
    }
}
