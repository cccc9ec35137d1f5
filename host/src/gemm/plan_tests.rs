//! Plans on the simulator, with a small catalogue of its own: one thread an output element, every order of the
//! factors, accesses of 4 elements and of 1.

use super::*;
use crate::reference::{self, MatrixRef};
use crate::stock::testing::stock_kernel;
use crate::{Backend, Buffer, Gemm, Order};
use Order::{ColumnMajor, RowMajor};
use falchion_device::kernel::{GemmDescription, Header, KIND_GEMM};
use std::sync::LazyLock;

const TILE: u32 = 8;

static CATALOGUE: LazyLock<Vec<StockKernel>> = LazyLock::new(|| {
    let orders = [RowMajor, ColumnMajor];
    let pairs = orders.into_iter().flat_map(|a| orders.map(|b| [a, b]));
    pairs.flat_map(|pair| [1, 4].map(|alignment| kernel(pair, alignment))).collect()
});

fn name([a, b]: [Order; 2], alignment: u32) -> String {
    format!("naive_{}{}_align{alignment}", a.letter(), b.letter())
}

fn kernel(orders: [Order; 2], alignment: u32) -> StockKernel {
    let mut header = Header::new(TILE * TILE, 0);
    header.words = GemmDescription::WORDS as u32;
    header.kind = KIND_GEMM;
    let words = [
        &[header.magic, header.version, header.words, header.arch, header.arch_specific, header.threads][..],
        &[header.blocks_per_multiprocessor, 1, 1, 1, header.shared_bytes, header.kind],
        &[TILE, TILE, 1, 1, 0, 0, 0, 0, orders[0] as u32, orders[1] as u32, alignment, alignment],
        &[OpClass::Simt as u32, 1, 1, 104],
    ];
    stock_kernel(name(orders, alignment).leak(), &words.concat(), &ptx(&name(orders, alignment), orders))
}

/// The kernel: acc = Σ a·b, d = α·acc + β·c, with the parameters where `GemmParams` has them.
fn ptx(name: &str, [a, b]: [Order; 2]) -> String {
    // Byte strides along the row (or column) of the output, and along k, of each factor.
    let strides = |order| match order {
        RowMajor => ("%ld", "4"),
        ColumnMajor => ("4", "%ld"),
    };
    let ((a_row, a_k), (b_k, b_column)) = (strides(a), strides(b));
    let stride = |text: &str, operand: &str| text.replace("%ld", &format!("%ld_{operand}"));
    let ([a_row, a_k], [b_k, b_column]) =
        ([a_row, a_k].map(|s| stride(s, "a")), [b_k, b_column].map(|s| stride(s, "b")));
    format!(
        r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry {name}(.param .align 8 .b8 p[104])
{{
    .reg .pred %p<4>;
    .reg .b32 %r<24>;
    .reg .f32 %f<8>;
    .reg .b64 %a, %b, %c, %d, %ld_a, %ld_b, %ld_c, %ld_d, %t, %row, %column, %k;
    ld.param.u64 %a, [p];      ld.param.u64 %ld_a, [p+8];
    ld.param.u64 %b, [p+16];   ld.param.u64 %ld_b, [p+24];
    ld.param.u64 %c, [p+32];   ld.param.u64 %ld_c, [p+40];
    ld.param.u64 %d, [p+48];   ld.param.u64 %ld_d, [p+56];
    ld.param.u32 %r1, [p+64];  ld.param.u32 %r2, [p+68];  ld.param.u32 %r3, [p+72];
    ld.param.u32 %r4, [p+76];  ld.param.u32 %r5, [p+80];  ld.param.u32 %r6, [p+84];
    ld.param.f32 %f1, [p+96];  ld.param.f32 %f2, [p+100];
    shl.b64 %ld_a, %ld_a, 2;   shl.b64 %ld_b, %ld_b, 2;
    shl.b64 %ld_c, %ld_c, 2;   shl.b64 %ld_d, %ld_d, 2;
    mov.u32 %r7, %ctaid.x;
    mul.lo.s32 %r8, %r5, %r6;
    div.u32 %r9, %r7, %r8;
    rem.u32 %r10, %r7, %r8;
    mul.lo.s32 %r11, %r9, %r6;
    sub.s32 %r12, %r4, %r11;
    min.u32 %r12, %r12, %r6;
    rem.u32 %r13, %r10, %r12;
    add.s32 %r13, %r13, %r11;
    div.u32 %r14, %r10, %r12;
    mov.u32 %r15, %tid.x;
    div.u32 %r16, %r15, {TILE};
    rem.u32 %r17, %r15, {TILE};
    mad.lo.s32 %r16, %r13, {TILE}, %r16;
    mad.lo.s32 %r17, %r14, {TILE}, %r17;
    setp.ge.u32 %p1, %r16, %r1;
    @%p1 bra DONE;
    setp.ge.u32 %p2, %r17, %r2;
    @%p2 bra DONE;
    cvt.u64.u32 %row, %r16;
    cvt.u64.u32 %column, %r17;
    mul.lo.s64 %t, %row, {a_row};    add.s64 %a, %a, %t;
    mul.lo.s64 %t, %column, {b_column};  add.s64 %b, %b, %t;
    mov.f32 %f3, 0f00000000;
    mov.u32 %r18, 0;
LOOP:
    setp.ge.u32 %p3, %r18, %r3;
    @%p3 bra END;
    ld.global.f32 %f4, [%a];
    ld.global.f32 %f5, [%b];
    fma.rn.f32 %f3, %f4, %f5, %f3;
    add.s64 %a, %a, {a_k};
    add.s64 %b, %b, {b_k};
    add.s32 %r18, %r18, 1;
    bra LOOP;
END:
    mul.f32 %f3, %f1, %f3;
    shl.b64 %column, %column, 2;
    setp.eq.f32 %p3, %f2, 0f00000000;
    @%p3 bra STORE;
    mul.lo.s64 %t, %row, %ld_c;  add.s64 %c, %c, %t;  add.s64 %c, %c, %column;
    ld.global.f32 %f6, [%c];
    fma.rn.f32 %f3, %f2, %f6, %f3;
STORE:
    mul.lo.s64 %t, %row, %ld_d;  add.s64 %d, %d, %t;  add.s64 %d, %d, %column;
    st.global.f32 [%d], %f3;
DONE:
    ret;
}}
"
    )
}

