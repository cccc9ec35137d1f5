//! Virtual registers to slots of the register file.
//!
//! LLVM numbers registers without end; an unrolled kernel has thousands, most of which live within one basic block.
//! Those share slots, so that the register file of a warp stays in the cache.

use super::flow::Flow;
use crate::parse::ast::{Function, Instruction, Operand, Register, Width};

/// The register files, in the order of [`Slots::counts`].
pub(crate) const FILES: usize = 4;

/// The file a register of `width` lives in: predicates, 32, 64, 128 bits.
fn file(width: Width) -> usize {
    match width {
        Width::Predicate => 0,
        Width::B8 | Width::B16 | Width::B32 => 1,
        Width::B64 => 2,
        Width::B128 => 3,
    }
}

/// Where each virtual register lives.
pub(crate) struct Slots {
    /// Slot of each virtual register in its file.
    pub(crate) of: Vec<u32>,
    /// Slots used in each file.
    pub(crate) counts: [u32; FILES],
}

/// Calls `f` for each register an operand names.
pub(crate) fn visit(operand: &Operand, f: &mut impl FnMut(Register)) {
    match operand {
        Operand::Register(register) | Operand::Not(register) => f(*register),
        Operand::Pair(a, b) => {
            visit(a, f);
            visit(b, f);
        }
        Operand::Address(base, _) => visit(base, f),
        Operand::Tensor(base, items) => {
            visit(base, f);
            items.iter().for_each(|i| visit(i, f));
        }
        Operand::Vector(items) | Operand::List(items) => items.iter().for_each(|i| visit(i, f)),
        _ => {}
    }
}

/// Calls `f(register, whether the instruction certainly overwrites it)` for each register it names.
fn registers(instruction: &Instruction, mut f: impl FnMut(Register, bool)) {
    if let Some((register, _)) = instruction.guard {
        f(register, false);
    }
    let mnemonic = instruction.opcode.split('.').next().unwrap_or_default();
    let writes_first = instruction.guard.is_none()
        && !matches!(
            mnemonic,
            "st" | "red" | "bra" | "brx" | "call" | "stmatrix" | "cp" | "bar" | "barrier" | "nanosleep" | "wgmma"
        );
    for (index, operand) in instruction.operands.iter().enumerate().rev() {
        visit(operand, &mut |register| {
            let is_address = matches!(operand, Operand::Address(..) | Operand::Tensor(..));
            f(register, index == 0 && writes_first && !is_address);
        });
    }
}

#[derive(Clone, Copy)]
struct Life {
    block: usize,
    last: usize,
    /// Lives in one block, from a certain write on.
    is_local: bool,
}

/// Assigns slots: one of its own to each register that lives across blocks, reused ones to the rest.
pub(crate) fn assign(function: &Function, flow: &Flow) -> Slots {
    let mut lives: Vec<Option<Life>> = vec![None; function.registers.len()];
    for (at, instruction) in function.instructions.iter().enumerate() {
        let block = flow.block_of[at];
        // Products go on using their registers after the instruction.
        let outlives = instruction.opcode.starts_with("wgmma.mma_async");
        registers(instruction, |register, overwrites| match &mut lives[register.0 as usize] {
            Some(life) => {
                life.is_local &= life.block == block && !outlives;
                life.last = at;
            }
            new => *new = Some(Life { block, last: at, is_local: overwrites && !outlives }),
        });
    }
    let mut slots = Slots { of: vec![0; function.registers.len()], counts: [0; FILES] };
    for (register, life) in lives.iter().enumerate() {
        if life.is_some_and(|life| !life.is_local) {
            let count = &mut slots.counts[file(function.registers[register])];
            slots.of[register] = *count;
            *count += 1;
        }
    }
    share(function, &lives, &mut slots);
    slots
}

/// Linear scan over each block: a slot is free again after the last use of its register.
fn share(function: &Function, lives: &[Option<Life>], slots: &mut Slots) {
    let mut free: [Vec<u32>; FILES] = Default::default();
    let mut assigned = vec![false; lives.len()];
    for (at, instruction) in function.instructions.iter().enumerate() {
        // A register read here for the last time may not hand its slot to the destination: an operation
        // may write its results before it has read all sources.
        let mut ended = Vec::new();
        registers(instruction, |register, _| {
            let index = register.0 as usize;
            let Some(life) = lives[index].filter(|life| life.is_local) else { return };
            let file = file(function.registers[index]);
            if !assigned[index] {
                assigned[index] = true;
                slots.of[index] = free[file].pop().unwrap_or_else(|| {
                    slots.counts[file] += 1;
                    slots.counts[file] - 1
                });
            }
            if life.last == at && !ended.contains(&(file, slots.of[index])) {
                ended.push((file, slots.of[index]));
            }
        });
        for (file, slot) in ended {
            free[file].push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::assign;
    use crate::decode::flow::analyse;
    use crate::parse::parse;

    /// Slots of `%r0`, `%r1`, … in `body`.
    fn slots(body: &str) -> Vec<u32> {
        let text = format!(".visible .entry k() {{ .reg .pred %p<2>; .reg .b32 %r<5>; {body} ret; }}");
        let unit = parse(&text).unwrap();
        let function = &unit.functions[0];
        assign(function, &analyse(function).unwrap()).of[2..].to_vec()
    }

    #[test]
    fn registers_that_never_live_together_share_a_slot() {
        let found = slots("mov.b32 %r0, 1; add.s32 %r1, %r0, 1; add.s32 %r2, %r1, 1; add.s32 %r3, %r2, 1;");
        assert_eq!(found[0], found[2]);
        assert_eq!(found[1], found[3]);
        assert_ne!(found[0], found[1]);
    }

    #[test]
    fn a_register_carried_around_a_loop_keeps_its_own_slot() {
        let found = slots(
            "mov.b32 %r0, 0; $l: add.s32 %r0, %r0, 1; mov.b32 %r1, %r0; mov.b32 %r2, %r1; setp.lt.u32 %p0, %r2, 9; @%p0 bra $l;",
        );
        assert!(found[1..3].iter().all(|&slot| slot != found[0]));
    }

    #[test]
    fn a_guarded_write_does_not_start_a_life() {
        let found = slots("mov.b32 %r1, 7; setp.eq.b32 %p0, %r1, 7; @%p0 mov.b32 %r0, 1; mov.b32 %r2, %r0;");
        assert!(found[1..3].iter().all(|&slot| slot != found[0]));
    }
}
