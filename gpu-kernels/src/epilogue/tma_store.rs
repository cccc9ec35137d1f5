//! The epilogue of a warpgroup through the copy engine. sm_90.

use super::OutputOp;
use crate::arch::matrix::{ldmatrix_x4, stmatrix_x4};
use crate::arch::shared::SharedPtr;
use crate::arch::sync::sync_named;
use crate::arch::{mbarrier, thread, tma};
use crate::numeric::{Element, HalfElement};

/// D ← op(accumulators, C) by way of a buffer that holds the warpgroup's whole tile, in swizzled bands of 64 columns: C is
/// brought into it while the tile is multiplied, `ldmatrix` gives it in the layout of the accumulators, `stmatrix` puts the
/// outputs in its place, and the copy engine stores them while the next tile is multiplied. Entries outside D are dropped by
/// the engine, and C is zero there.
pub struct TmaStore<O: OutputOp> {
    op: O::Params,
    /// Addresses of the tensor maps of C and D: boxes of [`BOX`](Self::BOX), swizzled by 128 bytes.
    map_c: u64,
    map_d: u64,
    buffer: SharedPtr,
    /// Counts the bytes of C.
    arrived: SharedPtr,
    parity: u32,
    /// The named barrier of the warpgroup.
    barrier: u32,
}

impl<O: OutputOp<Output: HalfElement>> TmaStore<O> {
    /// Columns of a band: 128 bytes.
    const BAND: u32 = 64;
    /// The box of one copy, contiguous extent first.
    pub const BOX: [u32; 2] = [Self::BAND, 64];
    const BAND_BYTES: u32 = 64 * 128;
    /// Shared memory that the barrier of one warpgroup takes.
    pub const BARRIER_BYTES: u32 = 8;

    /// Shared memory of one warpgroup whose tile has `rows` rows and `columns` columns, at a multiple of 1,024.
    #[must_use]
    pub const fn buffer_bytes(rows: u32, columns: u32) -> u32 {
        rows / 64 * (columns / Self::BAND) * Self::BAND_BYTES
    }

    /// Where box `index` of a tile of `columns` columns at `origin` (row, column) lies: its address in the buffer, and x and y.
    #[inline(always)]
    fn place(&self, index: u32, columns: u32, origin: [u32; 2]) -> (SharedPtr, u32, u32) {
        let bands = columns / Self::BAND;
        let (x, y) = (origin[1] + index % bands * Self::BAND, origin[0] + index / bands * 64);
        (self.buffer.add(index * Self::BAND_BYTES), x, y)
    }

    /// Initialises the barrier at `arrived`.
    ///
    /// # Safety
    /// As [`TmaPipeline::initialise`](crate::threadblock::TmaPipeline::initialise).
    #[inline(always)]
    pub unsafe fn initialise(arrived: SharedPtr) {
        // SAFETY: the caller is the only thread at it.
        unsafe { mbarrier::init(arrived, 1) }
    }

    /// The epilogue of a warpgroup that owns `buffer`, the initialised barrier at `arrived`, and named barrier `barrier`.
    #[inline(always)]
    #[must_use]
    pub fn new(op: O::Params, [map_c, map_d]: [u64; 2], buffer: SharedPtr, arrived: SharedPtr, barrier: u32) -> Self {
        Self { op, map_c, map_d, buffer, arrived, parity: 0, barrier }
    }

    /// Before the tile at `origin` (row, column) of `shape` (rows, columns) is multiplied: takes the buffer back from the engine, and has
    /// it bring C.
    ///
    /// # Safety
    /// Every thread of the warpgroup reaches the same call; the maps describe C and D.
    #[inline(always)]
    pub unsafe fn begin(&self, origin: [u32; 2], [rows, columns]: [u32; 2]) {
        if thread::thread_idx_x() % 128 != 0 {
            return;
        }
        tma::wait_group_read::<0>();
        if O::needs_source(&self.op) {
            // SAFETY: the engine has read the last tile, and nobody else uses the buffer before C has arrived.
            unsafe {
                let bytes = Self::buffer_bytes(rows, columns);
                mbarrier::arrive_expect_tx(self.arrived, bytes);
                for index in 0..bytes / Self::BAND_BYTES {
                    let (to, x, y) = self.place(index, columns, origin);
                    tma::load_2d(to, self.map_c, self.arrived, x, y);
                }
            }
        }
    }

