//! Parameter blocks and grids of warp-specialised kernels, with maps that a closure encodes.

use super::*;
use crate::gemm::testing::{device, wgmma};
use crate::{Error, Gemm, f16};
use Order::{ColumnMajor, RowMajor};
use std::cell::RefCell;

/// A request as it was made.
#[derive(Debug, PartialEq)]
struct Asked {
    address: u64,
    extents: [u64; 2],
    stride: u64,
    box_extents: [u32; 2],
}

fn launcher(gemm: &Gemm<f16>, candidate: &Candidate) -> SpecializedLauncher {
    let problem = gemm.problem().unwrap().oriented();
    candidate.serves(&problem, &device()).unwrap();
    SpecializedLauncher::new(candidate, &problem, &device())
}

fn operands(a: u64, b: u64, c: Option<u64>, d: u64) -> Operands {
    Operands { a, b, c, d, op: LinearCombinationParams { alpha: 2.0, beta: 3.0 } }
}

/// The block for `operands` and the maps that were encoded for it; the map at address `x` is full of `x`.
fn params(launcher: &SpecializedLauncher, operands: &Operands) -> (Params, Vec<Asked>) {
    let asked = RefCell::new(Vec::new());
    let encode = |request: &TensorMapRequest<'_>| {
        request.check()?;
        assert_eq!((request.swizzle, request.element), (TensorMapSwizzle::Bytes128, ElementKind::F16));
        asked.borrow_mut().push(Asked {
            address: request.address,
            extents: request.extents.try_into().unwrap(),
            stride: request.strides[0],
            box_extents: request.box_extents.try_into().unwrap(),
        });
        Ok(TensorMap([request.address; 16]))
    };
    let params = launcher.params(operands, encode).unwrap();
    (params, asked.into_inner())
}

#[test]
fn k_major_factors_are_copied_in_rows_of_the_tile_and_mn_major_ones_in_rows_of_k() {
    let gemm = |a, b| Gemm::<f16>::new(300, 504, 100).a((a, 304)).b((b, 512)).d((RowMajor, 512));
    let asked =
        |a, b| params(&launcher(&gemm(a, b), &wgmma("k", [128, 256], 2, [a, b])), &operands(16, 32, None, 48)).1;
    let a = |extents, box_extents| Asked { address: 16, extents, stride: 608, box_extents };
    let b = |extents, box_extents| Asked { address: 32, extents, stride: 1024, box_extents };
    let d = || Asked { address: 48, extents: [504, 300], stride: 1024, box_extents: [64, 64] };
    // The blocks of a cluster share the 256 columns of a K-major B.
    assert_eq!(asked(RowMajor, ColumnMajor), [a([100, 300], [64, 128]), b([100, 504], [64, 128]), d()]);
    assert_eq!(asked(ColumnMajor, RowMajor), [a([300, 100], [64, 64]), b([504, 100], [64, 64]), d()]);
}

#[test]
fn the_block_holds_maps_source_shape_raster_and_scalars() {
    let gemm = Gemm::<f16>::new(300, 504, 104).b(ColumnMajor).c((RowMajor, 512));
    let launcher = launcher(&gemm, &wgmma("k", [128, 256], 2, [RowMajor, ColumnMajor]));
    let (block, asked) = params(&launcher, &operands(16, 32, Some(64), 48));
    assert_eq!([block.a, block.b, block.c, block.d], [16, 32, 64, 48].map(|address| TensorMap([address; 16])));
    assert_eq!(asked[2], Asked { address: 64, extents: [504, 300], stride: 1024, box_extents: [64, 64] });
    assert_eq!(block.shape, GemmShape { m: 300, n: 504, k: 104 });
    // Two clusters of 256 × 256 along each dimension, all of a group.
    let raster = block.raster;
    assert_eq!([raster.tiles_m, raster.tiles_n, raster.group].map(u32::from), [2, 2, 2]);
    assert_eq!((block.op.alpha, block.op.beta), (2.0, 3.0));
    // Of a source that is not read there is no map.
    assert_eq!(params(&launcher, &operands(16, 32, None, 48)).0.c, TensorMap([0; 16]));
}

