//! The compiler of Debian's packages, on the system or unpacked elsewhere.

use super::{Origin, Toolchain, caller_cargo, probe};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The wrapper that runs an unpacked rustc, in the folder it was unpacked to.
const WRAPPER: &str = "rustc-falchion";

/// Where the packages are unpacked in a cache folder.
pub(super) fn folder(cache: &Path) -> PathBuf {
    cache.join("toolchain/debian")
}

/// Looks for the packages under `root`: `/`, or a folder that they were unpacked to.
pub(super) fn locate(root: &Path, origin: Origin) -> Result<Toolchain, String> {
    let program = root.join("usr/bin/rustc");
    if !program.is_file() {
        return Err(format!("{} is missing", program.display()));
    }
    let (rustc, libraries) = match origin {
        Origin::Cache => {
            let libraries = libraries(root)?;
            (wrapper(root, &program, &libraries)?, Some(libraries))
        }
        _ => (program, None),
    };
    let found = probe::rustc(&rustc)?;
    let llvm_folder = root.join(format!("usr/lib/llvm-{}/bin", probe::major(&found.llvm_release)));
    let llvm_release = probe::llvm(&llvm_folder, libraries.as_deref(), &found)?;
    Ok(Toolchain {
        origin,
        rustc,
        cargo: caller_cargo(),
        release: found.release,
        llvm_folder,
        llvm_release,
        libraries,
        cuda: Err(Vec::new()),
    })
}

/// `usr/lib/<host>-linux-gnu`
fn libraries(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join("usr/lib");
    let entries = fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().ends_with("-linux-gnu"))
        .ok_or_else(|| format!("no shared libraries in {}", folder.display()))
}

/// cargo wants one program as `RUSTC`, and an unpacked rustc finds its libraries only when told where they are.
fn wrapper(root: &Path, program: &Path, libraries: &Path) -> Result<PathBuf, String> {
    let path = root.join(WRAPPER);
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH='{}'\"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\" exec '{}' \"$@\"\n",
        libraries.display(),
        program.display()
    );
    // Written once: cargo builds everything anew when the compiler's file is newer.
    if fs::read_to_string(&path).is_ok_and(|text| text == script) {
        return Ok(path);
    }
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let whole = root.join(format!("{WRAPPER}.{}", std::process::id()));
    fs::write(&whole, script).map_err(failed)?;
    super::cuda::make_executable(&whole).map_err(failed)?;
    fs::rename(&whole, &path).map_err(failed)?;
    Ok(path)
}
