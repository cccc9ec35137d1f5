//! An NVIDIA GPU as a device.

use super::driver::{self, FunctionHandle, ModuleHandle, Status};
use super::encode::{self, Failure};
use super::engine::{Engine, EngineEvent, EngineKernel, EngineModule, EngineStream, Image, own};
use super::{CudaVersion, DeviceInfo, DeviceKind, TensorMapError, TensorMapRequest};
use crate::error::KernelFault;
use crate::{Error, LaunchConfig, Result};
use cust::{
    CudaApiVersion,
    context::{Context, CurrentContext},
    device::{Device, DeviceAttribute},
    error::CudaError,
    event::EventFlags,
    stream::StreamFlags,
};
use falchion_device::kernel::TensorMap;
use std::{
    ffi::CString,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// PTX 8.0, which the sm_80 kernels are, needs this.
const OLDEST_DRIVER: CudaVersion = CudaVersion { major: 12, minor: 0 };
/// Dynamic shared memory that a launch gets without asking the driver first.
const ORDINARY_DYNAMIC_SHARED: u32 = 48 * 1024;

pub(super) struct CudaEngine {
    info: DeviceInfo,
    gpu: Arc<Gpu>,
}

/// The context, and the fault that made it unusable.
struct Gpu {
    context: Context,
    /// Faults surface at a later call; they are reported with the kernel launched last.
    last_kernel: Mutex<Arc<str>>,
    fault: OnceLock<(String, Status)>,
}

fn driver_error(operation: &'static str, status: Status) -> Error {
    Error::Driver { operation, status: driver::describe(status) }
}

/// The driver's code of an error of `cust`.
fn status_of(error: CudaError) -> Status {
    error as Status
}

impl CudaEngine {
    pub(super) fn open(ordinal: u32) -> Result<Self> {
        driver::init().map_err(|status| match status {
            driver::NO_DEVICE | driver::STUB_LIBRARY => {
                Error::NoDevice { reason: driver::describe(status).to_string() }
            }
            status => driver_error("cuInit", status),
        })?;
        let failed = |operation| move |error| driver_error(operation, status_of(error));
        let version = CudaApiVersion::get().map_err(failed("cuDriverGetVersion"))?;
        let version = CudaVersion { major: version.major().unsigned_abs(), minor: version.minor().unsigned_abs() };
        if version < OLDEST_DRIVER {
            return Err(Error::DriverTooOld { required: OLDEST_DRIVER.to_string(), actual: version.to_string() });
        }
        let device = Device::get_device(ordinal).map_err(|error| match status_of(error) {
            driver::INVALID_DEVICE | driver::NO_DEVICE => {
                let count = Device::num_devices().unwrap_or(0);
                Error::NoDevice { reason: format!("ordinal {ordinal} asked for, the driver has {count} devices") }
            }
            status => driver_error("cuDeviceGet", status),
        })?;
        let shared = driver::max_dynamic_shared(device.as_raw());
        let shared = shared.map_err(|status| driver_error("cuDeviceGetAttribute", status))?;
        let info = Self::query(&device, version, shared).map_err(failed("cuDeviceGetAttribute"))?;
        let context = Context::new(device).map_err(failed("cuDevicePrimaryCtxRetain"))?;
        let gpu = Gpu { context, last_kernel: Mutex::new("".into()), fault: OnceLock::new() };
        Ok(Self { info, gpu: Arc::new(gpu) })
    }

    fn query(device: &Device, driver: CudaVersion, max_dynamic_shared_bytes: u32) -> Result<DeviceInfo, CudaError> {
        let attribute = |attribute| device.get_attribute(attribute).map(i32::unsigned_abs);
        Ok(DeviceInfo {
            kind: DeviceKind::Cuda,
            name: device.name()?,
            compute_capability: attribute(DeviceAttribute::ComputeCapabilityMajor)? * 10
                + attribute(DeviceAttribute::ComputeCapabilityMinor)?,
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
            l2_bytes: attribute(DeviceAttribute::L2CacheSize)?.into(),
            memory_bytes: device.total_memory()? as u64,
            driver: Some(driver),
            max_dynamic_shared_bytes,
        })
    }
}

impl Gpu {
    /// Makes the context current on this thread; refuses when it is unusable.
    fn enter(&self) -> Result<()> {
        if let Some((kernel, status)) = self.fault.get() {
            return Err(Error::Poisoned { kernel: kernel.clone(), status: driver::describe(*status) });
        }
        self.cust("cuCtxSetCurrent", CurrentContext::set_current(&self.context))
    }

    /// What the driver said of `operation`; a kernel's fault is remembered.
    fn error(&self, operation: &'static str, status: Status) -> Error {
        if !driver::is_fault(status) {
            return driver_error(operation, status);
        }
        let kernel = self.last_kernel.lock().unwrap_or_else(PoisonError::into_inner).to_string();
        let (kernel, status) = self.fault.get_or_init(|| (kernel, status));
        Error::KernelFault { kernel: kernel.clone(), fault: KernelFault::Driver(driver::describe(*status)) }
    }

    fn raw<T>(&self, operation: &'static str, result: Result<T, Status>) -> Result<T> {
        result.map_err(|status| self.error(operation, status))
    }

    fn cust<T>(&self, operation: &'static str, result: Result<T, CudaError>) -> Result<T> {
        result.map_err(|error| self.error(operation, status_of(error)))
    }
}

impl Engine for CudaEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn runs_machine_code(&self) -> bool {
        true
    }

    fn alloc(&self, bytes: usize) -> Result<u64> {
        self.gpu.enter()?;
        let available = || driver::memory().map_or(self.info.memory_bytes, |(free, _)| free);
        driver::alloc(bytes).map_err(|status| match status {
            driver::OUT_OF_MEMORY => Error::OutOfMemory { requested: bytes as u64, available: available() },
            status => self.gpu.error("cuMemAlloc", status),
        })
    }

    unsafe fn free(&self, address: u64) {
        // A context that is unusable has lost its allocations, and a fault that surfaces here is remembered.
        if self.gpu.enter().is_ok() {
            // SAFETY: the caller's.
            let _ = self.gpu.raw("cuMemFree", unsafe { driver::free(address) });
        }
    }

    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.gpu.enter()?;
        // SAFETY: the caller's.
        self.gpu.raw("cuMemcpyHtoD", unsafe { driver::write(address, bytes) })
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.gpu.enter()?;
        // SAFETY: the caller's.
        self.gpu.raw("cuMemcpyDtoH", unsafe { driver::read(address, bytes) })
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: usize) -> Result<()> {
        self.gpu.enter()?;
        // SAFETY: the caller's.
        self.gpu.raw("cuMemsetD8", unsafe { driver::fill(address, byte, bytes) })
    }

    fn stream(&self) -> Result<Box<dyn EngineStream>> {
        self.gpu.enter()?;
        // `cust` makes streams that order themselves with the default stream, on which copies run.
        let stream = cust::stream::Stream::new(StreamFlags::DEFAULT, None);
        Ok(Box::new(CudaStream { stream: self.gpu.cust("cuStreamCreate", stream)?, gpu: Arc::clone(&self.gpu) }))
    }

    fn event(&self) -> Result<Box<dyn EngineEvent>> {
        self.gpu.enter()?;
        let event = self.gpu.cust("cuEventCreate", cust::event::Event::new(EventFlags::DEFAULT))?;
        Ok(Box::new(CudaEvent { event, gpu: Arc::clone(&self.gpu) }))
    }

    fn module(&self, name: &str, image: Image<'_>) -> Result<Arc<dyn EngineModule>> {
        self.gpu.enter()?;
        let text;
        let bytes = match image {
            Image::Cubin(bytes) => bytes,
            Image::Ptx(ptx) => {
                text = CString::new(ptx).map_err(|_| Error::Compilation {
                    module: name.to_owned(),
                    log: "the ptx contains a zero byte".to_owned(),
                })?;
                text.as_bytes_with_nul()
            }
        };
        // SAFETY: PTX ends with a zero, and a cubin is taken as complete.
        let module = unsafe { driver::load(bytes) }.map_err(|(status, log)| match status {
            driver::INVALID_PTX | driver::UNSUPPORTED_PTX_VERSION | driver::NO_BINARY_FOR_GPU => {
                let log = if log.is_empty() { driver::describe(status).to_string() } else { log };
                Error::Compilation { module: name.to_owned(), log }
            }
            status => self.gpu.error("cuModuleLoadDataEx", status),
        })?;
        Ok(Arc::new(CudaModule { module, name: name.to_owned(), gpu: Arc::clone(&self.gpu) }))
    }

    fn encode_tensor_map(&self, request: &TensorMapRequest<'_>) -> Result<TensorMap> {
        self.gpu.enter()?;
        encode::encode(request, &self.info).map_err(|failure| match failure {
            Failure::Driver(operation, status) => self.gpu.error(operation, status),
            Failure::Element(element) => TensorMapError::Element { element }.into(),
        })
    }

    #[cfg(feature = "sim")]
    fn take_counters(&self) -> Option<falchion_sim::Counters> {
        None
    }
}

