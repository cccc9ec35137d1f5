//! `build`: the stock kernels, compiled into the folder that the host crate embeds.

mod freshness;

use crate::{progress, workspace::Workspace};
use anyhow::{Context, Result};
use falchion_build::{Arch, Artifacts, Manifest, PtxBuilder, Toolchain};
use freshness::Freshness;
use std::{collections::BTreeSet, ffi::OsString, fs, path::Path, time::Instant};
use xtask::table::Table;

/// What cubins are made for unless told otherwise. Every other GPU from sm_80 on compiles the PTX when it first loads a
/// kernel; a cubin for it would cost every build 0.2 s a kernel.
const DEFAULT_CUBINS: [Arch; 1] = [Arch::Sm90a];

#[derive(clap::Args)]
pub struct Arguments {
    /// Architectures to assemble for [default: sm_90a]
    #[arg(long, value_name = "ARCH", num_args = 1..)]
    arch: Vec<Arch>,
    /// Lists only kernels with this in their names; all are built
    #[arg(long, value_name = "SUBSTR")]
    filter: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let toolchain = super::setup::install()?;
    let cubins = if arguments.arch.is_empty() { &DEFAULT_CUBINS[..] } else { &arguments.arch };
    let started = Instant::now();
    let artifacts = build(&Workspace::read()?, toolchain, cubins)?;
    print!("{}", listing(&artifacts, arguments.filter.as_deref().unwrap_or_default()));
    println!(
        "{} kernels in {:.1} s: {}",
        artifacts.kernels.len(),
        started.elapsed().as_secs_f64(),
        artifacts.out_dir.display()
    );
    Ok(())
}

/// Installs the tools and builds the kernels with what other commands need.
pub fn ensure(workspace: &Workspace) -> Result<Artifacts> {
    build(workspace, super::setup::install()?, &DEFAULT_CUBINS)
}

fn build(workspace: &Workspace, toolchain: Toolchain, cubins: &[Arch]) -> Result<Artifacts> {
    let work = workspace.target.join("kernels");
    let folder = workspace.kernels();
    let freshness = Freshness::new(workspace, &work, format!("{toolchain} {cubins:?}"));
    if freshness.holds() && is_mirrored(&work.join("out"), &folder) {
        return Ok(Manifest::read(&folder)?.into_artifacts(&folder));
    }
    let builder = PtxBuilder::new(workspace.root.join("gpu-kernels/stock"))
        .out_dir(work.join("out"))
        .target_dir(&work)
        .toolchain(toolchain)
        .progress(progress::reporter());
    let built = cubins.iter().fold(builder, |builder, arch| builder.cubin(*arch)).build()?;
    mirror(&built.out_dir, &folder)?;
    freshness.record()?;
    Ok(Manifest::read(&folder)?.into_artifacts(&folder))
}

/// Whether `to` holds what `from` does, as far as manifests and file names tell: builds with other target folders share it.
fn is_mirrored(from: &Path, to: &Path) -> bool {
    let manifest = |folder: &Path| fs::read(folder.join(Manifest::FILE_NAME)).ok();
    let names = |folder| file_names(folder).ok();
    manifest(from).is_some() && manifest(from) == manifest(to) && names(from) == names(to)
}

/// Makes the files of `to` those of `from`. A file that is the same already is not touched: cargo goes by modification
/// times, and the host crate would be built again.
fn mirror(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    let names = file_names(from)?;
    for name in &names {
        let (source, target) = (from.join(name), to.join(name));
        let bytes = fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        if !fs::read(&target).is_ok_and(|present| present == bytes) {
            fs::write(&target, bytes).with_context(|| format!("cannot write {}", target.display()))?;
        }
    }
    for stale in file_names(to)?.difference(&names) {
        let stale = to.join(stale);
        fs::remove_file(&stale).with_context(|| format!("cannot remove {}", stale.display()))?;
    }
    Ok(())
}

fn file_names(folder: &Path) -> Result<BTreeSet<OsString>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let files = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    Ok(files.map(|entry| entry.file_name()).collect())
}

fn listing(artifacts: &Artifacts, filter: &str) -> Table {
    let mut table = Table::new(["kernel", "cubin", "registers", "shared bytes", "spill bytes", "seconds", "notes"]);
    for kernel in artifacts.kernels.iter().filter(|kernel| kernel.name.contains(filter)) {
        let dynamic = falchion_build::Description::from_words(&kernel.description).map_or(0, |it| it.shared_bytes);
        let seconds = format!("{:.2}", kernel.seconds);
        let allowed = kernel.allowed.iter().map(ToString::to_string);
        if kernel.cubins.is_empty() {
            let notes = allowed.collect::<Vec<_>>().join("; ");
            let unknown = || "-".to_owned();
            table.row([kernel.name.clone(), unknown(), unknown(), dynamic.to_string(), unknown(), seconds, notes]);
            continue;
        }
        let allowed: Vec<String> = allowed.collect();
        for cubin in &kernel.cubins {
            table.row([
                kernel.name.clone(),
                cubin.arch.to_string(),
                cubin.registers.to_string(),
                (cubin.static_shared + dynamic).to_string(),
                (cubin.spill_stores + cubin.spill_loads).to_string(),
                seconds.clone(),
                cubin.notes.iter().chain(&allowed).cloned().collect::<Vec<_>>().join("; "),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn mirroring_touches_only_what_differs() {
        let root = std::env::temp_dir().join(format!("falchion-mirror-{}", std::process::id()));
        let (from, to) = (root.join("from"), root.join("to"));
        for (folder, file, text) in [(&from, "same", "1"), (&from, "new", "2"), (&to, "same", "1"), (&to, "stale", "3")]
        {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
        }
        let past = SystemTime::now() - Duration::from_secs(3600);
        fs::File::options().write(true).open(to.join("same")).unwrap().set_modified(past).unwrap();
        assert!(!is_mirrored(&from, &to), "there is no manifest");
        fs::write(from.join(Manifest::FILE_NAME), "{}").unwrap();
        assert!(!is_mirrored(&from, &to));
        mirror(&from, &to).unwrap();
        assert!(is_mirrored(&from, &to));
        assert_eq!(file_names(&to).unwrap(), file_names(&from).unwrap());
        assert_eq!(fs::metadata(to.join("same")).unwrap().modified().unwrap(), past);
        fs::remove_dir_all(&root).unwrap();
    }
}
