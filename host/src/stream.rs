//! Streams and events.

use crate::device::{EngineEvent, EngineStream};
use crate::{Device, Error, Result};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// An in-order queue of launches. Clones are the same queue.
///
/// On a GPU launches are asynchronous: a fault surfaces at a later call, at the latest in
/// [`synchronize`](Self::synchronize). Copies of a [`Buffer`](crate::Buffer) wait for all streams of
/// the device. On the simulator a launch returns when the kernel has ended.
#[derive(Clone)]
pub struct Stream {
    inner: Arc<dyn EngineStream>,
    device: Device,
}

impl Stream {
    /// A new stream.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self::from_engine(device.clone(), device.engine().stream()?.into()))
    }

    pub(crate) fn from_engine(device: Device, inner: Arc<dyn EngineStream>) -> Self {
        Self { inner, device }
    }

    pub(crate) fn engine(&self) -> &dyn EngineStream {
        &*self.inner
    }

    /// The device it runs on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until everything in the queue is done.
    ///
    /// # Errors
    /// [`Error::KernelFault`] when one of the kernels faulted, [`Error::Driver`].
    pub fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("device", &self.device.info().name).finish_non_exhaustive()
    }
}

/// A mark in a stream, and the time at which the work before it was done.
///
/// On a GPU that is the device's clock. On the simulator, where launches are synchronous, it is the
/// host's wall clock: the time the simulation took, which says nothing about a GPU.
pub struct Event {
    inner: Box<dyn EngineEvent>,
    device: Device,
    recorded: AtomicBool,
}

impl Event {
    /// A new event, not recorded.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self { inner: device.engine().event()?, device: device.clone(), recorded: AtomicBool::new(false) })
    }

    /// Puts the mark behind everything in `stream` so far. An earlier mark is forgotten.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`] for a stream of another device, [`Error::Driver`].
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.device.require_same(stream.device(), "stream")?;
        self.inner.record(stream.engine())?;
        self.recorded.store(true, Ordering::Release);
        Ok(())
    }

    /// Waits until the work before the mark is done; returns at once when it was never recorded.
    ///
    /// # Errors
    /// [`Error::KernelFault`] when a kernel before the mark faulted, [`Error::Driver`].
    pub fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }

    /// Waits for both marks and returns the time from `earlier` to this one.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`], [`Error::DeviceMismatch`], and those of [`synchronize`](Self::synchronize).
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Duration> {
        self.device.require_same(&earlier.device, "event")?;
        if !(self.recorded.load(Ordering::Acquire) && earlier.recorded.load(Ordering::Acquire)) {
            return Err(Error::EventNotRecorded);
        }
        earlier.inner.synchronize()?;
        self.inner.synchronize()?;
        self.inner.elapsed_since(&*earlier.inner)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("recorded", &self.recorded).finish_non_exhaustive()
    }
}
