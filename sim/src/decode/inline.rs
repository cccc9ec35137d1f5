//! Calls, replaced by the body of the callee: kernels are decoded as if the compiler had inlined everything.
//!
//! The `.param` variables of a call sequence become memory of the thread that caller and callee name alike.

use crate::error::ParseError;
use crate::parse::ast::{Function, Instruction, Operand, Register, Unit};
use std::collections::HashMap;

/// Label behind an inlined body; no PTX identifier looks like it.
const RETURN: &str = "@return";

/// `function` with every call replaced; `callers` are the functions it is being inlined into.
pub(crate) fn inline(unit: &Unit, function: &Function, callers: &[&str]) -> Result<Function, ParseError> {
    let mut out = function.clone();
    out.instructions.clear();
    out.labels.clear();
    // New position of each instruction, and of the end.
    let mut moved = Vec::with_capacity(function.instructions.len() + 1);
    for instruction in &function.instructions {
        moved.push(out.instructions.len());
        if instruction.opcode.split('.').next() == Some("call") {
            call(unit, instruction, callers, &mut out)?;
        } else {
            out.instructions.push(instruction.clone());
        }
    }
    moved.push(out.instructions.len());
    for ((scope, name), at) in &function.labels {
        out.labels.insert((*scope, name.clone()), moved[*at]);
    }
    Ok(out)
}

/// The parts of `call (results), name, (arguments)`.
fn parts(instruction: &Instruction) -> Option<(&[Operand], &str, &[Operand])> {
    let operands = instruction.operands.as_slice();
    let results = usize::from(matches!(operands.first(), Some(Operand::List(_))));
    let name = match operands.get(results)? {
        Operand::Name(name, 0) => name,
        _ => return None,
    };
    let first = if results == 1 { items(operands.first())? } else { &[] };
    (operands.len() <= results + 2).then_some(())?;
    Some((first, name, items(operands.get(results + 1))?))
}

fn items(operand: Option<&Operand>) -> Option<&[Operand]> {
    match operand {
        Some(Operand::List(items)) => Some(items),
        None => Some(&[]),
        _ => None,
    }
}

fn call(unit: &Unit, instruction: &Instruction, callers: &[&str], out: &mut Function) -> Result<(), ParseError> {
    let line = instruction.line;
    let unsupported = |what: String| ParseError::Unsupported { line, what };
    let (results, name, arguments) =
        parts(instruction).ok_or_else(|| unsupported(format!("the call `{}`", instruction.text)))?;
    let callee = unit
        .functions
        .iter()
        .find(|f| f.name == name && !f.is_entry)
        .ok_or_else(|| unsupported(format!("a call of `{name}`, which has no body in this module,")))?;
    if callers.contains(&name) {
        return Err(unsupported(format!("recursion through `{name}`")));
    }
    let chain: Vec<&str> = callers.iter().copied().chain([name]).collect();
    let callee = inline(unit, callee, &chain)?;
    let matched = results.len() == callee.results.len() && arguments.len() == callee.parameters.len();
    if !matched {
        return Err(unsupported(format!("a call of `{name}` with other parameters than it declares")));
    }
    let prefix = format!("{name}@{}:", out.instructions.len());
    let mut names: HashMap<&str, String> = HashMap::new();
    for variable in &callee.variables {
        names.insert(&variable.name, format!("{prefix}{}", variable.name));
    }
    for table in callee.branch_targets.keys() {
        names.insert(table, format!("{prefix}{table}"));
    }
    let passed = results.iter().zip(&callee.results).chain(arguments.iter().zip(&callee.parameters));
    for (operand, variable) in passed {
        match operand {
            Operand::Name(name, 0) => names.insert(&variable.name, name.clone()),
            _ => return Err(unsupported("an argument that is not a parameter variable".into())),
        };
    }
    splice(instruction, &callee, &names, out);
    Ok(())
}

/// Appends the body of `callee`, with its names replaced and its registers and scopes numbered after those of `out`.
fn splice(call: &Instruction, callee: &Function, names: &HashMap<&str, String>, out: &mut Function) {
    let (registers, scopes) = (out.registers.len() as u32, out.scopes.len());
    out.registers.extend(&callee.registers);
    out.scopes.extend(callee.scopes.iter().map(|parent| parent + scopes));
    let branch = |guard, source: &Instruction, scope| Instruction {
        guard,
        opcode: "bra".into(),
        operands: vec![Operand::Name(RETURN.into(), 0)],
        scope,
        ..source.clone()
    };
    if let Some((predicate, negated)) = call.guard {
        out.instructions.push(branch(Some((predicate, !negated)), call, scopes));
    }
    for variable in &callee.variables {
        let mut variable = variable.clone();
        variable.name.clone_from(&names[variable.name.as_str()]);
        out.variables.push(variable);
    }
    for (table, labels) in &callee.branch_targets {
        out.branch_targets.insert(names[table.as_str()].clone(), labels.clone());
    }
    let start = out.instructions.len();
    for instruction in &callee.instructions {
        let mut copy = instruction.clone();
        copy.scope += scopes;
        copy.guard = copy.guard.map(|(register, negated)| (Register(register.0 + registers), negated));
        copy.operands.iter_mut().for_each(|operand| rename(operand, registers, names));
        if copy.opcode.split('.').next() == Some("ret") {
            copy = branch(copy.guard, &copy, copy.scope);
        }
        out.instructions.push(copy);
    }
    for ((scope, name), at) in &callee.labels {
        out.labels.insert((scope + scopes, name.clone()), start + at);
    }
    out.labels.insert((scopes, RETURN.into()), out.instructions.len());
}

fn rename(operand: &mut Operand, registers: u32, names: &HashMap<&str, String>) {
    match operand {
        Operand::Register(register) | Operand::Not(register) => register.0 += registers,
        Operand::Name(name, _) => {
            if let Some(new) = names.get(name.as_str()) {
                name.clone_from(new);
            }
        }
        Operand::Pair(a, b) => {
            rename(a, registers, names);
            rename(b, registers, names);
        }
        Operand::Address(base, _) => rename(base, registers, names),
        Operand::Tensor(base, items) => {
            rename(base, registers, names);
            items.iter_mut().for_each(|item| rename(item, registers, names));
        }
        Operand::Vector(items) | Operand::List(items) => {
            items.iter_mut().for_each(|item| rename(item, registers, names));
        }
        _ => {}
    }
}
