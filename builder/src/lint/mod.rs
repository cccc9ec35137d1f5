//! What a kernel is refused for.

mod find;

pub(crate) use find::{assembly, cubin, ptx};

use serde::{Deserialize, Serialize};
use std::fmt;

/// A property that makes a kernel slow or wrong without any other sign. Each is an error unless a build allows it by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Lint {
    /// `ptxas` ran out of registers and keeps values in memory.
    Spills,
    /// The kernel has a stack frame: an array indexed at run time, or a by-value parameter that was copied.
    LocalMemory,
    /// A check that can panic survived optimisation.
    Panic,
    /// The PTX calls a function that is defined nowhere.
    ExternalFunction,
    /// `ptxas` says that it serialised `wgmma` or ignored a directive (notes C75xx and C76xx).
    Serialisation,
    /// Inline assembly reached the optimiser without `convergent`: barriers may have been duplicated.
    AssemblyNotConvergent,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lint::Spills => "spills",
            Lint::LocalMemory => "local-memory",
            Lint::Panic => "panic",
            Lint::ExternalFunction => "external-function",
            Lint::Serialisation => "serialisation",
            Lint::AssemblyNotConvergent => "assembly-not-convergent",
        })
    }
}

/// A line of Rust.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file, as rustc was given it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A lint that fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("kernel `{kernel}` [{lint}]: {message}{}", place(at))]
pub struct LintError {
    /// Which lint.
    pub lint: Lint,
    /// The entry point.
    pub kernel: String,
    /// What was found, and what to do about it.
    pub message: String,
    /// The Rust lines it comes from: the innermost first, then the line of each inlined call up to the kernel.
    pub at: Vec<SourceLine>,
}

fn place(at: &[SourceLine]) -> String {
    match at {
        [] => String::new(),
        [inner, callers @ ..] => {
            let callers: String = callers.iter().map(|line| format!(", inlined at {line}")).collect();
            format!("\n  at {inner}{callers}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_lint_kernel_and_lines() {
        let line = |line| SourceLine { file: "src/lib.rs".into(), line };
        let error = LintError {
            lint: Lint::Spills,
            kernel: "k".into(),
            message: "8 bytes are spilled".into(),
            at: vec![line(3), line(9)],
        };
        assert_eq!(
            error.to_string(),
            "kernel `k` [spills]: 8 bytes are spilled\n  at src/lib.rs:3, inlined at src/lib.rs:9"
        );
    }
}
