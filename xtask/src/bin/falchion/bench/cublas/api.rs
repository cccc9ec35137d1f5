//! The entry points.

use anyhow::{Context, Result, bail};
use libloading::Library;
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::Path,
};

/// An opaque object of the library.
pub type Handle = *mut c_void;
/// `cublasStatus_t`.
pub type Status = c_int;

/// `cublasLtMatmulAlgo_t`: opaque, of this size.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Algorithm([u64; 8]);

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct HeuristicResult {
    pub algorithm: Algorithm,
    workspace_bytes: usize,
    pub state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

type Destroy = unsafe extern "C" fn(Handle) -> Status;
type SetAttribute = unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> Status;

pub struct Api {
    pub create: unsafe extern "C" fn(*mut Handle) -> Status,
    pub destroy: Destroy,
    pub get_version: unsafe extern "C" fn() -> usize,
    status_string: unsafe extern "C" fn(Status) -> *const c_char,
    /// Compute type, scale type.
    pub descriptor_create: unsafe extern "C" fn(*mut Handle, c_int, c_int) -> Status,
    pub descriptor_set: SetAttribute,
    pub descriptor_destroy: Destroy,
    /// Element type, rows, columns, leading dimension.
    pub layout_create: unsafe extern "C" fn(*mut Handle, c_int, u64, u64, i64) -> Status,
    pub layout_destroy: Destroy,
    pub preference_create: unsafe extern "C" fn(*mut Handle) -> Status,
    pub preference_set: SetAttribute,
    pub preference_destroy: Destroy,
    /// Library, descriptor, layouts of A, B, C and D, preference, results asked for, results, how many there are.
    pub heuristic: unsafe extern "C" fn(
        Handle,
        Handle,
        Handle,
        Handle,
        Handle,
        Handle,
        Handle,
        c_int,
        *mut HeuristicResult,
        *mut c_int,
    ) -> Status,
    /// Library, descriptor, α, A, B, β, C and D with their layouts, algorithm, workspace and its size, stream.
    pub matmul: unsafe extern "C" fn(
        Handle,
        Handle,
        *const c_void,
        *const c_void,
        Handle,
        *const c_void,
        Handle,
        *const c_void,
        *const c_void,
        Handle,
        *mut c_void,
        Handle,
        *const Algorithm,
        *mut c_void,
        usize,
        *mut c_void,
    ) -> Status,
    /// Keeps the functions loaded.
    _library: Library,
}

impl Api {
    pub fn load(path: &Path) -> Result<Self> {
        // SAFETY: cuBLASLt has no requirements on being loaded.
        let library = unsafe { Library::new(path) }?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the field's type is the function's in `cublasLt.h`.
                *unsafe { library.get(concat!($name, "\0").as_bytes()) }.context($name)?
            };
        }
        Ok(Self {
            create: symbol!("cublasLtCreate"),
            destroy: symbol!("cublasLtDestroy"),
            get_version: symbol!("cublasLtGetVersion"),
            status_string: symbol!("cublasLtGetStatusString"),
            descriptor_create: symbol!("cublasLtMatmulDescCreate"),
            descriptor_set: symbol!("cublasLtMatmulDescSetAttribute"),
            descriptor_destroy: symbol!("cublasLtMatmulDescDestroy"),
            layout_create: symbol!("cublasLtMatrixLayoutCreate"),
            layout_destroy: symbol!("cublasLtMatrixLayoutDestroy"),
            preference_create: symbol!("cublasLtMatmulPreferenceCreate"),
            preference_set: symbol!("cublasLtMatmulPreferenceSetAttribute"),
            preference_destroy: symbol!("cublasLtMatmulPreferenceDestroy"),
            heuristic: symbol!("cublasLtMatmulAlgoGetHeuristic"),
            matmul: symbol!("cublasLtMatmul"),
            _library: library,
        })
    }

    /// An error with the library's own words unless the status is success.
    pub fn check(&self, operation: &str, status: Status) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: returns a static string for every number.
        let text = unsafe { (self.status_string)(status) };
        let text = if text.is_null() {
            "unknown".into()
        } else {
            // SAFETY: not null, hence a string.
            unsafe { CStr::from_ptr(text) }.to_string_lossy()
        };
        bail!("{operation}: {text} ({status})");
    }
}
