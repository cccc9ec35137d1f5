//! Executes NVIDIA PTX on the CPU, and refuses what hardware would let slip.
//!
//! A [`Module`] is PTX text, parsed and decoded; a [`Simulator`] is a device with memory that runs its kernels. Every
//! access is checked: out-of-bounds, misaligned and uninitialised accesses, races in shared memory, asynchronous copies
//! used before they were waited for, misused mbarriers, missing proxy fences, clusters left early, divergence at a
//! collective, deadlock and livelock are each a [`Fault`] that names the kernel, block, thread, PTX line and source line. Every launch returns [`Counters`]: instructions by class, bank
//! conflicts, global sectors, each also for a single instruction.
//!
//! ```
//! use falchion_sim::{Launch, Module, Settings, Simulator};
//!
//! let module = Module::parse(
//!     ".version 7.8
//!      .target sm_80
//!      .address_size 64
//!      .visible .entry double(.param .u64 data) {
//!          .reg .b32 %r<3>;
//!          .reg .b64 %rd<4>;
//!          ld.param.b64 %rd1, [data];
//!          mov.u32 %r1, %tid.x;
//!          mul.wide.u32 %rd2, %r1, 4;
//!          add.s64 %rd3, %rd1, %rd2;
//!          ld.global.b32 %r2, [%rd3];
//!          add.s32 %r2, %r2, %r2;
//!          st.global.b32 [%rd3], %r2;
//!          ret;
//!      }",
//! )?;
//! let device = Simulator::new(Settings::default());
//! let data = device.alloc(128)?;
//! device.write(data, &[1; 128])?;
//! let counters = device.launch(&module, "double", &Launch::new([1, 1, 1], [32, 1, 1]), &[&data.to_le_bytes()])?;
//! assert_eq!(counters.opcode("ld.global").sectors, 4);
//! let mut result = [0; 128];
//! device.read(data, &mut result)?;
//! assert_eq!(result, [2; 128]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod counters;
mod decode;
mod error;
mod fault;
mod isa;
mod machine;
mod memory;
mod module;
mod numeric;
mod parse;
mod settings;
mod simulator;
mod tensor_map;

pub use counters::{Class, Count, Counters, InstructionCount};
pub use error::{LaunchError, MemoryError, ParseError};
pub use fault::{Actor, Awaited, Fault, FaultKind, MbarrierProblem, RaceParty, Space, Waiting};
pub use module::Module;
pub use settings::{Launch, Settings};
pub use simulator::Simulator;
pub use tensor_map::{TensorElement, TensorMap, TensorMapError, TensorSwizzle};
