//! Whether two matrices share memory.

use super::OperandLayout;

/// The bytes of a matrix: `runs` contiguous pieces of `run_bytes`, `stride` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) address: u64,
    runs: i128,
    run_bytes: i128,
    stride: i128,
}

impl Region {
    pub(super) fn new(address: u64, layout: &OperandLayout, element_bytes: usize) -> Self {
        let bytes = element_bytes as i128;
        let (runs, run_bytes) = (i128::from(layout.runs()), i128::from(layout.contiguous()) * bytes);
        // The stride of a single run means nothing; one value for it makes equal memory equal regions.
        let stride = if runs > 1 { i128::from(layout.leading_dimension) * bytes } else { run_bytes };
        Self { address, runs, run_bytes, stride }
    }

    fn is_empty(&self) -> bool {
        self.runs == 0 || self.run_bytes == 0
    }

    /// Bytes from the first to the last.
    pub(super) fn extent(&self) -> i128 {
        if self.is_empty() { 0 } else { (self.runs - 1) * self.stride + self.run_bytes }
    }

    /// Whether the two share a byte; exact.
    pub(super) fn intersects(&self, other: &Self) -> bool {
        if self.is_empty() || other.is_empty() {
            return false;
        }
        let distance = i128::from(other.address) - i128::from(self.address);
        if distance >= self.extent() || -distance >= other.extent() {
            return false;
        }
        if self.stride == other.stride {
            // Run j of `other` starts distance + (j − i)·stride after run i of `self`. They meet when that lies
            // in (−other.run_bytes, self.run_bytes); the smallest shift above the lower end decides, unless
            // there is no pair of runs so far apart.
            let shift = (-other.run_bytes - distance).div_euclid(self.stride) + 1;
            let shift = shift.max(1 - self.runs);
            return shift < other.runs && distance + shift * self.stride < self.run_bytes;
        }
        let (few, many, distance) =
            if self.runs <= other.runs { (self, other, distance) } else { (other, self, -distance) };
        (0..few.runs).any(|run| many.meets(run * few.stride - distance, few.run_bytes))
    }

    /// Whether a run of this region meets the bytes `start .. start + bytes`, relative to its address.
    fn meets(&self, start: i128, bytes: i128) -> bool {
        // The first run that ends beyond `start`.
        let run = ((start - self.run_bytes).div_euclid(self.stride) + 1).max(0);
        run < self.runs && run * self.stride < start + bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn bytes_of(region: &Region) -> HashSet<i128> {
        let base = i128::from(region.address);
        (0..region.runs)
            .flat_map(|run| (0..region.run_bytes).map(move |byte| base + run * region.stride + byte))
            .collect()
    }

    fn regions() -> impl Strategy<Value = Region> {
        let order = prop_oneof![Just(Order::RowMajor), Just(Order::ColumnMajor)];
        (0u64..60, 0u32..6, 0u32..6, 0u64..7, order, prop_oneof![Just(2usize), Just(4)]).prop_map(
            |(address, rows, columns, gap, order, bytes)| {
                let mut layout = OperandLayout { rows, columns, order, leading_dimension: 0 };
                layout.leading_dimension = u64::from(layout.contiguous()) + gap;
                Region::new(1000 + address, &layout, bytes)
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn regions_intersect_exactly_when_they_share_a_byte(x in regions(), y in regions()) {
            let shared = !bytes_of(&x).is_disjoint(&bytes_of(&y));
            prop_assert_eq!(x.intersects(&y), shared);
            prop_assert_eq!(y.intersects(&x), shared);
        }

        #[test]
        fn equal_strides_are_decided_exactly(
            x in regions(), address in 0u64..60, runs in 1i128..6, run_bytes in 1i128..20,
        ) {
            prop_assume!(x.stride > 0);
            let y = Region { address: 1000 + address, runs, run_bytes: run_bytes.min(x.stride), stride: x.stride };
            prop_assert_eq!(x.intersects(&y), !bytes_of(&x).is_disjoint(&bytes_of(&y)));
        }
    }

    #[test]
    fn neighbouring_column_blocks_of_one_matrix_do_not_intersect() {
        let block = |address, columns| {
            let layout = OperandLayout { rows: 1 << 30, columns, order: Order::RowMajor, leading_dimension: 64 };
            Region::new(address, &layout, 2)
        };
        assert!(!block(4096, 32).intersects(&block(4096 + 64, 32)));
        assert!(block(4096, 33).intersects(&block(4096 + 64, 32)));
        assert!(block(4096, 32).intersects(&block(4096 + 128 * 1000, 1)));
    }
}
