//! The simulated device.

use crate::counters::Counters;
use crate::decode::Kernel;
use crate::error::{LaunchError, MemoryError};
use crate::machine::context::LaunchState;
use crate::machine::grid;
use crate::memory::global::GlobalMemory;
use crate::module::Module;
use crate::parse::ast::{Initializer, VariableSpace};
use crate::settings::{Launch, Settings};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Threads of a block at most.
const MAX_THREADS: u32 = 1024;
/// Shared memory of a block at most, as on Hopper.
const MAX_SHARED: u64 = 227 * 1024;
/// Registers of a multiprocessor.
const REGISTERS: u32 = 65536;

/// A device: memory, and a machine that runs kernels on it.
///
/// All methods take `&self`; launches and copies from several threads may overlap, and order nothing by themselves.
pub struct Simulator {
    settings: Settings,
    memory: Arc<GlobalMemory>,
    /// Addresses of the variables of each module that was launched.
    variables: Mutex<HashMap<u64, Arc<[u64]>>>,
}

impl std::fmt::Debug for Simulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulator").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Simulator {
    /// A device with empty memory.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let memory = Arc::new(GlobalMemory::new(settings.memory_bytes));
        Self { settings, memory, variables: Mutex::default() }
    }

    /// The settings it was made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Allocates `bytes` bytes, aligned to 256. They hold nothing until they are written.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`].
    pub fn alloc(&self, bytes: usize) -> Result<u64, MemoryError> {
        self.memory.allocate(bytes as u64, 1, false)
    }

    /// Frees what [`alloc`](Self::alloc) returned.
    ///
    /// # Errors
    /// [`MemoryError::NotAnAllocation`], [`MemoryError::UseAfterFree`] for a second free.
    pub fn free(&self, ptr: u64) -> Result<(), MemoryError> {
        self.memory.free(ptr)
    }

    /// Copies `bytes` to the device.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`], [`MemoryError::UseAfterFree`].
    pub fn write(&self, ptr: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.memory.write(ptr, bytes)
    }

    /// Copies from the device.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`], [`MemoryError::UseAfterFree`], [`MemoryError::Uninitialised`].
    pub fn read(&self, ptr: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        self.memory.read(ptr, bytes)
    }

    /// Sets `len` bytes to `byte`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`], [`MemoryError::UseAfterFree`].
    pub fn fill(&self, ptr: u64, byte: u8, len: usize) -> Result<(), MemoryError> {
        self.memory.fill(ptr, byte, len as u64)
    }

    /// Runs a kernel to its end. `params` holds the bytes of each parameter in order.
    ///
    /// # Errors
    /// [`LaunchError`]: a launch that does not fit the kernel, or [`LaunchError::Fault`] for what the kernel did wrong.
    pub fn launch(
        &self,
        module: &Module,
        kernel: &str,
        launch: &Launch,
        params: &[&[u8]],
    ) -> Result<Counters, LaunchError> {
        let kernel = module.kernel(kernel).ok_or_else(|| LaunchError::UnknownKernel {
            name: kernel.to_owned(),
            available: module.kernels().map(str::to_owned).collect(),
        })?;
        check_shape(kernel, launch)?;
        let total_shared =
            u64::from(kernel.dynamic_offset.max(kernel.static_shared)) + u64::from(launch.dynamic_shared);
        if total_shared > MAX_SHARED {
            return Err(LaunchError::SharedMemory {
                kernel: kernel.name.clone(),
                requested: total_shared,
                limit: MAX_SHARED,
            });
        }
        let state = LaunchState {
            parameters: parameters(kernel, params)?,
            variables: self.variables(module)?.to_vec(),
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
            total_shared: total_shared as u32,
            multiprocessors: self.settings.multiprocessors.max(1),
            cluster: kernel.cluster,
            registers: registers(kernel, launch),
        };
        grid::run(kernel, &state, &self.settings, &self.memory.view()).map_err(LaunchError::Fault)
    }

    /// The addresses of a module's global and constant variables; allocated at its first launch.
    fn variables(&self, module: &Module) -> Result<Arc<[u64]>, MemoryError> {
        let mut known = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(addresses) = known.get(&module.id) {
            return Ok(Arc::clone(addresses));
        }
        let mut addresses = Vec::with_capacity(module.variables.len());
        for variable in &module.variables {
            addresses.push(match variable.space {
                VariableSpace::Global | VariableSpace::Constant => {
                    let read_only = variable.space == VariableSpace::Constant;
                    self.memory.allocate(variable.size, variable.align.into(), read_only)?
                }
                _ => 0,
            });
        }
        for (variable, &address) in module.variables.iter().zip(&addresses) {
            if address == 0 {
                continue;
            }
            // Static storage is zero where no initialiser says otherwise.
            self.memory.fill(address, 0, variable.size)?;
            let mut at = address;
            for piece in &variable.initializer {
                let bytes = match piece {
                    Initializer::Bytes(bytes) => bytes.clone(),
                    Initializer::Address { name, offset, first, bytes } => {
                        let named = module.variables.iter().position(|v| v.name == *name);
                        let target = named.map_or(0, |index| addresses[index]);
                        let value = target.wrapping_add_signed(*offset).to_le_bytes();
                        value[*first..(first + bytes).min(8)].to_vec()
                    }
                };
                self.memory.write(at, &bytes)?;
                at += bytes.len() as u64;
            }
        }
        let addresses: Arc<[u64]> = addresses.into();
        known.insert(module.id, Arc::clone(&addresses));
        Ok(addresses)
    }
}

