//! Register declarations and the brace scopes they live in.

use super::ast::{Register, Width};
use std::collections::HashMap;

enum Declared {
    One(Register),
    /// `%r<10>` declares `%r0` to `%r9`.
    Range {
        first: u32,
        count: u32,
    },
}

/// The open scopes of a function and all registers declared so far.
#[derive(Default)]
pub(crate) struct Scopes {
    open: Vec<(usize, HashMap<String, Declared>)>,
    pub(crate) parents: Vec<usize>,
    pub(crate) registers: Vec<Width>,
}

impl Scopes {
    pub(crate) fn enter(&mut self) {
        let id = self.parents.len();
        self.parents.push(self.open.last().map_or(id, |(parent, _)| *parent));
        self.open.push((id, HashMap::new()));
    }

    /// Closes the innermost scope; returns whether one is still open.
    pub(crate) fn leave(&mut self) -> bool {
        self.open.pop();
        !self.open.is_empty()
    }

    pub(crate) fn current(&self) -> usize {
        self.open.last().map_or(0, |(id, _)| *id)
    }

    fn insert(&mut self, name: &str, declared: Declared) {
        if let Some((_, names)) = self.open.last_mut() {
            names.insert(name.to_owned(), declared);
        }
    }

    pub(crate) fn declare(&mut self, name: &str, width: Width) {
        let register = Register(self.registers.len() as u32);
        self.registers.push(width);
        self.insert(name, Declared::One(register));
    }

    pub(crate) fn declare_range(&mut self, prefix: &str, count: u32, width: Width) {
        let first = self.registers.len() as u32;
        self.registers.resize(self.registers.len() + count as usize, width);
        self.insert(prefix, Declared::Range { first, count });
    }

    /// The register `name` names here, innermost declaration first.
    pub(crate) fn resolve(&self, name: &str) -> Option<Register> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let index = name[prefix.len()..].parse::<u32>().ok();
        self.open.iter().rev().find_map(|(_, names)| {
            if let Some(Declared::One(register)) = names.get(name) {
                return Some(*register);
            }
            match (names.get(prefix), index) {
                (Some(Declared::Range { first, count }), Some(index)) if index < *count => {
                    Some(Register(first + index))
                }
                _ => None,
            }
        })
    }
}
