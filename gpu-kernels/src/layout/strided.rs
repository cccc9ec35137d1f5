//! Layouts as values: shape and stride.

/// A map from coordinates `c` with `0 ≤ c_i < shape_i` to offsets: `offset(c) = Σ c_i · stride_i`.
///
/// Coordinates are also counted by one index, first dimension fastest (column-major counting, as in
/// CuTe): `index = c_0 + shape_0·(c_1 + shape_1·(…))`. Extents are in elements, strides in
/// elements and possibly 0 (broadcast) or negative (reversal).
///
/// ```
/// use falchion_device::layout::Layout;
/// let a = Layout::row_major(4, 6);          // a 4 × 6 matrix, rows contiguous
/// assert_eq!(a.offset([1, 1]), 7);
/// let b = a.slice([0, 2], [4, 3]);          // columns 2, 3 and 4: no copy, an origin and a layout
/// assert_eq!(b.0 + b.1.offset([1, 1]), 9);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<const R: usize> {
    /// Extent of each dimension.
    pub shape: [u32; R],
    /// Distance between neighbours in each dimension.
    pub stride: [i64; R],
}

impl<const R: usize> Layout<R> {
    /// The layout with these extents and distances.
    #[must_use]
    pub const fn new(shape: [u32; R], stride: [i64; R]) -> Self {
        Self { shape, stride }
    }

    /// The compact layout whose first dimension is contiguous: `offset = index`.
    #[must_use]
    pub const fn compact(shape: [u32; R]) -> Self {
        let mut stride = [1; R];
        let mut i = 1;
        while i < R {
            stride[i] = stride[i - 1] * shape[i - 1] as i64;
            i += 1;
        }
        Self { shape, stride }
    }

    /// Number of coordinates: Π shape_i.
    #[must_use]
    pub const fn size(&self) -> u64 {
        let mut size = 1;
        let mut i = 0;
        while i < R {
            size *= self.shape[i] as u64;
            i += 1;
        }
        size
    }

    /// Σ c_i · stride_i.
    #[inline(always)]
    #[must_use]
    pub const fn offset(&self, coordinate: [u32; R]) -> i64 {
        let mut offset = 0;
        let mut i = 0;
        while i < R {
            offset += coordinate[i] as i64 * self.stride[i];
            i += 1;
        }
        offset
    }

    /// The coordinate counted by `index` (first dimension fastest); the inverse of [`index`](Self::index)
    /// for `index < size`.
    ///
    /// # Panics
    /// When a dimension is empty.
    #[must_use]
    pub const fn coordinate(&self, mut index: u64) -> [u32; R] {
        let mut coordinate = [0; R];
        let mut i = 0;
        while i < R {
            coordinate[i] = (index % self.shape[i] as u64) as u32;
            index /= self.shape[i] as u64;
            i += 1;
        }
        coordinate
    }

    /// The count of `coordinate`, first dimension fastest.
    #[must_use]
    pub const fn index(&self, coordinate: [u32; R]) -> u64 {
        let mut index = 0;
        let mut i = R;
        while i > 0 {
            i -= 1;
            index = index * self.shape[i] as u64 + coordinate[i] as u64;
        }
        index
    }

    /// The smallest and the largest offset of any coordinate; `None` when there is no coordinate.
    #[must_use]
    pub const fn bounds(&self) -> Option<(i64, i64)> {
        if self.size() == 0 {
            return None;
        }
        let (mut low, mut high) = (0, 0);
        let mut i = 0;
        while i < R {
            let span = (self.shape[i] as i64 - 1) * self.stride[i];
            if span < 0 {
                low += span;
            } else {
                high += span;
            }
            i += 1;
        }
        Some((low, high))
    }

    /// The sub-box that starts at `origin` with `shape`: the offset of its first element and its
    /// layout; `self.offset(origin + c) = o + sub.offset(c)`.
    #[must_use]
    pub const fn slice(&self, origin: [u32; R], shape: [u32; R]) -> (i64, Self) {
        (self.offset(origin), Self { shape, stride: self.stride })
    }

    /// The layout of the origins of `tile`-sized boxes, the last ones possibly partial:
    /// `shape_i = ⌈shape_i / tile_i⌉`, `stride_i · tile_i`. For every coordinate
    /// `c = t·tile + r` with `0 ≤ r < tile`: `offset(c) = tiles.offset(t) + offset(r)`.
    #[must_use]
    pub const fn tiles(&self, tile: [u32; R]) -> Self {
        let mut tiles = *self;
        let mut i = 0;
        while i < R {
            tiles.shape[i] = self.shape[i].div_ceil(tile[i]);
            tiles.stride[i] = self.stride[i] * tile[i] as i64;
            i += 1;
        }
        tiles
    }

