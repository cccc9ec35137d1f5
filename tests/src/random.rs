//! Reproducible numbers.

/// A sequence of numbers that its seed decides.
#[derive(Debug, Clone)]
pub struct Random(fastrand::Rng);

impl Random {
    /// The sequence of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Uniform in −`limit` … `limit`, integers only.
    pub fn integer(&mut self, limit: u32) -> f32 {
        self.0.u32(..=2 * limit) as f32 - limit as f32
    }

    /// Uniform in [−1, 1).
    pub fn real(&mut self) -> f32 {
        2.0 * self.0.f32() - 1.0
    }
}
