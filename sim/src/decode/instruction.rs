//! One instruction under decoding: its modifiers and operands, each of which must be consumed.

use super::builder::{Builder, Prefill};
use super::special::Special;
use crate::error::ParseError;
use crate::fault::Space;
use crate::machine::context::Context;
use crate::machine::registers::{Predicate, Row, Slot, Word};
use crate::parse::ast::{self, Operand, Register, Width};

/// A predicate source and whether it is negated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard {
    pub(crate) predicate: Predicate,
    pub(crate) negated: bool,
}

impl Guard {
    /// Lanes in which it holds.
    #[inline]
    pub(crate) fn lanes(self, c: &Context<'_, '_>) -> u32 {
        let bits = c.registers.predicate(self.predicate);
        if self.negated { !bits } else { bits }
    }
}

/// The register an address starts from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base {
    Narrow(Slot<u32>),
    Wide(Slot<u64>),
}

/// `[base + offset]`
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) base: Base,
    pub(crate) offset: i64,
    /// The space of the variable the address names, if it names one.
    pub(crate) space: Option<Space>,
}

impl Address {
    /// The address in each lane.
    #[inline]
    pub(crate) fn lanes(self, c: &Context<'_, '_>) -> Row<u64> {
        let mut out = [0; 32];
        match self.base {
            // Addresses of 32 bits wrap at 32 bits.
            Base::Narrow(slot) => {
                for (out, &base) in out.iter_mut().zip(c.row(slot)) {
                    *out = u64::from(base.wrapping_add(self.offset as u32));
                }
            }
            Base::Wide(slot) => {
                for (out, &base) in out.iter_mut().zip(c.row(slot)) {
                    *out = base.wrapping_add_signed(self.offset);
                }
            }
        }
        out
    }
}

/// An instruction being decoded.
pub(crate) struct Inst<'b, 'a> {
    pub(crate) builder: &'b mut Builder<'a>,
    pub(crate) ast: &'a ast::Instruction,
    /// Position in the function.
    pub(crate) index: usize,
    modifiers: Vec<&'a str>,
    operands_used: usize,
}

impl<'b, 'a> Inst<'b, 'a> {
    pub(crate) fn new(builder: &'b mut Builder<'a>, index: usize) -> Self {
        let function = builder.function;
        let ast = &function.instructions[index];
        let modifiers = ast.opcode.split('.').skip(1).collect();
        Self { builder, ast, index, modifiers, operands_used: 0 }
    }

