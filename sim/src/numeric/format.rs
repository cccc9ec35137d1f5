//! Encoding and decoding of binary floating-point formats.

/// How a result between two representable numbers is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// Nearest, ties to even: `.rn`.
    Even,
    /// Nearest, ties away from zero: `.rna`.
    Away,
    /// Towards zero: `.rz`.
    Zero,
    /// Towards minus infinity: `.rm`.
    Down,
    /// Towards plus infinity: `.rp`.
    Up,
}

impl Rounding {
    /// The rounding a modifier names.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "rn" => Rounding::Even,
            "rna" => Rounding::Away,
            "rz" => Rounding::Zero,
            "rm" => Rounding::Down,
            "rp" => Rounding::Up,
            _ => return None,
        })
    }
}

/// A binary format: sign, `exponent` bits, `mantissa` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    exponent: u32,
    mantissa: u32,
    /// Largest finite magnitude.
    largest: u32,
    /// Infinity, or the NaN that takes its place.
    infinity: u32,
    /// The NaN that operations return.
    nan: u32,
}

/// IEEE half precision.
pub(crate) const F16: Format = Format { exponent: 5, mantissa: 10, largest: 0x7bff, infinity: 0x7c00, nan: 0x7fff };
/// The upper half of single precision.
pub(crate) const BF16: Format = Format { exponent: 8, mantissa: 7, largest: 0x7f7f, infinity: 0x7f80, nan: 0x7fff };
/// IEEE single precision.
pub(crate) const F32: Format =
    Format { exponent: 8, mantissa: 23, largest: 0x7f7f_ffff, infinity: 0x7f80_0000, nan: 0x7fff_ffff };
/// Four exponent and three mantissa bits, no infinity (OCP FP8).
pub(crate) const E4M3: Format = Format { exponent: 4, mantissa: 3, largest: 0x7e, infinity: 0x7f, nan: 0x7f };
/// Five exponent and two mantissa bits (OCP FP8).
pub(crate) const E5M2: Format = Format { exponent: 5, mantissa: 2, largest: 0x7b, infinity: 0x7c, nan: 0x7f };
/// Single precision with 10 mantissa bits; [`tf32`] places it in the upper bits of 32.
const TF32: Format = Format { exponent: 8, mantissa: 10, largest: 0x3_fbff, infinity: 0x3_fc00, nan: 0x3_ffff };

impl Format {
    /// The sign bit.
    fn sign(self) -> u32 {
        1 << (self.exponent + self.mantissa)
    }

    /// `value` in this format, rounded once. With `saturate`, magnitudes beyond the largest become the largest.
    pub(crate) fn encode(self, value: f64, rounding: Rounding, saturate: bool) -> u32 {
        let bits = value.to_bits();
        let negative = bits >> 63 == 1;
        let sign = if negative { self.sign() } else { 0 };
        if value.is_nan() {
            return self.nan;
        }
        let beyond = if saturate { self.largest } else { self.infinity };
        if value.is_infinite() {
            return sign | beyond;
        }
        let field = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let (power, significand) = if field == 0 { (-1022, fraction) } else { (field - 1023, fraction | 1 << 52) };
        let bias = (1 << (self.exponent - 1)) - 1;
        let scale = power.max(1 - bias);
        // Bits of the significand below the last place; 60 drops all of them.
        let drop = (scale - power + 52 - self.mantissa as i32).clamp(0, 60) as u32;
        let mut kept = significand >> drop;
        let rest = significand & ((1u64 << drop) - 1);
        let half = (1u64 << drop) >> 1;
        let up = match rounding {
            Rounding::Even => rest > half || (rest == half && rest > 0 && kept & 1 == 1),
            Rounding::Away => rest >= half && rest > 0,
            Rounding::Zero => false,
            Rounding::Down => negative && rest > 0,
            Rounding::Up => !negative && rest > 0,
        };
        kept += u64::from(up);
        // The hidden bit, where there is one, adds 1 to the exponent field.
        let encoded = (((scale + bias - 1) as u64) << self.mantissa) + kept;
        if encoded > u64::from(self.largest) {
            let to_largest = match rounding {
                Rounding::Zero => true,
                Rounding::Down => !negative,
                Rounding::Up => negative,
                Rounding::Even | Rounding::Away => false,
            };
            return sign | if to_largest { self.largest } else { beyond };
        }
        sign | encoded as u32
    }

