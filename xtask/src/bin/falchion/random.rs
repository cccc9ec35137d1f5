//! Random matrices.

use falchion::Element;

/// `count` elements, uniform in (−1, 1) with all bits of an f32 fraction in use, then rounded to `T`. The same seed gives
/// the same elements.
///
/// Never constants or integers in benchmarks: they draw less power, and a GPU then clocks higher than on real data.
pub fn uniform<T: Element>(count: usize, seed: u64) -> Vec<T> {
    let mut words = fastrand::Rng::with_seed(seed);
    // 24 bits: the half makes the values symmetric around 0, which is never hit.
    (0..count).map(|_| T::from_f32(((words.u32(..) >> 8) as f32 + 0.5) / 8_388_608.0 - 1.0)).collect()
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
