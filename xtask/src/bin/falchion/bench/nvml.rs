//! Clock and power during the measurements, from NVIDIA's management library.

use anyhow::{Context, Result, bail};
use cust::{
    context::CurrentContext,
    device::{Device, DeviceAttribute},
};
use libloading::Library;
use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};
use xtask::bench::report::Reading;

const INTERVAL: Duration = Duration::from_millis(20);
const CLOCK_SM: c_uint = 1;
/// Longest version string (`NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE`).
const VERSION_BYTES: usize = 80;

#[derive(Default)]
struct Samples {
    clock_mhz: Vec<f64>,
    power_w: Vec<f64>,
}

/// Samples on a thread of its own until it is dropped.
pub struct Telemetry {
    driver: Option<String>,
    busy: Arc<AtomicBool>,
    samples: Arc<Mutex<Samples>>,
    _stop: Sender<()>,
}

/// Samples count while it lives.
pub struct Busy<'a>(&'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Telemetry {
    /// Starts sampling the GPU whose context is current.
    pub fn start() -> Result<Self> {
        let library = Nvml::open(&bus_id()?)?;
        let driver = library.driver_version();
        let busy = Arc::new(AtomicBool::new(false));
        let samples = Arc::new(Mutex::new(Samples::default()));
        let (stop, stopped) = channel::<()>();
        let (counting, sink) = (Arc::clone(&busy), Arc::clone(&samples));
        thread::spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if !counting.load(Ordering::Relaxed) {
                    continue;
                }
                let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                sink.clock_mhz.extend(library.clock_mhz());
                sink.power_w.extend(library.power_w());
            }
        });
        Ok(Self { driver, busy, samples, _stop: stop })
    }

    /// Samples from now on count.
    #[must_use]
    pub fn busy(&self) -> Busy<'_> {
        self.busy.store(true, Ordering::Relaxed);
        Busy(&self.busy)
    }

    pub fn summary(&self) -> Reading {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let [clock_mhz, power_w] = [&samples.clock_mhz, &samples.power_w].map(|values| median(values));
        Reading { driver: self.driver.clone(), clock_mhz, power_w }
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The PCI address, by which both libraries know a GPU; ordinals differ between them.
fn bus_id() -> Result<String> {
    let device: Device = CurrentContext::get_device().context("cuCtxGetDevice")?;
    let attribute = |attribute| device.get_attribute(attribute).context("cuDeviceGetAttribute");
    let domain = attribute(DeviceAttribute::PciDomainId)?;
    let bus = attribute(DeviceAttribute::PciBusId)?;
    let slot = attribute(DeviceAttribute::PciDeviceId)?;
    Ok(format!("{domain:08x}:{bus:02x}:{slot:02x}.0"))
}

type GpuHandle = *mut c_void;
type Query = unsafe extern "C" fn(GpuHandle, *mut c_uint) -> c_int;

struct Nvml {
    gpu: GpuHandle,
    driver_version: unsafe extern "C" fn(*mut c_char, c_uint) -> c_int,
    clock: unsafe extern "C" fn(GpuHandle, c_uint, *mut c_uint) -> c_int,
    power: Query,
    /// Keeps the functions loaded.
    _library: Library,
}

// SAFETY: NVML is thread-safe, and its handles belong to the process.
unsafe impl Send for Nvml {}

impl Nvml {
    fn open(bus_id: &str) -> Result<Self> {
        // SAFETY: NVML has no requirements on being loaded.
        let library = unsafe { Library::new("libnvidia-ml.so.1") }.context("libnvidia-ml.so.1")?;
        macro_rules! symbol {
            ($name:literal, $type:ty) => {
                // SAFETY: the type is the function's in `nvml.h`.
                *unsafe { library.get::<$type>(concat!($name, "\0").as_bytes()) }.context($name)?
            };
        }
        let initialise = symbol!("nvmlInit_v2", unsafe extern "C" fn() -> c_int);
        let by_bus_id =
            symbol!("nvmlDeviceGetHandleByPciBusId_v2", unsafe extern "C" fn(*const c_char, *mut GpuHandle) -> c_int);
        // SAFETY: takes nothing.
        check("nvmlInit", unsafe { initialise() })?;
        let address = CString::new(bus_id).context("the PCI address has a zero byte")?;
        let mut gpu = std::ptr::null_mut();
        // SAFETY: the string ends with a zero, and the handle is written.
        check("nvmlDeviceGetHandleByPciBusId", unsafe { by_bus_id(address.as_ptr(), &mut gpu) })?;
        Ok(Self {
            gpu,
            driver_version: symbol!("nvmlSystemGetDriverVersion", unsafe extern "C" fn(*mut c_char, c_uint) -> c_int),
            clock: symbol!("nvmlDeviceGetClockInfo", unsafe extern "C" fn(GpuHandle, c_uint, *mut c_uint) -> c_int),
            power: symbol!("nvmlDeviceGetPowerUsage", Query),
            _library: library,
        })
    }

    fn driver_version(&self) -> Option<String> {
        let mut text = [0; VERSION_BYTES];
        // SAFETY: the buffer has the stated size.
        let status = unsafe { (self.driver_version)(text.as_mut_ptr(), VERSION_BYTES as c_uint) };
        // SAFETY: on success it ends with a zero.
        (status == 0).then(|| unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    fn clock_mhz(&self) -> Option<f64> {
        let mut value = 0;
        // SAFETY: writes the value.
        (unsafe { (self.clock)(self.gpu, CLOCK_SM, &mut value) } == 0).then(|| f64::from(value))
    }

    fn power_w(&self) -> Option<f64> {
        let mut value = 0;
        // SAFETY: writes the value, in milliwatts.
        (unsafe { (self.power)(self.gpu, &mut value) } == 0).then(|| f64::from(value) / 1e3)
    }
}

fn check(operation: &str, status: c_int) -> Result<()> {
    if status != 0 {
        bail!("{operation} returned {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_need_samples() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    }
}
