//! The compiler of a rustup toolchain.

use super::{Origin, Toolchain, caller_cargo, probe};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Looks for the pinned toolchain in rustup's home. rustup itself is not run: it would install what is missing unasked.
pub(super) fn locate(_cache: &Path) -> Result<Toolchain, String> {
    let home = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")));
    let toolchains = home.ok_or("neither RUSTUP_HOME nor HOME is set")?.join("toolchains");
    let prefix = format!("{}-", Toolchain::RUSTUP_TOOLCHAIN);
    let host = fs::read_dir(&toolchains)
        .map_err(|error| format!("cannot read {}: {error}", toolchains.display()))?
        .flatten()
        .find_map(|entry| entry.file_name().to_str()?.strip_prefix(&prefix).map(str::to_owned))
        .ok_or_else(|| format!("no toolchain {} in {}", Toolchain::RUSTUP_TOOLCHAIN, toolchains.display()))?;
    let root = toolchains.join(format!("{prefix}{host}"));
    let rustc = root.join("bin/rustc");
    let found = probe::rustc(&rustc)?;
    let llvm_folder = found.sysroot.join("lib/rustlib").join(host).join("bin");
    let llvm_release = probe::llvm(&llvm_folder, None, &found)?;
    let cargo = root.join("bin/cargo");
    Ok(Toolchain {
        origin: Origin::Rustup,
        rustc,
        cargo: if cargo.is_file() { cargo } else { caller_cargo() },
        release: found.release,
        llvm_folder,
        llvm_release,
        libraries: None,
        cuda: Err(Vec::new()),
    })
}
