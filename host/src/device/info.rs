//! What a device is.

use std::fmt;

/// The two kinds of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// An NVIDIA GPU behind the CUDA driver.
    Cuda,
    /// The PTX simulator on the CPU.
    Simulator,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cuda => "cuda",
            Self::Simulator => "simulator",
        })
    }
}

/// The newest CUDA version a driver supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaVersion {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Properties of a device that kernels are chosen by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Which kind.
    pub kind: DeviceKind,
    /// Its name.
    pub name: String,
    /// Compute capability, ten times major plus minor: 90 is 9.0. The simulator takes the
    /// instructions it knows, whatever their architecture, and states the newest.
    pub compute_capability: u32,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Level-2 cache in bytes; 0 when there is none.
    pub l2_bytes: u64,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// The newest CUDA version its driver supports; `None` on the simulator.
    pub driver: Option<CudaVersion>,
    /// Dynamic shared memory a block may have at most, in bytes.
    pub max_dynamic_shared_bytes: u32,
}

impl DeviceInfo {
    /// `cuda of compute capability 9.0`, as messages name what kernels must fit.
    #[must_use]
    pub fn architecture(&self) -> String {
        format!("{} of compute capability {}.{}", self.kind, self.compute_capability / 10, self.compute_capability % 10)
    }
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = self.memory_bytes as f64 / f64::from(1 << 30);
        write!(
            f,
            "{} ({}, compute capability {}.{}, {} multiprocessors, {gib:.0} GiB",
            self.name,
            self.kind,
            self.compute_capability / 10,
            self.compute_capability % 10,
            self.multiprocessors
        )?;
        if let Some(driver) = self.driver {
            write!(f, ", driver for cuda {driver}")?;
        }
        f.write_str(")")
    }
}