fn device() -> Device {
    Device::open(Backend::Sim).unwrap()
}

fn plan(device: &Device, gemm: &Gemm<f32>, name: Option<&str>) -> Result<GemmPlan<f32>> {
    GemmPlan::new(device, gemm.problem()?, &CATALOGUE, name)
}

fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + seed * 3) % 11) as f32 - 5.0).collect()
}

/// Names of the kernels that ran since the last call.
fn ran(device: &Device) -> Vec<String> {
    let counters = device.take_counters().unwrap();
    let mut names: Vec<String> = counters.instructions.into_keys().map(|(name, _)| name).collect();
    names.dedup();
    names
}

struct Operands {
    device: Device,
    a: Buffer<f32>,
    b: Buffer<f32>,
    c: Buffer<f32>,
    d: Buffer<f32>,
}

impl Operands {
    /// 64 × 64 elements each, all written.
    fn new() -> Self {
        let device = device();
        let [a, b, c, d] = [1, 2, 3, 4].map(|seed| device.upload(&values(64 * 64, seed)).unwrap());
        Self { device, a, b, c, d }
    }

    fn arguments(&self) -> GemmArguments<'_, f32> {
        GemmArguments::new(&self.a, &self.b, &self.d)
    }

    fn run(&self, plan: &GemmPlan<f32>, arguments: GemmArguments<'_, f32>) -> Result<()> {
        plan.run(&self.device.default_stream()?, arguments)
    }

    /// That running is refused, with nothing launched and D as it was; returns the message.
    fn refused(&self, plan: &GemmPlan<f32>, arguments: GemmArguments<'_, f32>) -> String {
        let before = self.d.download().unwrap();
        let error = self.run(plan, arguments).unwrap_err();
        assert_eq!(ran(&self.device), [""; 0], "{error}");
        assert_eq!(self.d.download().unwrap(), before);
        error.to_string()
    }
}

#[test]
fn every_order_of_every_operand_gives_the_reference() {
    let device = device();
    let (m, n, k) = (19, 12, 5);
    let (a, b, c) = (values(m * k, 1), values(k * n, 2), values(m * n, 3));
    let (a_dev, b_dev, c_dev) = (device.upload(&a).unwrap(), device.upload(&b).unwrap(), device.upload(&c).unwrap());
    for index in 0..8 {
        let [a_order, b_order, d_order] =
            [0, 1, 2].map(|bit| if index >> bit & 1 == 0 { RowMajor } else { ColumnMajor });
        let gemm = Gemm::<f32>::new(m as u64, n as u64, k as u64).a(a_order).b(b_order).d(d_order);
        let plan = plan(&device, &gemm, None).unwrap();
        let d = device.alloc(m * n).unwrap();
        let arguments = GemmArguments::new(&a_dev, &b_dev, &d).alpha(2.0).c(&c_dev).beta(-3.0);
        plan.run(&device.default_stream().unwrap(), arguments).unwrap();
        let reference = reference::gemm(
            2.0,
            &MatrixRef::packed(&a, m, k, a_order),
            &MatrixRef::packed(&b, k, n, b_order),
            -3.0,
            Some(&MatrixRef::packed(&c, m, n, d_order)),
        );
        let d = d.download().unwrap();
        let comparison = reference.unwrap().compare_exactly(&MatrixRef::packed(&d, m, n, d_order));
        comparison.unwrap().check().unwrap_or_else(|error| panic!("{a_order} {b_order} {d_order}: {error}"));
    }
}

