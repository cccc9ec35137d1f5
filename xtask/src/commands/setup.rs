//! `setup`: the tools that everything else needs.

use crate::{cuda_stub, progress};
use anyhow::Result;
use clap::Args;
use falchion_build::Toolchain;
use std::{path::Path, process::Command};
use xtask::table::Table;

#[derive(Args)]
pub struct Arguments {
    /// Also makes a stand-in for the driver library, to link CUDA programs on a machine without a driver
    #[arg(long)]
    pub cuda_stub: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let toolchain = install()?;
    println!("kernels are compiled with {toolchain}");
    let mut table = Table::new(["tool", "version", "where"]);
    if let Some(cuda) = toolchain.cuda() {
        table.row(["ptxas".into(), cuda.release().into(), shown(cuda.ptxas())]);
        for (name, path) in [("nvdisasm", cuda.nvdisasm()), ("cuobjdump", cuda.cuobjdump())] {
            if let Some(path) = path {
                table.row([name.into(), version(Command::new(&path).arg("--version"), ", V"), shown(&path)]);
            }
        }
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    table.row(["cargo".into(), version(Command::new(&cargo).arg("--version"), "cargo "), shown(Path::new(&cargo))]);
    let nextest = version(Command::new(&cargo).args(["nextest", "--version"]), "cargo-nextest ");
    table.row(["cargo-nextest".into(), nextest, "optional: without it the tests run under `cargo test`".into()]);
    let driver = if cuda_stub::driver_is_installed() { "found" } else { "none" };
    table.row(["cuda driver".into(), driver.into(), "optional: without it kernels run on the simulator".into()]);
    if arguments.cuda_stub {
        let stub = cuda_stub::ensure()?.join("lib64/libcuda.so");
        table.row(["libcuda stub".into(), cuda_stub::SONAME.into(), shown(&stub)]);
    }
    print!("{table}");
    Ok(())
}

/// The compiler and the assembler, installed where they are missing.
pub fn install() -> Result<Toolchain> {
    Ok(Toolchain::install(progress::reporter())?)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The word behind `marker` in what a program says of itself.
fn version(command: &mut Command, marker: &str) -> String {
    let text = command.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let word = text.split(marker).nth(1).and_then(|rest| rest.split_whitespace().next());
    word.unwrap_or("none").to_owned()
}
