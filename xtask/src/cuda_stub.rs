//! A stand-in for the CUDA driver library at link time, for machines that have no driver.
//!
//! `cust` links `libcuda.so`. The stub defines the symbols that `cust`'s bindings declare and has the driver's soname, so
//! that what is linked against it loads the real driver on a machine that has one. It is never loaded itself: its file name
//! is not its soname.

use crate::{cargo, workspace::Workspace};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The name that programs ask the loader for.
pub const SONAME: &str = "libcuda.so.1";

/// `CUDA_ERROR_STUB_LIBRARY`.
const STUB_ERROR: u32 = 34;

/// The folder with `lib64/libcuda.so`, as `CUDA_LIBRARY_PATH` wants it. Makes the stub where it is missing or lacks symbols.
pub fn ensure() -> Result<PathBuf> {
    let folder = cache_folder().join("cuda-stub");
    let library = folder.join("lib64/libcuda.so");
    let source = folder.join("libcuda.c");
    let code = source_of(&declared_symbols()?);
    if library.is_file() && fs::read_to_string(&source).is_ok_and(|present| present == code) {
        return Ok(folder);
    }
    let lib64 = folder.join("lib64");
    fs::create_dir_all(&lib64).with_context(|| format!("cannot create {}", lib64.display()))?;
    // The source is written last, so that its presence vouches for the library.
    let draft = folder.join(format!("libcuda.{}.c", std::process::id()));
    fs::write(&draft, &code).with_context(|| format!("cannot write {}", draft.display()))?;
    compile(&draft, &library)?;
    fs::rename(&draft, &source).with_context(|| format!("cannot write {}", source.display()))?;
    Ok(folder)
}

fn compile(source: &Path, library: &Path) -> Result<()> {
    let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.args(["-shared", "-fPIC", "-nostdlib", &format!("-Wl,-soname,{SONAME}"), "-o"]).arg(library).arg(source);
    if command.get_program() == "cc" && Command::new("cc").arg("--version").output().is_err() {
        bail!(
            "no C compiler `cc` to make the stub {} with: run `apt-get install gcc libc6-dev` (as root), \
             or set CC to a C compiler, or CUDA_LIBRARY_PATH to a folder with lib64/libcuda.so",
            library.display()
        );
    }
    cargo::output(&mut command).map(drop)
}

/// The functions that `cust_raw` declares.
fn declared_symbols() -> Result<BTreeSet<String>> {
    let dependencies = Workspace::read_with_dependencies()?;
    let source = dependencies.folder_of("cust_raw")?.join("src");
    let mut symbols = BTreeSet::new();
    for entry in fs::read_dir(&source).with_context(|| format!("cannot read {}", source.display()))?.flatten() {
        let text =
            fs::read_to_string(entry.path()).with_context(|| format!("cannot read {}", entry.path().display()))?;
        symbols.extend(functions(&text));
    }
    if symbols.is_empty() {
        bail!("{} declares no driver function: expected lines `pub fn cu…(`", source.display());
    }
    Ok(symbols)
}

fn functions(text: &str) -> impl Iterator<Item = String> {
    let names = text.lines().filter_map(|line| line.trim_start().strip_prefix("pub fn ")?.split('(').next());
    names.filter(|name| name.starts_with("cu")).map(str::to_owned)
}

fn source_of(symbols: &BTreeSet<String>) -> String {
    let mut code =
        String::from("/* Symbols of the CUDA driver to link against; calling one reports a stub library. */\n");
    for symbol in symbols {
        code += &format!("int {symbol}(void) {{ return {STUB_ERROR}; }}\n");
    }
    code
}

/// Whether programs that link the driver library start on this machine.
pub fn driver_is_installed() -> bool {
    // SAFETY: the driver's library has no requirements on being loaded.
    unsafe { libloading::Library::new(SONAME) }.is_ok()
}

/// The folder that `falchion-build` unpacks tools to.
fn cache_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("FALCHION_CACHE").unwrap_or_else(|| {
        let home = || variable("HOME").unwrap_or_else(std::env::temp_dir).join(".cache");
        variable("XDG_CACHE_HOME").unwrap_or_else(home).join("falchion")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_functions_are_found_and_defined() {
        let text = "unsafe extern \"C\" {\n    pub fn cuInit(flags: u32) -> CUresult;\n    pub fn cuMemAlloc_v2(\n";
        let symbols: BTreeSet<String> = functions(text).collect();
        assert_eq!(symbols, ["cuInit", "cuMemAlloc_v2"].map(str::to_owned).into());
        assert!(source_of(&symbols).contains("int cuInit(void) { return 34; }"));
    }
}
