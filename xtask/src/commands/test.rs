//! `test`: kernels, then every test of the workspace on one device.

use crate::{cargo, cuda_stub, workspace::Workspace};
use anyhow::{Result, bail};
use std::process::Command;
use xtask::arguments::BackendChoice;

#[derive(clap::Args)]
pub struct Arguments {
    /// Which device runs the kernels
    #[arg(long, value_enum, default_value_t, env = BackendChoice::VARIABLE)]
    backend: BackendChoice,
    /// Only tests with this in their names
    filter: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::read()?;
    super::build::ensure(&workspace)?;
    let summary = run_tests(&workspace, arguments.backend, arguments.filter.as_deref())?;
    summary.print();
    summary.verdict()
}

/// The lines with which the test runners close, and what failed.
pub struct Summary {
    lines: Vec<String>,
    failed: Vec<&'static str>,
}

impl Summary {
    pub fn print(&self) {
        for line in &self.lines {
            println!("{line}");
        }
    }

    pub fn verdict(&self) -> Result<()> {
        if self.failed.is_empty() {
            return Ok(());
        }
        bail!("{} failed; the output above names each failed test and its reason", self.failed.join(" and "));
    }
}

/// Runs unit, property and doc tests. Kernels are built already.
pub fn run_tests(workspace: &Workspace, backend: BackendChoice, filter: Option<&str>) -> Result<Summary> {
    let driver = cuda_stub::driver_is_installed();
    if backend == BackendChoice::Cuda && !driver {
        bail!(
            "--backend cuda needs the CUDA driver and there is no {}: install it, or run with --backend sim",
            cuda_stub::SONAME
        );
    }
    let mut features = workspace.members_with("runner");
    let mut stub = None;
    // Programs that link the driver library do not start without it.
    if driver && backend != BackendChoice::Sim {
        features.extend(workspace.members_with("cuda"));
        stub = Some(cuda_stub::ensure()?);
    }
    let prepared = |words: &[&str]| {
        let mut command = cargo::command();
        command.args(words).args(["--workspace", "--features", &features.join(",")]);
        command.env(BackendChoice::VARIABLE, backend.to_string()).args(filter);
        if let Some(stub) = &stub {
            cargo::link_cuda(&mut command, stub);
        }
        command
    };
    let mut summary = Summary { lines: Vec::new(), failed: Vec::new() };
    let mut step = |name, command: &mut Command| -> Result<()> {
        let (passed, lines) = cargo::run_and_keep(command, closes_a_run)?;
        summary.lines.extend(lines);
        if !passed {
            summary.failed.push(name);
        }
        Ok(())
    };
    if nextest_is_installed() {
        let limits = format!("xtask:{}", workspace.root.join("xtask/nextest.toml").display());
        step("tests", &mut prepared(&["nextest", "run", "--no-fail-fast", "--tool-config-file", &limits]))?;
    } else {
        // All targets but the documentation, which has its own step.
        step("tests", &mut prepared(&["test", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]))?;
    }
    step("doc tests", &mut prepared(&["test", "--no-fail-fast", "--doc"]))?;
    Ok(summary)
}

fn nextest_is_installed() -> bool {
    let output = cargo::command().args(["nextest", "--version"]).output();
    output.is_ok_and(|output| output.status.success())
}

/// Whether a test runner reports its counts in this line.
fn closes_a_run(line: &str) -> bool {
    // What a failed test wrote is indented, and may hold the like.
    line.starts_with("     Summary [") || (line.starts_with("test result:") && !line.contains(" 0 passed; 0 failed;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_recognised() {
        assert!(closes_a_run("     Summary [   0.012s] 3 tests run: 3 passed, 0 skipped"));
        assert!(closes_a_run("test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"));
        assert!(!closes_a_run("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"));
        assert!(!closes_a_run("    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 48 filtered out"));
        assert!(!closes_a_run("        PASS [   0.005s] xtask::bin/xtask tests::summary"));
    }
}
