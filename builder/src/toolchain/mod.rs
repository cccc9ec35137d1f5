//! The programs that a build runs: where they are, and how to get them.

mod cuda;
mod debian;
mod install;
mod probe;
mod rustup;

pub use cuda::Cuda;

use crate::Error;
use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    process::Command,
};

/// Where a compiler was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A rustup toolchain.
    Rustup,
    /// Debian packages that are installed on the system.
    System,
    /// Debian packages unpacked in the cache folder.
    Cache,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Rustup => "rustup",
            Origin::System => "system packages",
            Origin::Cache => "cache",
        })
    }
}

/// A compiler for the device with its LLVM tools, and the CUDA tools where there are some.
#[derive(Debug, Clone)]
pub struct Toolchain {
    origin: Origin,
    rustc: PathBuf,
    cargo: PathBuf,
    release: String,
    llvm_folder: PathBuf,
    llvm_release: String,
    /// Shared libraries of the LLVM tools, where the system's loader does not know them.
    libraries: Option<PathBuf>,
    cuda: Result<Cuda, Vec<String>>,
}

impl Toolchain {
    /// The rustup toolchain that is used where rustup has it. It is pinned because the device target is reached through
    /// unstable options (`-Zbuild-std`, `-Zmir-enable-passes`) and because its LLVM must be that of the LLVM tools.
    pub const RUSTUP_TOOLCHAIN: &'static str = "1.96.0";

    /// Finds the tools: rustup's toolchain 1.96.0 with `rust-src` and `llvm-tools`, else Debian's `rustc-web`,
    /// `rust-web-src` and `llvm-NN` on the system, else the same in the cache folder; and `ptxas` from a CUDA toolkit
    /// (`CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, `PATH`), else from the cache folder.
    ///
    /// The cache folder is `$FALCHION_CACHE`, else `$XDG_CACHE_HOME/falchion`, else `~/.cache/falchion`.
    ///
    /// # Errors
    /// [`Error::NoCompiler`] says what was missing where, and the commands that provide it. A missing `ptxas` is no error
    /// here: PTX needs none.
    pub fn locate() -> Result<Self, Error> {
        let cache = cache_folder();
        let mut looked = Vec::new();
        let mut found = None;
        for (place, attempt) in [
            ("rustup", rustup::locate as fn(&Path) -> Result<Toolchain, String>),
            ("system packages", |_: &Path| debian::locate(Path::new("/"), Origin::System)),
            ("cache", |cache: &Path| debian::locate(&debian::folder(cache), Origin::Cache)),
        ] {
            match attempt(&cache) {
                Ok(toolchain) => {
                    found = Some(toolchain);
                    break;
                }
                Err(reason) => looked.push(format!("{place}: {reason}")),
            }
        }
        let Some(mut toolchain) = found else { return Err(Error::NoCompiler { looked, remedies: remedies() }) };
        toolchain.cuda = cuda::locate(&cache);
        Ok(toolchain)
    }

    /// Where the compiler was found.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The CUDA tools, where there are some.
    #[must_use]
    pub fn cuda(&self) -> Option<&Cuda> {
        self.cuda.as_ref().ok()
    }

    pub(crate) fn rustc(&self) -> &Path {
        &self.rustc
    }

    pub(crate) fn cargo(&self) -> &Path {
        &self.cargo
    }

    /// A command that runs an LLVM tool.
    pub(crate) fn llvm(&self, tool: &str) -> Command {
        llvm_command(&self.llvm_folder, self.libraries.as_deref(), tool)
    }

    /// A command that runs `ptxas`.
    pub(crate) fn ptxas(&self) -> Result<Command, Error> {
        match &self.cuda {
            Ok(cuda) => Ok(Command::new(cuda.ptxas())),
            Err(looked) => Err(Error::NoAssembler { looked: looked.clone(), remedies: cuda::remedies() }),
        }
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rustc {} and LLVM {} ({})", self.release, self.llvm_release, self.origin)?;
        match &self.cuda {
            Ok(cuda) => write!(f, ", ptxas {}", cuda.release()),
            Err(_) => f.write_str(", no ptxas"),
        }
    }
}

fn remedies() -> Vec<String> {
    vec![
        format!(
            "rustup toolchain install {} --profile minimal --component rust-src,llvm-tools",
            Toolchain::RUSTUP_TOOLCHAIN
        ),
        "apt-get install rustc-web rust-web-src llvm-22".to_owned(),
        "cargo xtask setup, or falchion_build::Toolchain::install in a build script (Debian; needs no root)".to_owned(),
    ]
}

fn llvm_command(folder: &Path, libraries: Option<&Path>, tool: &str) -> Command {
    let mut command = Command::new(folder.join(tool));
    if let Some(libraries) = libraries {
        command.env("LD_LIBRARY_PATH", with_library_path(libraries));
    }
    command
}

/// `LD_LIBRARY_PATH` with a folder put in front.
fn with_library_path(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("LD_LIBRARY_PATH").filter(|rest| !rest.is_empty()) {
        path.push(":");
        path.push(rest);
    }
    path
}

/// Where downloaded tools are unpacked.
fn cache_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("FALCHION_CACHE").unwrap_or_else(|| {
        let home = || variable("HOME").unwrap_or_else(std::env::temp_dir).join(".cache");
        variable("XDG_CACHE_HOME").unwrap_or_else(home).join("falchion")
    })
}

/// The cargo that runs this build, else the one on `PATH`.
fn caller_cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}
