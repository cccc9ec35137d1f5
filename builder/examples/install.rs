//! Installs the tools that this machine lacks into the cache folder, and prints what a build would use.

use falchion_build::{Progress, Toolchain};

fn main() {
    let installed = Toolchain::install(|progress| {
        if let Progress::Installing(command) = progress {
            eprintln!("{command}");
        }
    });
    match installed {
        Ok(toolchain) => println!("{toolchain}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
