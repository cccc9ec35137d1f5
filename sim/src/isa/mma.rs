//! `mma.sync`: D = A · B + C on a warp, A of M × K, B of K × N, C and D of M × N with N = 8.
//!
//! Fragments (PTX ISA, "Matrix Fragments for mma"): with g = lane / 4, t = lane mod 4 and e elements in a register
//! (2 of 16 bits, 4 of 8 bits, 8 of 4 bits, 1 of tf32 and f64), element i of register r is
//! - of A for M = 16: row g + 8 (r mod 2), column t e + 4 e ⌊r / 2⌋ + i; for M = 8: row g, column t e + 4 e r + i,
//! - of B: row t e + 4 e r + i, column g,
//! - of C and D, element j of the lane: row g + 8 ⌊j / 2⌋, column 2 t + j mod 2; 16-bit accumulators hold two a register.
//!
//! Products are exact; they and the accumulator are summed in double precision and rounded once to the
//! accumulator's type. Integer sums are exact and wrap, or clamp with `.satfinite`.

use super::data::Any;
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::error::ParseError;
use crate::machine::context::{Context, Flow};
use crate::machine::registers::LANES;
use crate::numeric::format::{E4M3, E5M2, F16, Rounding, bf16_to_f32, f16_to_f32};

/// Columns of B, C and D.
const N: usize = 8;
/// Largest K: 64 elements of 4 bits.
const MAX_K: usize = 64;

/// How operand elements lie in a register and what they are worth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    pub(crate) bits: u32,
    pub(crate) value: fn(u64) -> f64,
}

pub(crate) fn element(name: &str) -> Option<Element> {
    let (bits, value): (u32, fn(u64) -> f64) = match name {
        "f16" => (16, |b| f16_to_f32(b as u16).into()),
        "bf16" => (16, |b| bf16_to_f32(b as u16).into()),
        // Hardware ignores the low 13 bits.
        "tf32" => (32, |b| f32::from_bits(b as u32 & 0xffff_e000).into()),
        "f64" => (64, f64::from_bits),
        "e4m3" => (8, |b| E4M3.decode(b as u32)),
        "e5m2" => (8, |b| E5M2.decode(b as u32)),
        "s8" => (8, |b| f64::from(b as i8)),
        "u8" => (8, |b| f64::from(b as u8)),
        "s4" => (4, |b| f64::from((b as i8) << 4 >> 4)),
        "u4" => (4, |b| f64::from(b as u8 & 0xf)),
        _ => return None,
    };
    Some(Element { bits, value })
}

/// Type of C and D.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accumulator {
    F16,
    F32,
    F64,
    S32 { saturate: bool },
}

impl Accumulator {
    /// Register of element `j` of a lane, and its shift there.
    pub(crate) fn place(self, j: usize) -> (usize, u32) {
        if self == Accumulator::F16 { (j / 2, 16 * (j as u32 % 2)) } else { (j, 0) }
    }

    pub(crate) fn read(self, bits: u64) -> f64 {
        match self {
            Accumulator::F16 => f16_to_f32(bits as u16).into(),
            Accumulator::F32 => f32::from_bits(bits as u32).into(),
            Accumulator::F64 => f64::from_bits(bits),
            Accumulator::S32 { .. } => f64::from(bits as i32),
        }
    }

    pub(crate) fn write(self, value: f64) -> u64 {
        match self {
            Accumulator::F16 => F16.encode(value, Rounding::Even, false).into(),
            Accumulator::F32 if value.is_nan() => 0x7fff_ffff,
            Accumulator::F32 => (value as f32).to_bits().into(),
            Accumulator::F64 => value.to_bits(),
            Accumulator::S32 { saturate: true } => u64::from(value as i32 as u32),
            Accumulator::S32 { saturate: false } => u64::from(value as i64 as u32),
        }
    }
}

struct Mma {
    m: usize,
    k: usize,
    a: (Element, Vec<Any>),
    b: (Element, Vec<Any>),
    c: (Accumulator, Vec<Any>),
    d: (Accumulator, Vec<Any>),
}

