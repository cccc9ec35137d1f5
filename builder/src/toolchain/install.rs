//! Fills the cache folder with what a machine lacks, without root and without touching the system.

use super::{Toolchain, cache_folder, cuda, debian};
use crate::{
    Error, Progress,
    error::{At, command_line, run},
    progress::Listener,
};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

/// The packages that make a compiler: rustc, its libraries and `core`'s source. LLVM's follow from what these depend on.
const RUST_PACKAGES: [&str; 3] = ["rustc-web", "libstd-rust-web-dev", "rust-web-src"];

/// NVIDIA's wheels. The assembler is pinned because its register allocation decides what is spilled; the disassemblers are
/// for readers, and any version will do.
const WHEELS: [&str; 3] = ["nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-nvdisasm", "nvidia-cuda-cuobjdump"];

impl Toolchain {
    /// Installs what [`Toolchain::locate`] does not find into the cache folder: the compiler from Debian's packages
    /// (`apt-get download`, `dpkg -x`), the CUDA tools from NVIDIA's wheels (`pip download`). What is there already stays. Two
    /// installations at once wait for each other, and a folder appears whole or not at all.
    ///
    /// # Errors
    /// [`Error::NoCompiler`] where the machine has no apt, else the command that failed with what to run instead.
    pub fn install(progress: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Result<Self, Error> {
        let listener = Listener::new(progress);
        let _lock = lock()?;
        let toolchain = compiler(&listener)?;
        if toolchain.cuda().is_some() {
            return Ok(toolchain);
        }
        whole(&cuda::folder(&cache_folder()), |temporary| install_cuda(temporary, &listener))?;
        Toolchain::locate()
    }

    /// Installs the compiler alone, as [`Toolchain::install`] does: enough for PTX, on a machine without python.
    ///
    /// # Errors
    /// As [`Toolchain::install`].
    pub fn install_compiler(progress: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Result<Self, Error> {
        let _lock = lock()?;
        compiler(&Listener::new(progress))
    }
}

/// Makes installations wait for each other until the file is dropped.
fn lock() -> Result<File, Error> {
    let folder = cache_folder().join("toolchain");
    fs::create_dir_all(&folder).at("create", &folder)?;
    let path = folder.join("install.lock");
    let file = File::create(&path).at("create", &path)?;
    file.lock().at("lock", &path)?;
    Ok(file)
}

fn compiler(listener: &Listener) -> Result<Toolchain, Error> {
    match Toolchain::locate() {
        Err(Error::NoCompiler { looked, remedies }) => {
            if Command::new("apt-get").arg("--version").output().is_err() {
                return Err(Error::NoCompiler { looked, remedies });
            }
            whole(&debian::folder(&cache_folder()), |temporary| install_packages(temporary, listener))?;
            Toolchain::locate()
        }
        other => other,
    }
}

/// Fills a temporary folder and puts it in the place of `target`.
fn whole(target: &Path, fill: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    let temporary = emptied(target.with_extension("new"))?;
    fill(&temporary)?;
    if target.exists() {
        fs::remove_dir_all(target).at("remove", target)?;
    }
    fs::rename(&temporary, target).at("create", target)
}

/// A folder without what an installation that was cut off left in it.
fn emptied(folder: PathBuf) -> Result<PathBuf, Error> {
    if folder.exists() {
        fs::remove_dir_all(&folder).at("remove", &folder)?;
    }
    fs::create_dir_all(&folder).at("create", &folder)?;
    Ok(folder)
}

fn install_packages(target: &Path, listener: &Listener) -> Result<(), Error> {
    let packages = emptied(target.with_extension("packages"))?;
    if let Err(first) = download(&packages, listener) {
        // Package lists that are missing or name versions that are gone are the usual reason; only root can renew them.
        if !is_root() {
            return Err(with_remedy(first));
        }
        step(Command::new("apt-get").arg("update"), listener).map_err(with_remedy)?;
        download(&packages, listener).map_err(with_remedy)?;
    }
    for package in files(&packages, "deb")? {
        step(Command::new("dpkg").arg("-x").arg(&package).arg(target), listener)?;
    }
    fs::remove_dir_all(&packages).at("remove", &packages)
}

/// Downloads rustc, the LLVM that it was built with, and the shared libraries of theirs that the system lacks.
fn download(folder: &Path, listener: &Listener) -> Result<(), Error> {
    let mut packages: BTreeSet<String> = RUST_PACKAGES.map(str::to_owned).into();
    let mut pending: Vec<String> = packages.iter().cloned().collect();
    while let Some(package) = pending.pop() {
        for needed in dependencies(&package)? {
            if let Some(major) = needed.strip_prefix("libllvm").filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
            {
                let tools = format!("llvm-{major}");
                if packages.insert(tools.clone()) {
                    pending.push(tools);
                }
            }
            let ours = needed.starts_with("libstd-rust-web") || needed.starts_with("libllvm");
            if needed.starts_with("lib") && (ours || !is_installed(&needed)) && packages.insert(needed.clone()) {
                pending.push(needed);
            }
        }
    }
    step(Command::new("apt-get").arg("download").args(&packages).current_dir(folder), listener)
}

/// The packages that a package depends on; virtual ones, which apt writes in angle brackets, are left out.
fn dependencies(package: &str) -> Result<Vec<String>, Error> {
    let output = run(Command::new("apt-cache").args(["depends", "--important", package]))?;
    Ok(parse_dependencies(&String::from_utf8_lossy(&output.stdout)))
}

fn parse_dependencies(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| {
        let (kind, name) = line.trim().trim_start_matches('|').split_once(": ")?;
        (matches!(kind, "Depends" | "PreDepends") && !name.starts_with('<')).then(|| name.to_owned())
    });
    names.collect()
}

fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    let output = query.args(["-W", "-f=${db:Status-Status}", package]).output();
    output.is_ok_and(|output| output.status.success() && output.stdout.starts_with(b"installed"))
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn install_cuda(target: &Path, listener: &Listener) -> Result<(), Error> {
    let wheels = emptied(target.with_extension("wheels"))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest"]);
    step(pip.arg(&wheels).args(WHEELS), listener).map_err(|error| {
        let mut remedies = cuda::remedies();
        remedies[0] = "apt-get install python3 python3-pip (as root), and the same command again".to_owned();
        remedied(error, &remedies)
    })?;
    for wheel in files(&wheels, "whl")? {
        step(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(target), listener)?;
    }
    fs::remove_dir_all(&wheels).at("remove", &wheels)
}

fn step(command: &mut Command, listener: &Listener) -> Result<(), Error> {
    listener.tell(Progress::Installing(&command_line(command)));
    run(command.env("LC_ALL", "C")).map(|_| ())
}

fn with_remedy(error: Error) -> Error {
    let mut remedies = super::remedies();
    // What failed is no remedy; with fresh package lists it may be.
    remedies.pop();
    remedies.insert(0, "apt-get update (as root), and the same command again".to_owned());
    remedied(error, &remedies)
}

fn remedied(error: Error, remedies: &[String]) -> Error {
    let remedy = Some(format!("run one of\n  - {}", remedies.join("\n  - ")));
    match error {
        Error::Tool { command, status, stderr, .. } => Error::Tool { command, status, stderr, remedy },
        Error::Start { command, source, .. } => Error::Start { command, source, remedy },
        other => other,
    }
}

/// The files of a kind in a folder, by name.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).at("read", folder)?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_real_packages() {
        let text = "rustc-web\n  PreDepends: libc6\n |Depends: libllvm22\n  Depends: <libstd-rust-1.96>\n    other\n  Conflicts: rustup\n";
        assert_eq!(parse_dependencies(text), ["libc6", "libllvm22"]);
    }

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("tools");
        let failing = whole(&target, |temporary| {
            fs::write(temporary.join("half"), "").unwrap();
            Err(Error::NoLibrary(PathBuf::new()))
        });
        assert!(failing.is_err() && !target.exists());
        whole(&target, |temporary| fs::write(temporary.join("all"), "").at("write", temporary)).unwrap();
        assert!(target.join("all").exists() && !target.join("half").exists());
    }

    #[test]
    fn a_failed_command_says_what_to_run_instead() {
        let failed = run(Command::new("false").arg("download")).unwrap_err();
        let text = with_remedy(failed).to_string();
        assert!(text.contains("`false download` failed") && text.contains("rustup toolchain install 1.96.0"), "{text}");
        assert!(text.contains("apt-get update"), "{text}");
    }
}
