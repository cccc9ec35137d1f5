//! Every stock GEMM kernel against the reference.

use falchion::bytemuck::Pod;
use falchion::{Element, Order, bf16, f16, stock};
use falchion_device::kernel::OpClass;
use falchion_tests::{GemmCase, Values, device, is_simulator};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A stock kernel as far as these tests care.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    name: &'static str,
    tile: [u32; 3],
    orders: [Order; 2],
    alignment: [u32; 2],
    /// Whether the copy engine moves its operands: rows start at multiples of the alignment, and those read end anywhere.
    copy_engine: bool,
}

fn kernels<T: Element>() -> Vec<Kernel> {
    let described = stock::kernels().iter().filter_map(|kernel| Some((kernel.name(), kernel.gemm()?)));
    let of_type = described.filter(|(_, gemm)| gemm.element_kinds().is_some_and(|kinds| kinds[0] == T::KIND));
    let kernels: Vec<_> = of_type
        .map(|(name, gemm)| Kernel {
            name,
            tile: gemm.tile,
            orders: gemm.storage_orders().expect("a stock kernel has storage orders"),
            alignment: gemm.alignment,
            copy_engine: gemm.op_class == OpClass::Wgmma as u32,
        })
        .collect();
    assert!(!kernels.is_empty(), "no stock kernels of {} are embedded: run `cargo xtask build`", T::KIND);
    kernels
}

impl Kernel {
    /// The case with this kernel's orders, and extents and offsets that its accesses allow.
    fn fit(&self, mut case: GemmCase) -> GemmCase {
        case.orders = [self.orders[0], self.orders[1], Order::RowMajor];
        case.kernel = Some(self.name);
        if self.copy_engine {
            return self.fit_copy_engine(case);
        }
        let [m, n, k] = &mut case.extents;
        for (operand, alignment) in self.alignment.into_iter().enumerate() {
            let extent = match (operand, self.orders[operand]) {
                (0, Order::RowMajor) | (1, Order::ColumnMajor) => &mut *k,
                (0, Order::ColumnMajor) => &mut *m,
                _ => &mut *n,
            };
            *extent = extent.next_multiple_of(alignment);
            // A leading dimension is at least 1, and here a multiple of the alignment, even where there is nothing.
            let least = if *extent == 0 { alignment } else { 0 };
            case.padding[operand] = case.padding[operand].next_multiple_of(alignment).max(least);
            case.offsets[operand] = case.offsets[operand].next_multiple_of(alignment);
        }
        case
    }

    /// The case with all four matrices starting, and their rows (or columns) following each other, at multiples of the
    /// alignment, and with a sum that is not empty.
    fn fit_copy_engine(&self, mut case: GemmCase) -> GemmCase {
        let unit = self.alignment[0];
        let [m, n, k] = case.extents;
        // Rows of D also end at multiples of the alignment.
        let [m, n, k] = [m, n.next_multiple_of(unit), k.max(1)];
        case.extents = [m, n, k];
        let contiguous = |order, rows, columns| if order == Order::RowMajor { columns } else { rows };
        let contiguous = [contiguous(self.orders[0], m, k), contiguous(self.orders[1], k, n), n, n];
        for (operand, contiguous) in contiguous.into_iter().enumerate() {
            let leading_dimension = (contiguous + case.padding[operand]).max(1).next_multiple_of(unit);
            case.padding[operand] = leading_dimension - contiguous;
            case.offsets[operand] = case.offsets[operand].next_multiple_of(unit);
        }
        case
    }

    /// Below, at and above the tile in each dimension; k from nothing to several stages.
    fn boundary_cases(&self) -> Vec<GemmCase> {
        let [m, n, k] = self.tile;
        let extents = [
            [m, n, k],
            [m - 1, n + 1, k + 1],
            [m + 1, n - 1, 5 * k - 1],
            [1, 1, 1],
            [m, 1, 2 * k],
            [1, n, 0],
            [2 * m + 1, 7, 3 * k + 3],
        ];
        let cases = extents.into_iter().enumerate().map(|(index, [m, n, k])| {
            let mut case = GemmCase::new(m, n, k);
            case.seed = index as u64;
            if index % 2 == 1 {
                (case.alpha, case.beta) = (0.5, -1.5);
                case.padding = [3, 5, 1, 7];
                case.offsets = [1, 3, 5, 1];
            }
            self.fit(case)
        });
        cases.collect()
    }
}

