//! Bad input is refused with an error that names operand, required and actual; nothing is launched or lost.

use falchion::{Backend, Device, Error, Gemm, GemmArguments, MatrixLayout, Operand, Order, f16};
use falchion_tests::{device, is_simulator};

/// A 64 × 48 × 32 problem with operands of exactly the right size.
struct Fixture {
    a: falchion::Buffer<f16>,
    b: falchion::Buffer<f16>,
    d: falchion::Buffer<f16>,
}

const M: u64 = 64;
const N: u64 = 48;
const K: u64 = 32;
/// What D holds before: a refusal must leave it.
const BEFORE: f32 = 7.0;

impl Fixture {
    fn new() -> Self {
        let ones = |count: u64| device().upload(&vec![f16::ONE; count as usize]).unwrap();
        let d = device().upload(&vec![f16::from_f32(BEFORE); (M * N) as usize]).unwrap();
        Self { a: ones(M * K), b: ones(K * N), d }
    }

    fn arguments(&self) -> GemmArguments<'_, f16> {
        GemmArguments::new(&self.a, &self.b, &self.d)
    }

    /// The error of a run, after which D is what it was and nothing was executed.
    fn refused(&self, gemm: &Gemm<f16>, arguments: GemmArguments<'_, f16>) -> Error {
        let _ = device().take_counters();
        let stream = device().default_stream().unwrap();
        let error = gemm.plan(device()).unwrap().run(&stream, arguments).expect_err("the run must be refused");
        assert!(self.d.download().unwrap().iter().all(|d| d.to_f32() == BEFORE), "D changed although {error}");
        if is_simulator() {
            assert_eq!(device().take_counters().unwrap().blocks, 0, "a kernel ran although {error}");
        }
        error
    }
}

fn packed() -> Gemm<f16> {
    Gemm::new(M, N, K)
}

#[test]
fn every_kind_of_bad_input_is_refused() {
    let fixture = Fixture::new();
    let small = |buffer: &falchion::Buffer<f16>| buffer.len() - 1;

    let short = fixture.a.slice(..small(&fixture.a)).unwrap();
    let error = fixture.refused(&packed(), GemmArguments { a: short, ..fixture.arguments() });
    assert!(matches!(error, Error::BufferTooSmall { name: "a", required: 2048, actual: 2047 }), "{error}");

    let short = fixture.b.slice(1..).unwrap();
    let error = fixture.refused(&packed(), GemmArguments { b: short, ..fixture.arguments() });
    assert!(matches!(error, Error::BufferTooSmall { name: "b", required: 1536, actual: 1535 }), "{error}");

    let short = fixture.d.slice(1..).unwrap();
    let error = fixture.refused(&packed(), GemmArguments { d: short, ..fixture.arguments() });
    assert!(matches!(error, Error::BufferTooSmall { name: "d", .. }), "{error}");

    let error = fixture.refused(&packed(), fixture.arguments().beta(0.5));
    assert!(matches!(error, Error::MissingSource { beta: 0.5 }), "{error}");

    let strided = packed().a(MatrixLayout::strided(Order::RowMajor, K + 8));
    let error = fixture.refused(&strided, fixture.arguments());
    assert!(matches!(error, Error::BufferTooSmall { name: "a", .. }), "{error}");

    // D inside A: 64 × 48 elements overlap 64 × 32 of a larger buffer.
    let large = device().upload(&vec![f16::from_f32(BEFORE); 4096]).unwrap();
    let overlapping = GemmArguments { a: large.as_slice(), d: large.slice(512..).unwrap(), ..fixture.arguments() };
    let error = fixture.refused(&packed(), overlapping);
    assert!(matches!(error, Error::Overlap { operand: Operand::A, .. }), "{error}");
    assert!(large.download().unwrap().iter().all(|x| x.to_f32() == BEFORE));

    // C shifted by one element against D.
    let shifted = GemmArguments { d: large.as_slice(), c: Some(large.slice(1..).unwrap()), ..fixture.arguments() };
    let error = fixture.refused(&packed(), shifted.beta(1.0));
    assert!(matches!(error, Error::Overlap { operand: Operand::C, .. }), "{error}");

    let kernel = packed().b(Order::ColumnMajor).kernel("falchion_tensorop_s16816gemm_f16_64x64_32x4_tn_align8");
    let spare = device().upload(&vec![f16::ONE; (M * K) as usize + 1]).unwrap();
    let error = fixture.refused(&kernel, GemmArguments { a: spare.slice(1..).unwrap(), ..fixture.arguments() });
    assert!(matches!(error, Error::Alignment { required: 16, .. }), "{error}");
}

#[test]
fn a_plan_refuses_what_no_run_could_serve() {
    let refused = |gemm: Gemm<f16>| gemm.plan(device()).expect_err("the plan must be refused");

    let error = refused(Gemm::new(1 << 40, N, K));
    assert!(matches!(error, Error::Dimension { name: "m", actual, .. } if actual == 1 << 40), "{error}");

    let error = refused(packed().a(MatrixLayout::strided(Order::RowMajor, K - 1)));
    assert!(matches!(error, Error::LeadingDimension { operand: Operand::A, required: 32, actual: 31, .. }), "{error}");

    let error = refused(packed().c(Order::ColumnMajor).d(Order::RowMajor));
    assert!(matches!(error, Error::OrderMismatch { c: Order::ColumnMajor, d: Order::RowMajor }), "{error}");

    let error = refused(packed().kernel("gemm_of_my_dreams"));
    assert!(error.to_string().contains("gemm_of_my_dreams"), "{error}");

    // B is row-major here, and the kernel wants it column-major.
    let error = refused(packed().kernel("falchion_tensorop_s16816gemm_f16_64x64_32x4_tn_align8"));
    assert!(error.to_string().contains("tn_align8"), "{error}");
}

#[test]
fn an_empty_output_launches_nothing() {
    let fixture = Fixture::new();
    let _ = device().take_counters();
    for (m, n) in [(0, N), (M, 0), (0, 0)] {
        let plan = Gemm::<f16>::new(m, n, K).plan(device()).unwrap();
        plan.run(&device().default_stream().unwrap(), fixture.arguments()).unwrap();
    }
    assert!(fixture.d.download().unwrap().iter().all(|d| d.to_f32() == BEFORE));
    if is_simulator() {
        assert_eq!(device().take_counters().unwrap().blocks, 0);
    }
}

#[test]
fn operands_of_another_device_are_refused() {
    let fixture = Fixture::new();
    let other = Device::open(Backend::Sim).unwrap();
    let foreign = other.upload(&vec![f16::ONE; (M * K) as usize]).unwrap();
    let error = fixture.refused(&packed(), GemmArguments { a: foreign.as_slice(), ..fixture.arguments() });
    assert!(matches!(error, Error::DeviceMismatch { .. }), "{error}");
}

#[test]
fn errors_are_sentences_about_the_operand() {
    let error = packed().a(MatrixLayout::strided(Order::RowMajor, 3)).plan(device()).unwrap_err();
    assert_eq!(error.to_string(), "leading dimension of row-major a is 3, required is 32 to 1099511627776");
}
