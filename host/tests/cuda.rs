//! The GPU behind `Device`: memory, streams, modules, launches and the driver's errors.

use falchion::{
    Arch, Backend, Device, DeviceKind, ElementKind, Error, Event, L2Promotion, LaunchConfig, ModuleSource, Stream,
    TensorMapError, TensorMapRequest, TensorMapSwizzle, f16,
};

/// `reverse` turns each block's part of an array around, through dynamic shared memory; `spin` wastes time.
const PTX: &str = r"
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 shared[];
.visible .entry reverse(.param .u64 p_data)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [p_data];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r5, [%rd3];
    shl.b32 %r6, %r3, 2;
    mov.u32 %r7, shared;
    add.s32 %r7, %r7, %r6;
    st.shared.u32 [%r7+90000], %r5;
    bar.sync 0;
    sub.s32 %r3, %r2, %r3;
    sub.s32 %r3, %r3, 1;
    shl.b32 %r6, %r3, 2;
    mov.u32 %r7, shared;
    add.s32 %r7, %r7, %r6;
    ld.shared.u32 %r5, [%r7+90000];
    st.global.u32 [%rd3], %r5;
    ret;
}
.visible .entry spin(.param .u32 p_count)
{
    .reg .pred %p1;
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [p_count];
LOOP:
    nanosleep.u32 1000;
    sub.s32 %r1, %r1, 1;
    setp.gt.s32 %p1, %r1, 0;
    @%p1 bra LOOP;
    ret;
}
";

fn gpu() -> Device {
    Device::open(Backend::Cuda).unwrap()
}

#[test]
fn auto_takes_the_gpu_and_says_so() {
    let device = Device::open(Backend::Auto).unwrap();
    let info = device.info();
    assert_eq!(info.kind, DeviceKind::Cuda);
    assert!(info.compute_capability >= 70 && info.multiprocessors > 0 && info.l2_bytes > 0, "{info:?}");
    assert!(info.max_dynamic_shared_bytes > 48 * 1024 && info.memory_bytes > 1 << 30, "{info:?}");
    assert!(device.to_string().contains("(cuda, compute capability "), "{device}");
}

#[test]
fn an_ordinal_beyond_the_last_is_no_device() {
    let error = Device::open(Backend::CudaOrdinal(999)).unwrap_err();
    assert!(error.to_string().starts_with("no device: ordinal 999 asked for, the driver has "), "{error}");
}

#[test]
fn what_is_written_is_read_back_whole_or_in_parts() {
    let device = gpu();
    let data: Vec<f16> = (0..1000u16).map(|i| f16::from_f32(i.into())).collect();
    let buffer = device.upload(&data).unwrap();
    assert_eq!((buffer.address() % 256, buffer.download().unwrap()), (0, data));
    let odd = buffer.slice(3..5).unwrap();
    odd.fill_bytes(0xFF).unwrap();
    assert!(odd.download().unwrap().iter().all(|value| value.is_nan()));
    assert_eq!(buffer.slice(5..6).unwrap().download().unwrap(), [f16::from_f32(5.0)]);
    assert_eq!(device.zeros::<u32>(5).unwrap().download().unwrap(), [0; 5]);
    assert!(device.alloc::<f32>(0).unwrap().download().unwrap().is_empty());
}

#[test]
fn more_memory_than_there_is_is_refused_with_what_is_left() {
    let error = gpu().alloc::<u8>(1 << 50).unwrap_err();
    assert!(
        matches!(error, Error::OutOfMemory { requested, available } if requested == 1 << 50 && available > 0),
        "{error}"
    );
}

#[test]
fn a_kernel_with_much_shared_memory_runs_on_several_streams_from_several_threads() {
    let device = gpu();
    let kernel = device.load_module(&ModuleSource::new("m", PTX)).unwrap().kernel("reverse").unwrap();
    let buffers: Vec<_> = (0..4).map(|_| device.upload(&(0..1024).collect::<Vec<u32>>()).unwrap()).collect();
    std::thread::scope(|scope| {
        for buffer in &buffers {
            scope.spawn(|| {
                let stream = Stream::new(&device).unwrap();
                let config = LaunchConfig::new([4, 1, 1], [256, 1, 1]).dynamic_shared(100_000);
                // SAFETY: one pointer to as many elements as there are threads.
                unsafe { kernel.launch(&stream, config, (buffer.address(),)).unwrap() };
            });
        }
    });
    let expected: Vec<u32> = (0..4).flat_map(|block| (block * 256..(block + 1) * 256).rev()).collect();
    for buffer in &buffers {
        assert_eq!(buffer.download().unwrap(), expected);
    }
    let too_much = LaunchConfig::new([1, 1, 1], [1, 1, 1]).dynamic_shared(1 << 20);
    // SAFETY: nothing is launched.
    let error = unsafe { kernel.launch(&device.default_stream().unwrap(), too_much, (0u64,)) }.unwrap_err();
    assert!(matches!(error, Error::SharedMemory { required: 1_048_576, .. }), "{error}");
    let huge_block = LaunchConfig::new([1, 1, 1], [2048, 1, 1]);
    // SAFETY: the driver refuses the shape.
    let error = unsafe { kernel.launch(&device.default_stream().unwrap(), huge_block, (0u64,)) }.unwrap_err();
    assert!(
        error.to_string().starts_with("launch of kernel `reverse` refused: CUDA_ERROR_INVALID_VALUE (1)"),
        "{error}"
    );
}