// In each of these the handle is declared before the context, and so goes first.

struct CudaStream {
    stream: cust::stream::Stream,
    gpu: Arc<Gpu>,
}

impl EngineStream for CudaStream {
    fn synchronize(&self) -> Result<()> {
        self.gpu.enter()?;
        self.gpu.cust("cuStreamSynchronize", self.stream.synchronize())
    }
}

struct CudaEvent {
    event: cust::event::Event,
    gpu: Arc<Gpu>,
}

impl EngineEvent for CudaEvent {
    fn record(&self, stream: &dyn EngineStream) -> Result<()> {
        self.gpu.enter()?;
        let stream = own::<CudaStream>(stream, "stream")?;
        self.gpu.cust("cuEventRecord", self.event.record(&stream.stream))
    }

    fn synchronize(&self) -> Result<()> {
        self.gpu.enter()?;
        self.gpu.cust("cuEventSynchronize", self.event.synchronize())
    }

    fn elapsed_since(&self, earlier: &dyn EngineEvent) -> Result<Duration> {
        let earlier = own::<Self>(earlier, "event")?;
        let milliseconds = self.gpu.cust("cuEventElapsedTime", self.event.elapsed_time_f32(&earlier.event))?;
        // An event recorded before `earlier` gives a negative time.
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }
}

