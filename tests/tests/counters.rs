//! What the simulator counts in stock kernels.

use falchion::sim::{Class, Counters, Settings};
use falchion::{Device, Order, bf16, bytemuck::Pod, f16, stock};
use falchion::{Element, ElementKind};
use falchion_tests::GemmCase;

/// Counters of one launch of `kernel` on a problem of a few tiles and k-tiles.
fn count<T: Element + Pod>(kernel: &'static str, orders: [Order; 2], tile: [u32; 3]) -> Counters {
    let device = Device::simulator(Settings::default());
    let mut case = GemmCase::new(tile[0] + 16, tile[1] + 16, 4 * tile[2] + 16);
    case.orders = [orders[0], orders[1], Order::RowMajor];
    case.kernel = Some(kernel);
    case.check::<T>(&device).unwrap_or_else(|wrong| panic!("{wrong}"));
    device.take_counters().unwrap()
}

#[test]
fn no_stock_kernel_has_bank_conflicts() {
    let mut checked = 0;
    for kernel in stock::kernels() {
        let Some(gemm) = kernel.gemm() else { continue };
        let orders = gemm.storage_orders().unwrap();
        let counters = match gemm.element_kinds().unwrap()[0] {
            ElementKind::F32 => count::<f32>(kernel.name(), orders, gemm.tile),
            ElementKind::F16 => count::<f16>(kernel.name(), orders, gemm.tile),
            ElementKind::Bf16 => count::<bf16>(kernel.name(), orders, gemm.tile),
            other => panic!("no test for stock kernels of {other}"),
        };
        for class in [Class::SharedStore, Class::SharedLoad, Class::MatrixMove, Class::AsyncCopy] {
            let count = counters.class(class);
            assert_eq!(count.conflicts, 0, "{}: {class:?} {count:?}", kernel.name());
        }
        // The copy engine makes no requests of a warp; `stmatrix` of the outputs does.
        let [stores, copies] =
            [Class::SharedStore, Class::AsyncCopy].map(|class| counters.class(class).shared_requests);
        let moved = stores + copies + counters.opcode("stmatrix").shared_requests;
        assert!(moved > 0, "{} stored nothing to shared memory", kernel.name());
        checked += 1;
    }
    assert!(checked >= 88, "{checked} stock kernels were checked");
}

#[test]
fn a_tensor_op_kernel_executes_the_multiplications_of_its_tiles() {
    let device = Device::simulator(Settings::default());
    let mut case = GemmCase::new(256, 128, 96);
    case.orders = [Order::RowMajor, Order::ColumnMajor, Order::RowMajor];
    case.kernel = Some("falchion_tensorop_s16816gemm_f16_128x128_32x4_tn_align8");
    case.check::<f16>(&device).unwrap_or_else(|wrong| panic!("{wrong}"));
    let counters = device.take_counters().unwrap();
    assert_eq!(counters.opcode("mma").warps, (256 / 16) * (128 / 8) * (96 / 16));
    assert_eq!(counters.class(Class::MatrixMultiply).warps, counters.opcode("mma").warps);
    assert_eq!(counters.blocks, 2);
}

#[test]
fn an_aligned_kernel_uses_whole_sectors() {
    let device = Device::simulator(Settings::default());
    let mut case = GemmCase::new(128, 128, 64);
    case.orders = [Order::RowMajor, Order::ColumnMajor, Order::RowMajor];
    case.kernel = Some("falchion_tensorop_s16816gemm_f16_128x128_32x4_tn_align8");
    case.check::<f16>(&device).unwrap_or_else(|wrong| panic!("{wrong}"));
    let counters = device.take_counters().unwrap();
    let bytes = |elements: u64| elements * 2;
    assert_eq!(counters.class(Class::AsyncCopy).sectors * 32, bytes(2 * 128 * 64), "A and B are read once");
    assert_eq!(counters.class(Class::GlobalStore).sectors * 32, bytes(128 * 128), "D is written once");
    assert_eq!(counters.class(Class::GlobalLoad).sectors, 0, "C is not read when beta = 0");
}
