//! What one warp multiplies, and on which unit.

mod position;
#[cfg(any(target_arch = "nvptx64", doc))]
mod simt;
#[cfg(any(target_arch = "nvptx64", doc))]
mod tensor_op;
#[cfg(any(target_arch = "nvptx64", doc))]
mod warpgroup;

pub use position::{AccumulatorMap, LdmatrixMap, SimtMap, TensorOpMap};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use simt::{Simt, SimtOperand};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use tensor_op::{LdmatrixOperand, TensorOp};
#[cfg(any(target_arch = "nvptx64", doc))]
pub use warpgroup::{Warpgroup, WarpgroupMma};

#[cfg(any(target_arch = "nvptx64", doc))]
use crate::{arch::shared::SharedPtr, fragment::Fragment, iterator::SharedLayout, kernel::OpClass, numeric::Element};

/// D ← A·B + D on the tile of one warp, in steps along K.
///
/// A is [`M`](Self::M) × K, B is K × [`N`](Self::N), both in shared memory; D stays in the
/// registers of the warp's threads. Every function is executed by all threads of the warp together.
#[cfg(any(target_arch = "nvptx64", doc))]
pub trait WarpMma: 'static {
    /// Element type of A and B.
    type Element: Element;
    /// A thread's part of A for one step.
    type FragmentA: Fragment;
    /// A thread's part of B for one step.
    type FragmentB: Fragment;
    /// A thread's part of D.
    type Accumulators: Fragment;
    /// Which accumulator holds which entry of D.
    type Map: AccumulatorMap;
    /// Reads A's fragments from a shared tile.
    type OperandA<S: SharedLayout>: WarpOperand<Fragment = Self::FragmentA>;
    /// Reads B's fragments from a shared tile.
    type OperandB<S: SharedLayout>: WarpOperand<Fragment = Self::FragmentB>;

    /// Rows of D.
    const M: u32 = <Self::Map as AccumulatorMap>::M;
    /// Columns of D.
    const N: u32 = <Self::Map as AccumulatorMap>::N;
    /// Extent of one step along K.
    const K: u32;
    /// The unit.
    const OP_CLASS: OpClass;
    /// CUTLASS's name of the instruction and operation, as in `s16816gemm`.
    const NAME: &'static str;
    /// Lowest architecture that has the instruction.
    const ARCH: u32;

    /// One step: D ← A·B + D.
    ///
    /// # Safety
    /// Every thread of the warp reaches the same call.
    unsafe fn mma(d: &mut Self::Accumulators, a: &Self::FragmentA, b: &Self::FragmentB);

    /// Writes the accumulators of exchange step `step` ([`AccumulatorMap`]) to shared memory, as f32:
    /// row r of the step at `to + r·pitch`, column n at `+ 4·n` bytes.
    ///
    /// # Safety
    /// The rows are this block's shared memory, and no other warp accesses them meanwhile. `pitch`
    /// is a multiple of 16.
    unsafe fn exchange(d: &Self::Accumulators, step: u32, lane: u32, to: SharedPtr, pitch: u32);
}

/// Reads one operand's fragments from a tile in shared memory.
#[cfg(any(target_arch = "nvptx64", doc))]
pub trait WarpOperand: Copy {
    /// What one step needs.
    type Fragment;

    /// The reader of lane `lane` of the warp whose tile starts at `mn_origin` of the block's tile.
    fn new(mn_origin: u32, lane: u32) -> Self;

    /// The fragment of step `step` of the tile in `stage`.
    ///
    /// # Safety
    /// Every thread of the warp reaches the same call; the tile in `stage` is complete, visible and not
    /// written meanwhile.
    unsafe fn load(&self, stage: SharedPtr, step: u32) -> Self::Fragment;
}
