//! Opening the device that a command names.

use anyhow::{Context, Result};
use falchion::{Backend, Device};
use xtask::arguments::BackendChoice;

/// The device, with a remedy where there is none.
pub fn open(choice: BackendChoice) -> Result<Device> {
    let backend = match choice {
        BackendChoice::Auto => Backend::Auto,
        BackendChoice::Cuda => Backend::Cuda,
        BackendChoice::Sim => Backend::Sim,
    };
    Device::open(backend).with_context(|| match choice {
        BackendChoice::Cuda => "no GPU can be used (`--backend sim` runs without one)",
        _ => "no device can be opened",
    })
}
