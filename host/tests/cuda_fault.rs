//! A kernel's fault on a GPU: who did it, what the driver says, and that the device is unusable after it.

use falchion::{Backend, Device, Error, KernelFault, LaunchConfig, ModuleSource};

const PTX: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry wild()
{
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 8;
    st.global.u64 [%rd1], %rd1;
    ret;
}
";

#[test]
fn a_fault_names_the_kernel_and_poisons_the_device() {
    let device = Device::open(Backend::Cuda).unwrap();
    let kernel = device.load_module(&ModuleSource::new("m", PTX)).unwrap().kernel("wild").unwrap();
    let buffer = device.zeros::<f32>(4).unwrap();
    let stream = device.default_stream().unwrap();
    // SAFETY: none: the kernel writes where it must not, and this process ends with it.
    unsafe { kernel.launch(&stream, LaunchConfig::new([1, 1, 1], [1, 1, 1]), ()).unwrap() };
    match stream.synchronize().unwrap_err() {
        Error::KernelFault { kernel, fault: KernelFault::Driver(status) } => {
            assert_eq!((kernel.as_str(), status.code), ("wild", 700));
            assert_eq!(status.name, "CUDA_ERROR_ILLEGAL_ADDRESS");
            assert!(status.text.contains("illegal memory access"), "{status}");
        }
        other => panic!("{other}"),
    }
    for error in [buffer.download().unwrap_err(), stream.synchronize().unwrap_err(), device.alloc::<u8>(1).unwrap_err()]
    {
        assert!(matches!(error, Error::Poisoned { ref kernel, .. } if kernel == "wild"), "{error}");
    }
}