    /// Stores the tile at `origin` whose accumulators are `d` (as [`WarpgroupMma`](crate::warp::WarpgroupMma) lays them out).
    ///
    /// # Safety
    /// Every thread of the warpgroup reaches the same call, after [`begin`](Self::begin) with the same tile.
    #[inline(always)]
    pub unsafe fn finish<B: AsRef<[[f32; 4]]>>(&mut self, d: &[B], origin: [u32; 2]) {
        let op = &self.op;
        let columns = d[0].as_ref().len() as u32 * 8;
        // SAFETY: the buffer is the warpgroup's, and free of what the engine read or brought.
        unsafe {
            if O::needs_source(op) {
                mbarrier::wait_parity(self.arrived, self.parity);
                self.parity ^= 1;
                self.fill(d, |accumulators, row| {
                    let source = ldmatrix_x4(row);
                    let half = |word: u32, shift| Some(O::Output::from_low_bits(word >> shift).to_f32());
                    core::array::from_fn(|pair| {
                        let low = O::apply(op, accumulators[2 * pair], half(source[pair], 0));
                        O::Output::pack(low, O::apply(op, accumulators[2 * pair + 1], half(source[pair], 16)))
                    })
                });
            } else {
                // Thread 0 has waited for the engine; the others wait for thread 0.
                sync_named(self.barrier, 128);
                self.fill(d, |accumulators, _| {
                    core::array::from_fn(|pair| {
                        let low = O::apply(op, accumulators[2 * pair], None);
                        O::Output::pack(low, O::apply(op, accumulators[2 * pair + 1], None))
                    })
                });
            }
            tma::fence_async_shared();
            sync_named(self.barrier, 128);
            if thread::thread_idx_x() % 128 == 0 {
                for index in 0..Self::buffer_bytes(d.len() as u32 * 64, columns) / Self::BAND_BYTES {
                    let (from, x, y) = self.place(index, columns, origin);
                    tma::store_2d(self.map_d, from, x, y);
                }
                tma::commit_group();
            }
        }
    }

    /// Waits until the engine has read everything, after which the block may end.
    #[inline(always)]
    pub fn end(self) {
        if thread::thread_idx_x() % 128 == 0 {
            tma::wait_group_read::<0>();
        }
    }

    /// Fills the buffer in blocks of 16 × 16. `outputs` gives the four registers of `stmatrix` from the block's eight
    /// accumulators and the address that this lane gives.
    #[inline(always)]
    unsafe fn fill<B: AsRef<[[f32; 4]]>>(&self, d: &[B], outputs: impl Fn([f32; 8], SharedPtr) -> [u32; 4]) {
        let thread = thread::thread_idx_x() % 128;
        // The row of a block that this lane addresses, and which of its two vectors.
        let row = thread / 32 * 16 + thread % 16;
        let vector = thread % 32 / 16;
        for (rows, d) in d.iter().map(AsRef::as_ref).enumerate() {
            for block in 0..d.len() / 2 {
                let column = block as u32 * 16;
                let bands = d.len() as u32 * 8 / Self::BAND;
                let band = self.buffer.add((rows as u32 * bands + column / Self::BAND) * Self::BAND_BYTES);
                let swizzled = (column % Self::BAND / 8 + vector) ^ (row % 8);
                let at = band.add(row * 128 + swizzled * 16);
                let [left, right] = [d[2 * block], d[2 * block + 1]];
                let accumulators = [left[0], left[1], left[2], left[3], right[0], right[1], right[2], right[3]];
                // SAFETY: the buffer is the warpgroup's.
                unsafe { stmatrix_x4(at, outputs(accumulators, at)) };
            }
        }
    }
}
