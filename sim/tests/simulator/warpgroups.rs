//! `wgmma` in every type and layout, on operands laid out by hand.

use super::common::{Run, module};
use falchion_sim::{FaultKind, Launch, Module};
use half::{bf16, f16};

/// How a matrix lies in shared memory (PTX ISA, "Strides"): byte offsets as the descriptor has them.
#[derive(Clone, Copy)]
struct Layout {
    /// Bytes of a swizzled row; 16 for none.
    span: usize,
    mn_major: bool,
    leading: usize,
    stride: usize,
}

impl Layout {
    fn k_major(span: usize) -> Self {
        let stride = if span == 16 { 256 } else { 8 * span };
        Self { span, mn_major: false, leading: 128, stride }
    }

    fn mn_major(span: usize) -> Self {
        let (leading, stride) = if span == 16 { (128, 256) } else { (16 * span, 8 * span) };
        Self { span, mn_major: true, leading, stride }
    }

    /// Offset of the element of `bytes` bytes at (`mn`, `k`).
    fn offset(self, mn: usize, k: usize, bytes: usize) -> usize {
        let (inner, outer) = if self.mn_major { (mn * bytes, k) } else { (k * bytes, mn) };
        let (unit, within) = (inner / 16, inner % 16);
        let at = match (self.span, self.mn_major) {
            (16, false) => outer / 8 * self.stride + outer % 8 * 16 + unit * self.leading,
            (16, true) => outer / 8 * self.leading + outer % 8 * 16 + unit * self.stride,
            (span, false) => outer / 8 * self.stride + outer % 8 * span + unit * 16,
            (span, true) => {
                let row = outer / 8 * self.stride + outer % 8 * span;
                row + inner / span * self.leading + inner % span / 16 * 16
            }
        };
        // Matrices start at a multiple of 1024: the low bits of the offset are those of the address.
        let bits = match self.span {
            32 => 1,
            64 => 3,
            128 => 7,
            _ => 0,
        };
        (at ^ (at >> 7 & bits) << 4) + within
    }

    fn descriptor(self, start: usize) -> u64 {
        let mode = match self.span {
            128 => 1u64,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        (start >> 4) as u64 | (self.leading as u64 >> 4) << 16 | (self.stride as u64 >> 4) << 32 | mode << 62
    }
}

/// Bytes of the image that a kernel brings to shared memory: A, then B.
const IMAGE: usize = 16384;
const B_START: usize = 8192;

struct Case {
    n: usize,
    k: usize,
    types: &'static str,
    a: Layout,
    b: Layout,
    a_in_registers: bool,
    signs: [i32; 2],
}

/// A number in the bytes of an element type.
fn encode(name: &str, value: i32) -> Vec<u8> {
    match name {
        "f16" => f16::from_f32(value as f32).to_le_bytes().into(),
        "bf16" => bf16::from_f32(value as f32).to_le_bytes().into(),
        "tf32" => (value as f32).to_le_bytes().into(),
        "s8" => vec![value as u8],
        // Sign, exponent, mantissa: both have a zero mantissa at powers of two; 3 is 1.5 times 2.
        "e4m3" => vec![((value < 0) as u8 * 0x80) | [0, 0x38, 0x40, 0x44, 0x48][value.unsigned_abs() as usize]],
        "e5m2" => vec![((value < 0) as u8 * 0x80) | [0, 0x3c, 0x40, 0x42, 0x44][value.unsigned_abs() as usize]],
        other => panic!("{other}"),
    }
}

fn a(row: usize, k: usize) -> i32 {
    ((row * 5 + k * 3 + row * k % 7) % 9) as i32 - 4
}

fn b(k: usize, column: usize) -> i32 {
    ((column * 7 + k * 2 + column * k % 5) % 9) as i32 - 4
}

impl Case {
    fn names(&self) -> [&'static str; 3] {
        let names: Vec<_> = self.types.split('.').collect();
        [names[0], names[1], names[2]]
    }

