//! What a kind of device must provide.

use super::{DeviceInfo, TensorMapRequest};
use crate::{Error, LaunchConfig, Result};
use falchion_device::kernel::TensorMap;
use std::{any::Any, sync::Arc, time::Duration};

/// Code in the form that a device loads.
#[derive(Clone, Copy)]
pub(crate) enum Image<'a> {
    /// PTX text, compiled on loading.
    Ptx(&'a str),
    /// Machine code.
    Cubin(&'a [u8]),
}

/// A device: memory, streams, events and modules.
pub(crate) trait Engine: Send + Sync {
    fn info(&self) -> &DeviceInfo;

    /// Whether machine code runs here; otherwise PTX does.
    fn runs_machine_code(&self) -> bool;

    /// Reserves `bytes` > 0 bytes at an address that is a multiple of 256.
    fn alloc(&self, bytes: usize) -> Result<u64>;

    /// # Safety
    /// `address` came from [`alloc`](Self::alloc), was not freed, and no handle to it is left.
    unsafe fn free(&self, address: u64);

    /// # Safety
    /// The range lies in one live allocation.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// # Safety
    /// The range lies in one live allocation.
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// # Safety
    /// The range lies in one live allocation.
    unsafe fn fill(&self, address: u64, byte: u8, bytes: usize) -> Result<()>;

    fn stream(&self) -> Result<Box<dyn EngineStream>>;

    fn event(&self) -> Result<Box<dyn EngineEvent>>;

    /// Loads `image`; `name` is for messages.
    fn module(&self, name: &str, image: Image<'_>) -> Result<Arc<dyn EngineModule>>;

    /// The map of a request that passed [`TensorMapRequest::check`].
    fn encode_tensor_map(&self, request: &TensorMapRequest<'_>) -> Result<TensorMap>;

    #[cfg(feature = "sim")]
    fn take_counters(&self) -> Option<falchion_sim::Counters>;
}

/// An in-order queue of work.
pub(crate) trait EngineStream: Any + Send + Sync {
    fn synchronize(&self) -> Result<()>;
}

/// A mark in a stream.
pub(crate) trait EngineEvent: Any + Send + Sync {
    fn record(&self, stream: &dyn EngineStream) -> Result<()>;

    /// Waits until the work before the mark is done.
    fn synchronize(&self) -> Result<()>;

    /// Time from `earlier` to this mark, both complete.
    fn elapsed_since(&self, earlier: &dyn EngineEvent) -> Result<Duration>;
}

/// Loaded code.
pub(crate) trait EngineModule: Send + Sync {
    fn kernel(self: Arc<Self>, name: &str) -> Result<Arc<dyn EngineKernel>>;
}

/// An entry point.
pub(crate) trait EngineKernel: Send + Sync {
    /// # Safety
    /// The bytes are what the kernel takes, parameter by parameter, and running it so is sound.
    unsafe fn launch(&self, stream: &dyn EngineStream, config: &LaunchConfig, parameters: &[&[u8]]) -> Result<()>;
}

/// The engine's own type behind a handle. Handles are checked to belong to the device before they
/// get here, so another type means another device.
pub(crate) fn own<'a, T: Any>(handle: &'a dyn Any, name: &'static str) -> Result<&'a T> {
    handle.downcast_ref().ok_or(Error::DeviceMismatch { name })
}
