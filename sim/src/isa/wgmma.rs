//! `wgmma`: products of a warpgroup, D = A · B + D with A of 64 × K and B of K × N.
//!
//! Thread l of warp w holds, with g = l / 4 and t = l mod 4, in accumulator 4j + i the entry
//! (16 w + g + 8 ⌊i / 2⌋, 8 j + 2 t + i mod 2); A in registers has the fragments of `mma` with 16 rows a warp.
//! Operands in shared memory are read when the first warp waits; they must be there from the issue on, and stay until
//! the wait. Arithmetic is that of `mma`.

use super::mma::{Accumulator, Element, element};
use super::{Decoded, Decoding};
use crate::counters::Class;
use crate::decode::Inst;
use crate::error::ParseError;
use crate::fault::FaultKind;
use crate::machine::context::{Context, Flow, Outcome, Trap};
use crate::machine::registers::{LANES, Registers, Slot, Word};
use crate::machine::warp::Wait;
use crate::machine::warpgroup::{ALL, WARPS};
use crate::memory::shared::{Agent, Shared};
use crate::memory::window::SHARED_BASE;
use crate::parse::ast::Operand;
use crate::tensor_map::TensorSwizzle;
use std::sync::Arc;

const CLASS: Class = Class::MatrixMultiply;
/// Rows of A.
const M: usize = 64;
/// Rows of a warp.
const ROWS: usize = 16;

/// What a product multiplies: A with rows of K unless it lies in registers, B with rows of N.
#[derive(Debug)]
pub(crate) struct Operands {
    a: Vec<f64>,
    b: Vec<f64>,
}

/// One operand in shared memory.
#[derive(Debug, Clone, Copy)]
struct Matrix {
    element: Element,
    /// Rows of A, columns of B.
    extent: usize,
    /// MN-major.
    transposed: bool,
}

/// A `wgmma.mma_async` as written.
#[derive(Debug)]
pub(crate) struct Product {
    /// Numbers of its registers among those that products of the kernel use.
    pub(crate) tracked: Vec<u32>,
    k: usize,
    a: Matrix,
    b: Matrix,
    a_registers: Option<Vec<Slot<u32>>>,
    d: Vec<Slot<u32>>,
    accumulator: Accumulator,
    /// Product of the signs of A and B.
    sign: f64,
}

/// `wgmma.fence`, `commit_group`, `wait_group`, `mma_async`.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    let operation = i.choose(&["fence", "commit_group", "wait_group", "mma_async"]);
    if !(i.flag("sync") && i.flag("aligned")) {
        return Err(i.unknown());
    }
    match operation {
        Some("fence") => Ok(Decoded::new(CLASS, |c| {
            c.require_active(u32::MAX)?;
            c.warp.products.fence();
            Ok(Flow::Next)
        })),
        Some("commit_group") => Ok(Decoded::new(CLASS, |c| {
            c.require_active(u32::MAX)?;
            c.warp.products.commit();
            Ok(Flow::Next)
        })),
        Some("wait_group") => {
            let allowed = i.immediate(0)? as u32;
            Ok(Decoded::new(CLASS, move |c| wait(c, allowed)))
        }
        Some(_) => multiply(i),
        None => Err(i.unknown()),
    }
}

/// N and K of `m64nNkK`.
fn shape(name: &str) -> Option<(usize, usize)> {
    let (n, k) = name.strip_prefix("m64n")?.split_once('k')?;
    Some((n.parse().ok()?, k.parse().ok()?))
}

