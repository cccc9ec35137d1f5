//! `falchion`: multiplies matrices with the kernels that it embeds. In a bundle it is the one program; in a checkout
//! `cargo xtask` builds and runs it.

#[cfg(feature = "cuda")]
mod bench;
mod bundled;
mod demo;
mod device;
mod gemm;
mod npy;
mod random;
mod simulation;
mod watchdog;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use xtask::arguments::{BenchCommand, DemoArguments, GemmArguments};

/// Matrix kernels composed of Rust traits, on NVIDIA GPUs and on a PTX simulator.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the tests that a bundle carries, each in a process of its own
    Test(bundled::Arguments),
    /// Multiply matrices of every element type and check each product against the CPU reference
    Demo(DemoArguments),
    /// Multiply matrices from NumPy files: D ← α A B + β C
    Gemm(GemmArguments),
    /// Measure kernels on a GPU beside cuBLASLt, or the simulator's own speed
    Bench {
        #[command(subcommand)]
        what: BenchCommand,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Test(arguments) => bundled::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Gemm(arguments) => gemm::run(&arguments),
        Command::Bench { what: BenchCommand::Sim } => simulation::run(),
        #[cfg(feature = "cuda")]
        Command::Bench { what: BenchCommand::Gemm(arguments) } => bench::run(&arguments),
        #[cfg(not(feature = "cuda"))]
        Command::Bench { what: BenchCommand::Gemm(_) } => Err(anyhow::anyhow!(
            "`bench gemm` measures GPUs and this build has none: times on the simulator say nothing about a GPU. \
             Run it where the CUDA driver is installed, or carry a bundle (`cargo xtask bundle`) to such a machine"
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", xtask::failure::describe(&error));
            ExitCode::FAILURE
        }
    }
}
