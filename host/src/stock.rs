//! The kernels this crate carries.

use crate::device::EngineKernel;
use crate::{Arch, Device, Error, Module, ModuleSource, Result};
use falchion_device::kernel::GemmDescription;
use std::sync::Arc;

include!(concat!(env!("OUT_DIR"), "/stock.rs"));

/// A file, deflated.
#[derive(Debug)]
struct Deflated {
    bytes: &'static [u8],
    length: usize,
}

impl Deflated {
    fn inflate(&self, kernel: &str) -> Result<Vec<u8>> {
        let damaged = |reason: String| Error::DamagedKernel { kernel: kernel.to_owned(), reason };
        let bytes = miniz_oxide::inflate::decompress_to_vec_with_limit(self.bytes, self.length)
            .map_err(|error| damaged(error.to_string()))?;
        if bytes.len() == self.length {
            Ok(bytes)
        } else {
            Err(damaged(format!("{} of {} bytes", bytes.len(), self.length)))
        }
    }
}

/// Machine code of a stock kernel.
#[derive(Debug)]
struct StockCubin {
    arch: &'static str,
    registers: u32,
    image: Deflated,
}

/// A kernel embedded in this crate: PTX, machine code, and what it computes.
#[derive(Debug)]
pub struct StockKernel {
    name: &'static str,
    arch: &'static str,
    description: &'static [u32],
    ptx: Deflated,
    cubins: &'static [StockCubin],
}

/// The embedded kernels, by name; empty in a build without `kernels/`.
#[must_use]
pub fn kernels() -> &'static [StockKernel] {
    KERNELS
}

impl StockKernel {
    /// Its entry point.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The target of its PTX.
    ///
    /// # Errors
    /// [`Error::UnknownArch`] when it was built for one this crate does not know.
    pub fn arch(&self) -> Result<Arch> {
        self.arch.parse()
    }

    /// What it computes and how, when it is a GEMM of this version.
    #[must_use]
    pub fn gemm(&self) -> Option<GemmDescription> {
        GemmDescription::from_words(self.description)
    }

    /// Its PTX.
    ///
    /// # Errors
    /// [`Error::DamagedKernel`].
    pub fn ptx(&self) -> Result<String> {
        String::from_utf8(self.ptx.inflate(self.name)?)
            .map_err(|error| Error::DamagedKernel { kernel: self.name.to_owned(), reason: error.to_string() })
    }

    /// The architectures it is embedded for as machine code, and the registers a thread takes there.
    ///
    /// # Errors
    /// [`Error::UnknownArch`].
    pub fn machine_code(&self) -> Result<Vec<(Arch, u32)>> {
        self.cubins.iter().map(|cubin| Ok((cubin.arch.parse()?, cubin.registers))).collect()
    }

    /// Loads it.
    ///
    /// # Errors
    /// [`Error::DamagedKernel`], and those of [`Device::load_module`].
    pub fn load(&self, device: &Device) -> Result<Module> {
        let ptx = self.ptx()?;
        let mut images = Vec::new();
        if device.engine().runs_machine_code() {
            for cubin in self.cubins {
                images.push((cubin.arch.parse()?, cubin.image.inflate(self.name)?));
            }
        }
        let source = ModuleSource::new(self.name, &ptx);
        // SAFETY: the images are cubins of the length they were embedded with.
        let source = images.iter().fold(source, |source, (arch, image)| unsafe { source.cubin(*arch, image) });
        device.load_module(&source)
    }

    /// The entry point, loaded once a device.
    pub(crate) fn entry(&self, device: &Device) -> Result<Arc<dyn EngineKernel>> {
        device.cached_kernel(self.name, || Ok(self.load(device)?.kernel(self.name)?.into_engine()))
    }
}

#[cfg(all(test, feature = "sim"))]
pub(crate) mod testing {
    use super::*;

    /// A stock kernel that lives as long as the test.
    pub(crate) fn stock_kernel(name: &'static str, description: &[u32], ptx: &str) -> StockKernel {
        let bytes = miniz_oxide::deflate::compress_to_vec(ptx.as_bytes(), 1).leak();
        let description = description.to_vec().leak();
        StockKernel { name, arch: "sm_80", description, ptx: Deflated { bytes, length: ptx.len() }, cubins: &[] }
    }

    #[test]
    fn a_damaged_kernel_is_a_typed_error() {
        let mut kernel = stock_kernel("k", &[], "some text that is long enough to be worth it");
        assert!(kernel.ptx().unwrap().starts_with("some text"));
        kernel.ptx.length += 1;
        assert!(matches!(kernel.ptx(), Err(Error::DamagedKernel { .. })));
        kernel.ptx = Deflated { bytes: &[1, 2, 3], length: 3 };
        assert_eq!(
            kernel.ptx().unwrap_err().to_string().split(';').next(),
            Some("kernel `k` is damaged: Truncated input stream")
        );
    }

    #[test]
    fn every_embedded_kernel_inflates_and_describes_itself() {
        for kernel in kernels() {
            let ptx = kernel.ptx().unwrap();
            assert!(ptx.contains(kernel.name()), "{}", kernel.name());
            assert_eq!(Arch::of_ptx(&ptx), Some(kernel.arch().unwrap()));
            kernel.machine_code().unwrap();
            for cubin in kernel.cubins {
                cubin.image.inflate(kernel.name()).unwrap();
            }
        }
    }
}
