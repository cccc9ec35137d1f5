//! Where the elements of an operand tile lie in shared memory.

use super::OperandTile;
use crate::layout::Major;
use crate::numeric::Element;
use core::marker::PhantomData;

/// An injective map from the (mn, k) coordinates of a tile to byte offsets in a stage of shared memory.
pub trait SharedLayout: 'static {
    /// The tile that is laid out.
    type Tile: OperandTile;
    /// Bytes of one stage, a multiple of 128.
    const BYTES: u32;
    /// The dimension in which neighbours of one vector are neighbours here too.
    const MAJOR: Major;
    /// Byte offset of element (mn, k).
    fn offset(mn: u32, k: u32) -> u32;
}

/// Bytes of one contiguous row.
const fn pitch<T: OperandTile>() -> u32 {
    T::CONTIGUOUS * T::Element::BYTES as u32
}

/// (row, byte within the row) of element (mn, k) in the tile's own order.
#[inline(always)]
fn row_and_byte<T: OperandTile>(mn: u32, k: u32) -> (u32, u32) {
    match T::MAJOR {
        Major::K => (mn, k * T::Element::BYTES as u32),
        Major::Mn => (k, mn * T::Element::BYTES as u32),
    }
}

/// The tile in its own order, 16-byte vectors swizzled so that eight vectors of one column, as
/// `ldmatrix` reads them, lie in eight different groups of banks.
///
/// With rows of p bytes and ρ = min(p, 128): vector v of row r lies at vector
/// `v ⊕ (r / (128 / ρ) mod ρ / 16)`. For p a power of two this is `Swizzle<log2(ρ/16), 4, max(3, log2(p) − 4)>`
/// of the byte offset `r·p + 16·v`.
#[derive(Debug)]
pub struct Swizzled<T>(PhantomData<T>);

impl<T: OperandTile> SharedLayout for Swizzled<T> {
    type Tile = T;
    const BYTES: u32 = pitch::<T>() * T::STRIDED;
    const MAJOR: Major = T::MAJOR;

    #[inline(always)]
    fn offset(mn: u32, k: u32) -> u32 {
        const {
            assert!(pitch::<T>() >= 32, "a swizzled row must be 32 bytes at least");
            assert!(
                pitch::<T>().is_power_of_two() || pitch::<T>().is_multiple_of(128),
                "a swizzled row must be a power of two, or a multiple of 128, in bytes"
            );
        }
        let (row, byte) = row_and_byte::<T>(mn, k);
        let span = if pitch::<T>() < 128 { pitch::<T>() } else { 128 };
        // The row's bits are XORed into the vector alone, apart from the row's own offset, so that
        // constant steps of rows stay constant steps of addresses.
        row * pitch::<T>() + (byte ^ ((row / (128 / span)) % (span / 16) * 16))
    }
}

/// The tile in its own order as it is: `ldmatrix` conflicts. For comparison and tests.
#[derive(Debug)]
pub struct Unswizzled<T>(PhantomData<T>);

impl<T: OperandTile> SharedLayout for Unswizzled<T> {
    type Tile = T;
    const BYTES: u32 = pitch::<T>() * T::STRIDED;
    const MAJOR: Major = T::MAJOR;

    #[inline(always)]
    fn offset(mn: u32, k: u32) -> u32 {
        let (row, byte) = row_and_byte::<T>(mn, k);
        row * pitch::<T>() + byte
    }
}

/// Rows of MN whatever the order in global memory, four elements of padding after each: what the
/// CUDA cores' outer product reads. Storing a K-major tile transposes it; the padding puts the two
/// half-warps, which write rows 4k apart, 16 banks apart.
#[derive(Debug)]
pub struct PaddedMnMajor<T>(PhantomData<T>);

impl<T: OperandTile> SharedLayout for PaddedMnMajor<T> {
    type Tile = T;
    const BYTES: u32 = ((T::MN + 4) * T::Element::BYTES as u32 * T::K).next_multiple_of(128);
    const MAJOR: Major = Major::Mn;

    #[inline(always)]
    fn offset(mn: u32, k: u32) -> u32 {
        (k * (T::MN + 4) + mn) * T::Element::BYTES as u32
    }
}

/// The closed form of [`Swizzled`] for rows of a power of two bytes.
#[cfg(test)]
fn closed_form(pitch: u32, row: u32, byte: u32) -> u32 {
    let bits = (pitch.min(128) / 16).trailing_zeros();
    crate::layout::swizzle(row * pitch + byte, bits, 4, (pitch.trailing_zeros().max(7)) - 4)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::HashSet;

    struct Tile<const K_MAJOR: bool, const MN: u32, const K: u32>;
    impl<const K_MAJOR: bool, const MN: u32, const K: u32> OperandTile for Tile<K_MAJOR, MN, K> {
        type Element = crate::numeric::f16;
        const MAJOR: Major = if K_MAJOR { Major::K } else { Major::Mn };
        const MN: u32 = MN;
        const K: u32 = K;
        const THREADS: u32 = 128;
        const VECTOR: u32 = 8;
    }

    fn is_injective<S: SharedLayout>() {
        let mut seen = HashSet::new();
        for mn in 0..S::Tile::MN {
            for k in 0..S::Tile::K {
                let at = S::offset(mn, k);
                assert!(at < S::BYTES && seen.insert(at), "({mn}, {k}) -> {at}");
            }
        }
    }

    fn equals_the_closed_form<T: OperandTile>() {
        for mn in 0..T::MN {
            for k in 0..T::K {
                let (row, byte) = row_and_byte::<T>(mn, k);
                assert_eq!(Swizzled::<T>::offset(mn, k), closed_form(pitch::<T>(), row, byte));
            }
        }
    }

    #[test]
    fn layouts_are_injective() {
        is_injective::<Swizzled<Tile<true, 128, 32>>>();
        is_injective::<Swizzled<Tile<true, 64, 64>>>();
        is_injective::<Swizzled<Tile<false, 192, 32>>>();
        is_injective::<Unswizzled<Tile<false, 128, 32>>>();
        is_injective::<PaddedMnMajor<Tile<true, 128, 8>>>();
        is_injective::<PaddedMnMajor<Tile<false, 64, 16>>>();
    }

    #[test]
    fn the_swizzle_equals_its_closed_form() {
        equals_the_closed_form::<Tile<true, 64, 16>>();
        equals_the_closed_form::<Tile<true, 128, 32>>();
        equals_the_closed_form::<Tile<true, 128, 64>>();
        equals_the_closed_form::<Tile<false, 64, 32>>();
        equals_the_closed_form::<Tile<false, 128, 32>>();
        equals_the_closed_form::<Tile<false, 256, 16>>();
    }
}
