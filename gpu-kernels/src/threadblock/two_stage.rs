//! The K loop with two tiles in shared memory, filled through registers.

use super::stage_reader::StageReader;
use super::{Mainloop, ThreadPosition};
use crate::arch::shared::SharedPtr;
use crate::arch::sync::sync_threads;
use crate::fragment::Fragment;
use crate::iterator::{SharedTile, TileIterator};
use crate::kernel::GemmConfig;
use crate::warp::WarpMma;

/// While one tile is multiplied, the next is loaded into registers, and stored to the other stage
/// before the last step. Serves what `cp.async` cannot: transposing on the way, and accesses under 4 bytes.
#[derive(Debug)]
pub struct TwoStage;

impl<C: GemmConfig> Mainloop<C> for TwoStage {
    const SHARED_BYTES: u32 = 2 * StageReader::<C>::STAGE_BYTES;
    const STAGES: u32 = 2;

    #[inline(always)]
    unsafe fn run(
        d: &mut <C::Mma as WarpMma>::Accumulators,
        mut a: C::IteratorA,
        mut b: C::IteratorB,
        k_tiles: u32,
        shared: SharedPtr,
        position: ThreadPosition,
    ) {
        let steps = const { StageReader::<C>::STEPS };
        if k_tiles == 0 {
            return;
        }
        let reader = StageReader::<C>::new(position);
        let shared_a = SharedTile::<C::SharedA>::new(position.thread);
        let shared_b = SharedTile::<C::SharedB>::new(position.thread);
        // SAFETY: all threads of the block run the same tiles, hence the same barriers; a stage is stored
        // only after the barrier that follows its last load.
        unsafe {
            // Prologue: the first, possibly partial tile.
            let (staged_a, staged_b) = (shared_a.load(&a), shared_b.load(&b));
            shared_a.store(shared, &staged_a);
            shared_b.store(StageReader::<C>::b_of(shared), &staged_b);
            a.advance_residue();
            b.advance_residue();
            sync_threads();
            let (mut read, mut write) = (shared, shared.add(StageReader::<C>::STAGE_BYTES));
            let mut fragments = [(Fragment::ZERO, Fragment::ZERO); 2];
            fragments[0] = reader.load(read, 0);

            // Steady loop.
            for tile in 1..k_tiles + 1 {
                if tile == k_tiles {
                    // The last tile has no successor: load nothing, and store zeros nobody reads.
                    a.clear();
                    b.clear();
                }
                let (staged_a, staged_b) = (shared_a.load(&a), shared_b.load(&b));
                a.advance();
                b.advance();
                for step in 0..steps {
                    if step == steps - 1 {
                        shared_a.store(write, &staged_a);
                        shared_b.store(StageReader::<C>::b_of(write), &staged_b);
                        sync_threads();
                        (read, write) = (write, read);
                    }
                    fragments[(step as usize + 1) % 2] = reader.load(read, (step + 1) % steps);
                    let (a, b) = &fragments[step as usize % 2];
                    C::Mma::mma(d, a, b);
                }
            }
            sync_threads();
        }
    }
}