    /// Whether no two coordinates share an offset, decided on sorted strides: each dimension must
    /// step over the whole span of those below it. Sufficient, and necessary for the layouts of
    /// dense and padded tensors.
    #[must_use]
    pub fn is_injective(&self) -> bool {
        let mut order = [0; R];
        for (i, slot) in order.iter_mut().enumerate() {
            *slot = i;
        }
        order.sort_unstable_by_key(|&i| self.stride[i].unsigned_abs());
        let mut span = 0u64;
        for &i in &order {
            if self.shape[i] > 1 {
                let stride = self.stride[i].unsigned_abs();
                if stride <= span {
                    return false;
                }
                span += stride * (u64::from(self.shape[i]) - 1);
            }
        }
        true
    }
}

impl Layout<2> {
    /// The compact layout of a `rows` × `columns` matrix with contiguous rows.
    #[must_use]
    pub const fn row_major(rows: u32, columns: u32) -> Self {
        Self { shape: [rows, columns], stride: [columns as i64, 1] }
    }

    /// The compact layout of a `rows` × `columns` matrix with contiguous columns.
    #[must_use]
    pub const fn column_major(rows: u32, columns: u32) -> Self {
        Self::compact([rows, columns])
    }

    /// The same elements with rows and columns exchanged: `Aᵀ.offset(i, j) = A.offset(j, i)`.
    #[must_use]
    pub const fn transposed(&self) -> Self {
        Self { shape: [self.shape[1], self.shape[0]], stride: [self.stride[1], self.stride[0]] }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::Layout;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn layouts() -> impl Strategy<Value = Layout<3>> {
        ([1u32..6, 1..6, 1..6], [-40i64..40, -40..40, -40..40]).prop_map(|(shape, stride)| Layout::new(shape, stride))
    }

    fn offsets(layout: &Layout<3>) -> std::vec::Vec<i64> {
        (0..layout.size()).map(|i| layout.offset(layout.coordinate(i))).collect()
    }

    proptest! {
        #[test]
        fn index_and_coordinate_are_inverse(layout in layouts()) {
            for i in 0..layout.size() {
                prop_assert_eq!(layout.index(layout.coordinate(i)), i);
            }
        }

        #[test]
        fn a_compact_layout_counts(shape in [1u32..6, 1..6, 1..6]) {
            let layout = Layout::compact(shape);
            for i in 0..layout.size() {
                prop_assert_eq!(layout.offset(layout.coordinate(i)), i as i64);
            }
        }

        #[test]
        fn bounds_are_the_extreme_offsets(layout in layouts()) {
            let all = offsets(&layout);
            prop_assert_eq!(layout.bounds(), Some((*all.iter().min().unwrap(), *all.iter().max().unwrap())));
        }

        #[test]
        fn what_is_called_injective_is(layout in layouts()) {
            let all = offsets(&layout);
            let distinct = all.iter().collect::<HashSet<_>>().len() == all.len();
            prop_assert!(!layout.is_injective() || distinct);
        }

        #[test]
        fn padded_matrices_are_injective(rows in 1u32..9, columns in 1u32..9, padding in 0i64..5) {
            let layout = Layout::new([rows, columns], [i64::from(columns) + padding, 1]);
            prop_assert!(layout.is_injective());
            prop_assert!(layout.transposed().is_injective());
        }

        #[test]
        fn tiles_split_an_offset(layout in layouts(), tile in [1u32..4, 1..4, 1..4]) {
            let tiles = layout.tiles(tile);
            for i in 0..layout.size() {
                let c = layout.coordinate(i);
                let (mut t, mut r) = ([0; 3], [0; 3]);
                for d in 0..3 {
                    (t[d], r[d]) = (c[d] / tile[d], c[d] % tile[d]);
                    prop_assert!(t[d] < tiles.shape[d]);
                }
                prop_assert_eq!(layout.offset(c), tiles.offset(t) + layout.offset(r));
            }
        }
    }

    #[test]
    fn an_empty_layout_has_no_bounds() {
        assert_eq!(Layout::new([3, 0], [1, 1]).bounds(), None);
    }
}
