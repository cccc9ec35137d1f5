//! Kernels of one's own: modules, raw launches.

use crate::device::{EngineKernel, EngineModule, Image};
use crate::{Arch, Device, Error, Result, Stream};
use bytemuck::NoUninit;
use std::{fmt, sync::Arc};

/// Code to load: PTX, and machine code for the architectures it was assembled for.
#[derive(Clone, Debug)]
pub struct ModuleSource<'a> {
    name: &'a str,
    ptx: &'a str,
    cubins: Vec<(Arch, &'a [u8])>,
}

impl<'a> ModuleSource<'a> {
    /// A module of PTX text; `name` is for messages. The simulator runs the PTX; a GPU for which no
    /// machine code is given compiles it.
    #[must_use]
    pub fn new(name: &'a str, ptx: &'a str) -> Self {
        Self { name, ptx, cubins: Vec::new() }
    }

    /// Adds the same module as machine code, which loads faster.
    ///
    /// # Safety
    /// `image` is a complete cubin: the driver reads as far as its headers say.
    #[must_use]
    pub unsafe fn cubin(mut self, arch: Arch, image: &'a [u8]) -> Self {
        self.cubins.push((arch, image));
        self
    }

    /// The machine code that suits compute capability `device` best: specific before generic, newer before older.
    fn best_cubin(&self, device: u32) -> Option<&'a [u8]> {
        let runs = self.cubins.iter().filter(|(arch, _)| arch.cubin_runs_on(device));
        runs.max_by_key(|(arch, _)| (arch.specific, arch.compute)).map(|&(_, image)| image)
    }
}

/// Loaded code.
#[derive(Clone)]
pub struct Module {
    inner: Arc<dyn EngineModule>,
    device: Device,
}

impl Device {
    /// Loads a module.
    ///
    /// # Errors
    /// [`Error::WrongArch`] when neither PTX nor machine code suits the device, [`Error::Compilation`] with the
    /// compiler's log, [`Error::Driver`].
    pub fn load_module(&self, source: &ModuleSource<'_>) -> Result<Module> {
        let device = self.info().compute_capability;
        let cubin = if self.engine().runs_machine_code() { source.best_cubin(device) } else { None };
        let image = match cubin {
            Some(image) => Image::Cubin(image),
            None => {
                if let Some(arch) = Arch::of_ptx(source.ptx).filter(|arch| !arch.ptx_runs_on(device)) {
                    let (kernel, required) = (source.name.to_owned(), arch.to_string());
                    return Err(Error::WrongArch { kernel, required, actual: self.info().architecture() });
                }
                Image::Ptx(source.ptx)
            }
        };
        Ok(Module { inner: self.engine().module(source.name, image)?, device: self.clone() })
    }
}

impl Module {
    /// The entry point `name`.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`], [`Error::Driver`].
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let inner = Arc::clone(&self.inner).kernel(name)?;
        Ok(Kernel { inner, name: name.into(), device: self.device.clone() })
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("device", &self.device.info().name).finish_non_exhaustive()
    }
}

/// Shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchConfig {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory. Sizes beyond 48 KiB need no other call.
    pub dynamic_shared: u32,
}

impl LaunchConfig {
    /// `grid` blocks of `block` threads, no dynamic shared memory.
    #[must_use]
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, dynamic_shared: 0 }
    }

    /// The same with `bytes` of dynamic shared memory.
    #[must_use]
    pub const fn dynamic_shared(mut self, bytes: u32) -> Self {
        self.dynamic_shared = bytes;
        self
    }
}

/// The parameters of a kernel, in order: a tuple of up to 12 plain values. A struct with
/// `#[repr(C)]` that derives [`bytemuck::NoUninit`] is one parameter, by value; a buffer is passed as its
/// [`address`](crate::Buffer::address).
pub trait KernelParameters {
    /// The bytes of each parameter.
    fn bytes(&self) -> Vec<&[u8]>;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: NoUninit),*> KernelParameters for ($($name,)*) {
            fn bytes(&self) -> Vec<&[u8]> {
                #[allow(non_snake_case, reason = "the type parameters also name the fields")]
                let ($($name,)*) = self;
                vec![$(bytemuck::bytes_of($name)),*]
            }
        }
    };
}
tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);

/// An entry point of a module.
#[derive(Clone)]
pub struct Kernel {
    inner: Arc<dyn EngineKernel>,
    name: Box<str>,
    device: Device,
}

impl Kernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The engine's kernel alone, which keeps no device alive.
    pub(crate) fn into_engine(self) -> Arc<dyn EngineKernel> {
        self.inner
    }

    /// Launches it. Nothing about the kernel is checked but the limits of the device.
    ///
    /// # Safety
    /// The parameters have the number, types and layouts the kernel declares, and its accesses stay
    /// within live allocations: on a GPU nobody else checks. (The simulator checks all of it.)
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`], [`Error::SharedMemory`], [`Error::Launch`] when the shape is refused,
    /// [`Error::KernelFault`] (on the simulator; on a GPU at a later call), [`Error::Driver`].
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        parameters: impl KernelParameters,
    ) -> Result<()> {
        self.device.require_same(stream.device(), "stream")?;
        let (required, actual) = (config.dynamic_shared, self.device.info().max_dynamic_shared_bytes);
        if required > actual {
            return Err(Error::SharedMemory { kernel: self.name.to_string(), required, actual });
        }
        // SAFETY: the caller vouches for the kernel and its parameters.
        unsafe { self.inner.launch(stream.engine(), &config, &parameters.bytes()) }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("device", &self.device.info().name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_and_newest_machine_code_is_chosen() {
        let mut source = ModuleSource::new("m", "");
        let images = [(Arch::new(80), "80"), (Arch::specific(90), "90a"), (Arch::new(89), "89"), (Arch::new(90), "90")];
        for (arch, image) in images {
            // SAFETY: the images never reach a driver.
            source = unsafe { source.cubin(arch, image.as_bytes()) };
        }
        assert_eq!(source.best_cubin(80), Some(&b"80"[..]));
        assert_eq!(source.best_cubin(86), Some(&b"80"[..]));
        assert_eq!(source.best_cubin(89), Some(&b"89"[..]));
        assert_eq!(source.best_cubin(90), Some(&b"90a"[..]));
        assert_eq!(source.best_cubin(100), None);
    }

    #[test]
    fn parameters_are_passed_byte_by_byte_in_order() {
        assert_eq!((0x0201u16, [3u8, 4, 5]).bytes(), [&[1, 2][..], &[3, 4, 5]]);
        assert!(().bytes().is_empty());
    }
}
