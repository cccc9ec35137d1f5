//! A decoded kernel.

use super::builder::{Builder, Parameter, Prefill};
use super::flow;
use super::inline::inline;
use super::instruction::{Guard, Inst};
use super::slots::{self, visit};
use crate::counters::Class;
use crate::error::ParseError;
use crate::isa;
use crate::machine::context::{LaunchState, Operation};
use crate::machine::registers::{Predicate, Registers, Word};
use crate::memory::window::SHARED_BASE;
use crate::parse::ast::{Function, Instruction, Operand, Register, Unit};
use std::collections::HashMap;
use std::sync::Arc;

/// One instruction, ready to run.
pub(crate) struct Step {
    pub(crate) operation: Operation,
    pub(crate) guard: Option<Guard>,
    pub(crate) class: Class,
    /// Registers of `wgmma` that an instruction other than one accesses.
    pub(crate) product_registers: Option<Box<[u32]>>,
    pub(crate) text: String,
    pub(crate) line: u32,
    pub(crate) source: Option<(Arc<str>, u32)>,
}

/// A kernel, ready to run.
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    /// PTX line of each step.
    pub(crate) lines: Arc<[u32]>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) static_shared: u32,
    /// Offset of dynamic shared memory.
    pub(crate) dynamic_offset: u32,
    pub(crate) local_bytes: u32,
    /// `.maxntid`, and whether it is exact.
    pub(crate) max_threads: Option<([u32; 3], bool)>,
    /// `.reqnctapercluster`.
    pub(crate) cluster: [u32; 3],
    /// `.maxnreg`.
    pub(crate) max_registers: Option<u32>,
    /// Number of registers that `wgmma` uses.
    pub(crate) product_registers: usize,
    /// Whether it uses `wgmma`, bulk copies or mbarriers.
    pub(crate) is_asynchronous: bool,
    /// Predicates, 32-, 64-, 128-bit registers, without those set at the start.
    counts: [u32; 4],
    prefills: [Vec<Prefill>; 3],
}

/// Decodes an entry point of `unit`.
pub(crate) fn decode(unit: &Unit, function: &Function) -> Result<Kernel, ParseError> {
    let function = &inline(unit, function, &[])?;
    let flow = flow::analyse(function)?;
    let slots = slots::assign(function, &flow);
    let mut builder = Builder::new(unit, function, &flow, &slots);
    builder.product_registers = product_registers(function);
    let mut steps = Vec::with_capacity(function.instructions.len());
    for index in 0..function.instructions.len() {
        steps.push(step(&mut builder, index)?);
    }
    let dynamic_offset = builder.shared_bytes.next_multiple_of(builder.dynamic_align);
    let [words32, words64, words128] = builder.pools;
    Ok(Kernel {
        name: function.name.clone(),
        lines: steps.iter().map(|s| s.line).collect(),
        steps,
        parameters: builder.parameters,
        static_shared: builder.shared_bytes,
        dynamic_offset,
        local_bytes: builder.local_bytes,
        max_threads: function.max_threads,
        cluster: function.cluster.unwrap_or([1; 3]),
        max_registers: function.max_registers,
        product_registers: builder.product_registers.len(),
        is_asynchronous: function.instructions.iter().any(is_asynchronous),
        counts: slots.counts,
        prefills: [words32.entries, words64.entries, words128.entries],
    })
}

fn is_asynchronous(instruction: &Instruction) -> bool {
    ["wgmma.", "mbarrier.", "cp.async.bulk.", "cp.reduce."].iter().any(|name| instruction.opcode.starts_with(name))
}

/// Numbers the registers that any `wgmma` of `function` uses.
fn product_registers(function: &Function) -> HashMap<Register, u32> {
    let mut found = HashMap::new();
    for instruction in function.instructions.iter().filter(|i| i.opcode.starts_with("wgmma.mma_async")) {
        for operand in instruction.operands.iter().filter(|o| matches!(o, Operand::Vector(_))) {
            visit(operand, &mut |register| {
                let next = found.len() as u32;
                found.entry(register).or_insert(next);
            });
        }
    }
    found
}

fn step(builder: &mut Builder<'_>, index: usize) -> Result<Step, ParseError> {
    let ast = &builder.function.instructions[index];
    let guard = ast
        .guard
        .map(|(register, negated)| Guard { predicate: Predicate(builder.slots.of[register.0 as usize]), negated });
    let files = &builder.unit.files;
    let source = ast.location.and_then(|location| {
        let file = files.get(&location.file)?;
        Some((Arc::from(file.as_str()), location.line))
    });
    let mut used = Vec::new();
    if !builder.product_registers.is_empty() && !ast.opcode.starts_with("wgmma.") {
        for operand in &ast.operands {
            visit(operand, &mut |register| used.extend(builder.product_registers.get(&register)));
        }
    }
    let mut inst = Inst::new(builder, index);
    let decoded = isa::decode(&mut inst)?;
    inst.finish()?;
    Ok(Step {
        operation: decoded.operation,
        guard,
        class: decoded.class,
        product_registers: (!used.is_empty()).then(|| used.into()),
        text: ast.text.clone(),
        line: ast.line,
        source,
    })
}

impl Kernel {
    /// The registers of a warp at its start.
    pub(crate) fn registers(&self, launch: &LaunchState, block: [u32; 3], warp: u32) -> Registers {
        let [predicates, words32, words64, words128] = self.counts.map(|count| count as usize + 1);
        let [fill32, fill64, fill128] = &self.prefills;
        Registers {
            predicates: vec![0; predicates],
            words32: self.file(words32, fill32, launch, block, warp),
            words64: self.file(words64, fill64, launch, block, warp),
            words128: self.file(words128, fill128, launch, block, warp),
        }
    }

    fn file<T: Word>(
        &self,
        registers: usize,
        prefills: &[Prefill],
        launch: &LaunchState,
        block: [u32; 3],
        warp: u32,
    ) -> Vec<[T; 32]> {
        let mut file = Vec::with_capacity(registers + prefills.len());
        file.resize(registers, [T::default(); 32]);
        for prefill in prefills {
            file.push(std::array::from_fn(|lane| {
                T::from_bits(match *prefill {
                    Prefill::Value(bits) => bits,
                    Prefill::Special(special) => u128::from(special.value(launch, block, warp, lane as u32)),
                    Prefill::Variable(index, offset) => u128::from(launch.variables[index].wrapping_add_signed(offset)),
                    Prefill::DynamicShared(offset) => {
                        u128::from(u64::from(SHARED_BASE + self.dynamic_offset).wrapping_add_signed(offset))
                    }
                })
            }));
        }
        file
    }
}
