//! cuBLASLt, loaded at run time.
//!
//! Source of names, numbers and layouts: cuBLAS documentation, "Using the cuBLASLt API", and `cublasLt.h`.

mod api;
mod search;

use anyhow::{Context, Result, bail};
use api::{Api, Handle, HeuristicResult};
use falchion::{Buffer, Device, Element, ElementKind};
use std::{
    ffi::c_void,
    path::{Path, PathBuf},
    ptr,
    rc::Rc,
};
use xtask::{arguments::Extents, bench::suite::Case, failure::describe};

/// What NVIDIA recommends on Hopper is 32 MiB; with twice that no algorithm is ruled out.
const WORKSPACE_BYTES: usize = 64 << 20;

const COMPUTE_32F: i32 = 68;
const TYPE_32F: i32 = 0;
const TYPE_16F: i32 = 2;
const TYPE_16BF: i32 = 14;
const DESCRIPTOR_TRANSA: i32 = 3;
const DESCRIPTOR_TRANSB: i32 = 4;
const PREFERENCE_MAX_WORKSPACE_BYTES: i32 = 1;
const OPERATION_N: i32 = 0;
const OPERATION_T: i32 = 1;

/// The library and a handle.
pub struct CublasLt {
    api: Api,
    handle: Handle,
    path: PathBuf,
}

impl CublasLt {
    /// Finds and opens the library. A CUDA context is current.
    pub fn load() -> Result<Self> {
        let mut looked = Vec::new();
        for path in search::candidates() {
            match Self::open(&path) {
                Ok(library) => return Ok(library),
                Err(reason) => looked.push(format!("  - {}: {}", path.display(), describe(&reason))),
            }
        }
        bail!(
            "no cuBLASLt to measure against:\n{}\nrun `python3 -m pip install nvidia-cublas`, or set CUDA_HOME to a CUDA \
             toolkit, and run again",
            looked.join("\n")
        );
    }

