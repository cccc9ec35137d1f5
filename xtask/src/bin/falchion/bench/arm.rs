//! The two arms of a measurement. Each runs on a stream of its own, between two events of that stream.

use super::cublas::Matmul;
use anyhow::{Context, Result};
use cust::{
    event::{Event as CudaEvent, EventFlags},
    stream::{Stream as CudaStream, StreamFlags},
};
use falchion::{Device, Element, Event, GemmArguments, GemmPlan, Stream};

/// Something that computes the product.
pub trait Arm {
    /// Runs it once and returns the microseconds between the events before and after it.
    fn run(&mut self) -> Result<f64>;
}

/// One of our kernels.
pub struct Ours<'a, T> {
    plan: &'a GemmPlan<T>,
    arguments: GemmArguments<'a, T>,
    stream: Stream,
    begin: Event,
    end: Event,
}

impl<'a, T: Element> Ours<'a, T> {
    pub fn new(device: &Device, plan: &'a GemmPlan<T>, arguments: GemmArguments<'a, T>) -> Result<Self> {
        let (begin, end) = (Event::new(device)?, Event::new(device)?);
        Ok(Self { plan, arguments, stream: Stream::new(device)?, begin, end })
    }
}

impl<T: Element> Arm for Ours<'_, T> {
    fn run(&mut self) -> Result<f64> {
        self.begin.record(&self.stream)?;
        self.plan.run(&self.stream, self.arguments)?;
        self.end.record(&self.stream)?;
        Ok(self.end.elapsed_since(&self.begin)?.as_secs_f64() * 1e6)
    }
}

/// cuBLASLt, on the context that the device made current.
pub struct Theirs {
    matmul: Matmul,
    stream: CudaStream,
    begin: CudaEvent,
    end: CudaEvent,
}

impl Theirs {
    pub fn new(matmul: Matmul) -> Result<Self> {
        // The flags of the other arm: both wait for the flush, which runs on the default stream.
        let stream = CudaStream::new(StreamFlags::DEFAULT, None).context("cuStreamCreate")?;
        let event = || CudaEvent::new(EventFlags::DEFAULT).context("cuEventCreate");
        Ok(Self { matmul, stream, begin: event()?, end: event()? })
    }
}

impl Arm for Theirs {
    fn run(&mut self) -> Result<f64> {
        self.begin.record(&self.stream).context("cuEventRecord")?;
        self.matmul.launch(self.stream.as_inner().cast())?;
        self.end.record(&self.stream).context("cuEventRecord")?;
        self.end.synchronize().context("cuEventSynchronize after cuBLASLt's kernel")?;
        let milliseconds = self.end.elapsed_time_f32(&self.begin).context("cuEventElapsedTime")?;
        Ok(f64::from(milliseconds) * 1e3)
    }
}