#[test]
fn a_column_major_output_exchanges_factors_and_extents() {
    let gemm = Gemm::<f16>::new(96, 200, 64).b(RowMajor).a(ColumnMajor).d(ColumnMajor);
    let launcher = launcher(&gemm, &wgmma("k", [64, 128], 1, [ColumnMajor, RowMajor]));
    let (block, asked) = params(&launcher, &operands(16, 32, None, 48));
    assert_eq!(block.shape, GemmShape { m: 200, n: 96, k: 64 });
    // The kernel's A is the caller's B, read as its transpose.
    assert_eq!(asked.iter().map(|asked| asked.extents).collect::<Vec<_>>(), [[200, 64], [96, 64], [96, 200]]);
}

#[test]
fn maps_are_encoded_again_only_when_an_address_changes() {
    let launcher = launcher(&Gemm::new(64, 64, 64).b(ColumnMajor), &wgmma("k", [64, 128], 1, [RowMajor, ColumnMajor]));
    let encoded = |operands| params(&launcher, &operands).1.iter().map(|asked| asked.address).collect::<Vec<_>>();
    assert_eq!(encoded(operands(16, 32, None, 48)), [16, 32, 48]);
    assert_eq!(encoded(operands(16, 32, None, 48)), [0; 0]);
    assert_eq!(encoded(operands(16, 32, Some(80), 48)), [80]);
    assert_eq!(encoded(operands(16, 64, Some(80), 96)), [64, 96]);
    let (block, asked) = params(&launcher, &operands(16, 64, Some(80), 96));
    assert_eq!(asked, []);
    assert_eq!([block.a, block.b, block.c, block.d], [16, 64, 80, 96].map(|address| TensorMap([address; 16])));
}

#[test]
fn a_failed_encoding_is_reported_and_tried_again() {
    let launcher = launcher(&Gemm::new(64, 64, 64).b(ColumnMajor), &wgmma("k", [64, 128], 1, [RowMajor, ColumnMajor]));
    let fails = |_: &TensorMapRequest<'_>| Err(Error::NoStockKernels);
    assert!(launcher.params(&operands(16, 32, None, 48), fails).is_err());
    assert_eq!(params(&launcher, &operands(16, 32, None, 48)).1.len(), 3);
}

#[test]
fn the_grid_is_as_many_whole_clusters_as_fit_or_as_there_are_tiles() {
    let grid = |[m, n]: [u64; 2], candidate: &Candidate| {
        let launcher = launcher(&Gemm::new(m, n, 64).b(ColumnMajor), candidate);
        assert_eq!(
            (launcher.config.block, launcher.config.dynamic_shared),
            ([candidate.gemm.header.threads, 1, 1], 204_800)
        );
        launcher.config.grid
    };
    let orders = [RowMajor, ColumnMajor];
    let (pairs, single) = (wgmma("k", [128, 256], 2, orders), wgmma("k", [64, 128], 1, orders));
    assert_eq!(grid([4096, 4096], &pairs), [132, 1, 1]);
    assert_eq!(grid([4096, 4096], &single), [132, 1, 1]);
    assert_eq!(grid([512, 512], &pairs), [8, 1, 1]);
    assert_eq!(grid([1, 8], &pairs), [2, 1, 1]);
    assert_eq!(grid([512, 512], &single), [32, 1, 1]);
    let odd = DeviceInfo { multiprocessors: 131, ..device() };
    let problem = Gemm::<f16>::new(4096, 4096, 64).b(ColumnMajor).problem().unwrap().oriented();
    assert_eq!(SpecializedLauncher::new(&pairs, &problem, &odd).config.grid, [130, 1, 1]);
}

#[test]
fn large_problems_are_walked_in_groups_of_eight_clusters() {
    let pairs = wgmma("k", [128, 256], 2, [RowMajor, ColumnMajor]);
    for size in [4096, 8192, 16384] {
        let raster = launcher(&Gemm::new(size, size, 64).b(ColumnMajor), &pairs).raster;
        assert_eq!(raster.group.get(), 8);
    }
}
