//! The control-flow graph of a function and the immediate post-dominators of its branches.

use crate::error::ParseError;
use crate::machine::warp::NEVER;
use crate::parse::ast::{Function, Instruction, Operand};

/// Basic blocks of a function.
pub(crate) struct Flow {
    /// First instruction of each block, ascending.
    pub(crate) starts: Vec<usize>,
    /// Block of each instruction.
    pub(crate) block_of: Vec<usize>,
    /// For each block the instruction at which its paths meet again, or [`NEVER`].
    reconverge: Vec<u32>,
    /// For each block the fewest instructions to the exit, its own included; the last entry is the exit.
    distance: Vec<u32>,
}

impl Flow {
    /// Where lanes that a branch at `instruction` separates meet again.
    pub(crate) fn reconverge(&self, instruction: usize) -> u32 {
        self.reconverge[self.block_of[instruction]]
    }

    /// Instructions from the start of the block of `instruction` to the exit at the least.
    pub(crate) fn distance(&self, instruction: usize) -> u32 {
        let block = self.block_of.get(instruction).copied().unwrap_or(self.starts.len());
        self.distance[block]
    }
}

fn mnemonic(instruction: &Instruction) -> &str {
    instruction.opcode.split('.').next().unwrap_or_default()
}

/// The instruction indices an instruction may continue at; the number of instructions stands for the exit.
fn successors(function: &Function, at: usize) -> Result<Vec<usize>, ParseError> {
    let instruction = &function.instructions[at];
    let mut next = match mnemonic(instruction) {
        "bra" => vec![target(function, instruction, 0)?],
        "brx" => targets(function, instruction)?,
        "ret" | "exit" | "trap" => vec![function.instructions.len()],
        _ => return Ok(vec![at + 1]),
    };
    if instruction.guard.is_some() {
        next.push(at + 1);
    }
    Ok(next)
}

fn label(function: &Function, instruction: &Instruction, name: &str) -> Result<usize, ParseError> {
    function
        .label(instruction.scope, name)
        .ok_or_else(|| ParseError::UnknownName { line: instruction.line, name: name.into() })
}

/// The instruction index the label in operand `operand` names.
pub(crate) fn target(function: &Function, instruction: &Instruction, operand: usize) -> Result<usize, ParseError> {
    match instruction.operands.get(operand) {
        Some(Operand::Name(name, 0)) => label(function, instruction, name),
        _ => Err(ParseError::Operand {
            line: instruction.line,
            opcode: instruction.opcode.clone(),
            index: operand,
            problem: "a label is required".into(),
        }),
    }
}

/// The targets of `brx.idx index, table`.
pub(crate) fn targets(function: &Function, instruction: &Instruction) -> Result<Vec<usize>, ParseError> {
    let name = match instruction.operands.get(1) {
        Some(Operand::Name(name, 0)) => name,
        _ => "",
    };
    let labels = function
        .branch_targets
        .get(name)
        .ok_or_else(|| ParseError::UnknownName { line: instruction.line, name: name.into() })?;
    labels.iter().map(|name| label(function, instruction, name)).collect()
}

/// Finds the basic blocks of `function` and where branches reconverge.
pub(crate) fn analyse(function: &Function) -> Result<Flow, ParseError> {
    let count = function.instructions.len();
    let mut is_start = vec![false; count + 1];
    is_start[0] = true;
    let mut next = Vec::with_capacity(count);
    for at in 0..count {
        let successors = successors(function, at)?;
        if successors != [at + 1] {
            is_start[at + 1] = true;
            successors.iter().for_each(|&s| is_start[s] = true);
        }
        next.push(successors);
    }
    let starts: Vec<usize> = (0..count).filter(|&at| is_start[at]).collect();
    let mut block_of = vec![0; count + 1];
    for (block, &start) in starts.iter().enumerate() {
        let end = starts.get(block + 1).copied().unwrap_or(count);
        block_of[start..end].fill(block);
    }
    let exit = starts.len();
    block_of[count] = exit;
    let edges: Vec<Vec<usize>> = (0..exit)
        .map(|block| {
            let last = starts.get(block + 1).copied().unwrap_or(count) - 1;
            next[last].iter().map(|&at| block_of[at]).collect()
        })
        .collect();
    let reconverge = post_dominators(&edges)
        .into_iter()
        .map(|dominator| dominator.and_then(|d| starts.get(d)).map_or(NEVER, |&at| at as u32))
        .collect();
    block_of.pop();
    let mut lengths = vec![0; exit];
    block_of.iter().for_each(|&block| lengths[block] += 1);
    let distance = distances(&edges, &lengths);
    Ok(Flow { starts, block_of, reconverge, distance })
}