fn every_kernel_is_right_at_boundaries<T: Element + Pod>() {
    for kernel in kernels::<T>() {
        for case in kernel.boundary_cases() {
            case.check::<T>(device()).unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }
}

/// Extents near 0, near multiples of the tiles, or anywhere below `limit`.
fn extent(limit: u32) -> impl Strategy<Value = u32> {
    prop_oneof![0..10u32, (1..limit / 32, 0..3u32).prop_map(|(tiles, off)| tiles * 32 + off - 1), 0..limit]
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::RowMajor), Just(Order::ColumnMajor)]
}

/// Any GEMM whose factors are exact in integer cases.
fn any_case(limit: u32) -> impl Strategy<Value = GemmCase> {
    let integers =
        (prop::sample::select(vec![1.0f32, -1.0, 2.0, 0.5, 0.0]), prop::sample::select(vec![0.0f32, 1.0, -2.0, 0.5]));
    let reals = (-2.0f32..2.0, prop_oneof![Just(0.0f32), -2.0f32..2.0]);
    let scalars = prop_oneof![
        integers.prop_map(|(alpha, beta)| (Values::Integers, alpha, beta)),
        reals.prop_map(|(alpha, beta)| (Values::Reals, alpha, beta)),
    ];
    let small = || prop_oneof![2 => Just([0u32; 4]), 1 => prop::array::uniform4(0..20u32), 1 => prop::array::uniform4((0..3u32).prop_map(|x| 8 * x))];
    let extents = (extent(limit), extent(limit), extent(limit));
    (extents, prop::array::uniform3(order()), small(), small(), scalars, any::<bool>(), any::<u64>()).prop_map(
        |((m, n, k), orders, padding, offsets, (values, alpha, beta), in_place, seed)| GemmCase {
            extents: [m, n, k],
            orders,
            padding,
            offsets,
            alpha,
            beta,
            in_place,
            values,
            seed,
            kernel: None,
        },
    )
}

/// Cases are smaller on the simulator, which runs about a million times slower than what it simulates.
fn limit() -> u32 {
    if is_simulator() { 200 } else { 1200 }
}

fn check_property<T: Element + Pod>(cases: u32, choose: impl Fn(GemmCase) -> GemmCase) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let checked = TestRunner::new(config)
        .run(&any_case(limit()), |case| choose(case).check::<T>(device()).map_err(TestCaseError::fail));
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}

/// The plan's own choice, for any layouts, strides and addresses.
fn any_gemm_is_right<T: Element + Pod>() {
    kernels::<T>();
    check_property::<T>(200, |case| case);
}

/// Each kernel, for anything it accepts.
fn every_kernel_is_right<T: Element + Pod>() {
    for kernel in kernels::<T>() {
        check_property::<T>(16, |case| kernel.fit(case));
    }
}

#[test]
fn every_f32_kernel_is_right_at_boundaries() {
    every_kernel_is_right_at_boundaries::<f32>();
}

#[test]
fn every_f16_kernel_is_right_at_boundaries() {
    every_kernel_is_right_at_boundaries::<f16>();
}

#[test]
fn every_bf16_kernel_is_right_at_boundaries() {
    every_kernel_is_right_at_boundaries::<bf16>();
}

#[test]
fn any_f32_gemm_is_right() {
    any_gemm_is_right::<f32>();
}

#[test]
fn any_f16_gemm_is_right() {
    any_gemm_is_right::<f16>();
}

#[test]
fn any_bf16_gemm_is_right() {
    any_gemm_is_right::<bf16>();
}

#[test]
fn every_f32_kernel_is_right() {
    every_kernel_is_right::<f32>();
}

#[test]
fn every_f16_kernel_is_right() {
    every_kernel_is_right::<f16>();
}

#[test]
fn every_bf16_kernel_is_right() {
    every_kernel_is_right::<bf16>();
}

#[test]
fn a_product_with_the_identity_is_the_other_factor() {
    fn check<T: Element + Pod>() {
        use falchion::{Gemm, GemmArguments};
        let (rows, size) = (130usize, 72usize);
        let x: Vec<T> = (0..rows * size).map(|i| T::from_f32((i % 251) as f32 - 125.0)).collect();
        let identity: Vec<T> =
            (0..size * size).map(|i| T::from_f32(f32::from(u8::from(i % (size + 1) == 0)))).collect();
        let device = device();
        let [left, right, product] =
            [device.upload(&x), device.upload(&identity), device.alloc(x.len())].map(Result::unwrap);
        let plan = Gemm::<T>::new(rows as u64, size as u64, size as u64).plan(device).unwrap();
        plan.run(&device.default_stream().unwrap(), GemmArguments::new(&left, &right, &product)).unwrap();
        assert_eq!(product.download().unwrap(), x);
    }
    check::<f32>();
    check::<f16>();
    check::<bf16>();
}
