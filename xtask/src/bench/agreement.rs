//! Whether two computations of one product agree.

use anyhow::{Result, bail};

/// Compares our result with the vendor's.
///
/// Both sum k products in f32 and round once to the output type, of unit round-off u. Worst-case bounds for k in the thousands
/// are far wider than the results themselves, so this uses that the inputs are random: partial sums are then no larger than
/// the largest elements of the result, and n = 1.5 k + 4 roundings with cut-off at 24 bits (see `Accumulation::TensorCore`)
/// err by at most n·2⁻²³ of them, to which comes the rounding of the output. Twice that, since both err, is
/// τ = 2·(u + n·2⁻²³), and required are max |x − y| ≤ τ·max |y| and ‖x − y‖₂ ≤ τ·‖y‖₂. A tile of 32 that is left out of a
/// sum of 8192 changes ‖x‖₂ by 6 %, ten times τ.
///
/// # Errors
/// What differs, and by how much.
pub fn check(
    ours: impl ExactSizeIterator<Item = f64>,
    theirs: impl ExactSizeIterator<Item = f64>,
    unit_roundoff: f64,
    k: usize,
) -> Result<()> {
    let (count, other) = (ours.len(), theirs.len());
    if count != other {
        bail!("our result has {count} elements and cuBLASLt's {other}");
    }
    let (mut squares, mut difference_squares, mut largest, mut difference) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    let mut broken = 0usize;
    for (x, y) in ours.zip(theirs) {
        let error = (x - y).abs();
        if !error.is_finite() {
            broken += 1;
            continue;
        }
        squares += y * y;
        difference_squares += error * error;
        largest = largest.max(y.abs());
        difference = difference.max(error);
    }
    if broken > 0 {
        bail!("{broken} of {count} elements are not finite in one result, or in both");
    }
    if squares == 0.0 {
        bail!("cuBLASLt's result is zero everywhere: a comparison with it proves nothing");
    }
    let roundings = 1.5 * k as f64 + 4.0;
    let tolerance = 2.0 * (unit_roundoff + roundings / 8_388_608.0);
    let relative = (difference_squares / squares).sqrt();
    if relative > tolerance || difference > tolerance * largest {
        bail!(
            "our result differs from cuBLASLt's: relative l2 {relative:.3e}, largest difference {difference:.3e} where the \
             largest element is {largest:.3e}; allowed is {tolerance:.3e} of each"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const U32: f64 = 1.0 / 16_777_216.0;

    fn noise(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        std::iter::repeat_with(next).skip(8).take(count).collect()
    }

    fn agree(ours: &[f32], theirs: &[f32], k: usize) -> Result<()> {
        let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>().into_iter();
        check(wide(ours), wide(theirs), U32, k)
    }

    /// One row of products, summed forwards or backwards.
    fn row(k: usize, skip: usize, backwards: bool) -> Vec<f32> {
        let a = noise(k, 1);
        let column = |j: u32| {
            let mut products: Vec<f32> = a.iter().zip(noise(k, 100 + 977 * j)).map(|(a, b)| a * b).collect();
            products.truncate(k - skip);
            if backwards {
                products.reverse();
            }
            products.iter().sum()
        };
        (0..64).map(column).collect()
    }

    #[test]
    fn other_orders_of_summation_agree_and_a_lost_tile_does_not() {
        let k = 2048;
        let right = row(k, 0, false);
        agree(&row(k, 0, true), &right, k).unwrap();
        assert!(agree(&row(k, 32, false), &right, k).is_err());
    }

    #[test]
    fn poison_zeros_single_elements_and_other_lengths_do_not_agree() {
        let right = noise(1000, 3);
        let with = |value| {
            let mut wrong = right.clone();
            wrong[17] = value;
            agree(&wrong, &right, 64).is_err()
        };
        assert!(with(f32::NAN) && with(right[17] + 0.01));
        assert!(agree(&[0.0; 4], &[0.0; 4], 4).is_err());
        assert!(agree(&right[1..], &right, 4).is_err());
    }
}
