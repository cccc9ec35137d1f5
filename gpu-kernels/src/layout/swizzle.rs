//! Swizzles: involutions of shared-memory offsets that spread a column of vectors over all banks.

/// XORs bits `[base, base + bits)` of `offset` with bits `[base + shift, base + shift + bits)`:
///
/// `σ(x) = x ⊕ ((x >> shift) & mask)`, `mask = (2^bits − 1)·2^base`.
///
/// The unit of `offset` is the caller's (bytes, elements, vectors).
#[inline(always)]
#[must_use]
pub const fn swizzle(offset: u32, bits: u32, base: u32, shift: u32) -> u32 {
    offset ^ ((offset >> shift) & (((1 << bits) - 1) << base))
}

/// The swizzle of [`swizzle`] with its three numbers fixed at compile time, as CuTe's
/// `Swizzle<B, M, S>`: `B` bits are permuted, `2^M` units stay together, and the bits that permute
/// them lie `S` higher.
///
/// Because the bits that are read are not among those written (`S ≥ B`), σ is its own inverse,
/// hence a bijection of every aligned block of `2^(M + S + B)` units. It is linear over ⊕:
/// σ(x ⊕ y) = σ(x) ⊕ σ(y); so a warp computes σ once and moves along by XOR.
///
/// TMA's shared-memory swizzles of 32, 64 and 128 bytes are `Swizzle<1, 4, 3>`, `Swizzle<2, 4, 3>`
/// and `Swizzle<3, 4, 3>` on byte offsets (PTX ISA, "Swizzling modes").
///
/// ```
/// use falchion_device::layout::Swizzle;
/// // Row 1 of 128-byte rows: vector 0 goes where vector 1 was, and the other way round.
/// assert_eq!(Swizzle::<3, 4, 3>::apply(128), 128 + 16);
/// assert_eq!(Swizzle::<3, 4, 3>::apply(128 + 16), 128);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swizzle<const B: u32, const M: u32, const S: u32>;

impl<const B: u32, const M: u32, const S: u32> Swizzle<B, M, S> {
    /// Offsets of this many units form one period: σ maps each aligned period onto itself.
    pub const PERIOD: u32 = 1 << (M + S + B);

    /// σ(offset).
    #[inline(always)]
    #[must_use]
    pub const fn apply(offset: u32) -> u32 {
        const {
            assert!(S >= B, "a swizzle must not read the bits it writes: S ≥ B");
            assert!(M + S + B < 32, "a swizzle's bits must lie in a 32-bit offset");
        }
        swizzle(offset, B, M, S)
    }
}

#[cfg(test)]
mod tests {
    use super::Swizzle;
    use proptest::prelude::*;

    fn is_a_bijection<const B: u32, const M: u32, const S: u32>() {
        let period = Swizzle::<B, M, S>::PERIOD;
        let mut seen = [false; 4096];
        for x in 0..period {
            let y = Swizzle::<B, M, S>::apply(x);
            assert!(y < period && !seen[y as usize], "{x} -> {y}");
            assert_eq!(y >> M << M, Swizzle::<B, M, S>::apply(x >> M << M), "units of 2^M stay together");
            seen[y as usize] = true;
        }
    }

    #[test]
    fn a_swizzle_permutes_each_period() {
        is_a_bijection::<0, 4, 3>();
        is_a_bijection::<1, 4, 3>();
        is_a_bijection::<2, 4, 3>();
        is_a_bijection::<3, 4, 3>();
        is_a_bijection::<3, 4, 4>();
        is_a_bijection::<1, 3, 3>();
    }

    #[test]
    fn the_swizzle_article_s_example_holds() {
        // Thread 4 of a 16-column half tile stored without swizzle at 64 goes to 72.
        assert_eq!(Swizzle::<1, 3, 3>::apply(64), 72);
    }

    /// Eight rows of one 16-byte column fall into eight different 16-byte bank groups.
    fn columns_are_conflict_free<const B: u32, const S: u32>(pitch: u32) {
        for first_row in (0..64).step_by(8) {
            for vector in 0..pitch / 16 {
                let mut groups = 0u32;
                for row in first_row..first_row + 8 {
                    let at = Swizzle::<B, 4, S>::apply(row * pitch + vector * 16);
                    groups |= 1 << (at / 16 % 8);
                }
                assert_eq!(groups, 0xff, "pitch {pitch}, rows from {first_row}, vector {vector}");
            }
        }
    }

    #[test]
    fn a_column_of_vectors_touches_every_bank_once() {
        columns_are_conflict_free::<1, 3>(32);
        columns_are_conflict_free::<2, 3>(64);
        columns_are_conflict_free::<3, 3>(128);
        columns_are_conflict_free::<3, 4>(256);
    }

    proptest! {
        #[test]
        fn a_swizzle_is_linear_and_its_own_inverse(x in 0u32..1 << 20, y in 0u32..1 << 20) {
            let s = Swizzle::<3, 4, 3>::apply;
            prop_assert_eq!(s(s(x)), x);
            prop_assert_eq!(s(x ^ y), s(x) ^ s(y));
        }
    }
}
