//! `cargo xtask`: the one door to Falchion. `cargo xtask --help` lists everything.

mod cargo;
mod commands;
mod cuda_stub;
mod progress;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use xtask::arguments::{BenchCommand, DemoArguments, GemmArguments};

/// Setup, build, test, demo, gemm, bench, bundle, ci. Each command does first what it needs: `demo` alone is enough.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find the tools that compile kernels, install what is missing into a cache folder, and list them
    Setup(commands::setup::Arguments),
    /// Compile the stock kernels to PTX and cubins, and list them
    Build(commands::build::Arguments),
    /// Build the kernels and run every test, doc tests included
    Test(commands::test::Arguments),
    /// Multiply matrices of every element type and check each product against the CPU reference
    Demo(DemoArguments),
    /// Multiply matrices from NumPy files: D ← α A B + β C
    Gemm(GemmArguments),
    /// Measure kernels on a GPU beside cuBLASLt, or the simulator's own speed
    Bench {
        #[command(subcommand)]
        what: BenchCommand,
    },
    /// Make a folder that runs test, demo, gemm and bench on a GPU machine with neither Rust nor registries
    Bundle(commands::bundle::Arguments),
    /// Exactly what continuous integration runs: fmt, setup, build, clippy, doc, test
    Ci,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Setup(arguments) => commands::setup::run(&arguments),
        Command::Build(arguments) => commands::build::run(&arguments),
        Command::Test(arguments) => commands::test::run(&arguments),
        Command::Demo(_) | Command::Gemm(_) | Command::Bench { .. } => commands::runner::run(),
        Command::Bundle(arguments) => commands::bundle::run(&arguments),
        Command::Ci => commands::ci::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", xtask::failure::describe(&error));
            ExitCode::FAILURE
        }
    }
}
