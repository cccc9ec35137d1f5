//! What the decoder of one kernel collects: constants, special registers, variables and their addresses.

use super::flow::Flow;
use super::slots::Slots;
use super::special::Special;
use crate::error::ParseError;
use crate::fault::Space;
use crate::memory::window::{LOCAL_BASE, SHARED_BASE};
use crate::parse::ast::{Function, Register, Unit, Variable, VariableSpace};
use std::collections::HashMap;

/// A register that is set once when a warp starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Prefill {
    Value(u128),
    Special(Special),
    /// Address of a global or constant variable, plus an offset.
    Variable(usize, i64),
    /// Address of dynamic shared memory plus an offset.
    DynamicShared(i64),
}

/// A variable: its space and its address there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) space: Space,
    pub(crate) address: Prefill,
}

/// Position of a kernel parameter in the parameter space.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// Registers of one file that are set when a warp starts.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    base: u32,
    pub(crate) entries: Vec<Prefill>,
    known: HashMap<Prefill, u32>,
}

impl Pool {
    fn slot(&mut self, prefill: Prefill) -> u32 {
        *self.known.entry(prefill).or_insert_with(|| {
            self.entries.push(prefill);
            self.base + self.entries.len() as u32 - 1
        })
    }
}

/// State of decoding one function.
pub(crate) struct Builder<'a> {
    pub(crate) unit: &'a Unit,
    pub(crate) function: &'a Function,
    pub(crate) flow: &'a Flow,
    pub(crate) slots: &'a Slots,
    pub(crate) pools: [Pool; 3],
    pub(crate) parameters: Vec<Parameter>,
    shared: HashMap<String, u32>,
    pub(crate) shared_bytes: u32,
    pub(crate) dynamic_align: u32,
    locals: HashMap<String, u32>,
    pub(crate) local_bytes: u32,
    /// Numbers of the registers that `wgmma` uses.
    pub(crate) product_registers: HashMap<Register, u32>,
    /// Scratch registers for discarded results, one a file: predicates, 32, 64, 128 bits.
    pub(crate) scratch: [u32; 4],
}

impl<'a> Builder<'a> {
    pub(crate) fn new(unit: &'a Unit, function: &'a Function, flow: &'a Flow, slots: &'a Slots) -> Self {
        let scratch = slots.counts;
        // One slot beyond the virtual registers takes what an instruction writes to `_`.
        let pool = |file: usize| Pool { base: slots.counts[file] + 1, ..Pool::default() };
        let mut builder = Self {
            unit,
            function,
            flow,
            slots,
            pools: [pool(1), pool(2), pool(3)],
            parameters: Vec::new(),
            shared: HashMap::new(),
            shared_bytes: 0,
            dynamic_align: 1,
            locals: HashMap::new(),
            local_bytes: 0,
            product_registers: HashMap::new(),
            scratch,
        };
        let mut offset = 0u32;
        for parameter in &function.parameters {
            offset = offset.next_multiple_of(parameter.align);
            let size = parameter.size as u32;
            builder.parameters.push(Parameter { name: parameter.name.clone(), offset, size });
            offset += size;
        }
        for variable in &function.variables {
            let at = builder.local_bytes.next_multiple_of(variable.align);
            builder.locals.insert(variable.name.clone(), at);
            builder.local_bytes = at + variable.size as u32;
        }
        builder
    }

    /// Slot of the 32-, 64- or 128-bit register that holds `prefill`.
    pub(crate) fn prefilled(&mut self, bytes: u32, prefill: Prefill) -> u32 {
        self.pools[bytes.trailing_zeros() as usize - 2].slot(prefill)
    }

    /// The variable or parameter `name`.
    pub(crate) fn symbol(&mut self, name: &str, line: u32) -> Result<Symbol, ParseError> {
        if let Some(parameter) = self.parameters.iter().find(|p| p.name == name) {
            let address = Prefill::Value(u128::from(parameter.offset));
            return Ok(Symbol { space: Space::Parameter, address });
        }
        if let Some(offset) = self.locals.get(name) {
            let address = Prefill::Value(u128::from(LOCAL_BASE + offset));
            return Ok(Symbol { space: Space::Local, address });
        }
        let unit = self.unit;
        let found = unit.variables.iter().enumerate().find(|(_, v)| v.name == name);
        let Some((index, variable)) = found else {
            return Err(ParseError::UnknownName { line, name: name.into() });
        };
        Ok(match variable.space {
            VariableSpace::Shared => Symbol { space: Space::Shared, address: self.shared(variable) },
            _ => Symbol { space: Space::Global, address: Prefill::Variable(index, 0) },
        })
    }

    /// Lays out a shared variable at its first mention: only those a kernel names cost it memory.
    fn shared(&mut self, variable: &Variable) -> Prefill {
        if variable.is_extern && variable.size == 0 {
            self.dynamic_align = self.dynamic_align.max(variable.align);
            return Prefill::DynamicShared(0);
        }
        if let Some(&at) = self.shared.get(&variable.name) {
            return Prefill::Value(u128::from(SHARED_BASE + at));
        }
        let at = self.shared_bytes.next_multiple_of(variable.align);
        self.shared.insert(variable.name.clone(), at);
        self.shared_bytes = at + variable.size as u32;
        Prefill::Value(u128::from(SHARED_BASE + at))
    }
}

impl Prefill {
    /// The address `offset` bytes on.
    pub(crate) fn offset(self, offset: i64) -> Self {
        match self {
            Prefill::Value(value) => Prefill::Value(u128::from((value as u64).wrapping_add_signed(offset))),
            Prefill::Variable(index, at) => Prefill::Variable(index, at.wrapping_add(offset)),
            Prefill::DynamicShared(at) => Prefill::DynamicShared(at.wrapping_add(offset)),
            special @ Prefill::Special(_) => special,
        }
    }
}