#[test]
fn a_less_aligned_pointer_takes_the_narrower_kernel() {
    let operands = Operands::new();
    let plan = plan(&operands.device, &Gemm::new(16, 16, 16), None).unwrap();
    assert_eq!(plan.kernel_name(), "naive_tt_align4");
    assert_eq!(plan.candidates(), ["naive_tt_align4", "naive_tt_align1"]);
    assert_eq!(plan.accumulation(), Accumulation::Fma);
    for (a, b, expected) in
        [(0, 0, "naive_tt_align4"), (1, 0, "naive_tt_align1"), (4, 2, "naive_tt_align1"), (4, 8, "naive_tt_align4")]
    {
        let (a, b) = (operands.a.slice(a..).unwrap(), operands.b.slice(b..).unwrap());
        let arguments = GemmArguments { a, b, ..operands.arguments() };
        assert_eq!(plan.kernel_for(&arguments).unwrap(), expected);
        operands.run(&plan, arguments).unwrap();
        assert_eq!(ran(&operands.device), [expected]);
    }
}

/// The kernels above and one that says it is warp-specialised, and does nothing.
static WITH_COPY_ENGINE: LazyLock<Vec<StockKernel>> = LazyLock::new(|| {
    let name = "specialized_tt";
    let ptx = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry {name}(.param .align 64 .b8 p[544]) {{ ret; }}"
    );
    let mut header = Header::new(128, 0);
    header.words = GemmDescription::WORDS as u32;
    header.kind = KIND_GEMM;
    let words = [
        &[header.magic, header.version, header.words, 90, 1, header.threads][..],
        &[header.blocks_per_multiprocessor, 1, 1, 1, header.shared_bytes, header.kind],
        &[64, 64, 32, 1, 0, 0, 0, 0, RowMajor as u32, RowMajor as u32, 4, 4],
        &[OpClass::Wgmma as u32, 4, 1, 544],
    ];
    let mut catalogue = vec![stock_kernel(name, &words.concat(), &ptx)];
    catalogue.extend([1, 4].map(|alignment| kernel([RowMajor; 2], alignment)));
    catalogue
});

#[test]
fn a_run_the_copy_engine_cannot_serve_takes_the_next_kernel() {
    let operands = Operands::new();
    let (a, b, c, d) = (&operands.a, &operands.b, &operands.c, &operands.d);
    let plan = |gemm: &Gemm<f32>, name| {
        GemmPlan::<f32>::new(&operands.device, gemm.problem().unwrap(), &WITH_COPY_ENGINE, name).unwrap()
    };
    let aligned = |buffer| Buffer::slice(buffer, 4..).unwrap();
    let odd = |buffer| Buffer::slice(buffer, 5..).unwrap();
    let base = GemmArguments::new(aligned(a), aligned(b), aligned(d));
    let any = plan(&Gemm::new(16, 16, 16), None);
    assert_eq!(any.candidates(), ["specialized_tt", "naive_tt_align4", "naive_tt_align1"]);
    assert_eq!(any.accumulation(), Accumulation::TensorCore);
    let wide_source = plan(&Gemm::new(16, 16, 16).c((RowMajor, 17)), None);
    for (plan, arguments, expected) in [
        (&any, base, "specialized_tt"),
        (&any, base.c(aligned(c)).beta(1.0), "specialized_tt"),
        (&any, base.in_place().beta(1.0), "specialized_tt"),
        (&any, GemmArguments { a: odd(a), ..base }, "naive_tt_align1"),
        (&any, GemmArguments { d: odd(d), ..base }, "naive_tt_align4"),
        // C counts when it is read.
        (&any, base.c(odd(c)).beta(1.0), "naive_tt_align4"),
        (&any, base.c(odd(c)), "specialized_tt"),
        (&wide_source, base.c(aligned(c)).beta(1.0), "naive_tt_align4"),
        (&wide_source, base.c(aligned(c)), "specialized_tt"),
    ] {
        assert_eq!(plan.kernel_for(&arguments).unwrap(), expected, "{arguments:?}");
    }
    // Chosen by name it is that kernel or none.
    let named = plan(&Gemm::new(16, 16, 16), Some("specialized_tt"));
    for (operand, arguments) in [
        ("b", GemmArguments { b: odd(b), ..base }),
        ("d", GemmArguments { d: odd(d), ..base }),
        ("c", base.c(odd(c)).beta(1.0)),
    ] {
        let text = operands.refused(&named, arguments);
        assert!(text.starts_with(&format!("{operand} at 0x")) && text.contains("not aligned to 16 bytes"), "{text}");
    }
    let named = plan(&Gemm::new(16, 16, 16).c((RowMajor, 17)), Some("specialized_tt"));
    assert_eq!(
        operands.refused(&named, base.c(aligned(c)).beta(1.0)),
        "kernel `specialized_tt` cannot serve this problem: c has leading dimension 17, the kernel requires a multiple of 4"
    );
}

