//! `bundle`: one folder for GPU machines that have nothing but a driver.

use super::build;
use crate::{cargo, cuda_stub, workspace::Workspace};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{
    fs,
    path::{Path, PathBuf},
};
use xtask::table::Table;

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder to make; an earlier bundle there is replaced [default: bundle in the workspace]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Packages whose tests are carried along.
const TESTED: [&str; 2] = ["falchion", "falchion-tests"];

/// What may be carried to another machine at once.
const LARGEST: u64 = 64 << 20;

/// Optimised, and small: symbols stay, so that a panic names functions.
const PROFILE: [&str; 4] = [
    "profile.bundle.inherits=\"release\"",
    "profile.bundle.debug=false",
    "profile.bundle.strip=\"debuginfo\"",
    "profile.bundle.incremental=false",
];

pub fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::read()?;
    build::ensure(&workspace)?;
    let stub = cuda_stub::ensure()?;
    let features = workspace.members_with("cuda");
    let runner = executables(&stub, &["build", "--package", "xtask", "--bin", "falchion"], &["xtask/cuda".to_owned()])?;
    let tested =
        features.into_iter().filter(|feature| TESTED.iter().any(|name| feature.starts_with(&format!("{name}/"))));
    let packages = TESTED.iter().flat_map(|name| ["--package", *name]);
    let words: Vec<&str> = ["test", "--no-run"].into_iter().chain(packages).collect();
    let tests = executables(&stub, &words, &tested.collect::<Vec<_>>())?;
    let tests: Vec<_> = tests.iter().filter(|artifact| artifact.profile.test).collect();
    let runner =
        runner.iter().find(|artifact| artifact.target.name == "falchion").context("cargo built no `falchion`")?;
    if tests.is_empty() {
        bail!("cargo built no tests of {}", TESTED.join(" and "));
    }
    let folder = arguments.out.clone().unwrap_or_else(|| workspace.root.join("bundle"));
    clear(&folder)?;
    let mut table = Table::new(["file", "MiB"]);
    let mut total = 0;
    let mut add = |from: &Path, name: String| -> Result<()> {
        let to = folder.join(&name);
        let bytes =
            fs::copy(from, &to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
        total += bytes;
        table.row([name, mebibytes(bytes)]);
        Ok(())
    };
    add(runner.program()?, "falchion".to_owned())?;
    for test in tests {
        add(test.program()?, format!("tests/{}-{}", test.package(), test.target.name))?;
    }
    print!("{table}");
    println!("{} MiB in {}; there, run `./falchion --help`", mebibytes(total), folder.display());
    if total > LARGEST {
        bail!("the bundle has {} MiB, at most {} are allowed: carry fewer tests", mebibytes(total), LARGEST >> 20);
    }
    Ok(())
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// Empties the folder, unless it holds something else than an earlier bundle.
fn clear(folder: &Path) -> Result<()> {
    let empty = || fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    if folder.exists() {
        if !folder.join("falchion").is_file() && !empty() {
            bail!("{} exists and is no bundle: remove it, or name another folder with --out", folder.display());
        }
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let tests = folder.join("tests");
    fs::create_dir_all(&tests).with_context(|| format!("cannot create {}", tests.display()))
}

/// A line of cargo's JSON about something that it built.
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl Artifact {
    fn program(&self) -> Result<&Path> {
        self.executable.as_deref().with_context(|| format!("cargo named no file of `{}`", self.target.name))
    }

    /// The folder of its package, which tells targets of one name apart.
    fn package(&self) -> String {
        let folder = self.manifest_path.parent().and_then(Path::file_name);
        folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Builds, and returns the programs that came out.
fn executables(stub: &Path, words: &[&str], features: &[String]) -> Result<Vec<Artifact>> {
    let mut command = cargo::command();
    for setting in PROFILE {
        command.arg("--config").arg(setting);
    }
    command.args(words).args(["--profile", "bundle", "--message-format=json-render-diagnostics"]);
    if !features.is_empty() {
        command.arg("--features").arg(features.join(","));
    }
    cargo::link_cuda(&mut command, stub);
    let text = cargo::output_of_noisy(&mut command)?;
    let artifacts = text.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    Ok(artifacts.filter(|artifact| artifact.executable.is_some()).collect())
}
