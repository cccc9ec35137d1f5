//! Asks programs for their versions.

use super::llvm_command;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// What rustc says of itself.
pub(super) struct Rustc {
    pub(super) release: String,
    pub(super) llvm_release: String,
    pub(super) sysroot: PathBuf,
}

/// Oldest and newest minor version of rustc 1.x that is accepted. Older ones do not know the options that a build passes.
const RUSTC_MINORS: std::ops::RangeInclusive<u32> = 90..=99;

/// Runs rustc for its version, and checks that it is in the accepted range and has the source of `core`.
pub(super) fn rustc(rustc: &Path) -> Result<Rustc, String> {
    let version = output(Command::new(rustc).arg("-vV"))?;
    let field = |name: &str| {
        version
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
            .map(str::to_owned)
            .ok_or_else(|| format!("{} -vV reports no `{name}`", rustc.display()))
    };
    let (release, llvm_release) = (field("release:")?, field("LLVM version:")?);
    let minor = release.strip_prefix("1.").and_then(|rest| rest.split('.').next()).and_then(|minor| minor.parse().ok());
    if !minor.is_some_and(|minor| RUSTC_MINORS.contains(&minor)) {
        return Err(format!("{} is rustc {release}: expected 1.90 to 1.99", rustc.display()));
    }
    let sysroot = PathBuf::from(output(Command::new(rustc).args(["--print", "sysroot"]))?.trim());
    let core = sysroot.join("lib/rustlib/src/rust/library/core/src/lib.rs");
    if !core.is_file() {
        return Err(format!("the source of core is missing: {}", core.display()));
    }
    Ok(Rustc { release, llvm_release, sysroot })
}

/// Checks that the LLVM tools in `folder` run and are of the major version that rustc has. Returns their version.
pub(super) fn llvm(folder: &Path, libraries: Option<&Path>, rustc: &Rustc) -> Result<String, String> {
    for tool in ["llvm-link", "llvm-dis", "opt", "llc"] {
        if !folder.join(tool).is_file() {
            return Err(format!("{} is missing", folder.join(tool).display()));
        }
    }
    let text = output(llvm_command(folder, libraries, "opt").arg("--version"))?;
    let release = text.split("LLVM version ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let release = release.ok_or_else(|| format!("{} --version reports no version", folder.join("opt").display()))?;
    if major(release) != major(&rustc.llvm_release) {
        return Err(format!(
            "the LLVM tools in {} are {release}: rustc {} has LLVM {}, and bitcode wants the same major version",
            folder.display(),
            rustc.release,
            rustc.llvm_release
        ));
    }
    Ok(release.to_owned())
}

/// The part of a version before its first dot.
pub(super) fn major(release: &str) -> &str {
    release.split('.').next().unwrap_or(release)
}

pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let program = PathBuf::from(command.get_program()).display().to_string();
    let output = command.output().map_err(|error| format!("cannot run {program}: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
        return Err(format!("{program} failed ({}): {reason}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