#[test]
fn a_kernel_chosen_by_name_serves_or_is_refused() {
    let operands = Operands::new();
    let gemm = Gemm::new(16, 16, 16);
    let narrow = plan(&operands.device, &gemm, Some("naive_tt_align1")).unwrap();
    assert_eq!(narrow.kernel_name(), "naive_tt_align1");
    let wide = plan(&operands.device, &gemm, Some("naive_tt_align4")).unwrap();
    let b = operands.b.slice(1..).unwrap();
    let text = operands.refused(&wide, GemmArguments { b, ..operands.arguments() });
    assert!(text.starts_with("b at 0x") && text.contains("not aligned to 16 bytes: choose a kernel"), "{text}");
    let error = plan(&operands.device, &gemm, Some("naive")).unwrap_err();
    assert!(matches!(error, Error::UnknownKernel { ref available, .. } if available.len() == 8), "{error}");
    let error = plan(&operands.device, &gemm, Some("naive_tn_align1")).unwrap_err();
    assert!(matches!(error, Error::KernelRefused { operand: Operand::B, property: "order", .. }), "{error}");
}

#[test]
fn a_problem_no_kernel_computes_is_refused_by_the_plan() {
    let device = device();
    let gemm = Gemm::<crate::f16>::new(8, 8, 8).b(ColumnMajor);
    let error = GemmPlan::<crate::f16>::new(&device, gemm.problem().unwrap(), &CATALOGUE, None).unwrap_err();
    let expected = "no stock kernel multiplies row-major a by column-major b of f16 with output in row-major on simulator of compute capability 9.0";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn short_operands_are_refused_by_name_and_nothing_is_launched() {
    let operands = Operands::new();
    let gemm = Gemm::new(16, 17, 18).a((RowMajor, 20)).c((RowMajor, 19));
    let plan = plan(&operands.device, &gemm, None).unwrap();
    let sizes = [("a", 15 * 20 + 18), ("b", 18 * 17), ("c", 15 * 19 + 17), ("d", 16 * 17)];
    for (name, required) in sizes {
        let slice = |operand, buffer: &'_ Buffer<f32>| {
            let end = if operand == name { required - 1 } else { 64 * 64 };
            // SAFETY: a part of the buffer, which outlives the test.
            unsafe { operands.device.slice_from_address(buffer.address(), end).unwrap() }
        };
        let arguments = GemmArguments {
            a: slice("a", &operands.a),
            b: slice("b", &operands.b),
            c: Some(slice("c", &operands.c)),
            d: slice("d", &operands.d),
            alpha: 1.0,
            beta: 1.0,
        };
        let expected = format!("{name} has {} elements, required are {required}", required - 1);
        assert_eq!(operands.refused(&plan, arguments), expected);
        // C counts only when it is read.
        assert_eq!(operands.run(&plan, GemmArguments { beta: 0.0, ..arguments }).is_ok(), name == "c");
        ran(&operands.device);
    }
}

#[test]
fn a_source_is_required_exactly_when_beta_is_not_zero() {
    let operands = Operands::new();
    let plan = plan(&operands.device, &Gemm::new(8, 8, 8), None).unwrap();
    let text = operands.refused(&plan, operands.arguments().beta(0.5));
    assert_eq!(text, "beta is 0.5 and there is no c: pass c, or beta = 0");
    operands.refused(&plan, operands.arguments().beta(f32::NAN));
    operands.run(&plan, operands.arguments().beta(-0.0)).unwrap();
}

