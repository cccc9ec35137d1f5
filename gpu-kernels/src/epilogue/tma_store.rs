//! The epilogue of a warpgroup through the copy engine. sm_90.

use super::OutputOp;
use crate::arch::matrix::stmatrix_x4;
use crate::arch::shared::SharedPtr;
use crate::arch::sync::sync_named;
use crate::arch::{global, thread, tma};
use crate::kernel::MatrixOperand;
use crate::numeric::Element;
use core::marker::PhantomData;

/// D ← op(accumulators, C) in bands of 64 columns: `stmatrix` into one of two swizzled buffers, from which the copy engine
/// stores while the next band is prepared. Entries outside D are dropped by the engine.
pub struct TmaStore<O>(PhantomData<O>);

/// Where a warpgroup's tile goes.
#[derive(Clone, Copy)]
pub struct Destination<'a, O: OutputOp> {
    /// Scalars of the op.
    pub op: &'a O::Params,
    /// C, and the extents of D.
    pub source: &'a MatrixOperand,
    /// Rows and columns of D.
    pub extents: [u32; 2],
    /// Address of the tensor map of D: boxes of [`BOX`](TmaStore::BOX), swizzled by 128 bytes.
    pub map: u64,
    /// First row and column of the warpgroup's tile.
    pub origin: [u32; 2],
}

impl<O: OutputOp> TmaStore<O> {
    /// Columns of a band: 128 bytes.
    const BAND: u32 = 128 / O::Output::BYTES as u32;
    /// The box of one store, contiguous extent first.
    pub const BOX: [u32; 2] = [Self::BAND, 64];
    const BUFFER_BYTES: u32 = 64 * 128;
    /// Shared memory of one warpgroup, at a multiple of 1,024.
    pub const SHARED_BYTES: u32 = 2 * Self::BUFFER_BYTES;

    /// Stores the tile whose accumulators are `d` (as [`WarpgroupMma`](crate::warp::WarpgroupMma) lays them out).
    ///
    /// # Safety
    /// Every thread of the warpgroup reaches the same call; `buffers` is theirs alone, and `barrier` a named barrier of theirs.
    #[inline(always)]
    pub unsafe fn run(d: &[[f32; 4]], to: Destination<'_, O>, buffers: SharedPtr, barrier: u32) {
        const { assert!(O::Output::BYTES == 2, "stmatrix writes 16-bit elements") };
        let thread = thread::thread_idx_x() % 128;
        let (warp, lane) = (thread / 32, thread % 32);
        // The row of a 16 × 16 block that this lane addresses, and which of its two vectors.
        let row = warp * 16 + lane % 16;
        let vector = lane / 16;
        let needs_source = O::needs_source(to.op);
        for band in 0..d.len() as u32 * 8 / Self::BAND {
            let buffer = buffers.add(band % 2 * Self::BUFFER_BYTES);
            // SAFETY: the barriers are the warpgroup's; the buffer is free once the store before the last has read it.
            unsafe {
                if thread == 0 {
                    tma::wait_group_read::<1>();
                }
                sync_named(barrier, 128);
                for block in 0..Self::BAND / 16 {
                    let first = band * Self::BAND + block * 16;
                    let [left, right] = [d[first as usize / 8], d[first as usize / 8 + 1]];
                    let registers = if needs_source {
                        let at = [to.origin[0] + warp * 16 + lane / 4, to.origin[1] + first + lane % 4 * 2];
                        let source = |down, across| Some(Self::source(&to, [at[0] + down, at[1] + across]));
                        [
                            Self::pair(to.op, left[0], left[1], source(0, 0), source(0, 1)),
                            Self::pair(to.op, left[2], left[3], source(8, 0), source(8, 1)),
                            Self::pair(to.op, right[0], right[1], source(0, 8), source(0, 9)),
                            Self::pair(to.op, right[2], right[3], source(8, 8), source(8, 9)),
                        ]
                    } else {
                        [
                            Self::pair(to.op, left[0], left[1], None, None),
                            Self::pair(to.op, left[2], left[3], None, None),
                            Self::pair(to.op, right[0], right[1], None, None),
                            Self::pair(to.op, right[2], right[3], None, None),
                        ]
                    };
                    stmatrix_x4(buffer.add(row * 128 + ((block * 2 + vector) ^ (row % 8)) * 16), registers);
                }
                tma::fence_async_shared();
                sync_named(barrier, 128);
                if thread == 0 {
                    tma::store_2d(to.map, buffer, to.origin[1] + band * Self::BAND, to.origin[0]);
                    tma::commit_group();
                }
            }
        }
    }

    /// Waits until every store of this warpgroup is done.
    #[inline(always)]
    pub fn finish() {
        tma::wait_group::<0>();
    }

    #[inline(always)]
    fn pair(op: &O::Params, low: f32, high: f32, c_low: Option<O::Output>, c_high: Option<O::Output>) -> u32 {
        O::apply(op, low, c_low).to_low_bits() | O::apply(op, high, c_high).to_low_bits() << 16
    }

    /// C at `at`, or anything outside.
    #[inline(always)]
    unsafe fn source(to: &Destination<'_, O>, at: [u32; 2]) -> O::Output {
        let inside = at[0] < to.extents[0] && at[1] < to.extents[1];
        let offset = to.source.leading_dimension.wrapping_mul(at[0].into()).wrapping_add(at[1].into()).wrapping_mul(2);
        // SAFETY: inside C.
        unsafe { O::Output::from_low_bits(global::load::<2>(to.source.address.wrapping_add_signed(offset), inside)[0]) }
    }
}