struct CudaModule {
    module: ModuleHandle,
    name: String,
    gpu: Arc<Gpu>,
}

// SAFETY: driver handles may be used from any thread in which their context is current.
unsafe impl Send for CudaModule {}
// SAFETY: as above; the driver synchronises.
unsafe impl Sync for CudaModule {}

impl EngineModule for CudaModule {
    fn kernel(self: Arc<Self>, name: &str) -> Result<Arc<dyn EngineKernel>> {
        self.gpu.enter()?;
        let unknown = || {
            let available = vec![format!("the entry points of module `{}`", self.name)];
            Error::UnknownKernel { name: name.to_owned(), available }
        };
        let c_name = CString::new(name).map_err(|_| unknown())?;
        // SAFETY: the module is loaded.
        let function = unsafe { driver::function(self.module, &c_name) }.map_err(|status| match status {
            driver::NOT_FOUND => unknown(),
            status => self.gpu.error("cuModuleGetFunction", status),
        })?;
        let allowed = AtomicU32::new(ORDINARY_DYNAMIC_SHARED);
        Ok(Arc::new(CudaKernel { function, allowed, name: name.into(), module: self }))
    }
}

impl Drop for CudaModule {
    fn drop(&mut self) {
        if self.gpu.enter().is_ok() {
            // SAFETY: kernels keep their module alive, so none is left.
            unsafe { driver::unload(self.module) };
        }
    }
}

struct CudaKernel {
    function: FunctionHandle,
    /// Dynamic shared memory the driver lets it have.
    allowed: AtomicU32,
    name: Arc<str>,
    module: Arc<CudaModule>,
}

// SAFETY: driver handles may be used from any thread in which their context is current.
unsafe impl Send for CudaKernel {}
// SAFETY: as above; the driver synchronises.
unsafe impl Sync for CudaKernel {}

impl EngineKernel for CudaKernel {
    unsafe fn launch(&self, stream: &dyn EngineStream, config: &LaunchConfig, parameters: &[&[u8]]) -> Result<()> {
        let gpu = &self.module.gpu;
        gpu.enter()?;
        let stream = own::<CudaStream>(stream, "stream")?;
        if config.dynamic_shared > self.allowed.load(Ordering::Relaxed) {
            // SAFETY: the module is loaded.
            gpu.raw("cuFuncSetAttribute", unsafe {
                driver::allow_dynamic_shared(self.function, config.dynamic_shared)
            })?;
            self.allowed.fetch_max(config.dynamic_shared, Ordering::Relaxed);
        }
        *gpu.last_kernel.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&self.name);
        let mut pointers: Vec<_> = parameters.iter().map(|bytes| bytes.as_ptr().cast_mut().cast()).collect();
        let stream = stream.stream.as_inner().cast();
        // SAFETY: the handles are live, the driver only reads the parameters, and they are the caller's.
        let result = unsafe { driver::launch(self.function, stream, config, &mut pointers) };
        result.map_err(|status| match status {
            // Invalid value, and out of resources: the shape is at fault, not the driver.
            1 | 701 => Error::Launch { kernel: self.name.to_string(), reason: driver::describe(status).to_string() },
            status => gpu.error("cuLaunchKernel", status),
        })
    }
}
