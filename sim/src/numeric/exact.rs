//! Sums rounded to odd, so that a second rounding to a narrower format is the only one that shows.

/// `a + b` rounded to odd: an inexact sum gets an odd last bit.
///
/// Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd".
#[inline]
pub(crate) fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    // Knuth's two-sum: the error of the addition, exactly.
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    let bits = sum.to_bits();
    if error == 0.0 || bits & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

#[cfg(test)]
mod tests {
    use super::add_odd;

    #[test]
    fn inexact_sums_have_an_odd_last_bit_next_to_the_exact_value() {
        let tiny = f64::from_bits(0x3c00_0000_0000_0000);
        assert_eq!(add_odd(1.0, tiny).to_bits(), 1f64.to_bits() + 1);
        assert_eq!(add_odd(1.0, -tiny).to_bits(), 1f64.to_bits() - 1);
        assert_eq!(add_odd(1.0, 2.0), 3.0);
    }
}
