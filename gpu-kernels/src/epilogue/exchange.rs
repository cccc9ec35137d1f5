//! The epilogue through shared memory.

use super::{Epilogue, OutputOp};
use crate::arch::shared::{SharedPtr, load_f32, load_f32x4};
use crate::arch::sync::sync_threads;
use crate::arch::{global, thread};
use crate::kernel::{GemmConfig, GemmParams};
use crate::numeric::Element;
use crate::schedule::TileCoordinate;
use crate::threadblock::ThreadPosition;
use crate::warp::{AccumulatorMap, WarpMma};

type Map<C> = <<C as GemmConfig>::Mma as WarpMma>::Map;

/// Accumulators lie scattered over the lanes of a warp; D wants whole rows in 128-bit vectors. In
/// each of several steps every warp writes some rows of its accumulators to shared memory, and then
/// all threads read them along the rows, read C, apply the output op and store D.
#[derive(Debug)]
pub struct SharedExchange;

impl SharedExchange {
    const fn geometry<C: GemmConfig>() -> Geometry {
        let vector = 16 / <C::OutputOp as OutputOp>::Output::BYTES as u32;
        let rows = Map::<C>::STEP_ROWS * C::WARPS[0];
        let row_threads = C::TILE_N / vector;
        assert!(C::TILE_N.is_multiple_of(vector), "a tile row must be whole output vectors");
        assert!(C::THREADS.is_multiple_of(row_threads), "threads must cover whole rows of the output tile");
        assert!(
            (rows * row_threads).is_multiple_of(C::THREADS),
            "every thread must have the same number of output vectors"
        );
        Geometry {
            vector,
            rows,
            row_threads,
            rows_per_pass: C::THREADS / row_threads,
            pitch: (C::TILE_N + Map::<C>::STEP_PADDING) * 4,
        }
    }
}

/// How the threads of a block divide the rows of one exchange step.
struct Geometry {
    /// Elements of D in 128 bits.
    vector: u32,
    /// Rows exchanged in one step, of all warps.
    rows: u32,
    /// Threads that share a row.
    row_threads: u32,
    /// Rows that all threads store together.
    rows_per_pass: u32,
    /// Bytes between rows in shared memory.
    pitch: u32,
}

impl<C: GemmConfig> Epilogue<C> for SharedExchange {
    const SHARED_BYTES: u32 = Self::geometry::<C>().rows * Self::geometry::<C>().pitch;

    #[inline(always)]
    unsafe fn run(
        params: &GemmParams<<C::OutputOp as OutputOp>::Params>,
        accumulators: &<C::Mma as WarpMma>::Accumulators,
        tile: TileCoordinate,
        shared: SharedPtr,
        position: ThreadPosition,
    ) {
        let geometry = const { Self::geometry::<C>() };
        let step_rows = Map::<C>::STEP_ROWS;
        let of_warp = shared.add(position.warp_m * step_rows * geometry.pitch + position.warp_n * C::Mma::N * 4);
        let column_in_tile = position.thread % geometry.row_threads * geometry.vector;
        let column = tile.n * C::TILE_N + column_in_tile;
        let first_row = position.thread / geometry.row_threads;
        for step in 0..Map::<C>::STEPS {
            // SAFETY: each warp writes its own rows; barriers separate writing from reading.
            unsafe {
                if step > 0 {
                    sync_threads();
                }
                C::Mma::exchange(accumulators, step, position.lane, of_warp, geometry.pitch);
                sync_threads();
                for pass in 0..geometry.rows / geometry.rows_per_pass {
                    let exchanged = pass * geometry.rows_per_pass + first_row;
                    let row_in_warp = Map::<C>::row(step, exchanged % step_rows);
                    let row = tile.m * C::TILE_M + exchanged / step_rows * C::Mma::M + row_in_warp;
                    let from = shared.add(exchanged * geometry.pitch + column_in_tile * 4);
                    store_vector::<C::OutputOp>(params, row, column, from);
                }
            }
        }
    }
}

/// Stores up to one vector of D at (`row`, `column`), from the f32 accumulators at `from`.
///
/// # Safety
/// `from` holds a vector of accumulators; D, and C where it is needed, are accessible within the problem's extents.
#[inline(always)]
unsafe fn store_vector<O: OutputOp>(params: &GemmParams<O::Params>, row: u32, column: u32, from: SharedPtr) {
    let vector = const { 16 / O::Output::BYTES as u32 };
    if row >= params.shape.m || column >= params.shape.n {
        return;
    }
    let bytes = O::Output::BYTES as u64;
    let offset = |leading_dimension: i64| {
        (leading_dimension.wrapping_mul(row.into()) as u64).wrapping_add(column.into()).wrapping_mul(bytes)
    };
    let d = params.d.address.wrapping_add(offset(params.d.leading_dimension));
    let c = params.c.address.wrapping_add(offset(params.c.leading_dimension));
    let needs_source = O::needs_source(&params.op);
    // SAFETY: (row, column) lies in D; a whole vector does because the host allows vectors only when n is
    // a multiple of them.
    unsafe {
        if params.output_alignment == vector {
            // Without source nothing is loaded, and the op is told so.
            let source = global::load::<16>(c, needs_source);
            let mut words = [0u32; 4];
            let quads = load_quads(from, vector / 4);
            let apply = |at: usize| {
                let c = needs_source.then(|| element::<O::Output>(&source, at).to_f32());
                O::apply(&params.op, quads[at / 4][at % 4], c)
            };
            for (word, bits) in words.iter_mut().enumerate() {
                let round = |at| O::Output::from_f32(apply(at)).to_low_bits();
                *bits = if bytes == 2 { round(2 * word) | round(2 * word + 1) << 16 } else { round(word) };
            }
            global::store::<16>(d, words);
        } else {
            // Rarely taken and outside the main loop: kept a loop.
            let count = thread::opaque(vector.min(params.shape.n - column));
            for i in 0..count {
                let accumulator = load_f32(from.add(i * 4));
                let step = u64::from(i) * bytes;
                let (c, d) = (c.wrapping_add(step), d.wrapping_add(step));
                let source =
                    if bytes == 2 { global::load::<2>(c, needs_source) } else { global::load::<4>(c, needs_source) };
                let c = needs_source.then(|| element::<O::Output>(&source, 0).to_f32());
                let result = [O::Output::from_f32(O::apply(&params.op, accumulator, c)).to_low_bits(), 0, 0, 0];
                if bytes == 2 {
                    global::store::<2>(d, result);
                } else {
                    global::store::<4>(d, result);
                }
            }
        }
    }
}

/// The first `count` quads of accumulators at `from`, at most two.
///
/// Lanes whose vectors are two quads lie 32 bytes apart, so eight of them would use every other bank
/// twice; half of them read their second quad first.
///
/// # Safety
/// The quads are initialised and not written meanwhile.
#[inline(always)]
unsafe fn load_quads(from: SharedPtr, count: u32) -> [[f32; 4]; 2] {
    // SAFETY: the caller vouches for the quads.
    unsafe {
        if count == 1 {
            return [load_f32x4(from), [0.0; 4]];
        }
        let second_first = thread::lane_id() / 4 % 2 == 1;
        let order = if second_first { [16, 0] } else { [0, 16] };
        let [a, b] = order.map(|at| load_f32x4(from.add(at)));
        if second_first { [b, a] } else { [a, b] }
    }
}

/// Element `index` of a vector of `T`.
#[inline(always)]
fn element<T: Element>(words: &[u32; 4], index: usize) -> T {
    let word = words[index * T::BYTES / 4] >> (index * T::BYTES % 4 * 8);
    T::from_low_bits(word)
}