#[test]
fn events_measure_the_device_s_time() {
    let device = gpu();
    let kernel = device.load_module(&ModuleSource::new("m", PTX)).unwrap().kernel("spin").unwrap();
    let stream = device.default_stream().unwrap();
    let time = |count: u32| {
        let (start, stop) = (Event::new(&device).unwrap(), Event::new(&device).unwrap());
        start.record(&stream).unwrap();
        // SAFETY: the kernel touches no memory.
        unsafe { kernel.launch(&stream, LaunchConfig::new([1, 1, 1], [1, 1, 1]), (count,)).unwrap() };
        stop.record(&stream).unwrap();
        stop.elapsed_since(&start).unwrap().as_secs_f64()
    };
    time(1);
    // `nanosleep` takes between nothing and twice what it is asked for; a thousandfold count still shows.
    assert!(time(10_000) > 20.0 * time(10));
}

#[test]
fn ptx_that_does_not_compile_comes_with_the_compiler_s_log() {
    let device = gpu();
    let broken = PTX.replace("bar.sync 0;", "bar.nonsense 0;");
    match device.load_module(&ModuleSource::new("broken", &broken)).unwrap_err() {
        Error::Compilation { module, log } => assert!(module == "broken" && log.contains("line"), "{log}"),
        other => panic!("{other}"),
    }
    let specific = PTX.replace("sm_80", "sm_75a");
    let error = device.load_module(&ModuleSource::new("specific", &specific)).unwrap_err();
    assert!(matches!(error, Error::WrongArch { ref required, .. } if required == "sm_75a"), "{error}");
    // SAFETY: the driver reads the magic number first, and this is none.
    let source = unsafe { ModuleSource::new("m", PTX).cubin(Arch::new(device.info().compute_capability), &[0; 64]) };
    assert!(device.load_module(&source).is_err());
    let error = device.load_module(&ModuleSource::new("m", PTX)).unwrap().kernel("missing").unwrap_err();
    assert!(matches!(error, Error::UnknownKernel { .. }), "{error}");
}

#[test]
fn a_launch_costs_little_more_than_the_driver_s_call() {
    let device = gpu();
    let kernel = device.load_module(&ModuleSource::new("m", PTX)).unwrap().kernel("spin").unwrap();
    let stream = device.default_stream().unwrap();
    let mut fastest = f64::INFINITY;
    for _ in 0..50 {
        let start = std::time::Instant::now();
        for _ in 0..20 {
            // SAFETY: the kernel touches no memory.
            unsafe { kernel.launch(&stream, LaunchConfig::new([1, 1, 1], [1, 1, 1]), (0u32,)).unwrap() };
        }
        fastest = fastest.min(start.elapsed().as_secs_f64() / 20.0);
        stream.synchronize().unwrap();
    }
    println!("{:.2} µs a launch", fastest * 1e6);
    // The driver's own call takes 2 to 4 µs; ten says that nothing was allocated or synchronised beside it.
    assert!(fastest < 10e-6, "{fastest}");
}

#[test]
fn tensor_maps_are_encoded_by_the_driver_or_refused_before_it() {
    let device = gpu();
    let matrix = device.zeros::<f16>(1024 * 512).unwrap();
    let request = TensorMapRequest {
        element: ElementKind::F16,
        address: matrix.address(),
        extents: &[500, 1024],
        strides: &[1024],
        box_extents: &[64, 128],
        swizzle: TensorMapSwizzle::Bytes128,
        promotion: L2Promotion::Bytes128,
    };
    if device.info().compute_capability < 90 {
        assert!(matches!(device.tensor_map(&request), Err(Error::TensorMap(TensorMapError::Device { .. }))));
        return;
    }
    let map = device.tensor_map(&request).unwrap();
    assert_eq!(map, device.tensor_map(&request).unwrap());
    for other in [
        TensorMapRequest { address: request.address + 16, ..request },
        TensorMapRequest { element: ElementKind::Bf16, ..request },
        TensorMapRequest { extents: &[499, 1024], ..request },
        TensorMapRequest { strides: &[1008], ..request },
        TensorMapRequest { box_extents: &[64, 64], ..request },
        TensorMapRequest { swizzle: TensorMapSwizzle::None, ..request },
        TensorMapRequest { promotion: L2Promotion::Bytes256, ..request },
    ] {
        assert!(map != device.tensor_map(&other).unwrap(), "{other:?}");
    }
    // The driver agrees with every limit that is checked before it is asked.
    for edge in [
        TensorMapRequest { extents: &[1 << 32, 1], ..request },
        TensorMapRequest { strides: &[(1 << 40) - 16], ..request },
        TensorMapRequest { swizzle: TensorMapSwizzle::None, box_extents: &[256, 256], ..request },
        TensorMapRequest {
            extents: &[8; 5],
            strides: &[16, 128, 1024, 8192],
            box_extents: &[8, 1, 1, 1, 1],
            ..request
        },
        TensorMapRequest { extents: &[8], strides: &[], box_extents: &[8], ..request },
        TensorMapRequest {
            element: ElementKind::F32,
            box_extents: &[4, 1],
            swizzle: TensorMapSwizzle::Bytes32,
            ..request
        },
    ] {
        device.tensor_map(&edge).unwrap_or_else(|error| panic!("{edge:?}: {error}"));
    }
    let error = device.tensor_map(&TensorMapRequest { address: request.address + 8, ..request }).unwrap_err();
    assert!(matches!(error, Error::TensorMap(TensorMapError::Address { .. })), "{error}");
    let mut fastest = f64::INFINITY;
    for _ in 0..50 {
        let start = std::time::Instant::now();
        for _ in 0..100 {
            std::hint::black_box(device.tensor_map(&request).unwrap());
        }
        fastest = fastest.min(start.elapsed().as_secs_f64() / 100.0);
    }
    println!("{:.0} ns a tensor map", fastest * 1e9);
}
