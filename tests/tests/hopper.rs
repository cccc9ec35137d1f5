//! Warp-specialised kernels where only a small device shows what matters: blocks that compute several tiles.

use falchion::sim::Settings;
use falchion::{Device, Element, ElementKind, Order, bf16, bytemuck::Pod, f16, stock};
use falchion_device::kernel::{GemmDescription, OpClass};
use falchion_tests::GemmCase;

fn specialised() -> Vec<(&'static str, GemmDescription)> {
    let kernels: Vec<_> = stock::kernels()
        .iter()
        .filter_map(|kernel| Some((kernel.name(), kernel.gemm()?)))
        .filter(|(_, gemm)| gemm.op_class == OpClass::Wgmma as u32)
        .collect();
    assert!(!kernels.is_empty(), "no warp-specialised stock kernels are embedded: run `cargo xtask build`");
    kernels
}

/// A simulated device of four multiprocessors, whose warps take turns in the order of `seed`.
fn small_device(seed: u64) -> Device {
    let mut settings = Settings::default();
    settings.multiprocessors = 4;
    settings.seed = seed;
    Device::simulator(settings)
}

fn check<T: Element + Pod>(name: &'static str, gemm: &GemmDescription, seed: u64) {
    let [tile_m, tile_n, tile_k] = gemm.tile;
    let rows = tile_m * gemm.header.cluster[0];
    // Five clusters' tiles in M by one and a half in N on two to four clusters; more k-tiles than stages.
    let mut case = GemmCase::new(5 * rows - 24, tile_n + tile_n / 2, (gemm.stages + 2) * tile_k - 8);
    let orders = gemm.storage_orders().expect("a stock kernel has storage orders");
    case.orders = [orders[0], orders[1], Order::RowMajor];
    case.kernel = Some(name);
    case.seed = seed;
    (case.alpha, case.beta) = if seed.is_multiple_of(2) { (1.0, 0.0) } else { (0.5, -1.0) };
    case.check::<T>(&small_device(seed)).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// A pingpong consumer that waited for a stage two phases ahead read it before it was filled; it took a block with several
/// tiles and more k-tiles than stages to show.
#[test]
fn persistent_blocks_are_right_on_their_later_tiles() {
    for (seed, (name, gemm)) in specialised().into_iter().enumerate() {
        match gemm.element_kinds().expect("a stock kernel names its elements")[0] {
            ElementKind::F16 => check::<f16>(name, &gemm, seed as u64),
            ElementKind::Bf16 => check::<bf16>(name, &gemm, seed as u64),
            other => panic!("no test for warp-specialised kernels of {other}"),
        }
    }
}
