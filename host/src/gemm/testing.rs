//! Made-up kernels and a made-up device for the tests of selection and launches.

use super::candidate::Candidate;
use crate::{CudaVersion, DeviceInfo, DeviceKind, ElementKind, Order};
use falchion_device::kernel::{GemmDescription, Header, KIND_GEMM, OpClass};

/// An H200.
pub(super) fn device() -> DeviceInfo {
    DeviceInfo {
        kind: DeviceKind::Cuda,
        name: "test".to_owned(),
        compute_capability: 90,
        multiprocessors: 132,
        l2_bytes: 50 << 20,
        memory_bytes: 1 << 36,
        driver: Some(CudaVersion { major: 13, minor: 0 }),
        max_dynamic_shared_bytes: 227 * 1024,
    }
}

/// A kernel of square tiles whose threads load `alignment` elements at a time.
pub(super) fn tiled(
    name: &'static str,
    element: ElementKind,
    tile: u32,
    orders: [Order; 2],
    alignment: u32,
) -> Candidate {
    let mut header = Header::new(128, 48 * 1024);
    header.words = GemmDescription::WORDS as u32;
    header.kind = KIND_GEMM;
    let gemm = GemmDescription {
        header,
        tile: [tile, tile, 32],
        stages: 4,
        elements: [element as u32, element as u32, element as u32, ElementKind::F32 as u32],
        orders: orders.map(|order| order as u32),
        alignment: [alignment; 2],
        op_class: OpClass::TensorOp as u32,
        warps: [2, 2],
        params_bytes: 104,
    };
    Candidate::new(name, gemm, 0).expect("a family has tensor-op kernels")
}

/// A warp-specialised f16 kernel.
pub(super) fn wgmma(name: &'static str, [m, n]: [u32; 2], cluster: u32, orders: [Order; 2]) -> Candidate {
    let mut gemm = tiled(name, ElementKind::F16, 0, orders, 8).gemm;
    gemm.header.arch = 90;
    gemm.header.arch_specific = 1;
    gemm.header.threads = 128 * (1 + m / 64);
    gemm.header.cluster = [cluster, 1, 1];
    gemm.header.shared_bytes = 200 * 1024;
    gemm.tile = [m, n, 64];
    gemm.op_class = OpClass::Wgmma as u32;
    gemm.params_bytes = 544;
    Candidate::new(name, gemm, 0).expect("a family has wgmma kernels")
}
