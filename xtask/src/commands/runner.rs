//! `demo`, `gemm` and `bench`: builds the kernels, then the program that embeds them, and hands over to it.

use crate::{cargo, cuda_stub, workspace::Workspace};
use anyhow::Result;

/// Runs `falchion` with our own arguments, which are parsed already.
pub fn run() -> Result<()> {
    let workspace = Workspace::read()?;
    super::build::ensure(&workspace)?;
    let mut command = cargo::command();
    command.args(["run", "--release", "--package", "xtask", "--bin", "falchion", "--features"]);
    if cuda_stub::driver_is_installed() {
        command.arg("cuda");
        cargo::link_cuda(&mut command, &cuda_stub::ensure()?);
    } else {
        command.arg("runner");
    }
    cargo::run(command.arg("--").args(std::env::args_os().skip(1)))
}
