//! Tensor maps by the CUDA driver.

use super::driver::{self, Status};
use super::{CudaVersion, DeviceInfo, L2Promotion, TensorMapRequest, TensorMapSwizzle};
use crate::ElementKind;
use falchion_device::kernel::TensorMap;
use std::{
    ffi::{c_int, c_uint, c_void},
    sync::OnceLock,
};

/// `cuTensorMapEncodeTiled`, of CUDA 12.0.
type EncodeTiled = unsafe extern "C" fn(
    map: *mut c_void,
    data_type: c_int,
    rank: c_uint,
    address: *mut c_void,
    extents: *const u64,
    strides: *const u64,
    box_extents: *const c_uint,
    element_strides: *const c_uint,
    interleave: c_int,
    swizzle: c_int,
    promotion: c_int,
    fill: c_int,
) -> Status;

/// `CU_TENSOR_MAP_INTERLEAVE_NONE`.
const NO_INTERLEAVE: c_int = 0;
/// `CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE`: zeros.
const FILL_ZEROS: c_int = 0;
/// The driver writes to a multiple of this.
const MAP_ALIGNMENT: usize = 64;

/// A fault of drivers up to this one (release notes of driver 595, known issues): on Blackwell, copies of a tensor of less
/// than 128 KiB may end in sporadic illegal memory accesses, unless this bit of the map's second word is cleared.
const LAST_WITH_SMALL_TENSOR_BIT: CudaVersion = CudaVersion { major: 13, minor: 3 };
const BLACKWELL: u32 = 100;
const SMALL_TENSOR_BYTES: u64 = 128 * 1024;
const SMALL_TENSOR_BIT: u64 = 1 << 21;

#[repr(C, align(64))]
struct Aligned(TensorMap);
const _: () = assert!(align_of::<Aligned>() == MAP_ALIGNMENT);

/// Why a map was not encoded.
pub(super) enum Failure {
    /// The driver's answer to the call named.
    Driver(&'static str, Status),
    /// The element type has no counterpart.
    Element(ElementKind),
}

/// The map of a request that passed its checks, for `device`.
pub(super) fn encode(request: &TensorMapRequest<'_>, device: &DeviceInfo) -> Result<TensorMap, Failure> {
    // Looked up by name, since the libraries that `cust` was made for have no such symbol.
    static ENTRY: OnceLock<Result<EncodeTiled, Status>> = OnceLock::new();
    let entry = *ENTRY.get_or_init(|| {
        let pointer = driver::entry_point(c"cuTensorMapEncodeTiled", 12_000)?;
        // SAFETY: the driver's function of this name and version has this signature.
        Ok(unsafe { std::mem::transmute::<*mut c_void, EncodeTiled>(pointer) })
    });
    let entry = entry.map_err(|status| Failure::Driver("cuGetProcAddress", status))?;
    let data_type = data_type(request.element).ok_or(Failure::Element(request.element))?;
    let mut map = Aligned(TensorMap([0; 16]));
    // One, in each of at most five dimensions.
    let element_strides = [1; 5];
    // SAFETY: the checks hold rank, extents, strides and box extents to the same rank; the driver reads them, writes 128
    // bytes, and does not follow the address.
    let status = unsafe {
        entry(
            (&raw mut map).cast(),
            data_type,
            request.extents.len() as c_uint,
            std::ptr::without_provenance_mut(request.address as usize),
            request.extents.as_ptr(),
            request.strides.as_ptr(),
            request.box_extents.as_ptr(),
            element_strides.as_ptr(),
            NO_INTERLEAVE,
            swizzle(request.swizzle),
            promotion(request.promotion),
            FILL_ZEROS,
        )
    };
    if status != driver::SUCCESS {
        return Err(Failure::Driver("cuTensorMapEncodeTiled", status));
    }
    let faulty = device.compute_capability >= BLACKWELL
        && device.driver.is_none_or(|version| version <= LAST_WITH_SMALL_TENSOR_BIT);
    if faulty && request.extent_bytes() < SMALL_TENSOR_BYTES {
        map.0.0[1] &= !SMALL_TENSOR_BIT;
    }
    Ok(map.0)
}

/// `CUtensorMapDataType`.
fn data_type(element: ElementKind) -> Option<c_int> {
    match element {
        ElementKind::F16 => Some(6),
        ElementKind::F32 => Some(7),
        ElementKind::Bf16 => Some(9),
        _ => None,
    }
}

/// `CUtensorMapSwizzle`.
fn swizzle(swizzle: TensorMapSwizzle) -> c_int {
    match swizzle {
        TensorMapSwizzle::None => 0,
        TensorMapSwizzle::Bytes32 => 1,
        TensorMapSwizzle::Bytes64 => 2,
        TensorMapSwizzle::Bytes128 => 3,
    }
}

/// `CUtensorMapL2promotion`.
fn promotion(promotion: L2Promotion) -> c_int {
    match promotion {
        L2Promotion::None => 0,
        L2Promotion::Bytes64 => 1,
        L2Promotion::Bytes128 => 2,
        L2Promotion::Bytes256 => 3,
    }
}