    pub(crate) fn mnemonic(&self) -> &'a str {
        self.ast.opcode.split('.').next().unwrap_or_default()
    }

    /// Consumes modifier `name` if present.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        match self.modifiers.iter().position(|&m| m == name) {
            Some(at) => {
                self.modifiers.remove(at);
                true
            }
            None => false,
        }
    }

    /// Consumes and returns the first of `names` that is present.
    pub(crate) fn choose(&mut self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.flag(name))
    }

    /// Consumes every modifier for which `matches` holds.
    pub(crate) fn drop_modifiers(&mut self, matches: impl Fn(&str) -> bool) {
        self.modifiers.retain(|m| !matches(m));
    }

    /// The last modifier left, where PTX writes the type.
    pub(crate) fn peek_type(&self) -> &'a str {
        self.modifiers.last().copied().unwrap_or("")
    }

    /// Consumes the last modifier left.
    pub(crate) fn take_type(&mut self) -> &'a str {
        self.modifiers.pop().unwrap_or("")
    }

    pub(crate) fn operand_count(&self) -> usize {
        self.ast.operands.len()
    }

    /// Refuses modifiers and operands that nothing consumed.
    pub(crate) fn finish(&self) -> Result<(), ParseError> {
        if let Some(modifier) = self.modifiers.first() {
            return Err(self.unknown_modifier(modifier));
        }
        if self.operands_used < self.operand_count() {
            return Err(self.operand_error(self.operands_used, "surplus operand"));
        }
        Ok(())
    }

    pub(crate) fn unknown(&self) -> ParseError {
        ParseError::UnknownInstruction { line: self.ast.line, opcode: self.ast.opcode.clone() }
    }

    pub(crate) fn unknown_modifier(&self, modifier: &str) -> ParseError {
        ParseError::UnknownModifier { line: self.ast.line, opcode: self.ast.opcode.clone(), modifier: modifier.into() }
    }

    pub(crate) fn operand_error(&self, index: usize, problem: impl Into<String>) -> ParseError {
        ParseError::Operand { line: self.ast.line, opcode: self.ast.opcode.clone(), index, problem: problem.into() }
    }

    /// Operand `index`.
    pub(crate) fn operand(&mut self, index: usize) -> Result<&'a Operand, ParseError> {
        self.operands_used = self.operands_used.max(index + 1);
        let ast = self.ast;
        ast.operands.get(index).ok_or_else(|| self.operand_error(index, "missing"))
    }

    fn width(&self, register: Register) -> Width {
        self.builder.function.registers[register.0 as usize]
    }

    /// Bytes of the word that holds a register; 0 for a predicate.
    fn word_bytes(&self, register: Register) -> u32 {
        match self.width(register) {
            Width::Predicate => 0,
            Width::B8 | Width::B16 | Width::B32 => 4,
            Width::B64 => 8,
            Width::B128 => 16,
        }
    }

    /// Bytes of the word that holds operand `index`, if it is a register.
    pub(crate) fn register_bytes(&mut self, index: usize) -> Result<Option<u32>, ParseError> {
        Ok(match self.operand(index)? {
            Operand::Register(register) => Some(self.word_bytes(*register)),
            _ => None,
        })
    }

    fn slot<T: Word>(&self, index: usize, register: Register) -> Result<Slot<T>, ParseError> {
        if self.word_bytes(register) != T::BYTES {
            let width = self.width(register);
            return Err(
                self.operand_error(index, format!("a register of {} bits is required, found {width:?}", T::BYTES * 8))
            );
        }
        Ok(Slot::new(self.builder.slots.of[register.0 as usize]))
    }

    /// The register operand `index` writes; `_` discards.
    pub(crate) fn dest<T: Word>(&mut self, index: usize) -> Result<Slot<T>, ParseError> {
        let operand = self.operand(index)?;
        self.dest_operand(index, operand)
    }

    pub(crate) fn dest_operand<T: Word>(&mut self, index: usize, operand: &Operand) -> Result<Slot<T>, ParseError> {
        match operand {
            Operand::Register(register) => self.slot(index, *register),
            Operand::Sink => Ok(Slot::new(self.builder.scratch[T::BYTES.trailing_zeros() as usize - 1])),
            _ => Err(self.operand_error(index, "a register is required")),
        }
    }

    /// The register, constant or address operand `index` reads.
    pub(crate) fn source<T: Word>(&mut self, index: usize) -> Result<Slot<T>, ParseError> {
        let operand = self.operand(index)?;
        self.source_operand(index, operand)
    }

    pub(crate) fn source_operand<T: Word>(&mut self, index: usize, operand: &Operand) -> Result<Slot<T>, ParseError> {
        let narrow = T::BYTES == 4;
        let bits = match operand {
            Operand::Register(register) => return self.slot(index, *register),
            Operand::Integer(value) if narrow => u64::from(*value as u32),
            Operand::Integer(value) => *value,
            Operand::Single(bits) if narrow => u64::from(*bits),
            Operand::Single(bits) => f64::from(f32::from_bits(*bits)).to_bits(),
            Operand::Double(bits) if narrow => u64::from((f64::from_bits(*bits) as f32).to_bits()),
            Operand::Double(bits) => *bits,
            Operand::Decimal(value) if narrow => u64::from((*value as f32).to_bits()),
            Operand::Decimal(value) => value.to_bits(),
            Operand::Name(name, offset) => return self.named(name, *offset),
            _ => return Err(self.operand_error(index, "a register or a constant is required")),
        };
        Ok(self.constant(u128::from(bits)))
    }

    /// A register that always holds `bits`.
    pub(crate) fn constant<T: Word>(&mut self, bits: u128) -> Slot<T> {
        Slot::new(self.builder.prefilled(T::BYTES, Prefill::Value(bits)))
    }

    fn named<T: Word>(&mut self, name: &str, offset: i64) -> Result<Slot<T>, ParseError> {
        if name == "WARP_SZ" {
            return Ok(self.constant(32));
        }
        let prefill = match Special::parse(name) {
            Some(special) => Prefill::Special(special),
            None => self.builder.symbol(name, self.ast.line)?.address.offset(offset),
        };
        Ok(Slot::new(self.builder.prefilled(T::BYTES, prefill)))
    }

    /// The predicate operand `index` reads.
    pub(crate) fn guard(&mut self, index: usize) -> Result<Guard, ParseError> {
        let (register, negated) = match self.operand(index)? {
            Operand::Register(register) => (*register, false),
            Operand::Not(register) => (*register, true),
            _ => return Err(self.operand_error(index, "a predicate is required")),
        };
        Ok(Guard { predicate: self.predicate_slot(index, register)?, negated })
    }

    fn predicate_slot(&self, index: usize, register: Register) -> Result<Predicate, ParseError> {
        if self.width(register) != Width::Predicate {
            return Err(self.operand_error(index, "a predicate is required"));
        }
        Ok(Predicate(self.builder.slots.of[register.0 as usize]))
    }

    /// Whether operand `index` is a predicate, negated or not.
    pub(crate) fn is_predicate(&self, index: usize) -> bool {
        match self.ast.operands.get(index) {
            Some(Operand::Register(register) | Operand::Not(register)) => self.width(*register) == Width::Predicate,
            _ => false,
        }
    }

    /// The predicate operand `index` writes.
    pub(crate) fn dest_predicate(&mut self, index: usize) -> Result<Predicate, ParseError> {
        let operand = self.operand(index)?;
        self.dest_predicate_operand(index, operand)
    }

    pub(crate) fn dest_predicate_operand(&mut self, index: usize, operand: &Operand) -> Result<Predicate, ParseError> {
        match operand {
            Operand::Register(register) => self.predicate_slot(index, *register),
            Operand::Sink => Ok(Predicate(self.builder.scratch[0])),
            _ => Err(self.operand_error(index, "a predicate is required")),
        }
    }

    /// The integer operand `index` spells.
    pub(crate) fn immediate(&mut self, index: usize) -> Result<u64, ParseError> {
        match self.operand(index)? {
            Operand::Integer(value) => Ok(*value),
            _ => Err(self.operand_error(index, "an integer constant is required")),
        }
    }

    /// The items of `{a, b, …}`, or the operand itself.
    pub(crate) fn items(&mut self, index: usize) -> Result<&'a [Operand], ParseError> {
        Ok(match self.operand(index)? {
            Operand::Vector(items) => items,
            single => std::slice::from_ref(single),
        })
    }

    /// The address operand `index` spells.
    pub(crate) fn address(&mut self, index: usize) -> Result<Address, ParseError> {
        let Operand::Address(base, offset) = self.operand(index)? else {
            return Err(self.operand_error(index, "an address in brackets is required"));
        };
        self.address_of(index, base, *offset)
    }

    /// The address of the tensor map and the coordinates of operand `index`, `[map, {x, y, …}]`.
    pub(crate) fn tensor(&mut self, index: usize) -> Result<(Address, Vec<Slot<u32>>), ParseError> {
        let Operand::Tensor(base, items) = self.operand(index)? else {
            return Err(self.operand_error(index, "a tensor map and coordinates in brackets are required"));
        };
        let (base, offset) = match &**base {
            Operand::Address(base, offset) => (&**base, *offset),
            base => (base, 0),
        };
        let coordinates = items.iter().map(|item| self.source_operand(index, item)).collect::<Result<_, _>>()?;
        Ok((self.address_of(index, base, offset)?, coordinates))
    }

    fn address_of(&mut self, index: usize, base: &Operand, offset: i64) -> Result<Address, ParseError> {
        let (base, offset, space) = match base {
            Operand::Register(register) if self.word_bytes(*register) == 4 => {
                (Base::Narrow(self.slot(index, *register)?), offset, None)
            }
            Operand::Register(register) => (Base::Wide(self.slot(index, *register)?), offset, None),
            Operand::Integer(value) => (Base::Wide(self.constant(u128::from(*value))), offset, None),
            Operand::Name(name, _) => {
                let symbol = self.builder.symbol(name, self.ast.line)?;
                let address = symbol.address.offset(offset);
                let slot = Slot::new(self.builder.prefilled(8, address));
                (Base::Wide(slot), 0, Some(symbol.space))
            }
            _ => return Err(self.operand_error(index, "a register, a variable or an integer is required")),
        };
        Ok(Address { base, offset, space })
    }
}
