//! Which lane holds what: the fragment maps, as plain arithmetic.

/// Which entry of a warp's D each accumulator holds, and the order in which the epilogue takes
/// them out: in [`STEPS`](Self::STEPS) exchanges of [`STEP_ROWS`](Self::STEP_ROWS) whole rows.
pub trait AccumulatorMap: 'static {
    /// Rows of D.
    const M: u32;
    /// Columns of D.
    const N: u32;
    /// Exchanges that empty the accumulators.
    const STEPS: u32;
    /// Rows of D in one exchange.
    const STEP_ROWS: u32;
    /// Floats of padding after an exchange row that keep its stores free of bank conflicts when the
    /// row is a multiple of 32 floats.
    const STEP_PADDING: u32;

    /// The row of D that is row `row` of exchange `step`.
    fn row(step: u32, row: u32) -> u32;
}

/// D of `mma.m16n8k16`: blocks of 16 × 16 (two instructions side by side), `M16` by `N16` of them.
#[derive(Debug)]
pub struct TensorOpMap<const M16: usize, const N16: usize>;

impl<const M16: usize, const N16: usize> TensorOpMap<M16, N16> {
    /// (row, column) in its 16 × 8 block of accumulator pair `half` (0 or 1) of lane `lane`; the pair is
    /// this column and the next.
    #[inline(always)]
    #[must_use]
    pub const fn pair(lane: u32, half: u32) -> (u32, u32) {
        (lane / 4 + 8 * half, lane % 4 * 2)
    }
}

impl<const M16: usize, const N16: usize> AccumulatorMap for TensorOpMap<M16, N16> {
    const M: u32 = 16 * M16 as u32;
    const N: u32 = 16 * N16 as u32;
    const STEPS: u32 = M16 as u32;
    const STEP_ROWS: u32 = 16;
    // A half-warp stores 8-byte pairs of four rows: 8 floats more a row put them 8 banks apart.
    const STEP_PADDING: u32 = 8;

    #[inline(always)]
    fn row(step: u32, row: u32) -> u32 {
        step * 16 + row
    }
}

/// D of the CUDA cores: 8 × 4 lanes, each with blocks of 4 × 4, `M4` by `N4` of them, block (i, j) of
/// lane (p, q) at row 32·i + 4·p and column 16·j + 4·q.
#[derive(Debug)]
pub struct SimtMap<const M4: usize, const N4: usize>;

impl<const M4: usize, const N4: usize> SimtMap<M4, N4> {
    /// First row of lane `lane` in a block row of 32.
    #[inline(always)]
    #[must_use]
    pub const fn row_of(lane: u32) -> u32 {
        lane / 4 * 4
    }

    /// First column of lane `lane` in a block column of 16.
    #[inline(always)]
    #[must_use]
    pub const fn column_of(lane: u32) -> u32 {
        lane % 4 * 4
    }
}

impl<const M4: usize, const N4: usize> AccumulatorMap for SimtMap<M4, N4> {
    const M: u32 = 32 * M4 as u32;
    const N: u32 = 16 * N4 as u32;
    const STEPS: u32 = 4 * M4 as u32;
    const STEP_ROWS: u32 = 8;
    // A quarter-warp stores 16-byte vectors of two rows: 16 floats more a row put them 16 banks apart.
    const STEP_PADDING: u32 = 16;

    #[inline(always)]
    fn row(step: u32, row: u32) -> u32 {
        step / 4 * 32 + row * 4 + step % 4
    }
}

/// Which row of a 16 × 16 block each lane addresses for `ldmatrix.x4`.
///
/// The four 8 × 8 matrices of a block are numbered as the instruction wants its registers: for A
/// the second matrix is the next along M, for B the next along K. A matrix row is a vector along
/// the contiguous dimension.
#[derive(Debug)]
pub struct LdmatrixMap;

