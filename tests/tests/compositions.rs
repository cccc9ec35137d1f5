//! Kernels composed of other parts than the stock ones, launched as their authors would.

use falchion::{Element, Order, reference};
use falchion::{LaunchConfig, bytemuck::Pod, f16, reference::Accumulation, reference::MatrixRef};
use falchion_device::epilogue::LinearCombinationParams;
use falchion_device::kernel::{GemmDescription, GemmParams, GemmShape, MatrixOperand};
use falchion_device::schedule::{Identity, RasterParams, Rasterised, TileScheduler};
use falchion_tests::{Random, TestKernel, device, is_simulator, skipped};
use std::num::NonZeroU32;

/// Runs a test GEMM on m × n × k random reals and compares with the reference.
fn run<S: TileScheduler, D: Element + Pod>(name: &str, [m, n, k]: [u32; 3]) {
    let kernel = TestKernel::named(name);
    let description = GemmDescription::from_words(kernel.description).expect("the kernel describes a GEMM");
    let orders = description.storage_orders().expect("the description names orders");
    let mut random = Random::new(7);
    let mut upload = |rows: u32, columns: u32| {
        let values: Vec<f16> = (0..rows * columns).map(|_| f16::from_f32(random.real())).collect();
        (device().upload(&values).unwrap(), values)
    };
    let ((a, host_a), (b, host_b)) = (upload(m, k), upload(k, n));
    let d = device().alloc::<D>((m * n) as usize).unwrap();
    let leading = |order, rows, columns| i64::from(if order == Order::RowMajor { columns } else { rows });
    let tiles = |extent: u32, tile| NonZeroU32::new(extent.div_ceil(tile)).unwrap();
    let raster = RasterParams {
        tiles_m: tiles(m, description.tile[0]),
        tiles_n: tiles(n, description.tile[1]),
        group: NonZeroU32::new(2).unwrap(),
    };
    let params = GemmParams {
        a: MatrixOperand { address: a.address(), leading_dimension: leading(orders[0], m, k) },
        b: MatrixOperand { address: b.address(), leading_dimension: leading(orders[1], k, n) },
        c: MatrixOperand { address: 0, leading_dimension: 0 },
        d: MatrixOperand { address: d.address(), leading_dimension: n.into() },
        shape: GemmShape { m, n, k },
        raster,
        output_alignment: if n % (16 / D::BYTES as u32) == 0 { 16 / D::BYTES as u32 } else { 1 },
        reserved: 0,
        op: LinearCombinationParams { alpha: 1.0, beta: 0.0 },
    };
    let launch = LaunchConfig::new(S::grid(&raster), [description.header.threads, 1, 1])
        .dynamic_shared(description.header.shared_bytes);
    // SAFETY: the parameters are the kernel's, and the operands have the extents that they say.
    unsafe { kernel.load(device()).launch(&device().default_stream().unwrap(), launch, (params,)).unwrap() };
    let result = d.download().unwrap();
    let [rows, columns, depth] = [m, n, k].map(|extent| extent as usize);
    let a = MatrixRef::packed(&host_a, rows, depth, orders[0]);
    let b = MatrixRef::packed(&host_b, depth, columns, orders[1]);
    let reference = reference::gemm(1.0, &a, &b, 0.0, None).unwrap();
    let compared =
        reference.compare(&MatrixRef::packed(&result, rows, columns, Order::RowMajor), Accumulation::TensorCore);
    compared.unwrap().check().unwrap();
}

const WITHOUT_SWIZZLE: &str = "falchion_tensorop_s16816gemm_f16_64x64_32x4_tn_align8";
const UNLIKE: &str = "falchion_tensorop_s16816gemm_f16_64x128_64x3_tt_align8x2";

#[test]
fn unlike_parts_compose() {
    run::<Identity, f32>(UNLIKE, [130, 262, 200]);
    run::<Identity, f32>(UNLIKE, [64, 128, 64]);
}

#[test]
fn a_missing_swizzle_conflicts() {
    run::<Rasterised, f16>(WITHOUT_SWIZZLE, [64, 64, 64]);
    if !is_simulator() {
        return skipped("only the simulator counts bank conflicts");
    }
    // The counter is the device's, and other tests of this process may have run on it: conflicts cannot be fewer.
    let counters = device().take_counters().unwrap();
    let conflicts: u64 = counters.opcode("ldmatrix").conflicts;
    assert!(conflicts > 0, "eight rows of 64 bytes, unswizzled, share banks");
}
