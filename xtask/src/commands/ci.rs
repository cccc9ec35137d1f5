//! `ci`: what continuous integration runs, in its order.

use super::test::Summary;
use crate::{cargo, cuda_stub, workspace::Workspace};
use anyhow::{Context, Result};
use std::{cell::RefCell, time::Instant};
use xtask::{arguments::BackendChoice, table::Table};

pub fn run() -> Result<()> {
    let times = RefCell::new(Table::new(["step", "seconds", "verdict"]));
    let result = steps(&times);
    println!();
    print!("{}", times.borrow());
    let summary = result?;
    summary.print();
    summary.verdict()
}

/// Stops at the first step that fails; the last one's verdict is in the summary.
fn steps(times: &RefCell<Table>) -> Result<Summary> {
    let step = |name: &str, action: &dyn Fn() -> Result<()>| {
        println!("\n== {name}");
        let started = Instant::now();
        let result = action();
        let verdict = if result.is_ok() { "passed" } else { "failed" };
        times.borrow_mut().row([
            name.to_owned(),
            format!("{:.1}", started.elapsed().as_secs_f64()),
            verdict.to_owned(),
        ]);
        result.with_context(|| format!("step `{name}`"))
    };
    let workspace = Workspace::read()?;
    let run = |words: &[&str]| cargo::run(cargo::command().args(words));
    step("fmt", &|| run(&["fmt", "--all", "--check"]))?;
    step("setup", &|| super::setup::run(&super::setup::Arguments { cuda_stub: true }))?;
    step("build", &|| super::build::ensure(&workspace).map(drop))?;
    step("clippy", &|| run(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // The code behind features: CUDA, and the program that runs kernels.
    step("clippy, all features", &|| {
        let mut command = cargo::command();
        command.args(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]);
        cargo::link_cuda(&mut command, &cuda_stub::ensure()?);
        cargo::run(&mut command)
    })?;
    step("doc", &|| {
        let mut command = cargo::command();
        cargo::run(command.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    let summary = RefCell::new(None);
    step("test (sim)", &|| {
        let tested = super::test::run_tests(&workspace, BackendChoice::Sim, None)?;
        let verdict = tested.verdict();
        *summary.borrow_mut() = Some(tested);
        verdict
    })
    .or_else(|error| if summary.borrow().is_some() { Ok(()) } else { Err(error) })?;
    summary.into_inner().context("the tests left no summary")
}
