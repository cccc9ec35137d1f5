use super::*;
use crate::{Order, bf16, f16};
use proptest::prelude::*;

/// Pseudo-random values in (−1, 1) with all bits in use.
fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn at(matrix: &[f32], order: Order, leading_dimension: usize, row: usize, column: usize) -> f64 {
    matrix[match order {
        Order::RowMajor => row * leading_dimension + column,
        Order::ColumnMajor => column * leading_dimension + row,
    }]
    .into()
}

proptest! {
    #[test]
    fn the_reference_is_the_triple_loop(
        m in 0usize..9, n in 0usize..9, k in 0usize..9, gaps in [0usize..4, 0..4, 0..4],
        orders in proptest::array::uniform3(prop_oneof![Just(Order::RowMajor), Just(Order::ColumnMajor)]),
        alpha in -2.0f32..2.0, beta in prop_oneof![Just(0.0f32), -2.0f32..2.0],
    ) {
        let shapes = [[m, k], [k, n], [m, n]];
        let lds: [usize; 3] = std::array::from_fn(|i| shapes[i][usize::from(orders[i] == Order::RowMajor)] + gaps[i]);
        let data: [Vec<f32>; 3] = std::array::from_fn(|i| noise(16 * 16, i as u64));
        let matrix = |i: usize| {
            MatrixRef::packed(&data[i], shapes[i][0], shapes[i][1], orders[i]).leading_dimension(lds[i])
        };
        let reference = gemm(alpha, &matrix(0), &matrix(1), beta, Some(&matrix(2))).unwrap();
        prop_assert_eq!(reference.exact().dim(), (m, n));
        for ((row, column), &value) in reference.exact().indexed_iter() {
            let sum: f64 = (0..k)
                .map(|p| at(&data[0], orders[0], lds[0], row, p) * at(&data[1], orders[1], lds[1], p, column))
                .sum();
            let expected = f64::from(alpha) * sum + f64::from(beta) * at(&data[2], orders[2], lds[2], row, column);
            prop_assert!((value - expected).abs() <= 1e-14 * 30.0, "{value} {expected}");
        }
    }

    #[test]
    fn a_sequential_f32_product_is_within_the_bound_and_a_lost_term_is_not(k in 1usize..200, seed in 0u64..1000) {
        let (a, b) = (noise(k, seed), noise(k, seed + 1000));
        let sum = |terms: usize| a.iter().zip(&b).take(terms).fold(0.0f32, |sum, (a, b)| a.mul_add(*b, sum));
        let (a_ref, b_ref) = (MatrixRef::packed(&a, 1, k, Order::RowMajor), MatrixRef::packed(&b, k, 1, Order::RowMajor));
        let reference = gemm(1.0, &a_ref, &b_ref, 0.0, None).unwrap();
        let compare = |d: f32| reference.compare(&MatrixRef::packed(&[d], 1, 1, Order::RowMajor), Accumulation::Fma);
        prop_assert!(compare(sum(k)).unwrap().passes());
        prop_assume!((a[k - 1] * b[k - 1]).abs() > 1e-2);
        prop_assert!(!compare(sum(k - 1)).unwrap().passes());
    }
}

fn compare<T: Element>(a: f32, b: f32, d: f32) -> Comparison {
    let [a, b, d] = [a, b, d].map(|value| [T::from_f32(value)]);
    let one = |data| MatrixRef::packed(data, 1, 1, Order::RowMajor);
    gemm(1.0, &one(&a), &one(&b), 0.0, None).unwrap().compare(&one(&d), Accumulation::TensorCore).unwrap()
}

#[test]
fn the_bound_allows_half_an_ulp_of_the_output_and_no_whole_one() {
    // 33 · 129 = 4257; f16 has steps of 4 there, bf16 of 32.
    assert!(compare::<f16>(33.0, 129.0, 4256.0).passes());
    assert!(!compare::<f16>(33.0, 129.0, 4264.0).passes());
    assert!(compare::<bf16>(33.0, 129.0, 4256.0).passes());
    assert!(!compare::<bf16>(33.0, 129.0, 4288.0).passes());
    assert!(!compare::<f32>(33.0, 129.0, 4258.0).passes());
}

#[test]
fn infinities_are_right_only_where_the_type_overflows() {
    assert!(compare::<f16>(300.0, 300.0, f32::INFINITY).passes());
    assert!(!compare::<f16>(300.0, 300.0, 65504.0).passes());
    assert!(!compare::<f16>(300.0, 300.0, f32::NEG_INFINITY).passes());
    assert!(!compare::<f16>(2.0, 2.0, f32::INFINITY).passes());
    assert!(!compare::<f16>(2.0, 2.0, f32::NAN).passes());
    assert!(compare::<f16>(f32::NAN, 2.0, f32::NAN).passes());
    assert!(!compare::<f16>(f32::NAN, 2.0, 2.0).passes());
}

#[test]
fn a_comparison_finds_the_worst_element() {
    let identity = [1.0f32, 0.0, 0.0, 1.0];
    let b = [1.0f32, 2.0, 3.0, 4.0];
    let square = |data| MatrixRef::packed(data, 2, 2, Order::RowMajor);
    let reference = gemm(2.0, &square(&identity), &square(&b), 1.0, Some(&square(&b))).unwrap();
    let comparison = reference.compare_exactly(&square(&[3.0f32, 6.0, 9.0, 12.0])).unwrap();
    assert_eq!((comparison.max_ratio, comparison.max_error, comparison.elements), (0.0, 0.0, 4));
    let comparison = reference.compare(&square(&[3.0f32, 6.0, 9.5, 12.0]), Accumulation::Fma).unwrap();
    assert_eq!((comparison.worst, comparison.actual, comparison.expected), ([1, 0], 9.5, 9.0));
    assert!((comparison.relative_l2 - 0.5 / 270.0f64.sqrt()).abs() < 1e-15);
    let text = comparison.check().unwrap_err().to_string();
    assert!(text.starts_with("d differs from the reference: worst element (1, 0) is 9.5, reference 9,"), "{text}");
}

#[test]
fn wrong_extents_short_storage_and_zero_references_are_typed_errors() {
    let data = [1.0f32; 6];
    let matrix = |rows, columns| MatrixRef::packed(&data[..], rows, columns, Order::RowMajor);
    let refused = |result: Result<Reference>| result.unwrap_err().to_string();
    assert_eq!(refused(gemm(1.0, &matrix(2, 3), &matrix(2, 3), 0.0, None)), "b is 2×3, required is 3×3");
    assert_eq!(refused(gemm(1.0, &matrix(3, 2), &matrix(2, 4), 0.0, None)), "b has 6 elements, required are 8");
    assert!(matches!(gemm(1.0, &matrix(2, 2), &matrix(2, 2), 0.5, None), Err(Error::MissingSource { .. })));
    let wrong = gemm(1.0, &matrix(2, 2), &matrix(2, 3), 1.0, Some(&matrix(3, 2)));
    assert!(matches!(wrong, Err(Error::Shape { name: "c", required: [2, 3], actual: [3, 2] })));
    let zero = gemm(0.0, &matrix(2, 2), &matrix(2, 2), 0.0, None).unwrap();
    assert!(matches!(zero.compare(&matrix(2, 2), Accumulation::Fma), Err(Error::ZeroReference)));
    assert!(Bound::new(Accumulation::TensorCore, crate::ElementKind::F16, 1 << 24).is_err());
}
