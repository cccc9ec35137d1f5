//! Kernels that are wrong on purpose: the simulator refuses each, and says where.

use falchion::sim::{FaultKind, Settings};
use falchion::{Device, Error, KernelFault, KernelParameters, LaunchConfig};
use falchion_tests::TestKernel;

/// The fault of one block of 64 threads of `kernel`, whose input and output hold `words` words each.
fn fault<P: KernelParameters>(
    kernel: &str,
    words: usize,
    parameters: impl FnOnce(u64, u64) -> P,
) -> Box<falchion::sim::Fault> {
    let device = Device::simulator(Settings::default());
    let input = device.upload(&vec![1.0f32; words]).unwrap();
    let output = device.zeros::<f32>(words).unwrap();
    let launch = LaunchConfig::new([1, 1, 1], [64, 1, 1]).dynamic_shared(1024);
    // SAFETY: the simulator refuses what these kernels do wrong.
    let result = unsafe {
        TestKernel::named(kernel).load(&device).launch(
            &device.default_stream().unwrap(),
            launch,
            parameters(input.address(), output.address()),
        )
    };
    match result {
        Err(Error::KernelFault { fault: KernelFault::Simulator(fault), kernel: name }) => {
            assert_eq!(name, kernel);
            let (file, line) = fault.source_location.clone().unwrap_or_else(|| panic!("{fault} names no Rust line"));
            assert!(file.ends_with(".rs") && line > 0, "{file}:{line}");
            assert!(fault.ptx_line > 0);
            fault
        }
        Err(other) => panic!("another error: {other}"),
        Ok(()) => panic!("`{kernel}` ran"),
    }
}

#[test]
fn a_missing_barrier_is_caught() {
    let fault = fault("missing_barrier", 64, |_, output| (output,));
    assert!(matches!(fault.kind, FaultKind::Race { .. } | FaultKind::Uninitialised { .. }), "{fault}");
}

#[test]
fn a_read_of_uninitialised_shared_memory_is_caught() {
    let fault = fault("uninitialised_shared", 64, |_, output| (output,));
    assert!(matches!(fault.kind, FaultKind::Uninitialised { .. }), "{fault}");
}

#[test]
fn a_read_before_the_wait_for_its_copy_is_caught() {
    let fault = fault("missing_wait", 64, |input, output| (input, output));
    assert!(matches!(fault.kind, FaultKind::Pending { .. }), "{fault}");
}

#[test]
fn a_predicate_off_by_one_is_caught() {
    // Of 64 threads, 63 have a word and the last must stay idle.
    let found = fault("off_by_one", 63, |input, output| (input, output, 63u32));
    assert!(matches!(found.kind, FaultKind::OutOfBounds { .. }), "{found}");
    assert!(found.thread.is_some(), "{found}");
}

#[test]
fn a_misaligned_vector_load_is_caught() {
    let fault = fault("misaligned_vector", 64 * 4 + 1, |input, output| (input, output));
    assert!(matches!(fault.kind, FaultKind::Misaligned { required: 16, .. }), "{fault}");
}

#[test]
fn a_barrier_in_a_divergent_branch_is_caught() {
    let fault = fault("divergent_barrier", 64, |_, output| (output,));
    assert!(matches!(fault.kind, FaultKind::Divergence { .. }), "{fault}");
}