/// `wgmma.mma_async.sync.aligned.shape.d.a.b D, A, b-descriptor, scale-d{, scale-a, scale-b{, tnsp-a}{, tnsp-b}}`
fn multiply(i: &mut Inst<'_, '_>) -> Decoding {
    let saturate = i.flag("satfinite");
    let names = [i.take_type(), i.take_type(), i.take_type(), i.take_type()];
    let [b_name, a_name, d_name, shape_name] = names;
    let (n, k) = shape(shape_name).ok_or_else(|| i.unknown_modifier(shape_name))?;
    let accumulator = match d_name {
        "f16" => Accumulator::F16,
        "f32" => Accumulator::F32,
        "s32" => Accumulator::S32 { saturate },
        other => return Err(i.unknown_modifier(other)),
    };
    let a = element(a_name).ok_or_else(|| i.unknown_modifier(a_name))?;
    let b = element(b_name).ok_or_else(|| i.unknown_modifier(b_name))?;
    let known = matches!(
        (d_name, a_name, b_name),
        ("f16" | "f32", "f16", "f16")
            | ("f32", "bf16", "bf16")
            | ("f32", "tf32", "tf32")
            | ("f16" | "f32", "e4m3" | "e5m2", "e4m3" | "e5m2")
            | ("s32", "s8" | "u8", "s8" | "u8")
    );
    let widths =
        n.is_multiple_of(8) && (8..=256).contains(&n) && (d_name != "s32" || n == 24 || n.is_multiple_of(16) || n == 8);
    if !known || !widths || k * a.bits as usize != 256 {
        return Err(i.unknown());
    }
    let registers = |i: &mut Inst<'_, '_>, index: usize, count: usize| -> Result<Vec<Slot<u32>>, ParseError> {
        let items = i.items(index)?;
        if items.len() != count {
            return Err(i.operand_error(index, format!("{count} registers are required, found {}", items.len())));
        }
        items.iter().map(|item| i.source_operand(index, item)).collect()
    };
    let d = registers(i, 0, if accumulator == Accumulator::F16 { n / 4 } else { n / 2 })?;
    let a_registers = match i.operand(1)? {
        Operand::Vector(_) => Some(registers(i, 1, 4)?),
        _ => None,
    };
    let a_descriptor: Option<Slot<u64>> = if a_registers.is_none() { Some(i.source(1)?) } else { None };
    let b_descriptor = i.source::<u64>(2)?;
    let accumulate = i.guard(3)?;
    let mut signs = 1.0;
    let mut next = 4;
    if d_name != "s32" {
        for index in [4, 5] {
            match i.immediate(index)? as i64 as i32 {
                1 => {}
                -1 => signs = -signs,
                _ => return Err(i.operand_error(index, "1 or -1 is required")),
            }
        }
        next = 6;
    }
    let mut transposed = [false; 2];
    if a.bits == 16 {
        for (operand, transposed) in transposed.iter_mut().enumerate().skip(usize::from(a_registers.is_some())) {
            *transposed = match i.immediate(next)? {
                0 => false,
                1 => true,
                _ => return Err(i.operand_error(next, format!("transposition of operand {operand} must be 0 or 1"))),
            };
            next += 1;
        }
    }
    let mut tracked = Vec::new();
    for operand in i.ast.operands.iter().filter(|o| matches!(o, Operand::Vector(_))) {
        crate::decode::visit(operand, &mut |register| tracked.extend(i.builder.product_registers.get(&register)));
    }
    let product = Arc::new(Product {
        tracked,
        k,
        a: Matrix { element: a, extent: M, transposed: transposed[0] },
        b: Matrix { element: b, extent: n, transposed: transposed[1] },
        a_registers,
        d,
        accumulator,
        sign: signs,
    });
    Ok(Decoded::new(CLASS, move |c| {
        c.require_active(u32::MAX)?;
        let descriptors = [a_descriptor.map_or(0, |slot| c.row(slot)[0]), c.row(b_descriptor)[0]];
        issue(c, &product, descriptors, accumulate.lanes(c) & 1 == 1)
    }))
}

