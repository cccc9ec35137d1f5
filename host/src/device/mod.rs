//! Devices: NVIDIA GPUs, and the simulator.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod driver;
#[cfg(feature = "cuda")]
mod encode;
mod engine;
mod info;
#[cfg(feature = "sim")]
mod sim;
mod tensor_map;

pub(crate) use engine::{Engine, EngineEvent, EngineKernel, EngineModule, EngineStream, Image};
pub use info::{CudaVersion, DeviceInfo, DeviceKind};
pub use tensor_map::{L2Promotion, TensorMapError, TensorMapRequest, TensorMapSwizzle};

use crate::{Error, Result, Stream};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Which device to open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The first GPU when this build has the feature `cuda` and a driver with a device is there,
    /// else the simulator. [`Device`]'s `Display` says which it is.
    #[default]
    Auto,
    /// The first GPU.
    Cuda,
    /// The GPU of this ordinal, as the driver counts.
    CudaOrdinal(u32),
    /// The simulator.
    Sim,
}

/// A device that holds buffers and runs kernels. Clones are the same device.
///
/// ```
/// use falchion::{Backend, Device};
/// let device = Device::open(Backend::Sim)?;
/// println!("{device}");
/// let buffer = device.upload(&[1.0f32, 2.0, 3.0])?;
/// assert_eq!(buffer.slice(1..3)?.download()?, [2.0, 3.0]);
/// # Ok::<(), falchion::Error>(())
/// ```
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Box<dyn Engine>,
    stream: OnceLock<Arc<dyn EngineStream>>,
    /// Stock kernels that were loaded, by name: plans share them.
    kernels: Mutex<HashMap<&'static str, Arc<dyn EngineKernel>>>,
}

impl Device {
    /// Opens a device.
    ///
    /// # Errors
    /// [`Error::NoDevice`] where there is none, [`Error::DriverTooOld`], [`Error::BackendNotBuilt`] when
    /// the build lacks the feature, [`Error::Driver`] when the driver refuses.
    pub fn open(backend: Backend) -> Result<Self> {
        match backend {
            Backend::Auto => match Self::open_cuda(0) {
                // A driver that is there but broken or too old is reported, not passed over.
                Err(Error::NoDevice { .. } | Error::BackendNotBuilt { .. }) => Self::open_simulator(),
                other => other,
            },
            Backend::Cuda => Self::open_cuda(0),
            Backend::CudaOrdinal(ordinal) => Self::open_cuda(ordinal),
            Backend::Sim => Self::open_simulator(),
        }
    }

    /// Opens a simulator with settings of its own: memory, multiprocessors, seed, race detection.
    #[cfg(feature = "sim")]
    #[must_use]
    pub fn simulator(settings: falchion_sim::Settings) -> Self {
        Self::new(Box::new(sim::SimEngine::new(settings)))
    }

    #[cfg(feature = "sim")]
    fn open_simulator() -> Result<Self> {
        Ok(Self::simulator(falchion_sim::Settings::default()))
    }

    #[cfg(not(feature = "sim"))]
    fn open_simulator() -> Result<Self> {
        Err(Error::BackendNotBuilt { backend: "simulator", feature: "sim" })
    }

    #[cfg(feature = "cuda")]
    fn open_cuda(ordinal: u32) -> Result<Self> {
        Ok(Self::new(Box::new(cuda::CudaEngine::open(ordinal)?)))
    }

    #[cfg(not(feature = "cuda"))]
    fn open_cuda(_ordinal: u32) -> Result<Self> {
        Err(Error::BackendNotBuilt { backend: "cuda", feature: "cuda" })
    }

    fn new(engine: Box<dyn Engine>) -> Self {
        Self { inner: Arc::new(Inner { engine, stream: OnceLock::new(), kernels: Mutex::default() }) }
    }

    /// What this device is.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.inner.engine.info()
    }

    /// Whether `other` is this very device.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The device's own stream, made when first asked for.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn default_stream(&self) -> Result<Stream> {
        let stream = match self.inner.stream.get() {
            Some(stream) => Arc::clone(stream),
            None => {
                let stream = self.inner.engine.stream()?.into();
                Arc::clone(self.inner.stream.get_or_init(|| stream))
            }
        };
        Ok(Stream::from_engine(self.clone(), stream))
    }

    /// What kernels executed on the simulator since the last call; `None` on a GPU.
    #[cfg(feature = "sim")]
    #[must_use = "the counters are reset"]
    pub fn take_counters(&self) -> Option<falchion_sim::Counters> {
        self.inner.engine.take_counters()
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.inner.engine
    }

    /// [`Error::DeviceMismatch`] unless `other` is this device; `name` is the object that came from there.
    pub(crate) fn require_same(&self, other: &Self, name: &'static str) -> Result<()> {
        if self.is_same(other) { Ok(()) } else { Err(Error::DeviceMismatch { name }) }
    }

    /// The loaded kernel `name`, by way of `load` when nobody asked for it before.
    pub(crate) fn cached_kernel(
        &self,
        name: &'static str,
        load: impl FnOnce() -> Result<Arc<dyn EngineKernel>>,
    ) -> Result<Arc<dyn EngineKernel>> {
        // The lock is held while loading, so that two threads do not compile the same kernel.
        let mut kernels = self.inner.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(name) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = load()?;
        kernels.insert(name, Arc::clone(&kernel));
        Ok(kernel)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info().fmt(f)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(self.info()).finish()
    }
}
