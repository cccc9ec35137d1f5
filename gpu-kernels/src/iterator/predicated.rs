//! The tile iterator of a plain matrix.

use super::{OperandTile, TileIterator};
use crate::layout::Major;
use crate::numeric::Element;
use core::marker::PhantomData;

/// A matrix in global memory: the byte address of its first entry and its leading dimension.
pub type PredicatedTileParams = crate::kernel::MatrixOperand;

/// Walks a matrix with contiguous rows or columns. Bounds are compared once for the first tile and
/// once more for all full tiles, one bit an access; an access is its base plus a constant multiple of a stride.
pub struct PredicatedTile<T> {
    /// Address of access 0.
    address: u64,
    /// Bytes between accesses.
    access_stride: i64,
    /// Bytes from the first to the second tile, and from then on.
    residue_stride: i64,
    tile_stride: i64,
    /// Bit i: access i is within the operand, in the current tile.
    mask: u64,
    /// The same for full tiles.
    full_mask: u64,
    tile: PhantomData<T>,
}

impl<T: OperandTile> PredicatedTile<T> {
    fn mask(mn: u32, k: u32, mn_origin: u32, thread: u32) -> u64 {
        let mut mask = 0;
        for access in 0..T::ACCESSES {
            let (at_mn, at_k) = T::coordinate(thread, access);
            mask |= u64::from(mn_origin + at_mn < mn && at_k < k) << access;
        }
        mask
    }
}

impl<T: OperandTile> TileIterator for PredicatedTile<T> {
    type Tile = T;
    type Params = PredicatedTileParams;

    #[inline(always)]
    fn new(params: &Self::Params, mn: u32, k: u32, mn_tile: u32, thread: u32) -> Self {
        const { assert!(T::ACCESSES <= 64, "a thread's accesses must fit a 64-bit mask") };
        let bytes = T::Element::BYTES as i64;
        let stride = params.leading_dimension.wrapping_mul(bytes);
        let residue = match k % T::K {
            0 => T::K,
            partial => partial,
        };
        let mn_origin = mn_tile * T::MN;
        let (contiguous, strided) = T::position(thread, 0);
        let (at_contiguous, at_strided, residue_stride, tile_stride) = match T::MAJOR {
            Major::K => (contiguous, mn_origin + strided, i64::from(residue) * bytes, i64::from(T::K) * bytes),
            Major::Mn => {
                (mn_origin + contiguous, strided, stride.wrapping_mul(residue.into()), stride.wrapping_mul(T::K.into()))
            }
        };
        Self {
            address: params.address.wrapping_add_signed(
                stride.wrapping_mul(at_strided.into()).wrapping_add(i64::from(at_contiguous).wrapping_mul(bytes)),
            ),
            access_stride: stride.wrapping_mul(T::ROWS_PER_ACCESS.into()),
            residue_stride,
            tile_stride,
            mask: Self::mask(mn, residue.min(k), mn_origin, thread),
            full_mask: Self::mask(mn, u32::MAX, mn_origin, thread),
            tile: PhantomData,
        }
    }

    #[inline(always)]
    fn get(&self, access: u32) -> u64 {
        self.address.wrapping_add_signed(self.access_stride.wrapping_mul(access.into()))
    }

    #[inline(always)]
    fn valid(&self, access: u32) -> bool {
        self.mask >> access & 1 != 0
    }

    #[inline(always)]
    fn advance_residue(&mut self) {
        self.address = self.address.wrapping_add_signed(self.residue_stride);
        self.mask = self.full_mask;
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.address = self.address.wrapping_add_signed(self.tile_stride);
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.mask = 0;
        self.full_mask = 0;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    struct Tile<const K_MAJOR: bool, const VECTOR: u32>;
    impl<const K_MAJOR: bool, const VECTOR: u32> OperandTile for Tile<K_MAJOR, VECTOR> {
        type Element = crate::numeric::f16;
        const MAJOR: Major = if K_MAJOR { Major::K } else { Major::Mn };
        const MN: u32 = 64;
        const K: u32 = 32;
        const THREADS: u32 = 128;
        const VECTOR: u32 = VECTOR;
    }

    /// How often each byte offset of the operand is read by the whole block over all tiles.
    fn visits<T: OperandTile>(mn: u32, k: u32, leading_dimension: i64) -> HashMap<u64, u32> {
        let mut visits = HashMap::new();
        let params = PredicatedTileParams { address: 0, leading_dimension };
        for mn_tile in 0..mn.div_ceil(T::MN) {
            for thread in 0..T::THREADS {
                let mut tile = PredicatedTile::<T>::new(&params, mn, k, mn_tile, thread);
                for step in 0..k.div_ceil(T::K) {
                    for access in 0..T::ACCESSES {
                        if tile.valid(access) {
                            for element in 0..u64::from(T::VECTOR) {
                                *visits.entry(tile.get(access) / 2 + element).or_insert(0) += 1;
                            }
                        }
                    }
                    if step == 0 {
                        tile.advance_residue();
                    } else {
                        tile.advance();
                    }
                }
            }
        }
        visits
    }

    fn visits_every_element_once<T: OperandTile>(mn: u32, k: u32, padding: u32) {
        let (mn, k) = match T::MAJOR {
            Major::K => (mn, k.next_multiple_of(T::VECTOR)),
            Major::Mn => (mn.next_multiple_of(T::VECTOR), k),
        };
        let contiguous = if T::MAJOR == Major::K { k } else { mn };
        let ld = u64::from(contiguous + padding);
        let seen = visits::<T>(mn, k, ld as i64);
        assert_eq!(seen.len() as u64, u64::from(mn) * u64::from(k));
        for i in 0..u64::from(mn) {
            for j in 0..u64::from(k) {
                let at = if T::MAJOR == Major::K { i * ld + j } else { j * ld + i };
                assert_eq!(seen.get(&at), Some(&1), "mn {i}, k {j} of {mn} × {k}");
            }
        }
    }

    proptest! {
        #[test]
        fn an_iterator_visits_every_element_exactly_once(mn in 1u32..200, k in 1u32..100, padding in 0u32..9) {
            visits_every_element_once::<Tile<true, 8>>(mn, k, padding);
            visits_every_element_once::<Tile<false, 8>>(mn, k, padding);
            visits_every_element_once::<Tile<true, 1>>(mn, k, padding);
            visits_every_element_once::<Tile<false, 2>>(mn, k, padding);
        }
    }

    #[test]
    fn an_empty_k_reads_nothing() {
        assert!(visits::<Tile<true, 8>>(64, 0, 8).is_empty());
        let params = PredicatedTileParams { address: 0, leading_dimension: 8 };
        let tile = PredicatedTile::<Tile<true, 8>>::new(&params, 64, 0, 0, 0);
        assert!(!tile.valid(0));
    }
}
