//! Reading both operands of a stage, as one warp does.

use super::ThreadPosition;
use crate::arch::shared::SharedPtr;
use crate::iterator::SharedLayout;
use crate::kernel::GemmConfig;
use crate::warp::{WarpMma, WarpOperand};

type OperandA<C> = <<C as GemmConfig>::Mma as WarpMma>::OperandA<<C as GemmConfig>::SharedA>;
type OperandB<C> = <<C as GemmConfig>::Mma as WarpMma>::OperandB<<C as GemmConfig>::SharedB>;
/// The fragments of A and B of one step.
pub(super) type Fragments<C> =
    (<<C as GemmConfig>::Mma as WarpMma>::FragmentA, <<C as GemmConfig>::Mma as WarpMma>::FragmentB);

/// Reads the fragments of the calling thread's warp from a stage, in which B's tile follows A's.
pub(super) struct StageReader<C: GemmConfig> {
    a: OperandA<C>,
    b: OperandB<C>,
}

impl<C: GemmConfig> StageReader<C> {
    /// Steps of a tile.
    pub(super) const STEPS: u32 = {
        let steps = C::K / C::Mma::K;
        assert!(
            steps.is_multiple_of(2),
            "fragments alternate between two sets: a tile must have an even number of steps"
        );
        steps
    };
    /// Bytes of a stage.
    pub(super) const STAGE_BYTES: u32 = C::SharedA::BYTES + C::SharedB::BYTES;

    #[inline(always)]
    pub(super) fn new(position: ThreadPosition) -> Self {
        Self {
            a: WarpOperand::new(position.warp_m * C::Mma::M, position.lane),
            b: WarpOperand::new(position.warp_n * C::Mma::N, position.lane),
        }
    }

    /// Where B's tile starts in `stage`.
    #[inline(always)]
    pub(super) fn b_of(stage: SharedPtr) -> SharedPtr {
        stage.add(C::SharedA::BYTES)
    }

    /// The fragments of step `step`.
    ///
    /// # Safety
    /// As [`WarpOperand::load`].
    #[inline(always)]
    pub(super) unsafe fn load(&self, stage: SharedPtr, step: u32) -> Fragments<C> {
        // SAFETY: the caller vouches for the stage and for convergence.
        unsafe { (self.a.load(stage, step), self.b.load(Self::b_of(stage), step)) }
    }
}
