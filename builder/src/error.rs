//! Why a build failed.

use crate::{Arch, DescriptionError, Lint, LintError};
use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Why a build or an installation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "read", "create", …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No device compiler with its LLVM tools.
    #[error("no compiler for the device:\n{}\nrun one of\n{}", bullets(looked), bullets(remedies))]
    NoCompiler {
        /// Where it was looked for, and what was missing there.
        looked: Vec<String>,
        /// Commands that provide one.
        remedies: Vec<String>,
    },
    /// Cubins were asked for and there is no `ptxas`.
    #[error("no ptxas to make cubins with:\n{}\nrun one of\n{}", bullets(looked), bullets(remedies))]
    NoAssembler {
        /// Where it was looked for, and what was missing there.
        looked: Vec<String>,
        /// Commands that provide one.
        remedies: Vec<String>,
    },
    /// A program could not be started.
    #[error("cannot start `{command}`: {source}{}", below(remedy))]
    Start {
        /// The command line.
        command: String,
        /// The system's reason.
        source: io::Error,
        /// What to do about it, where that is known.
        remedy: Option<String>,
    },
    /// A program ran and failed.
    #[error("`{command}` failed ({status}):\n{stderr}{}", below(remedy))]
    Tool {
        /// The command line.
        command: String,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// What it wrote to standard error.
        stderr: String,
        /// What to do about it, where that is known.
        remedy: Option<String>,
    },
    /// The device crate does not compile.
    #[error("the device crate {} does not compile:\n{diagnostics}", crate_dir.display())]
    DeviceCrate {
        /// The crate's folder.
        crate_dir: PathBuf,
        /// cargo's and rustc's output.
        diagnostics: String,
    },
    /// The folder has no library target.
    #[error("{} is not a device crate: cargo built no library from its Cargo.toml", .0.display())]
    NoLibrary(PathBuf),
    /// The crate has no entry point.
    #[error("the device crate {} has no kernel: expected a `#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn`", .0.display())]
    NoKernels(PathBuf),
    /// A library that holds something else than LLVM bitcode.
    #[error("cannot read the objects of {}: {reason}", path.display())]
    Archive {
        /// The library.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A kernel's description cannot be used.
    #[error("the description of kernel `{kernel}` is wrong: {reason}")]
    Description {
        /// The entry point.
        kernel: String,
        /// What is wrong.
        reason: DescriptionError,
    },
    /// `ptxas` refused a kernel's PTX, mostly for what stands in an `asm!`.
    #[error("kernel `{kernel}` does not assemble for {arch}:\n{messages}")]
    Assemble {
        /// The entry point.
        kernel: String,
        /// What it was assembled for.
        arch: Arch,
        /// What ptxas wrote, with the Rust lines.
        messages: String,
    },
    /// A lint is allowed for a kernel that the crate has not.
    #[error("the lint {lint} is allowed for kernel `{kernel}`, which the crate has not")]
    UnknownKernel {
        /// The lint.
        lint: Lint,
        /// The name that was given.
        kernel: String,
    },
    /// `ptxas -v` wrote something that this crate does not understand, so that resources would go unchecked.
    #[error("ptxas did not report the resources of kernel `{kernel}`: it wrote\n{output}")]
    Report {
        /// The entry point.
        kernel: String,
        /// What ptxas wrote.
        output: String,
    },
    /// Lints refused kernels.
    #[error("{}", lines(.0))]
    Lint(Vec<LintError>),
    /// A manifest that cannot be understood.
    #[error("cannot understand {}: {source}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// Where it goes wrong.
        source: serde_json::Error,
    },
}

fn below(remedy: &Option<String>) -> String {
    remedy.as_deref().map(|text| format!("\n{text}")).unwrap_or_default()
}

fn bullets(items: &[String]) -> String {
    items.iter().map(|item| format!("  - {item}")).collect::<Vec<_>>().join("\n")
}

fn lines(errors: &[LintError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Attaches what was done to which file.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { action, path: path.to_owned(), source })
    }
}

/// The command as one would type it.
pub(crate) fn command_line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| {
            let word = word.to_string_lossy();
            if word.contains([' ', '<', '>', '"']) { format!("'{word}'") } else { word.into_owned() }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a command to its end; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<Output, Error> {
    let output =
        command.output().map_err(|source| Error::Start { command: command_line(command), source, remedy: None })?;
    if output.status.success() {
        return Ok(output);
    }
    Err(Error::Tool {
        command: command_line(command),
        status: output.status,
        stderr: String::from_utf8_lossy(&output.stderr).trim_end().to_owned(),
        remedy: None,
    })
}