impl LdmatrixMap {
    /// (mn, k) of the first element of the row that lane `lane` addresses. `second_along_k` tells B
    /// from A; `k_major` says which dimension is contiguous.
    #[inline(always)]
    #[must_use]
    pub const fn row(lane: u32, second_along_k: bool, k_major: bool) -> (u32, u32) {
        let (row, matrix) = (lane % 8, lane / 8);
        let (mn8, k8) = if second_along_k { (matrix / 2, matrix % 2) } else { (matrix % 2, matrix / 2) };
        if k_major { (mn8 * 8 + row, k8 * 8) } else { (mn8 * 8, k8 * 8 + row) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchanges_every_row_once<M: AccumulatorMap>() {
        let mut seen = [0u32; 256];
        for step in 0..M::STEPS {
            for row in 0..M::STEP_ROWS {
                seen[M::row(step, row) as usize] += 1;
            }
        }
        assert!(seen[..M::M as usize].iter().all(|&n| n == 1));
        assert_eq!(M::STEPS * M::STEP_ROWS, M::M);
    }

    #[test]
    fn an_exchange_takes_every_row_once() {
        exchanges_every_row_once::<TensorOpMap<4, 4>>();
        exchanges_every_row_once::<TensorOpMap<2, 4>>();
        exchanges_every_row_once::<SimtMap<2, 2>>();
        exchanges_every_row_once::<SimtMap<1, 2>>();
    }

    /// The PTX tables of m16n8k16: element i of A, B and C of lane l (PTX ISA, "Matrix Fragments for mma.m16n8k16").
    fn ptx_a(lane: u32, i: u32) -> (u32, u32) {
        let (group, thread) = (lane / 4, lane % 4);
        let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
        let column = thread * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
        (row, column)
    }
    fn ptx_b(lane: u32, i: u32) -> (u32, u32) {
        (lane % 4 * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, lane / 4)
    }
    fn ptx_c(lane: u32, i: u32) -> (u32, u32) {
        (if i < 2 { lane / 4 } else { lane / 4 + 8 }, lane % 4 * 2 + (i & 1))
    }

    /// (mn, k) of element `half` of register `matrix` of lane `lane` after `ldmatrix.x4`, transposed when not K-major.
    fn loaded(lane: u32, matrix: u32, half: u32, second_along_k: bool, k_major: bool) -> (u32, u32) {
        let (row, column) = if k_major { (lane / 4, lane % 4 * 2 + half) } else { (lane % 4 * 2 + half, lane / 4) };
        let (mn, k) = LdmatrixMap::row(matrix * 8 + row, second_along_k, k_major);
        if k_major { (mn, k + column) } else { (mn + column, k) }
    }

    #[test]
    fn ldmatrix_gives_the_fragments_of_the_ptx_tables() {
        for lane in 0..32 {
            for i in 0..8 {
                for k_major in [true, false] {
                    assert_eq!(
                        loaded(lane, i / 2, i % 2, false, k_major),
                        ptx_a(lane, i),
                        "A, lane {lane}, element {i}"
                    );
                    // Registers 2h and 2h + 1 are B of columns 8h … 8h + 7.
                    let (k, n) = ptx_b(lane, i % 4);
                    assert_eq!(
                        loaded(lane, i / 2, i % 2, true, k_major),
                        (n + i / 4 * 8, k),
                        "B, lane {lane}, element {i}"
                    );
                }
            }
            for i in 0..4 {
                let (row, column) = TensorOpMap::<1, 1>::pair(lane, i / 2);
                assert_eq!((row, column + i % 2), ptx_c(lane, i));
            }
        }
    }

    #[test]
    fn simt_lanes_partition_a_block() {
        let mut seen = [[0; 16]; 32];
        for lane in 0..32 {
            for i in 0..4 {
                for j in 0..4 {
                    seen[(SimtMap::<1, 1>::row_of(lane) + i) as usize]
                        [(SimtMap::<1, 1>::column_of(lane) + j) as usize] += 1;
                }
            }
        }
        assert!(seen.iter().flatten().all(|&n| n == 1));
    }
}