/// Issues a product; the last warp of the warpgroup to do so checks the operands.
fn issue(c: &mut Context<'_, '_>, product: &Arc<Product>, descriptors: [u64; 2], accumulate: bool) -> Outcome {
    if !c.warp.products.are_fenced(&product.tracked) {
        return Err(Trap::warp(FaultKind::MissingProductFence));
    }
    let (group, member) = (c.warp.index / WARPS, c.warp.index % WARPS);
    let layout = c.team.clocks.layout;
    if (group + 1) * WARPS > layout.warps {
        let problem = format!("wgmma needs warpgroups of four warps, the block has {} warps", layout.warps);
        return Err(Trap::warp(FaultKind::Warpgroup { problem }));
    }
    let sequence = c.warp.products.issued;
    let block = &mut *c.block;
    let issued =
        block.groups[group as usize].issue(member, sequence, c.pc, descriptors).map_err(|kind| Trap::warp(*kind))?;
    if issued.warps == ALL {
        let clocks = &mut c.team.clocks;
        let agent = layout.products(block.rank, group);
        clocks.act_for(agent, (0..WARPS).map(|w| layout.warp(block.rank, group * WARPS + w)));
        issued.clock = clocks.now(agent);
        let reader = Agent { id: agent, lane: 0, pc: c.pc };
        for (matrix, descriptor) in product.matrices(descriptors) {
            let read = matrix.units(product.k, descriptor, |_, _, address| {
                let offset = block.shared.locate_range(address.into(), 16, 16)?;
                block.shared.begin_read(clocks, reader, offset, 16)
            });
            read.map_err(|kind| Trap::warp(*kind))?;
        }
        clocks.tick(agent);
    }
    c.team.progress += 1;
    c.warp.products.issue(Arc::clone(product), accumulate, c.pc);
    Ok(Flow::Next)
}

/// Waits for all but the latest `allowed` groups.
fn wait(c: &mut Context<'_, '_>, allowed: u32) -> Outcome {
    c.require_active(u32::MAX)?;
    let (group, member) = (c.warp.index / WARPS, c.warp.index % WARPS);
    if let Some(sequence) = c.warp.products.last_due(allowed)
        && !c.block.groups[group as usize].is_issued(sequence)
    {
        return c.wait(Wait::Warpgroup(sequence));
    }
    c.warp.waiting = None;
    let agent = c.team.clocks.layout.products(c.block.rank, group);
    while let Some(due) = c.warp.products.next_due(allowed) {
        let block = &mut *c.block;
        let shared = &block.shared;
        let (operands, clock) = block.groups[group as usize]
            .take(member, due.sequence, |descriptors| due.product.read(shared, descriptors));
        due.product.execute(c.registers, &operands, member as usize, due.accumulate);
        c.team.clocks.learn(c.warp.agent, agent, clock);
    }
    c.warp.products.waited(allowed);
    Ok(Flow::Next)
}

impl Matrix {
    /// Calls `f(row of A or column of B, k, shared address)` for each 16-byte unit of the operand: at K-major layouts for
    /// its first element along K, at MN-major ones along M or N (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared
    /// Memory Layout").
    fn units(
        &self,
        k: usize,
        descriptor: u64,
        mut f: impl FnMut(usize, usize, u32) -> Result<(), Box<FaultKind>>,
    ) -> Result<(), Box<FaultKind>> {
        let field = |low: u32| (descriptor >> low) as u32 & 0x3fff;
        let (start, leading, stride) = (field(0) << 4, field(16) << 4, field(32) << 4);
        let swizzle = match descriptor >> 62 {
            0 => TensorSwizzle::None,
            1 => TensorSwizzle::B128,
            2 => TensorSwizzle::B64,
            _ => TensorSwizzle::B32,
        };
        let base = descriptor >> 49 & 7;
        if base != 0 {
            let problem = format!(
                "base offset {base}: matrices that do not start at a multiple of their swizzle's period are not modelled"
            );
            return Err(Box::new(FaultKind::Descriptor { descriptor, problem }));
        }
        let span = swizzle.span();
        let per_unit = 128 / self.element.bits as usize;
        let (outer, inner) = if self.transposed { (k, self.extent) } else { (self.extent, k) };
        for row in 0..outer {
            let (eight, within) = (row as u32 / 8, row as u32 % 8);
            for unit in 0..(inner / per_unit) as u32 {
                let offset = match (self.transposed, swizzle) {
                    (false, TensorSwizzle::None) => eight * stride + within * 16 + unit * leading,
                    (true, TensorSwizzle::None) => eight * leading + within * 16 + unit * stride,
                    (false, _) => eight * stride + within * span + unit * 16,
                    (true, _) => {
                        let units = span / 16;
                        eight * stride + within * span + unit / units * leading + unit % units * 16
                    }
                };
                let address = swizzle.apply(start.wrapping_add(offset) & 0x3_ffff);
                let first = unit as usize * per_unit;
                let (mn, k) = if self.transposed { (first, row) } else { (row, first) };
                f(mn, k, address)?;
            }
        }
        Ok(())
    }

