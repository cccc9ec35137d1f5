//! Devices, buffers, streams and modules on the simulator.

use crate::*;

/// Adds 1 to the element of each thread: `out[i] = in[i] + addend`, `count` elements.
const PTX: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 p_in, .param .u64 p_out, .param .u32 p_addend, .param .u32 p_count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [p_in];
    ld.param.u64 %rd2, [p_out];
    ld.param.u32 %r1, [p_addend];
    ld.param.u32 %r2, [p_count];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r2;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r7, [%rd4];
    add.s32 %r7, %r7, %r1;
    st.global.u32 [%rd5], %r7;
DONE:
    ret;
}
";

fn simulator() -> Device {
    Device::open(Backend::Sim).unwrap()
}

#[test]
fn the_simulator_says_that_it_is_one() {
    let device = simulator();
    assert_eq!(device.info().kind, DeviceKind::Simulator);
    assert!(device.to_string().starts_with("falchion ptx simulator (simulator, compute capability 9.0,"), "{device}");
    assert!(device.is_same(&device.clone()) && !device.is_same(&simulator()));
}

#[cfg(not(feature = "cuda"))]
#[test]
fn without_the_feature_a_gpu_is_refused_and_auto_is_the_simulator() {
    let error = Device::open(Backend::Cuda).unwrap_err();
    assert_eq!(error.to_string(), "this build of falchion has no cuda devices: enable its feature `cuda`");
    assert_eq!(Device::open(Backend::Auto).unwrap().info().kind, DeviceKind::Simulator);
}

#[test]
fn what_is_written_is_read_back_whole_or_in_parts() {
    let device = simulator();
    let data: Vec<f16> = (0..100u8).map(|i| f16::from_f32(i.into())).collect();
    let buffer = device.upload(&data).unwrap();
    assert_eq!((buffer.len(), buffer.address() % 256), (100, 0));
    assert_eq!(buffer.download().unwrap(), data);
    let odd = buffer.slice(3..).unwrap().slice(1..=2).unwrap();
    assert_eq!((odd.address(), odd.len()), (buffer.address() + 8, 2));
    odd.write(&[f16::ONE, f16::NEG_ONE]).unwrap();
    assert_eq!(buffer.slice(3..7).unwrap().download().unwrap(), [data[3], f16::ONE, f16::NEG_ONE, data[6]]);
    odd.fill_bytes(0xFF).unwrap();
    assert!(odd.download().unwrap().iter().all(|value| value.is_nan()));
    assert_eq!(device.zeros::<i32>(3).unwrap().download().unwrap(), [0; 3]);
}

#[test]
fn ranges_and_sizes_beyond_a_buffer_are_refused() {
    let device = simulator();
    let buffer = device.upload(&[1.0f32; 4]).unwrap();
    assert_eq!(buffer.slice(2..5).unwrap_err().to_string(), "range 2..5 of a buffer of 4 elements");
    #[expect(clippy::reversed_empty_ranges, reason = "the reversed range is what is refused")]
    let reversed = buffer.slice(3..2);
    assert!(matches!(reversed, Err(Error::Range { start: 3, end: 2, length: 4 })));
    assert!(matches!(buffer.slice(..=usize::MAX), Err(Error::Range { .. })));
    let error = buffer.write(&[0.0; 5]).unwrap_err();
    assert_eq!(error.to_string(), "the destination of a write has 4 elements, required are 5");
    assert_eq!(buffer.slice(4..).unwrap().download().unwrap(), [0.0f32; 0]);
}

#[test]
fn empty_buffers_are_buffers() {
    let device = simulator();
    let buffer = device.upload::<f32>(&[]).unwrap();
    assert!(buffer.is_empty() && buffer.download().unwrap().is_empty());
    device.zeros::<f32>(0).unwrap().as_slice().fill_bytes(1).unwrap();
}

#[test]
fn memory_is_limited_and_comes_back_on_drop() {
    let mut settings = sim::Settings::default();
    settings.memory_bytes = 1 << 20;
    let device = Device::simulator(settings);
    let buffer = device.alloc::<u8>(1 << 20).unwrap();
    let error = device.alloc::<f32>(1).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { requested: 4, available: 0 }), "{error}");
    drop(buffer);
    device.alloc::<u8>(1 << 20).unwrap();
    assert!(matches!(device.alloc::<f32>(usize::MAX), Err(Error::OutOfMemory { requested: u64::MAX, .. })));
}

#[test]
fn a_download_of_what_nobody_wrote_is_an_error_on_the_simulator() {
    let buffer = simulator().alloc::<f32>(4).unwrap();
    buffer.slice(..2).unwrap().write(&[1.0, 2.0]).unwrap();
    let error = buffer.download().unwrap_err();
    assert!(
        matches!(error, Error::Memory { error: sim::MemoryError::Uninitialised { address }, .. } if address == buffer.address() + 8)
    );
}

