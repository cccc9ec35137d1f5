//! The syntax tree: what the text says, with registers resolved and everything else by name.

use std::collections::HashMap;

/// Index of a virtual register in [`Function::registers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Register(pub(crate) u32);

/// Width of a register. PTX type names beyond the width do not matter: every instruction carries its own type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Predicate,
    B8,
    B16,
    B32,
    B64,
    B128,
}

/// An instruction operand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Register(Register),
    /// `!%p`
    Not(Register),
    /// `%p|%q`; a side may be [`Operand::Sink`].
    Pair(Box<Operand>, Box<Operand>),
    /// A special register, variable, function or label, with an added offset (`symbol+8`).
    Name(String, i64),
    Integer(u64),
    Single(u32),
    Double(u64),
    Decimal(f64),
    /// `{a, b, …}`
    Vector(Vec<Operand>),
    /// `[base + offset]`; the base is a register, a name or an integer.
    Address(Box<Operand>, i64),
    /// `[base, {a, b, …}]` of a tensor copy
    Tensor(Box<Operand>, Vec<Operand>),
    /// `(a, b)` of a call
    List(Vec<Operand>),
    /// `_`
    Sink,
}

/// A position in a source file, from `.loc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) file: u32,
    pub(crate) line: u32,
}

/// One instruction as written.
#[derive(Debug, Clone)]
pub(crate) struct Instruction {
    /// Line in the PTX text, from 1.
    pub(crate) line: u32,
    pub(crate) location: Option<Location>,
    /// Guard predicate and whether it is negated.
    pub(crate) guard: Option<(Register, bool)>,
    /// The instruction as written, guard included.
    pub(crate) text: String,
    /// Opcode with its modifiers, `ld.global.v2.b32`.
    pub(crate) opcode: String,
    pub(crate) operands: Vec<Operand>,
    /// Scope the instruction stands in, for labels.
    pub(crate) scope: usize,
}

/// State space of a declared variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableSpace {
    Global,
    Constant,
    Shared,
    Local,
    Parameter,
}

/// One piece of an initialiser.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Initializer {
    Bytes(Vec<u8>),
    /// `bytes` bytes, from byte `first` on, of the 64-bit address of another variable plus `offset`.
    Address {
        name: String,
        offset: i64,
        first: usize,
        bytes: usize,
    },
}

/// A variable or parameter.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: VariableSpace,
    pub(crate) align: u32,
    /// Bytes; 0 for `.extern .shared x[]`.
    pub(crate) size: u64,
    pub(crate) is_extern: bool,
    pub(crate) initializer: Vec<Initializer>,
}

/// A `.entry` or `.func` with a body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_entry: bool,
    pub(crate) results: Vec<Variable>,
    pub(crate) parameters: Vec<Variable>,
    /// `.maxntid`, and whether it is exact (`.reqntid`).
    pub(crate) max_threads: Option<([u32; 3], bool)>,
    /// `.reqnctapercluster`, 1 × 1 × 1 without.
    pub(crate) cluster: Option<[u32; 3]>,
    /// `.maxnreg`.
    pub(crate) max_registers: Option<u32>,
    pub(crate) registers: Vec<Width>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) instructions: Vec<Instruction>,
    /// (scope, name) → index of the instruction the label stands before.
    pub(crate) labels: HashMap<(usize, String), usize>,
    /// Parent of each scope; the outermost is its own.
    pub(crate) scopes: Vec<usize>,
    /// `NAME: .branchtargets a, b;`
    pub(crate) branch_targets: HashMap<String, Vec<String>>,
}

impl Function {
    /// The instruction index of `label` as seen from `scope`.
    pub(crate) fn label(&self, mut scope: usize, label: &str) -> Option<usize> {
        loop {
            if let Some(&at) = self.labels.get(&(scope, label.to_owned())) {
                return Some(at);
            }
            if self.scopes[scope] == scope {
                return None;
            }
            scope = self.scopes[scope];
        }
    }
}

/// A translation unit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unit {
    pub(crate) target: String,
    pub(crate) files: HashMap<u32, String>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) functions: Vec<Function>,
}