    /// The operand with element (mn, k) at position `at(mn, k)`.
    fn read(&self, shared: &Shared, k: usize, descriptor: u64, at: impl Fn(usize, usize) -> usize) -> Vec<f64> {
        let mut values = vec![0.0; self.extent * k];
        let width = self.element.bits as usize / 8;
        let read = self.units(k, descriptor, |mn, k, address| {
            let bytes = shared.peek(address - SHARED_BASE, 16);
            for (index, bits) in bytes.chunks_exact(width).enumerate() {
                let mut word = [0; 8];
                word[..width].copy_from_slice(bits);
                let (mn, k) = if self.transposed { (mn + index, k) } else { (mn, k + index) };
                values[at(mn, k)] = (self.element.value)(u64::from_le_bytes(word));
            }
            Ok(())
        });
        // The descriptor was walked at the issue.
        debug_assert!(read.is_ok());
        values
    }
}

impl Product {
    /// The operands in shared memory and their descriptors.
    fn matrices(&self, [a, b]: [u64; 2]) -> impl Iterator<Item = (&Matrix, u64)> {
        let a = self.a_registers.is_none().then_some((&self.a, a));
        a.into_iter().chain([(&self.b, b)])
    }

    fn read(&self, shared: &Shared, [a, b]: [u64; 2]) -> Operands {
        let (k, n) = (self.k, self.b.extent);
        let a = match self.a_registers {
            Some(_) => Vec::new(),
            None => self.a.read(shared, k, a, |row, step| row * k + step),
        };
        Operands { a, b: self.b.read(shared, k, b, |column, step| step * n + column) }
    }

    /// A of one warp, rows of K.
    fn fragment(&self, registers: &Registers, operands: &Operands, member: usize) -> Vec<f64> {
        let Some(slots) = &self.a_registers else {
            return operands.a[member * ROWS * self.k..(member + 1) * ROWS * self.k].to_vec();
        };
        let mut a = vec![0.0; ROWS * self.k];
        let bits = self.a.element.bits;
        let per_register = 32 / bits as usize;
        for (r, &slot) in slots.iter().enumerate() {
            for (lane, &word) in registers.row(slot).iter().enumerate() {
                let (row, first) = (lane / 4 + 8 * (r % 2), lane % 4 * per_register + 4 * per_register * (r / 2));
                for at in 0..per_register {
                    let field = u64::from(word) >> (bits as usize * at) & (u64::MAX >> (64 - bits));
                    a[row * self.k + first + at] = (self.a.element.value)(field);
                }
            }
        }
        a
    }

    /// Computes the rows of warp `member`.
    fn execute(&self, registers: &mut Registers, operands: &Operands, member: usize, accumulate: bool) {
        let n = self.b.extent;
        let a = self.fragment(registers, operands, member);
        let mut sums = [0.0; 256];
        for row in 0..ROWS {
            let sums = &mut sums[..n];
            sums.fill(0.0);
            if accumulate {
                for (column, sum) in sums.iter_mut().enumerate() {
                    let (lane, register, shift) = self.place(row, column);
                    let bits = registers.row(self.d[register])[lane];
                    *sum = self.accumulator.read(u64::from(bits >> shift));
                }
            }
            for (a, b) in a[row * self.k..].iter().take(self.k).zip(operands.b.chunks_exact(n)) {
                let a = a * self.sign;
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += a * b;
                }
            }
            for (column, &sum) in sums.iter().enumerate() {
                let (lane, register, shift) = self.place(row, column);
                let mask = if self.accumulator == Accumulator::F16 { 0xffff << shift } else { u32::MAX };
                let word = &mut u32::row_mut(registers, self.d[register])[lane];
                *word = *word & !mask | (self.accumulator.write(sum) as u32) << shift;
            }
        }
    }

    /// Lane, register and shift of entry (`row`, `column`) of a warp's accumulators.
    fn place(&self, row: usize, column: usize) -> (usize, usize, u32) {
        let lane = row % 8 * (LANES / 8) + column % 8 / 2;
        let (register, shift) = self.accumulator.place(column / 8 * 4 + row / 8 * 2 + column % 2);
        (lane, register, shift)
    }
}
