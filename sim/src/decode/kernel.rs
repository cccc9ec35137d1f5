//! A decoded kernel.

use super::builder::{Builder, Parameter, Prefill};
use super::flow;
use super::inline::inline;
use super::instruction::{Guard, Inst};
use super::slots;
use crate::counters::Class;
use crate::error::ParseError;
use crate::isa;
use crate::machine::context::{LaunchState, Operation};
use crate::machine::registers::{Predicate, Registers, Word};
use crate::memory::window::SHARED_BASE;
use crate::parse::ast::{Function, Unit};
use std::sync::Arc;

/// One instruction, ready to run.
pub(crate) struct Step {
    pub(crate) operation: Operation,
    pub(crate) guard: Option<Guard>,
    pub(crate) class: Class,
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
        counts: slots.counts,
        prefills: [words32.entries, words64.entries, words128.entries],
    })
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
    let mut inst = Inst::new(builder, index);
    let decoded = isa::decode(&mut inst)?;
    inst.finish()?;
    Ok(Step {
        operation: decoded.operation,
        guard,
        class: decoded.class,
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
