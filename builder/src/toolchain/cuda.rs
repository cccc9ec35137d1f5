//! NVIDIA's tools: the assembler and the disassemblers.

use super::probe;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// The oldest CUDA release whose `ptxas` reads PTX 8.4, the newest version that is emitted.
const OLDEST: (u32, u32) = (12, 4);

/// The programs of a CUDA toolkit that a build or a reader of SASS uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuda {
    ptxas: PathBuf,
    release: String,
}

impl Cuda {
    /// The assembler.
    #[must_use]
    pub fn ptxas(&self) -> &Path {
        &self.ptxas
    }

    /// The version of the assembler, as `13.0.88`.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// The disassembler of cubins, where it lies beside the assembler.
    #[must_use]
    pub fn nvdisasm(&self) -> Option<PathBuf> {
        self.beside("nvdisasm")
    }

    /// The program that lists what a cubin holds, where it lies beside the assembler.
    #[must_use]
    pub fn cuobjdump(&self) -> Option<PathBuf> {
        self.beside("cuobjdump")
    }

    fn beside(&self, name: &str) -> Option<PathBuf> {
        Some(self.ptxas.with_file_name(name)).filter(|path| path.is_file())
    }
}

/// Where the wheels are unpacked in a cache folder.
pub(super) fn folder(cache: &Path) -> PathBuf {
    cache.join("toolchain/cuda")
}

/// Looks for `ptxas`; what was wrong at each place comes back where none is good.
pub(super) fn locate(cache: &Path) -> Result<Cuda, Vec<String>> {
    let mut candidates = Vec::new();
    let mut looked = Vec::new();
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        match std::env::var_os(name) {
            Some(root) => candidates.push(PathBuf::from(root).join("bin/ptxas")),
            None => looked.push(format!("{name} is not set")),
        }
    }
    candidates.push(PathBuf::from("/usr/local/cuda/bin/ptxas"));
    if let Some(path) = std::env::var_os("PATH") {
        let on_path = std::env::split_paths(&path).map(|folder| folder.join("ptxas")).find(|path| path.is_file());
        match on_path {
            Some(ptxas) => candidates.push(ptxas),
            None => looked.push("no ptxas on PATH".to_owned()),
        }
    }
    let unpacked = unpacked(&folder(cache));
    match &unpacked {
        Some(ptxas) => candidates.push(ptxas.clone()),
        None => looked.push(format!("no ptxas in {}", folder(cache).display())),
    }
    for ptxas in candidates {
        let ours = unpacked.as_ref() == Some(&ptxas);
        match probe_ptxas(&ptxas, ours) {
            Ok(cuda) => return Ok(cuda),
            Err(reason) => looked.push(reason),
        }
    }
    Err(looked)
}

/// `nvidia/cu<major>/bin/ptxas`, or `nvidia/cuda_nvcc/bin/ptxas` in the wheels before CUDA 13.
fn unpacked(folder: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(folder.join("nvidia")).ok()?;
    packages.flatten().map(|entry| entry.path().join("bin/ptxas")).find(|path| path.is_file())
}

fn probe_ptxas(ptxas: &Path, ours: bool) -> Result<Cuda, String> {
    if !ptxas.is_file() {
        return Err(format!("{} is missing", ptxas.display()));
    }
    if ours {
        // Wheels are zip files, and unpacking them may lose the mode.
        for program in ["ptxas", "nvdisasm", "cuobjdump"].map(|name| ptxas.with_file_name(name)) {
            if program.is_file() {
                make_executable(&program)
                    .map_err(|error| format!("cannot make {} executable: {error}", program.display()))?;
            }
        }
    }
    let text = probe::output(Command::new(ptxas).arg("--version"))?;
    let release = text.split(", V").nth(1).and_then(|rest| rest.split_whitespace().next());
    let release = release.ok_or_else(|| format!("{} --version reports no version", ptxas.display()))?;
    let mut numbers = release.split('.').map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < OLDEST {
        return Err(format!("{} is of CUDA {release}: expected {}.{} or newer", ptxas.display(), OLDEST.0, OLDEST.1));
    }
    Ok(Cuda { ptxas: ptxas.to_owned(), release: release.to_owned() })
}

/// Sets the execute bits where they are missing.
pub(super) fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = fs::metadata(path)?.permissions();
    if permissions.mode() & 0o111 == 0o111 {
        return Ok(());
    }
    permissions.set_mode(permissions.mode() | 0o111);
    fs::set_permissions(path, permissions)
}

pub(super) fn remedies() -> Vec<String> {
    vec![
        "cargo xtask setup, or falchion_build::Toolchain::install in a build script (needs python3 with pip, no root)"
            .to_owned(),
        "CUDA_HOME=<folder of a CUDA toolkit 12.4 or newer> and the same command again".to_owned(),
    ]
}
