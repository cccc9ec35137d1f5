//! A PTX module, decoded once and launched often.

use crate::decode::{self, Kernel};
use crate::error::ParseError;
use crate::parse;
use crate::parse::ast::{Initializer, Variable, VariableSpace};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// A parsed and decoded PTX module. Share it by reference or in an `Arc`; it never changes.
pub struct Module {
    /// Tells modules apart, for the variables a simulator keeps for each.
    pub(crate) id: u64,
    target: String,
    pub(crate) variables: Vec<Variable>,
    kernels: BTreeMap<String, Kernel>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("target", &self.target)
            .field("kernels", &self.kernels.keys())
            .finish_non_exhaustive()
    }
}

impl Module {
    /// Reads PTX text.
    ///
    /// # Errors
    /// [`ParseError`] with the line: text off the grammar, an instruction, modifier or directive the simulator does
    /// not know, or one it cannot run.
    pub fn parse(ptx: &str) -> Result<Self, ParseError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let unit = parse::parse(ptx)?;
        let mut kernels = BTreeMap::new();
        for function in unit.functions.iter().filter(|f| f.is_entry) {
            kernels.insert(function.name.clone(), decode::decode(&unit, function)?);
        }
        Ok(Self { id: NEXT.fetch_add(1, Ordering::Relaxed), target: unit.target, variables: unit.variables, kernels })
    }

    /// Names of the entry points, in alphabetical order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// The architecture the module was compiled for, such as `sm_80`.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The initialiser of the global or constant variable `name`, without the zeros that follow it up to the
    /// variable's size. `None` if there is no such variable, or if it holds addresses.
    #[must_use]
    pub fn global_bytes(&self, name: &str) -> Option<&[u8]> {
        let variable = self
            .variables
            .iter()
            .find(|v| v.name == name && matches!(v.space, VariableSpace::Global | VariableSpace::Constant))?;
        match variable.initializer.as_slice() {
            [] => Some(&[]),
            [Initializer::Bytes(bytes)] => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.get(name)
    }
}