/// `mma.sync.aligned.shape.row.col.d.a.b.c`
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    if !(i.flag("sync") && i.flag("aligned") && i.flag("row") && i.flag("col")) {
        return Err(i.unknown());
    }
    let shape = i.choose(&["m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64", "m8n8k4", "m8n8k16", "m8n8k32"]);
    let (m, k) = match shape {
        Some("m16n8k4") => (16, 4),
        Some("m16n8k8") => (16, 8),
        Some("m16n8k16") => (16, 16),
        Some("m16n8k32") => (16, 32),
        Some("m16n8k64") => (16, 64),
        Some("m8n8k4") => (8, 4),
        Some("m8n8k16") => (8, 16),
        Some("m8n8k32") => (8, 32),
        _ => return Err(i.unknown()),
    };
    let saturate = i.flag("satfinite");
    let accumulator = |i: &Inst<'_, '_>, name: &str| match name {
        "f16" => Ok(Accumulator::F16),
        "f32" => Ok(Accumulator::F32),
        "f64" => Ok(Accumulator::F64),
        "s32" => Ok(Accumulator::S32 { saturate }),
        other => Err(i.unknown_modifier(other)),
    };
    let name = i.take_type();
    let c_type = accumulator(i, name)?;
    let name = i.take_type();
    let b_type = element(name).ok_or_else(|| i.unknown_modifier(name))?;
    let name = i.take_type();
    let a_type = element(name).ok_or_else(|| i.unknown_modifier(name))?;
    let name = i.take_type();
    let d_type = accumulator(i, name)?;
    let known = a_type.bits == b_type.bits
        && match a_type.bits {
            64 => (m == 8 && k == 4 || m == 16 && k <= 16) && c_type == Accumulator::F64,
            32 => m == 16 && (k == 4 || k == 8),
            16 => m == 16 && (k == 8 || k == 16),
            8 => k == 16 || (k == 32 && m == 16),
            _ => k == 32 || (k == 64 && m == 16),
        };
    if !known {
        return Err(i.unknown());
    }
    let words = |elements: usize, bits: u32| elements * bits as usize / (32 * bits.max(32) as usize);
    let accumulators = |kind: Accumulator| match kind {
        Accumulator::F16 => m * N / 64,
        _ => m * N / 32,
    };
    let mma = Mma {
        m,
        k,
        a: (a_type, fragment(i, 1, words(m * k, a_type.bits), a_type.bits)?),
        b: (b_type, fragment(i, 2, words(k * N, b_type.bits), b_type.bits)?),
        c: (c_type, fragment(i, 3, accumulators(c_type), accumulator_bits(c_type))?),
        d: (d_type, fragment(i, 0, accumulators(d_type), accumulator_bits(d_type))?),
    };
    Ok(Decoded::new(Class::MatrixMultiply, move |c| {
        c.require_active(u32::MAX)?;
        mma.execute(c);
        Ok(Flow::Next)
    }))
}

fn accumulator_bits(kind: Accumulator) -> u32 {
    if kind == Accumulator::F64 { 64 } else { 32 }
}

/// The registers of operand `index`.
fn fragment(i: &mut Inst<'_, '_>, index: usize, count: usize, bits: u32) -> Result<Vec<Any>, ParseError> {
    let bytes = if bits == 64 { 8 } else { 4 };
    let items = i.items(index)?;
    if items.len() != count {
        return Err(i.operand_error(index, format!("{count} registers are required, found {}", items.len())));
    }
    items
        .iter()
        .map(|item| match index {
            0 => Any::dest(i, index, item, bytes),
            _ => Any::source(i, index, item, bytes),
        })
        .collect()
}

/// Calls `f(lane, register, element in the register, value)` for each element of a fragment.
fn elements(
    c: &Context<'_, '_>,
    (element, registers): &(Element, Vec<Any>),
    mut f: impl FnMut(usize, usize, usize, f64),
) {
    let per_register = (32 / element.bits).max(1) as usize;
    let mask = u64::MAX >> (64 - element.bits);
    for (r, register) in registers.iter().enumerate() {
        for lane in 0..LANES {
            let word = register.get(c.registers, lane) as u64;
            for at in 0..per_register {
                f(lane, r, at, (element.value)(word >> (element.bits as usize * at) & mask));
            }
        }
    }
}

impl Mma {
    fn execute(&self, c: &mut Context<'_, '_>) {
        let mut a = [[0.0; MAX_K]; 16];
        let mut b = [[0.0; N]; MAX_K];
        let per_register = (32 / self.a.0.bits).max(1) as usize;
        let tall = self.m == 16;
        elements(c, &self.a, |lane, r, at, value| {
            let (group, t) = (lane / 4, lane % 4);
            let (row, step) = if tall { (group + 8 * (r % 2), r / 2) } else { (group, r) };
            a[row][t * per_register + 4 * per_register * step + at] = value;
        });
        elements(c, &self.b, |lane, r, at, value| {
            let (group, t) = (lane / 4, lane % 4);
            b[t * per_register + 4 * per_register * r + at][group] = value;
        });
        let mut sums = [[0.0; N]; 16];
        let (kind, registers) = &self.c;
        for j in 0..self.m * N / LANES {
            let (register, shift) = kind.place(j);
            for lane in 0..LANES {
                let (row, column) = accumulator_entry(lane, j);
                sums[row][column] = kind.read(registers[register].get(c.registers, lane) as u64 >> shift);
            }
        }
        for (sums, a) in sums.iter_mut().zip(&a).take(self.m) {
            for (a, b) in a.iter().zip(&b).take(self.k) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += a * b;
                }
            }
        }
        let (kind, registers) = &self.d;
        for j in 0..self.m * N / LANES {
            let (register, shift) = kind.place(j);
            for lane in 0..LANES {
                let (row, column) = accumulator_entry(lane, j);
                let mut bits = kind.write(sums[row][column]);
                if shift > 0 {
                    // The lower half was written just before.
                    bits = bits << shift | registers[register].get(c.registers, lane) as u64 & 0xffff;
                }
                registers[register].set(c.registers, lane, bits.into());
            }
        }
    }
}

/// Row and column of element `j` of a lane's accumulators.
fn accumulator_entry(lane: usize, j: usize) -> (usize, usize) {
    (lane / 4 + 8 * (j / 2), 2 * (lane % 4) + j % 2)
}
