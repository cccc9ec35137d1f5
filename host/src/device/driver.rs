//! Entry points of the CUDA driver, with plain integers as results.
//!
//! `cust` turns a result into an enum of CUDA 11.4's codes and loses newer ones, has no JIT log and ties a
//! function's life to a borrowed module; what needs these is declared here. `cust` links the library.

use crate::error::DriverStatus;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// `CUresult`.
pub(super) type Status = c_int;
/// `CUmodule`.
pub(super) type ModuleHandle = *mut c_void;
/// `CUfunction`.
pub(super) type FunctionHandle = *mut c_void;
/// `CUstream`.
pub(super) type StreamHandle = *mut c_void;

pub(super) const SUCCESS: Status = 0;
pub(super) const OUT_OF_MEMORY: Status = 2;
/// The library is a stand-in to link against, with no driver behind it.
pub(super) const STUB_LIBRARY: Status = 34;
pub(super) const NO_DEVICE: Status = 100;
pub(super) const INVALID_DEVICE: Status = 101;
pub(super) const NO_BINARY_FOR_GPU: Status = 209;
pub(super) const INVALID_PTX: Status = 218;
pub(super) const UNSUPPORTED_PTX_VERSION: Status = 222;
pub(super) const NOT_FOUND: Status = 500;

/// `CU_JIT_ERROR_LOG_BUFFER` and its size.
const JIT_ERROR_LOG: [c_int; 2] = [5, 6];
const JIT_ERROR_LOG_BYTES: usize = 16 * 1024;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
/// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`.
const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;

unsafe extern "C" {
    fn cuGetErrorName(status: Status, text: *mut *const c_char) -> Status;
    fn cuGetErrorString(status: Status, text: *mut *const c_char) -> Status;
    fn cuInit(flags: c_uint) -> Status;
    fn cuGetProcAddress(name: *const c_char, entry: *mut *mut c_void, version: c_int, flags: u64) -> Status;
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> Status;
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Status;
    fn cuMemFree_v2(address: u64) -> Status;
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Status;
    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> Status;
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> Status;
    fn cuMemsetD8_v2(address: u64, byte: u8, bytes: usize) -> Status;
    fn cuModuleLoadDataEx(
        module: *mut ModuleHandle,
        image: *const c_void,
        count: c_uint,
        options: *const c_int,
        values: *mut *mut c_void,
    ) -> Status;
    fn cuModuleUnload(module: ModuleHandle) -> Status;
    fn cuModuleGetFunction(function: *mut FunctionHandle, module: ModuleHandle, name: *const c_char) -> Status;
    fn cuFuncSetAttribute(function: FunctionHandle, attribute: c_int, value: c_int) -> Status;
    fn cuLaunchKernel(
        function: FunctionHandle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: StreamHandle,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Status;
}

/// The driver's own words for `code`.
pub(super) fn describe(code: Status) -> DriverStatus {
    type Lookup = unsafe extern "C" fn(Status, *mut *const c_char) -> Status;
    let words = |lookup: Lookup, unknown: &str| {
        let mut text = std::ptr::null();
        // SAFETY: both lookups write a pointer to a static string, or leave it null.
        unsafe {
            if lookup(code, &mut text) == SUCCESS && !text.is_null() {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            } else {
                unknown.to_owned()
            }
        }
    };
    DriverStatus {
        code,
        name: words(cuGetErrorName, "CUDA_ERROR_UNKNOWN"),
        text: words(cuGetErrorString, "no description"),
    }
}

/// Whether `status` means that a kernel faulted, after which every call in the context fails: illegal address,
/// timeout, assertion, hardware stack error, illegal instruction, misaligned address, invalid address space,
/// invalid program counter, unspecified launch failure, and uncorrectable memory errors.
pub(super) fn is_fault(status: Status) -> bool {
    matches!(status, 214 | 226 | 700 | 702 | 710 | 714..=719)
}

/// `Err` with what the driver returned, unless that is success.
fn check(status: Status) -> Result<(), Status> {
    if status == SUCCESS { Ok(()) } else { Err(status) }
}

/// Starts the driver.
pub(super) fn init() -> Result<(), Status> {
    // SAFETY: may be called at any time, any number of times; 0 is the only flag there is.
    check(unsafe { cuInit(0) })
}

/// The driver's function `name` as of CUDA `version`, 1000 times major plus 10 times minor; never null.
pub(super) fn entry_point(name: &CStr, version: c_int) -> Result<*mut c_void, Status> {
    let mut entry = std::ptr::null_mut();
    // SAFETY: the name ends with a zero; writes a pointer; 0 is the default search.
    check(unsafe { cuGetProcAddress(name.as_ptr(), &mut entry, version, 0) })?;
    if entry.is_null() { Err(NOT_FOUND) } else { Ok(entry) }
}

/// The shared memory a block may have when its kernel asks for it, in bytes.
pub(super) fn max_dynamic_shared(device: c_int) -> Result<u32, Status> {
    let mut bytes = 0;
    // SAFETY: writes the value.
    check(unsafe { cuDeviceGetAttribute(&mut bytes, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device) })?;
    Ok(bytes.unsigned_abs())
}

/// Reserves device memory in the current context.
pub(super) fn alloc(bytes: usize) -> Result<u64, Status> {
    let mut address = 0;
    // SAFETY: writes the address.
    check(unsafe { cuMemAlloc_v2(&mut address, bytes) })?;
    Ok(address)
}

/// Waits for the kernels in flight and frees.
///
/// # Safety
/// `address` came from [`alloc`] and is not used again.
pub(super) unsafe fn free(address: u64) -> Result<(), Status> {
    // SAFETY: the caller's.
    check(unsafe { cuMemFree_v2(address) })
}

/// Bytes free, and bytes in all.
pub(super) fn memory() -> Result<(u64, u64), Status> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: writes two sizes.
    check(unsafe { cuMemGetInfo_v2(&mut free, &mut total) })?;
    Ok((free as u64, total as u64))
}