    fn image(&self) -> Vec<u32> {
        let [_, a_name, b_name] = self.names();
        let mut image = vec![0u8; IMAGE];
        let mut put = |start: usize, layout: Layout, mn: usize, k: usize, bytes: Vec<u8>| {
            let at = start + layout.offset(mn, k, bytes.len());
            image[at..at + bytes.len()].copy_from_slice(&bytes);
        };
        for k in 0..self.k {
            (0..64).for_each(|row| put(0, self.a, row, k, encode(a_name, a(row, k))));
            (0..self.n).for_each(|column| put(B_START, self.b, column, k, encode(b_name, b(k, column))));
        }
        image.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    fn accumulators(&self) -> usize {
        if self.names()[0] == "f16" { self.n / 4 } else { self.n / 2 }
    }

    /// D = A B, then D += A B, with `fence` between the stores and the product.
    fn kernel(&self, fence: &str) -> Module {
        let [d_name, a_name, _] = self.names();
        let list = |name: &str, count: usize| (0..count).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(", ");
        let count = self.accumulators();
        let copies: String = (0..IMAGE / 2048)
            .map(|i| {
                let at = i * 2048;
                format!("ld.global.v4.b32 {{%r6, %r7, %r8, %r9}}, [%rd3+{at}]; st.shared.v4.b32 [%r4+{at}], {{%r6, %r7, %r8, %r9}};\n")
            })
            .collect();
        // A in registers comes from a K-major matrix without swizzle: lane l / 4 the row, l mod 4 the word of a unit.
        let fragment: String = (0..4)
            .map(|r| {
                let at = r % 2 * 256 + r / 2 * 128;
                format!("ld.shared.b32 %a{r}, [%r12+{at}];\n")
            })
            .collect();
        let (a_operand, fragment) = if self.a_in_registers {
            (format!("{{{}}}", list("a", 4)), fragment)
        } else {
            ("%rd5".into(), String::new())
        };
        let is_integer = d_name == "s32";
        let mut extra = if is_integer { String::new() } else { format!(", {}, {}", self.signs[0], self.signs[1]) };
        if matches!(a_name, "f16" | "bf16") {
            if !self.a_in_registers {
                extra += &format!(", {}", u8::from(self.a.mn_major));
            }
            extra += &format!(", {}", u8::from(self.b.mn_major));
        }
        let product = |accumulate: &str| {
            format!(
                "wgmma.mma_async.sync.aligned.m64n{}k{}.{} {{{}}}, {a_operand}, %rd6, {accumulate}{extra};\n",
                self.n,
                self.k,
                self.types,
                list("d", count)
            )
        };
        let stores: String = (0..count).map(|i| format!("st.global.b32 [%rd8+{}], %d{i};\n", 4 * i)).collect();
        let text = format!(
            ".reg .b32 %d<{count}>; .reg .b32 %a<4>;
             ld.param.b64 %rd1, [image];
             ld.param.b64 %rd2, [out];
             mov.u32 %r1, %tid.x;
             mov.b32 %r2, dynamic;
             shl.b32 %r3, %r1, 4;
             add.s32 %r4, %r2, %r3;
             cvt.u64.u32 %rd4, %r3;
             add.s64 %rd3, %rd1, %rd4;
             {copies}
             {fence}
             barrier.sync.aligned 0;
             // Warp w has rows 16 w on, 512 bytes for eight rows twice.
             shr.u32 %r10, %r1, 5; shl.b32 %r10, %r10, 9; and.b32 %r11, %r1, 31; shl.b32 %r11, %r11, 2;
             add.s32 %r12, %r2, %r10; add.s32 %r12, %r12, %r11;
             {fragment}
             shr.u32 %r5, %r2, 4; cvt.u64.u32 %rd7, %r5;
             add.s64 %rd5, %rd7, {}; add.s64 %rd6, %rd7, {};
             setp.eq.u32 %p1, %r1, %r1; setp.ne.u32 %p2, %r1, %r1;
             wgmma.fence.sync.aligned;
             {}{}
             wgmma.commit_group.sync.aligned;
             wgmma.wait_group.sync.aligned 0;
             mul.lo.s32 %r13, %r1, {}; cvt.u64.u32 %rd9, %r13; add.s64 %rd8, %rd2, %rd9;
             {stores}
             ret;",
            self.a.descriptor(0),
            self.b.descriptor(B_START),
            product("%p2"),
            product("%p1"),
            4 * count
        );
        module(&["image", "out"], &text)
    }

    fn check(&self) {
        let run = Run::new();
        let count = self.accumulators();
        let (image, out) = (run.words(&self.image()), run.empty(128 * 4 * count));
        let launch = Launch::new([1, 1, 1], [128, 1, 1]).dynamic_shared(IMAGE as u32);
        run.launch(&self.kernel("fence.proxy.async;"), launch, &[image, out]).unwrap();
        let found = run.read(out, 128 * count);
        for row in 0..64 {
            for column in 0..self.n {
                let sum: i32 = (0..self.k).map(|k| a(row, k) * b(k, column)).sum();
                let expected = 2 * sum * self.signs[0] * self.signs[1];
                // PTX ISA, "Register Fragments for wgmma.mma_async".
                let thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
                let index = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
                let value = match self.names()[0] {
                    "s32" => found[thread * count + index] as i32,
                    "f32" => f32::from_bits(found[thread * count + index]) as i32,
                    _ => {
                        let word = found[thread * count + index / 2];
                        f16::from_bits((word >> (16 * (index % 2))) as u16).to_f32() as i32
                    }
                };
                assert_eq!(value, expected, "({row}, {column}) of {}", self.types);
            }
        }
    }
}

fn case(n: usize, k: usize, types: &'static str, layout: Layout) -> Case {
    Case { n, k, types, a: layout, b: layout, a_in_registers: false, signs: [1, 1] }
}

const SPANS: [usize; 4] = [16, 32, 64, 128];

#[test]
fn every_type_multiplies_k_major_operands_of_every_swizzle() {
    let types = [
        (16, "f32.f16.f16"),
        (16, "f16.f16.f16"),
        (16, "f32.bf16.bf16"),
        (8, "f32.tf32.tf32"),
        (32, "f32.e4m3.e5m2"),
        (32, "f16.e5m2.e4m3"),
        (32, "s32.s8.s8"),
    ];
    for (k, types) in types {
        SPANS.into_iter().for_each(|span| case(24, k, types, Layout::k_major(span)).check());
    }
}

#[test]
fn mn_major_operands_of_every_swizzle_multiply() {
    for span in SPANS {
        case(64, 16, "f32.f16.f16", Layout::mn_major(span)).check();
        case(64, 16, "f16.f16.f16", Layout::mn_major(span)).check();
    }
}

#[test]
fn operands_may_differ_in_layout_and_sign() {
    let mixed = Case { b: Layout::mn_major(128), signs: [-1, 1], ..case(64, 16, "f32.bf16.bf16", Layout::k_major(64)) };
    mixed.check();
    Case { signs: [-1, -1], ..case(8, 8, "f32.tf32.tf32", Layout::k_major(32)) }.check();
}

#[test]
fn a_in_registers_has_the_fragments_of_mma() {
    for (k, types) in [(16, "f32.f16.f16"), (8, "f32.tf32.tf32"), (32, "s32.s8.s8"), (32, "f32.e4m3.e4m3")] {
        Case { a_in_registers: true, b: Layout::k_major(128), ..case(16, k, types, Layout::k_major(16)) }.check();
    }
}

/// The fault of a product of `threads` threads.
fn fault(kernel: &Module, case: &Case, threads: u32) -> FaultKind {
    let run = Run::new();
    let (image, out) = (run.words(&case.image()), run.empty(65536));
    run.fault(kernel, threads, &[image, out]).kind
}

#[test]
fn operands_written_without_a_proxy_fence_are_caught() {
    let case = case(16, 16, "f32.f16.f16", Layout::k_major(128));
    let kind = fault(&case.kernel(""), &case, 128);
    assert!(matches!(kind, FaultKind::MissingProxyFence { .. }), "{kind}");
}

#[test]
fn a_fence_by_one_thread_does_not_cover_the_stores_of_the_others() {
    let case = case(16, 16, "f32.f16.f16", Layout::k_major(128));
    let kind = fault(&case.kernel("setp.eq.u32 %p3, %r1, 0; @%p3 fence.proxy.async;"), &case, 128);
    assert!(matches!(kind, FaultKind::MissingProxyFence { .. }), "{kind}");
}

#[test]
fn a_warpgroup_must_be_whole() {
    let case = case(16, 16, "f32.f16.f16", Layout::k_major(16));
    // Only half of the image is written, but the block is found wanting first.
    let kind = fault(&case.kernel("fence.proxy.async;"), &case, 64);
    assert!(matches!(kind, FaultKind::Warpgroup { .. }), "{kind}");
}

#[test]
fn a_product_that_not_all_warps_run_is_a_deadlock() {
    let case = case(16, 16, "f32.f16.f16", Layout::k_major(16));
    let kernel =
        case.kernel("fence.proxy.async; setp.ge.u32 %p3, %r1, 96; @!%p3 bra $go; barrier.sync.aligned 0; ret; $go:");
    let kind = fault(&kernel, &case, 128);
    assert!(matches!(kind, FaultKind::Deadlock { .. }), "{kind}");
}
