//! PTX and launches that are refused before anything runs.

use super::common::{Run, module, text};
use falchion_sim::{Launch, LaunchError, MemoryError, Module, ParseError, Settings, Simulator};

fn error(body: &str) -> ParseError {
    Module::parse(&text(&[], body)).expect_err(body)
}

#[test]
fn what_is_not_known_is_named_with_its_line() {
    let line = 11;
    let opcode = || "frobnicate.b32".to_owned();
    assert_eq!(error("frobnicate.b32 %r1, %r2;"), ParseError::UnknownInstruction { line, opcode: opcode() });
    let (opcode, modifier) = ("add.sparkling.s32".into(), "sparkling".into());
    assert_eq!(error("add.sparkling.s32 %r1, %r2, %r3;"), ParseError::UnknownModifier { line, opcode, modifier });
    assert!(matches!(error(".wibble 3;"), ParseError::UnknownDirective { directive, .. } if directive == ".wibble"));
    assert!(matches!(error("add.s32 %r1, %q2, %r3;"), ParseError::UnknownName { name, .. } if name == "%q2"));
    assert!(matches!(error("bra $nowhere;"), ParseError::UnknownName { name, .. } if name == "$nowhere"));
    let what = "a call of `elsewhere`, which has no body in this module,".into();
    assert_eq!(error("call.uni elsewhere, ();"), ParseError::Unsupported { line, what });
    assert!(matches!(error("add.s32 %r1, %rd2, %r3;"), ParseError::Operand { index: 1, .. }));
    assert!(matches!(error("add.s32 %r1, %r2, %r3, %r4;"), ParseError::Operand { index: 3, .. }));
    assert!(matches!(error("add.s32 %r1, %r2;"), ParseError::Operand { index: 2, .. }));
}

#[test]
fn launches_that_do_not_fit_the_kernel_are_refused() {
    let run = Run::new();
    let kernel =
        Module::parse(&text(&["a"], "ret;").replace(")\n{", ")\n.maxntid 64, 1, 1\n.minnctapersm 2\n{")).unwrap();
    let launch = |name: &str, grid, block, params: &[&[u8]]| {
        run.device.launch(&kernel, name, &Launch::new(grid, block), params).unwrap_err()
    };
    let one = [1, 1, 1];
    assert!(matches!(launch("j", one, one, &[&[0; 8]]), LaunchError::UnknownKernel { .. }));
    assert!(matches!(launch("k", one, one, &[]), LaunchError::ParameterCount { required: 1, actual: 0, .. }));
    assert!(matches!(launch("k", one, one, &[&[0; 4]]), LaunchError::ParameterSize { required: 8, actual: 4, .. }));
    assert!(matches!(launch("k", one, [65, 1, 1], &[&[0; 8]]), LaunchError::BadBlock { .. }));
    assert!(matches!(launch("k", one, [0, 1, 1], &[&[0; 8]]), LaunchError::BadBlock { .. }));
    assert!(matches!(launch("k", [1, 0, 1], one, &[&[0; 8]]), LaunchError::BadGrid { .. }));
    let greedy = Launch::new(one, one).dynamic_shared(300 << 10);
    let error = run.device.launch(&kernel, "k", &greedy, &[&[0; 8]]).unwrap_err();
    assert!(matches!(error, LaunchError::SharedMemory { .. }));
}

#[test]
fn host_accesses_are_checked() {
    let mut settings = Settings::default();
    settings.memory_bytes = 1 << 20;
    let device = Simulator::new(settings);
    let a = device.alloc(1000).unwrap();
    assert_eq!(a % 256, 0);
    assert!(matches!(device.alloc(1 << 20), Err(MemoryError::OutOfMemory { available: 1047576, .. })));
    device.write(a + 3, &[7; 10]).unwrap();
    let mut bytes = [0; 10];
    device.read(a + 3, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 10]);
    assert_eq!(device.read(a + 4, &mut bytes), Err(MemoryError::Uninitialised { address: a + 13 }));
    assert!(matches!(device.write(a + 991, &[0; 10]), Err(MemoryError::OutOfBounds { .. })));
    device.fill(a, 9, 1000).unwrap();
    device.read(a + 990, &mut bytes).unwrap();
    assert_eq!(bytes, [9; 10]);
    assert_eq!(device.free(a + 8), Err(MemoryError::NotAnAllocation { address: a + 8 }));
    device.free(a).unwrap();
    assert_eq!(device.free(a), Err(MemoryError::UseAfterFree { address: a }));
    assert_eq!(device.write(a, &[1]), Err(MemoryError::UseAfterFree { address: a }));
    device.alloc(1 << 20).unwrap();
}

#[test]
fn initialised_variables_can_be_read_from_the_module() {
    let text = text(&[], "ret;").replace(
        ".visible .entry",
        ".visible .global .align 4 .b8 falchion_description_k[12] = {70, 76, 67, 70, 1};\n.visible .entry",
    );
    let module = Module::parse(&text).unwrap();
    assert_eq!(module.global_bytes("falchion_description_k"), Some(&[70, 76, 67, 70, 1][..]));
    assert_eq!(module.global_bytes("missing"), None);
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["k"]);
    assert_eq!(module.target(), "sm_90a");
}

#[test]
fn a_kernel_without_parameters_or_effects_runs() {
    Run::new().block(&module(&[], "ret;"), 32, &[]).unwrap();
}