#[test]
fn an_output_that_overlaps_an_input_is_refused_and_one_that_is_c_or_interleaves_is_not() {
    let operands = Operands::new();
    let whole = operands.d.as_slice();
    let gemm = Gemm::new(16, 16, 16).a((RowMajor, 64)).b((RowMajor, 64)).d((RowMajor, 64));
    let plan = plan(&operands.device, &gemm, None).unwrap();
    let at = |start: usize| whole.slice(start..).unwrap();
    let base = operands.arguments();
    // Columns 0..16 are D; 16..32 and 48..64 of the same rows share no element with it, 15..31 do.
    let base = GemmArguments { d: at(0), ..base };
    operands.run(&plan, GemmArguments { a: at(16), b: at(48), ..base }).unwrap();
    ran(&operands.device);
    for (operand, arguments) in [
        ("a", GemmArguments { a: at(15), ..base }),
        ("a", GemmArguments { a: at(0), ..base }),
        ("b", GemmArguments { b: at(64 * 15 + 1), ..base }),
        ("c", base.c(at(64)).beta(1.0)),
        ("c", base.c(at(1)).beta(1.0)),
    ] {
        let text = operands.refused(&plan, arguments);
        assert!(text.contains(&format!("overlaps {operand} (3904 bytes from 0x")), "{text}");
    }
    // A C that is not read may lie anywhere, and C may be D.
    operands.run(&plan, base.c(at(1))).unwrap();
    operands.run(&plan, base.in_place().beta(1.0)).unwrap();
    // C at D's address, but with rows elsewhere, is no alias.
    let gemm = gemm.c((RowMajor, 32));
    let plan = super::tests::plan(&operands.device, &gemm, None).unwrap();
    ran(&operands.device);
    assert!(operands.refused(&plan, base.in_place().beta(1.0)).contains("overlaps c"));
}

#[test]
fn in_place_accumulation_adds_the_product_to_d() {
    let operands = Operands::new();
    let plan = plan(&operands.device, &Gemm::new(2, 2, 1), None).unwrap();
    operands.a.write(&[1.0, 2.0]).unwrap();
    operands.b.write(&[10.0, 20.0]).unwrap();
    operands.d.write(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    operands.run(&plan, operands.arguments().in_place().beta(2.0)).unwrap();
    assert_eq!(operands.d.slice(..4).unwrap().download().unwrap(), [12.0, 24.0, 26.0, 48.0]);
}

#[test]
fn empty_outputs_launch_nothing_and_an_empty_sum_is_beta_c() {
    let operands = Operands::new();
    let empty = operands.device.alloc::<f32>(0).unwrap();
    let nothing = GemmArguments::new(&empty, &empty, &empty).beta(1.0);
    for (m, n, k) in [(0, 5, 0), (5, 0, 0), (0, 0, 0), (0, 0, 7)] {
        let plan = plan(&operands.device, &Gemm::new(m, n, k), None).unwrap();
        operands.run(&plan, nothing).unwrap();
        assert_eq!(ran(&operands.device), [""; 0]);
    }
    let plan = plan(&operands.device, &Gemm::new(2, 2, 0), None).unwrap();
    operands.c.write(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    let arguments = GemmArguments::new(&empty, &empty, &operands.d).c(&operands.c).beta(0.5);
    operands.run(&plan, arguments).unwrap();
    assert_eq!(operands.d.slice(..4).unwrap().download().unwrap(), [0.5, 1.0, 1.5, 2.0]);
    operands.d.as_slice().fill_bytes(0xFF).unwrap();
    operands.run(&plan, GemmArguments::new(&empty, &empty, &operands.d)).unwrap();
    assert_eq!(operands.d.slice(..4).unwrap().download().unwrap(), [0.0; 4]);
}

#[test]
fn objects_of_another_device_are_refused() {
    let (operands, other) = (Operands::new(), Operands::new());
    let plan = plan(&operands.device, &Gemm::new(8, 8, 8), None).unwrap();
    let stream = other.device.default_stream().unwrap();
    assert!(matches!(plan.run(&stream, operands.arguments()), Err(Error::DeviceMismatch { name: "stream" })));
    let arguments = GemmArguments { b: other.b.as_slice(), ..operands.arguments() };
    assert!(operands.refused(&plan, arguments).starts_with("b belongs to another device"));
}

#[test]
fn plans_of_one_device_share_loaded_kernels() {
    let device = device();
    let [first, second] = [16, 24].map(|m| plan(&device, &Gemm::new(m, 16, 16), None).unwrap());
    assert!(Arc::ptr_eq(&first.kernels[0].kernel, &second.kernels[0].kernel));
}
