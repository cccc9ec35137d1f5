//! How far a correct kernel may be from the exact result.

use crate::{ElementKind, Error, Result};

/// How a kernel accumulates, which decides how its rounding errors grow with k.
///
/// Let u₃₂ = 2⁻²⁴, P = Σ|a|·|b| of an element, and γ = n·u / (1 − n·u) for n roundings of unit u (Higham,
/// *Accuracy and Stability of Numerical Algorithms*, §3.1 and §3.4: the bound holds for any order of summation).
/// The accumulator differs from A·B by at most γ·P + n·η₃₂, where η is half the smallest subnormal of a type.
///
/// The kernel then computes α·acc, adds β·C in one fused operation, and rounds to the output type with unit u_out:
/// - e₁ = |α|·(γ·P + n·η₃₂), the accumulator's error;
/// - e₂ = e₁ + u₃₂·(|α·A·B| + e₁) + η₃₂ after the product;
/// - e₃ = e₂ + u₃₂·(|D| + e₂) + η₃₂ after the sum;
/// - |d − D| ≤ e₃ + u_out·(|D| + e₃) + η_out after the conversion, which for f32 is none.
///
/// To this comes the error of the f64 reference itself, (k + 3)·2⁻⁵³·(|α|·P + |β·C|).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Accumulation {
    /// Fused multiply-adds in f32, or exact products added in f32, each rounded to nearest: u = 2⁻²⁴, n = k. An
    /// element takes part in at most k roundings, whatever the order.
    Fma,
    /// Tensor cores with f32 accumulators. Products of 16-bit factors are exact, but the sum is not rounded: the
    /// addends of a block are aligned to the largest and cut off, and the result is cut off again (Fasi, Higham,
    /// Mikaitis, Pranesh, *Numerical behavior of NVIDIA tensor cores*, PeerJ CS 7:e330, 2021). Cutting off at 24
    /// bits errs by up to u = 2⁻²³ of the largest magnitude, which is at most P (1 + γ). A block of s products has s + 1
    /// addends and one result, so n = (s + 2)·⌈k/s⌉; s is 4 (Volta, Turing), 8 (Ampere) or 16 (Hopper),
    /// and 4 gives the most: n = k + 2·⌈k/4⌉ + 4.
    TensorCore,
}

/// 2⁻²⁴: unit round-off of f32.
const U32: f64 = 1.0 / 16_777_216.0;
/// 2⁻¹⁵⁰: half the smallest subnormal of f32, and of every type with its exponents.
const ETA32: f64 = f64::from_bits((1023 - 150) << 52);
/// 2⁻⁵³: unit round-off of f64.
const U64: f64 = f64::EPSILON / 2.0;

impl Accumulation {
    /// The unit, and the number of roundings for `k` products.
    fn roundings(self, k: usize) -> (f64, f64) {
        match self {
            Self::Fma => (U32, k as f64),
            Self::TensorCore => (2.0 * U32, (k + 2 * k.div_ceil(4) + 4) as f64),
        }
    }
}

/// Half the distance from 0 to the smallest subnormal of a type: the absolute error of rounding near 0.
fn eta(kind: ElementKind) -> f64 {
    match kind {
        // 2⁻²⁵ and 2⁻¹³⁴.
        ElementKind::F16 => f64::from_bits((1023 - 25) << 52),
        ElementKind::Bf16 => f64::from_bits((1023 - 134) << 52),
        _ => ETA32,
    }
}

/// The largest finite value of a type.
pub(super) fn largest_finite(kind: ElementKind) -> f64 {
    match kind {
        ElementKind::F16 => 65504.0,
        ElementKind::Bf16 => f64::from(f32::from_bits(0x7F7F_0000)),
        _ => f64::from(f32::MAX),
    }
}

/// The bound of [`Accumulation`] for one k and one output type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    gamma: f64,
    roundings: f64,
    /// Unit and subnormal error of the conversion to the output; 0 when there is none.
    output: [f64; 2],
    k: f64,
}

impl Bound {
    /// [`Error::Dimension`] when n·u ≥ 1/2: nothing can be said of sums as long as that.
    pub(super) fn new(accumulation: Accumulation, output: ElementKind, k: usize) -> Result<Self> {
        let (unit, roundings) = accumulation.roundings(k);
        if unit * roundings >= 0.5 {
            return Err(Error::Dimension { name: "k", maximum: (0.25 / unit) as u64, actual: k as u64 });
        }
        let output = match output {
            ElementKind::F32 => [0.0, 0.0],
            kind => [kind.unit_roundoff(), eta(kind)],
        };
        Ok(Self { gamma: unit * roundings / (1.0 - unit * roundings), roundings, output, k: k as f64 })
    }

    /// The bound of one element: `exact` is D, `magnitude` P and `source` β·C.
    pub(super) fn element(&self, exact: f64, magnitude: f64, source: f64, alpha: f64) -> f64 {
        let product = (exact - source).abs();
        let accumulator = alpha.abs() * (self.gamma * magnitude + self.roundings * ETA32);
        let scaled = accumulator + U32 * (product + accumulator) + ETA32;
        let summed = scaled + U32 * (exact.abs() + scaled) + ETA32;
        let [unit, subnormal] = self.output;
        let converted = summed + unit * (exact.abs() + summed) + subnormal;
        converted + (self.k + 3.0) * U64 * (alpha.abs() * magnitude + source.abs())
    }
}