#[test]
fn a_kernel_of_ones_own_is_loaded_and_launched() {
    let device = simulator();
    let kernel = device.load_module(&ModuleSource::new("add", PTX)).unwrap().kernel("add").unwrap();
    let input = device.upload(&(0..100).collect::<Vec<u32>>()).unwrap();
    let output = device.zeros::<u32>(100).unwrap();
    let stream = Stream::new(&device).unwrap();
    let (start, stop) = (Event::new(&device).unwrap(), Event::new(&device).unwrap());
    start.record(&stream).unwrap();
    assert!(matches!(stop.elapsed_since(&start), Err(Error::EventNotRecorded)));
    // SAFETY: the parameters are those of the kernel, and it checks its index against the count.
    unsafe {
        let parameters = (input.address(), output.address(), 7u32, 100u32);
        kernel.launch(&stream, LaunchConfig::new([4, 1, 1], [32, 1, 1]), parameters).unwrap();
    }
    stop.record(&stream).unwrap();
    stream.synchronize().unwrap();
    assert!(stop.elapsed_since(&start).unwrap() > std::time::Duration::ZERO);
    assert_eq!(output.download().unwrap(), (7..107).collect::<Vec<u32>>());
    assert_eq!(device.take_counters().unwrap().blocks, 4);
    assert_eq!(device.take_counters().unwrap().blocks, 0);
}

#[test]
fn a_faulting_kernel_is_an_error_that_names_it_and_the_device_lives_on() {
    let device = simulator();
    let kernel = device.load_module(&ModuleSource::new("add", PTX)).unwrap().kernel("add").unwrap();
    let buffer = device.zeros::<u32>(100).unwrap();
    let stream = device.default_stream().unwrap();
    let config = LaunchConfig::new([4, 1, 1], [32, 1, 1]);
    // SAFETY: the simulator checks every access.
    let launch =
        |count: u32| unsafe { kernel.launch(&stream, config, (buffer.address(), buffer.address(), 1u32, count)) };
    match launch(101).unwrap_err() {
        Error::KernelFault { kernel, fault: KernelFault::Simulator(fault) } => {
            assert_eq!((kernel.as_str(), fault.block, fault.thread), ("add", [3, 0, 0], Some([4, 0, 0])));
        }
        other => panic!("{other}"),
    }
    launch(100).unwrap();
}

#[test]
fn unloadable_modules_and_impossible_launches_are_typed_errors() {
    let device = simulator();
    let error = device.load_module(&ModuleSource::new("broken", ".version 8.0\n.target sm_80\nnonsense")).unwrap_err();
    assert!(matches!(error, Error::Compilation { ref module, .. } if module == "broken"), "{error}");
    let newer = PTX.replace("sm_80", "sm_100a");
    let error = device.load_module(&ModuleSource::new("newer", &newer)).unwrap_err();
    assert_eq!(error.to_string(), "kernel `newer` needs sm_100a, the device is simulator of compute capability 9.0");
    let module = device.load_module(&ModuleSource::new("add", PTX)).unwrap();
    let error = module.kernel("subtract").unwrap_err();
    assert_eq!(error.to_string(), r#"no kernel `subtract`; there are ["add"]"#);

    let kernel = module.kernel("add").unwrap();
    let stream = device.default_stream().unwrap();
    let shape = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    // SAFETY: nothing is launched.
    unsafe {
        let error = kernel.launch(&stream, shape, (0u64,)).unwrap_err();
        assert!(matches!(error, Error::Launch { .. }), "{error}");
        let error = kernel.launch(&stream, shape.dynamic_shared(1 << 20), ()).unwrap_err();
        assert!(matches!(error, Error::SharedMemory { required: 1_048_576, actual: 232_448, .. }), "{error}");
        let other = simulator().default_stream().unwrap();
        let error = kernel.launch(&other, shape, ()).unwrap_err();
        assert_eq!(error.to_string(), "stream belongs to another device: create it on the device that runs the kernel");
    }
}

#[test]
fn an_address_below_element_alignment_is_refused() {
    let device = simulator();
    let buffer = device.zeros::<u8>(16).unwrap();
    // SAFETY: the ranges lie in the buffer.
    unsafe {
        let error = device.slice_from_address::<f32>(buffer.address() + 2, 1).unwrap_err();
        assert!(matches!(error, Error::Alignment { required: 4, .. }), "{error}");
        assert_eq!(device.slice_from_address::<f32>(buffer.address() + 4, 2).unwrap().download().unwrap(), [0.0; 2]);
    }
}