/// Registers of a thread at the start, as the compiler gives them: what `.maxnreg` says, else as many as the
/// largest block allows, in steps of 8.
fn registers(kernel: &Kernel, launch: &Launch) -> u32 {
    let shape = kernel.max_threads.map_or(launch.block, |(limit, _)| limit);
    let share = REGISTERS / shape.iter().product::<u32>().max(1) / 8 * 8;
    kernel.max_registers.unwrap_or(share.min(255))
}

fn check_shape(kernel: &Kernel, launch: &Launch) -> Result<(), LaunchError> {
    let bad = |reason: String| Err(LaunchError::BadBlock { kernel: kernel.name.clone(), block: launch.block, reason });
    if launch.grid.contains(&0) {
        return Err(LaunchError::BadGrid { kernel: kernel.name.clone(), grid: launch.grid });
    }
    if (0..3).any(|axis| !launch.grid[axis].is_multiple_of(kernel.cluster[axis])) {
        return Err(LaunchError::Cluster { kernel: kernel.name.clone(), grid: launch.grid, cluster: kernel.cluster });
    }
    let threads: u64 = launch.block.iter().map(|&extent| u64::from(extent)).product();
    if threads == 0 || threads > u64::from(MAX_THREADS) {
        return bad(format!("{threads} threads, a block has 1 to {MAX_THREADS}"));
    }
    if let Some((limit, exact)) = kernel.max_threads {
        let most: u64 = limit.iter().map(|&extent| u64::from(extent)).product();
        if exact && launch.block != limit {
            return bad(format!("the kernel requires exactly {} × {} × {}", limit[0], limit[1], limit[2]));
        }
        if threads > most {
            return bad(format!("{threads} threads, the kernel was compiled for at most {most}"));
        }
    }
    Ok(())
}

/// The parameter space: each parameter at its offset.
fn parameters(kernel: &Kernel, params: &[&[u8]]) -> Result<Vec<u8>, LaunchError> {
    if params.len() != kernel.parameters.len() {
        return Err(LaunchError::ParameterCount {
            kernel: kernel.name.clone(),
            required: kernel.parameters.len(),
            actual: params.len(),
        });
    }
    let mut space = Vec::new();
    for (index, (parameter, bytes)) in kernel.parameters.iter().zip(params).enumerate() {
        if bytes.len() != parameter.size as usize {
            return Err(LaunchError::ParameterSize {
                kernel: kernel.name.clone(),
                index,
                parameter: parameter.name.clone(),
                required: parameter.size as usize,
                actual: bytes.len(),
            });
        }
        space.resize(parameter.offset as usize, 0);
        space.extend_from_slice(bytes);
    }
    Ok(space)
}