/// # Safety
/// The range lies in a live allocation.
pub(super) unsafe fn write(address: u64, bytes: &[u8]) -> Result<(), Status> {
    // SAFETY: the caller's, and the slice is valid.
    check(unsafe { cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len()) })
}

/// # Safety
/// The range lies in a live allocation.
pub(super) unsafe fn read(address: u64, bytes: &mut [u8]) -> Result<(), Status> {
    // SAFETY: the caller's, and the slice is valid.
    check(unsafe { cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, bytes.len()) })
}

/// # Safety
/// The range lies in a live allocation.
pub(super) unsafe fn fill(address: u64, byte: u8, bytes: usize) -> Result<(), Status> {
    // SAFETY: the caller's.
    check(unsafe { cuMemsetD8_v2(address, byte, bytes) })
}

/// Loads PTX with a terminating zero, or a cubin; a failure comes with the compiler's log.
///
/// # Safety
/// `image` is a complete cubin, or ends with a zero.
pub(super) unsafe fn load(image: &[u8]) -> Result<ModuleHandle, (Status, String)> {
    let mut log = vec![0u8; JIT_ERROR_LOG_BYTES];
    // The size is passed by value in the pointer, as the driver's interface has it.
    let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
    let mut module = std::ptr::null_mut();
    // SAFETY: options and values have the same length; the log outlives the call; the image is the caller's.
    let status = unsafe {
        cuModuleLoadDataEx(&mut module, image.as_ptr().cast(), 2, JIT_ERROR_LOG.as_ptr(), values.as_mut_ptr())
    };
    check(status).map_err(|status| {
        let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
        (status, String::from_utf8_lossy(text).trim().to_owned())
    })?;
    Ok(module)
}

/// # Safety
/// `module` is loaded, and no function of it is used again.
pub(super) unsafe fn unload(module: ModuleHandle) {
    // SAFETY: the caller's. A failure here is that of an earlier kernel, and is reported elsewhere.
    unsafe { cuModuleUnload(module) };
}

/// # Safety
/// `module` is loaded.
pub(super) unsafe fn function(module: ModuleHandle, name: &CStr) -> Result<FunctionHandle, Status> {
    let mut function = std::ptr::null_mut();
    // SAFETY: the caller's; the name ends with a zero.
    check(unsafe { cuModuleGetFunction(&mut function, module, name.as_ptr()) })?;
    Ok(function)
}

/// Lets `function` be launched with up to `bytes` of dynamic shared memory.
///
/// # Safety
/// `function` is of a loaded module.
pub(super) unsafe fn allow_dynamic_shared(function: FunctionHandle, bytes: u32) -> Result<(), Status> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    // SAFETY: the caller's.
    check(unsafe { cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes) })
}

/// # Safety
/// `function` and `stream` are live, and `parameters` are what the kernel takes, one pointer each.
pub(super) unsafe fn launch(
    function: FunctionHandle,
    stream: StreamHandle,
    config: &crate::LaunchConfig,
    parameters: &mut [*mut c_void],
) -> Result<(), Status> {
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (config.grid, config.block);
    // SAFETY: the caller's.
    check(unsafe {
        cuLaunchKernel(
            function,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            config.dynamic_shared,
            stream,
            parameters.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    })
}
