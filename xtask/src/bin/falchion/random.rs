//! Random matrices.

use falchion::Element;

/// `count` elements, uniform in (−1, 1) with all bits of an f32 fraction in use, then rounded to `T`. The same seed gives
/// the same elements.
///
/// Never constants or integers in benchmarks: they draw less power, and a GPU then clocks higher than on real data.
pub fn uniform<T: Element>(count: usize, seed: u64) -> Vec<T> {
    // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every counter value gives an independent word.
    let word = |index: u64| {
        let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    // 24 bits: the half makes the values symmetric around 0, which is never hit.
    (0..count as u64).map(|index| T::from_f32(((word(index) >> 40) as f32 + 0.5) / 8_388_608.0 - 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fill_the_open_interval_evenly() {
        let values: Vec<f32> = uniform(10_000, 7);
        assert!(values.iter().all(|value| value.abs() < 1.0 && *value != 0.0));
        let mean = values.iter().sum::<f32>() / 10_000.0;
        let variance = values.iter().map(|value| value * value).sum::<f32>() / 10_000.0;
        // Standard deviations of the estimates are 0.006 and 0.003.
        assert!(mean.abs() < 0.03 && (variance - 1.0 / 3.0).abs() < 0.02, "{mean} {variance}");
        assert_ne!(values, uniform::<f32>(10_000, 8));
    }
}
