//! The device under test.

use falchion::{Backend, Device, DeviceKind};
use std::env;
use std::sync::OnceLock;

/// The device that `FALCHION_BACKEND` names, opened once a process.
///
/// # Panics
/// When there is no such device: a suite that cannot run must not pass.
pub fn device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let backend = match env::var("FALCHION_BACKEND").as_deref() {
            Err(_) | Ok("auto") => Backend::Auto,
            Ok("cuda") => Backend::Cuda,
            Ok("sim") => Backend::Sim,
            Ok(other) => panic!("FALCHION_BACKEND is `{other}`, required is auto, cuda or sim"),
        };
        let device = Device::open(backend).unwrap_or_else(|error| panic!("{error}"));
        eprintln!("testing on {device}");
        device
    })
}

/// Whether the device under test is the simulator.
pub fn is_simulator() -> bool {
    device().info().kind == DeviceKind::Simulator
}

/// Says that a test was skipped, and why.
pub fn skipped(why: &str) {
    println!("skipped: {why}");
}
