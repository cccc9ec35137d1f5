//! The K loop with two tiles in shared memory, filled through registers.

use super::{Mainloop, ThreadPosition};
use crate::arch::shared::SharedPtr;
use crate::arch::sync::sync_threads;
use crate::fragment::Fragment;
use crate::iterator::{SharedLayout, SharedTile, TileIterator};
use crate::kernel::GemmConfig;
use crate::warp::{WarpMma, WarpOperand};

/// While one tile is multiplied, the next is loaded into registers, and stored to the other stage
/// before the last step. Serves what `cp.async` cannot: transposing on the way, and accesses under 4 bytes.
#[derive(Debug)]
pub struct TwoStage;

impl<C: GemmConfig> Mainloop<C> for TwoStage {
    const SHARED_BYTES: u32 = 2 * (<C::SharedA as SharedLayout>::BYTES + <C::SharedB as SharedLayout>::BYTES);
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
        let steps = const {
            let steps = C::K / <C::Mma as WarpMma>::K;
            assert!(
                steps.is_multiple_of(2),
                "fragments alternate between two sets: a tile must have an even number of steps"
            );
            steps
        };
        if k_tiles == 0 {
            return;
        }
        let warp_a = <C::Mma as WarpMma>::OperandA::<C::SharedA>::new(position.warp_m * C::Mma::M, position.lane);
        let warp_b = <C::Mma as WarpMma>::OperandB::<C::SharedB>::new(position.warp_n * C::Mma::N, position.lane);
        let shared_a = SharedTile::<C::SharedA>::new(position.thread);
        let shared_b = SharedTile::<C::SharedB>::new(position.thread);
        let stage_bytes = <Self as Mainloop<C>>::SHARED_BYTES / 2;
        let b_of = |stage: SharedPtr| stage.add(<C::SharedA as SharedLayout>::BYTES);
        let load = |stage: SharedPtr, step: u32| {
            // SAFETY: the stage was stored before a barrier; all threads of the warp load together.
            unsafe { (warp_a.load(stage, step), warp_b.load(b_of(stage), step)) }
        };

        // SAFETY: all threads of the block run the same tiles, hence the same barriers; a stage is stored
        // only after the barrier that follows its last load.
        unsafe {
            // Prologue: the first, possibly partial tile.
            let (staged_a, staged_b) = (shared_a.load(&a), shared_b.load(&b));
            shared_a.store(shared, &staged_a);
            shared_b.store(b_of(shared), &staged_b);
            a.advance_residue();
            b.advance_residue();
            sync_threads();
            let (mut read, mut write) = (shared, shared.add(stage_bytes));
            let mut fragments = [(Fragment::ZERO, Fragment::ZERO); 2];
            fragments[0] = load(read, 0);

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
                        shared_b.store(b_of(write), &staged_b);
                        sync_threads();
                        (read, write) = (write, read);
                    }
                    fragments[(step as usize + 1) % 2] = load(read, (step + 1) % steps);
                    let (a, b) = &fragments[step as usize % 2];
                    C::Mma::mma(d, a, b);
                }
            }
            sync_threads();
        }
    }
}
