//! The kernels that only tests run, compiled by this crate's build script.

use falchion::{Arch, Device, Kernel, ModuleSource};

/// A compiled test kernel.
pub struct TestKernel {
    /// Name of the entry point.
    pub name: &'static str,
    /// Its PTX.
    pub ptx: &'static str,
    /// Its machine code for sm_90a.
    pub cubin: &'static [u8],
    /// The words of its description, none for a kernel without.
    pub description: &'static [u32],
}

/// All of them.
pub static TEST_KERNELS: &[TestKernel] = include!(concat!(env!("OUT_DIR"), "/test_kernels.rs"));

impl TestKernel {
    /// The test kernel of that name.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn named(name: &str) -> &'static Self {
        TEST_KERNELS
            .iter()
            .find(|kernel| kernel.name == name)
            .unwrap_or_else(|| panic!("there is no test kernel `{name}`"))
    }

    /// Loads it.
    ///
    /// # Panics
    /// When the device refuses it.
    #[must_use]
    pub fn load(&self, device: &Device) -> Kernel {
        // SAFETY: the machine code was compiled from this PTX by this crate's build script.
        let source = unsafe { ModuleSource::new(self.name, self.ptx).cubin(Arch::specific(90), self.cubin) };
        let module = device.load_module(&source).unwrap_or_else(|error| panic!("{error}"));
        module.kernel(self.name).unwrap_or_else(|error| panic!("{error}"))
    }
}