/// Fewest instructions from each block to the exit, `u32::MAX` where there is no way.
fn distances(edges: &[Vec<usize>], lengths: &[u32]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; edges.len() + 1];
    distance[edges.len()] = 0;
    loop {
        let mut changed = false;
        for (block, successors) in edges.iter().enumerate().rev() {
            let nearest = successors.iter().map(|&s| distance[s]).min().unwrap_or(u32::MAX);
            let found = nearest.saturating_add(lengths[block]);
            changed |= found < distance[block];
            distance[block] = distance[block].min(found);
        }
        if !changed {
            return distance;
        }
    }
}

/// Immediate post-dominator of each block; `edges.len()` is the exit, `None` a block that never reaches it.
///
/// Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm", on the reversed graph.
fn post_dominators(edges: &[Vec<usize>]) -> Vec<Option<usize>> {
    let exit = edges.len();
    let mut predecessors = vec![Vec::new(); exit + 1];
    for (block, successors) in edges.iter().enumerate() {
        successors.iter().for_each(|&s| predecessors[s].push(block));
    }
    // Post-order of the reversed graph from the exit.
    let mut order = Vec::new();
    let mut number = vec![usize::MAX; exit + 1];
    let mut seen = vec![false; exit + 1];
    let mut stack = vec![(exit, 0)];
    seen[exit] = true;
    while let Some((node, child)) = stack.pop() {
        if let Some(&below) = predecessors[node].get(child) {
            stack.push((node, child + 1));
            if !seen[below] {
                seen[below] = true;
                stack.push((below, 0));
            }
        } else {
            number[node] = order.len();
            order.push(node);
        }
    }
    let mut dominator = vec![None; exit + 1];
    dominator[exit] = Some(exit);
    loop {
        let mut changed = false;
        for &node in order.iter().rev().filter(|&&node| node != exit) {
            let mut found: Option<usize> = None;
            for &s in edges[node].iter().filter(|&&s| dominator[s].is_some()) {
                found = Some(match found {
                    None => s,
                    Some(other) => meet(&dominator, &number, other, s),
                });
            }
            if dominator[node] != found {
                dominator[node] = found;
                changed = true;
            }
        }
        if !changed {
            dominator.pop();
            return dominator;
        }
    }
}

/// Nearest common ancestor of `a` and `b` in the tree so far.
fn meet(dominator: &[Option<usize>], number: &[usize], mut a: usize, mut b: usize) -> usize {
    let up = |node: usize| dominator[node].unwrap_or(node);
    while a != b {
        while number[a] < number[b] {
            a = up(a);
        }
        while number[b] < number[a] {
            b = up(b);
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::post_dominators;

    #[test]
    fn arms_of_an_if_meet_behind_it() {
        // 0 → 1 | 2 → 3 → exit
        let found = post_dominators(&[vec![1, 2], vec![3], vec![3], vec![4]]);
        assert_eq!(found, [Some(3), Some(3), Some(3), Some(4)]);
    }

    #[test]
    fn a_loop_meets_at_its_exit() {
        let found = post_dominators(&[vec![1], vec![1, 2], vec![3]]);
        assert_eq!(found, [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn an_endless_loop_meets_nowhere() {
        let found = post_dominators(&[vec![1, 2], vec![1], vec![3]]);
        assert_eq!(found, [Some(2), None, Some(3)]);
    }
}
