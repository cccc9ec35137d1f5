//! The simulator as a device.

use super::engine::{Engine, EngineEvent, EngineKernel, EngineModule, EngineStream, Image, own};
use super::{DeviceInfo, DeviceKind, TensorMapError, TensorMapRequest, TensorMapSwizzle};
use crate::error::KernelFault;
use crate::{ElementKind, Error, LaunchConfig, Result};
use falchion_device::kernel::TensorMap;
use falchion_sim::{Counters, Launch, LaunchError, MemoryError, Settings, Simulator, TensorElement, TensorSwizzle};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The architecture whose instructions the simulator aims at. It runs whatever it can parse.
const COMPUTE_CAPABILITY: u32 = 90;
/// Dynamic shared memory of a block on that architecture: 228 KiB a multiprocessor, less 1 KiB.
const MAX_DYNAMIC_SHARED: u32 = 227 * 1024;
/// Level-2 cache of an H200; the simulator has no caches, but kernel selection asks.
const L2_BYTES: u64 = 50 << 20;

pub(super) struct SimEngine {
    info: DeviceInfo,
    shared: Arc<Shared>,
}

struct Shared {
    simulator: Simulator,
    counters: Mutex<Counters>,
}

impl SimEngine {
    pub(super) fn new(settings: Settings) -> Self {
        let info = DeviceInfo {
            kind: DeviceKind::Simulator,
            name: "falchion ptx simulator".to_owned(),
            compute_capability: COMPUTE_CAPABILITY,
            multiprocessors: settings.multiprocessors,
            l2_bytes: L2_BYTES,
            memory_bytes: settings.memory_bytes,
            driver: None,
            max_dynamic_shared_bytes: MAX_DYNAMIC_SHARED,
        };
        Self { info, shared: Arc::new(Shared { simulator: Simulator::new(settings), counters: Mutex::default() }) }
    }
}

fn memory_error(operation: &'static str) -> impl FnOnce(MemoryError) -> Error {
    move |error| match error {
        MemoryError::OutOfMemory { requested, available, .. } => Error::OutOfMemory { requested, available },
        error => Error::Memory { operation, error },
    }
}

impl Engine for SimEngine {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn runs_machine_code(&self) -> bool {
        false
    }

    fn alloc(&self, bytes: usize) -> Result<u64> {
        self.shared.simulator.alloc(bytes).map_err(memory_error("allocation"))
    }

    unsafe fn free(&self, address: u64) {
        // Nothing can be done about a failure here, and the caller's contract leaves none.
        let _ = self.shared.simulator.free(address);
    }

    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.shared.simulator.write(address, bytes).map_err(memory_error("copy to the device"))
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.shared.simulator.read(address, bytes).map_err(memory_error("copy to the host"))
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: usize) -> Result<()> {
        self.shared.simulator.fill(address, byte, bytes).map_err(memory_error("fill"))
    }

    fn stream(&self) -> Result<Box<dyn EngineStream>> {
        Ok(Box::new(SimStream))
    }

    fn event(&self) -> Result<Box<dyn EngineEvent>> {
        Ok(Box::new(SimEvent(Mutex::new(Instant::now()))))
    }

    fn module(&self, name: &str, image: Image<'_>) -> Result<Arc<dyn EngineModule>> {
        let ptx = match image {
            Image::Ptx(ptx) => ptx,
            Image::Cubin(bytes) => {
                let log = format!("the simulator runs ptx, not machine code ({} bytes)", bytes.len());
                return Err(Error::Compilation { module: name.to_owned(), log });
            }
        };
        let module = falchion_sim::Module::parse(ptx)
            .map_err(|error| Error::Compilation { module: name.to_owned(), log: error.to_string() })?;
        Ok(Arc::new(SimModule { module, shared: Arc::clone(&self.shared) }))
    }

    fn encode_tensor_map(&self, request: &TensorMapRequest<'_>) -> Result<TensorMap> {
        let element = match request.element {
            ElementKind::F32 => TensorElement::F32,
            ElementKind::F16 => TensorElement::F16,
            ElementKind::Bf16 => TensorElement::Bf16,
            element => return Err(TensorMapError::Element { element }.into()),
        };
        let TensorMapRequest { address, extents, strides, box_extents, .. } = *request;
        let mut map = falchion_sim::TensorMap::new(element, address, extents, strides, box_extents);
        map.swizzle = match request.swizzle {
            TensorMapSwizzle::None => TensorSwizzle::None,
            TensorMapSwizzle::Bytes32 => TensorSwizzle::B32,
            TensorMapSwizzle::Bytes64 => TensorSwizzle::B64,
            TensorMapSwizzle::Bytes128 => TensorSwizzle::B128,
        };
        // There is no level-2 cache to promote to.
        let encoded = map.encode().map_err(|error| TensorMapError::Refused { reason: error.to_string() })?;
        Ok(TensorMap(encoded))
    }

    fn take_counters(&self) -> Option<Counters> {
        Some(std::mem::take(&mut *self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Launches are synchronous: the queue is always empty.
struct SimStream;

impl EngineStream for SimStream {
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

/// The host time at which it was recorded last.
struct SimEvent(Mutex<Instant>);

impl SimEvent {
    fn time(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EngineEvent for SimEvent {
    fn record(&self, _: &dyn EngineStream) -> Result<()> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn elapsed_since(&self, earlier: &dyn EngineEvent) -> Result<Duration> {
        Ok(self.time().saturating_duration_since(own::<Self>(earlier, "event")?.time()))
    }
}

struct SimModule {
    module: falchion_sim::Module,
    shared: Arc<Shared>,
}

impl EngineModule for SimModule {
    fn kernel(self: Arc<Self>, name: &str) -> Result<Arc<dyn EngineKernel>> {
        let available: Vec<String> = self.module.kernels().map(str::to_owned).collect();
        if !available.iter().any(|kernel| kernel == name) {
            return Err(Error::UnknownKernel { name: name.to_owned(), available });
        }
        Ok(Arc::new(SimKernel { module: self, name: name.to_owned() }))
    }
}

struct SimKernel {
    module: Arc<SimModule>,
    name: String,
}

impl EngineKernel for SimKernel {
    unsafe fn launch(&self, _: &dyn EngineStream, config: &LaunchConfig, parameters: &[&[u8]]) -> Result<()> {
        let launch = Launch::new(config.grid, config.block).dynamic_shared(config.dynamic_shared);
        let shared = &self.module.shared;
        let kernel = || self.name.clone();
        let counters = shared.simulator.launch(&self.module.module, &self.name, &launch, parameters).map_err(
            |error| match error {
                LaunchError::Fault(fault) => {
                    Error::KernelFault { kernel: kernel(), fault: KernelFault::Simulator(fault) }
                }
                LaunchError::UnknownKernel { name, available } => Error::UnknownKernel { name, available },
                other => Error::Launch { kernel: kernel(), reason: other.to_string() },
            },
        )?;
        *shared.counters.lock().unwrap_or_else(PoisonError::into_inner) += counters;
        Ok(())
    }
}