    /// The number `bits` encode.
    pub(crate) fn decode(self, bits: u32) -> f64 {
        let magnitude = bits & (self.sign() - 1);
        let sign = if bits & self.sign() != 0 { -1.0 } else { 1.0 };
        if magnitude > self.largest {
            let is_infinity = magnitude == self.infinity && self.infinity != self.nan;
            return if is_infinity { sign * f64::INFINITY } else { f64::NAN };
        }
        let bias = (1 << (self.exponent - 1)) - 1;
        let field = (magnitude >> self.mantissa) as i32;
        let fraction = u64::from(magnitude & ((1 << self.mantissa) - 1));
        if field == 0 {
            return sign * fraction as f64 * power_of_two(1 - bias - self.mantissa as i32);
        }
        let exponent = (field - bias + 1023) as u64;
        sign * f64::from_bits(exponent << 52 | fraction << (52 - self.mantissa))
    }
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// `value` as the 32 bits that hold a tf32 number; the low 13 are zero.
pub(crate) fn tf32(value: f32, rounding: Rounding, saturate: bool) -> u32 {
    TF32.encode(f64::from(value), rounding, saturate) << 13
}

/// Half precision to single, exactly.
#[inline]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let sign = u32::from(bits & 0x8000) << 16;
    // Scaling by 2^112 moves the exponent bias and normalises subnormals.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let special = if bits & 0x7c00 == 0x7c00 { magnitude | 0x7f80_0000 } else { scaled };
    f32::from_bits(sign | special)
}

/// bfloat16 to single, exactly.
#[inline]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_decoding_and_encoding() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (half::f16::from_bits(bits), half::bf16::from_bits(bits));
            if !half.is_nan() {
                assert_eq!(f16_to_f32(bits).to_bits(), half.to_f32().to_bits());
                assert_eq!(F16.decode(bits.into()).to_bits(), half.to_f64().to_bits());
                assert_eq!(F16.encode(half.to_f64(), Rounding::Even, false), bits.into());
            } else {
                assert!(f16_to_f32(bits).is_nan() && F16.decode(bits.into()).is_nan());
            }
            if !brain.is_nan() {
                assert_eq!(bf16_to_f32(bits).to_bits(), brain.to_f32().to_bits());
                assert_eq!(BF16.decode(bits.into()).to_bits(), brain.to_f64().to_bits());
                assert_eq!(BF16.encode(brain.to_f64(), Rounding::Even, false), bits.into());
            }
        }
    }

    #[test]
    fn singles_round_to_halves_as_the_half_crate_rounds() {
        for step in 0..=u16::MAX {
            // All exponents, and mantissas on, next to and between ties.
            for low in [0u32, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001] {
                let value = f32::from_bits(u32::from(step) << 16 | low);
                if value.is_nan() {
                    continue;
                }
                let wide = f64::from(value);
                let (f16, bf16) = (half::f16::from_f32(value), half::bf16::from_f32(value));
                assert_eq!(F16.encode(wide, Rounding::Even, false), f16.to_bits().into(), "{value}");
                assert_eq!(BF16.encode(wide, Rounding::Even, false), bf16.to_bits().into(), "{value}");
                assert_eq!(F32.encode(wide, Rounding::Even, false), value.to_bits());
            }
        }
    }

    #[test]
    fn every_byte_float_survives_and_saturates() {
        for bits in 0..=0xffu32 {
            for format in [E4M3, E5M2] {
                let value = format.decode(bits);
                if !value.is_nan() {
                    assert_eq!(format.encode(value, Rounding::Even, false), bits);
                }
            }
        }
        assert_eq!(E4M3.decode(0x7e), 448.0);
        assert_eq!(E5M2.decode(0x7b), 57344.0);
        assert_eq!(E4M3.encode(1e6, Rounding::Even, true), 0x7e);
        assert_eq!(E5M2.encode(-f64::INFINITY, Rounding::Even, true), 0xfb);
    }

    #[test]
    fn tf32_ties_go_away_from_zero() {
        let tie = f32::from_bits(0x3f80_1000);
        assert_eq!(tf32(tie, Rounding::Away, false), 0x3f80_2000);
        assert_eq!(tf32(tie, Rounding::Even, false), 0x3f80_0000);
        assert_eq!(tf32(-tie, Rounding::Away, false), 0xbf80_2000);
    }
}