    fn open(path: &Path) -> Result<Self> {
        let api = Api::load(path)?;
        let mut handle = ptr::null_mut();
        // SAFETY: writes the handle.
        api.check("cublasLtCreate", unsafe { (api.create)(&mut handle) })?;
        Ok(Self { api, handle, path: path.to_owned() })
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `cuBLASLt 13.1.0`, and how its algorithm is chosen.
    pub fn version(&self) -> String {
        // SAFETY: takes nothing.
        let version = unsafe { (self.api.get_version)() };
        // Major · 10000 + minor · 100 + patch.
        format!("cuBLASLt {}.{}.{}, heuristic's first", version / 10_000, version / 100 % 100, version % 100)
    }

    /// The problem with the heuristic's first algorithm. `addresses` are those of A, B and row-major D.
    ///
    /// cuBLASLt is column-major, so it computes Dᵀ = Bᵀ·Aᵀ: its first factor is our B. A row-major matrix is its own
    /// transpose read in column-major order, and needs no operation.
    pub fn matmul<T: Element>(self: &Rc<Self>, case: &Case, addresses: [u64; 3], device: &Device) -> Result<Matmul> {
        let dtype = match T::KIND {
            ElementKind::F32 => TYPE_32F,
            ElementKind::F16 => TYPE_16F,
            ElementKind::Bf16 => TYPE_16BF,
            other => bail!("cuBLASLt has no counterpart of {other}"),
        };
        let Extents { m, n, k } = case.extents;
        let [a_rows, b_rows] = case.orders.row_major();
        let operation = |rows| if rows { OPERATION_N } else { OPERATION_T };
        let mut matmul = Matmul {
            library: Rc::clone(self),
            descriptor: ptr::null_mut(),
            layouts: [ptr::null_mut(); 3],
            result: HeuristicResult::default(),
            addresses,
            workspace: device.alloc(WORKSPACE_BYTES)?,
        };
        let api = &self.api;
        // SAFETY: writes the descriptor.
        let status = unsafe { (api.descriptor_create)(&mut matmul.descriptor, COMPUTE_32F, TYPE_32F) };
        api.check("cublasLtMatmulDescCreate", status)?;
        for (attribute, value) in [(DESCRIPTOR_TRANSA, operation(b_rows)), (DESCRIPTOR_TRANSB, operation(a_rows))] {
            let value = ptr::from_ref(&value).cast::<c_void>();
            // SAFETY: the descriptor lives, and the attribute is an i32.
            let status = unsafe { (api.descriptor_set)(matmul.descriptor, attribute, value, size_of::<i32>()) };
            api.check("cublasLtMatmulDescSetAttribute", status)?;
        }
        // Rows and columns as stored, in column-major order.
        let stored = [if b_rows { [n, k] } else { [k, n] }, if a_rows { [k, m] } else { [m, k] }, [n, m]];
        for (layout, [rows, columns]) in matmul.layouts.iter_mut().zip(stored) {
            // SAFETY: writes the layout.
            let status = unsafe { (api.layout_create)(layout, dtype, rows as u64, columns as u64, rows as i64) };
            api.check("cublasLtMatrixLayoutCreate", status)?;
        }
        matmul.choose_algorithm().with_context(|| format!("cuBLASLt on {} {}", case.dtype, case.problem()))?;
        Ok(matmul)
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        // SAFETY: every product keeps the library alive, so none is left. A failure changes nothing for us.
        unsafe { (self.api.destroy)(self.handle) };
    }
}

/// A product ready to be launched.
pub struct Matmul {
    library: Rc<CublasLt>,
    descriptor: Handle,
    /// Of cuBLASLt's A, B and D.
    layouts: [Handle; 3],
    result: HeuristicResult,
    /// Of our A, B and D.
    addresses: [u64; 3],
    workspace: Buffer<u8>,
}

impl Matmul {
    fn choose_algorithm(&mut self) -> Result<()> {
        let api = &self.library.api;
        let [a, b, d] = self.layouts;
        let mut preference = ptr::null_mut();
        // SAFETY: writes the preference.
        api.check("cublasLtMatmulPreferenceCreate", unsafe { (api.preference_create)(&mut preference) })?;
        let limit = WORKSPACE_BYTES as u64;
        let mut count = 0;
        // SAFETY: the handles live; the attribute is a u64; one result is asked for and there is room for one.
        let statuses = unsafe {
            let value = ptr::from_ref(&limit).cast::<c_void>();
            let set = (api.preference_set)(preference, PREFERENCE_MAX_WORKSPACE_BYTES, value, size_of::<u64>());
            let handle = self.library.handle;
            let found =
                (api.heuristic)(handle, self.descriptor, a, b, d, d, preference, 1, &mut self.result, &mut count);
            (api.preference_destroy)(preference);
            [("cublasLtMatmulPreferenceSetAttribute", set), ("cublasLtMatmulAlgoGetHeuristic", found)]
        };
        for (operation, status) in statuses {
            api.check(operation, status)?;
        }
        if count == 0 {
            bail!("the heuristic knows no algorithm");
        }
        api.check("the heuristic's first algorithm", self.result.state)
    }

    /// Enqueues D = A·B.
    pub fn launch(&self, stream: *mut c_void) -> Result<()> {
        let api = &self.library.api;
        let [alpha, beta] = [1.0f32, 0.0];
        let [a, b, d] = self.addresses.map(|address| ptr::without_provenance_mut::<c_void>(address as usize));
        let [first, second, output] = self.layouts;
        let workspace = ptr::without_provenance_mut(self.workspace.address() as usize);
        // SAFETY: descriptors live as long as `self`, the scalars are of the scale type, the matrices are on the device
        // with the extents of their layouts, and the workspace has the size that is stated.
        let status = unsafe {
            (api.matmul)(
                self.library.handle,
                self.descriptor,
                ptr::from_ref(&alpha).cast(),
                b,
                first,
                a,
                second,
                ptr::from_ref(&beta).cast(),
                d,
                output,
                d,
                output,
                &self.result.algorithm,
                workspace,
                WORKSPACE_BYTES,
                stream,
            )
        };
        api.check("cublasLtMatmul", status)
    }
}

impl Drop for Matmul {
    fn drop(&mut self) {
        let api = &self.library.api;
        // SAFETY: each was created once or is null, and nothing uses them after this. Failures change nothing for us.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                (api.layout_destroy)(layout);
            }
            if !self.descriptor.is_null() {
                (api.descriptor_destroy)(self.descriptor);
            }
        }
    }
}
