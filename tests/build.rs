//! Compiles the kernels that only tests run, as a downstream crate would compile its own.

use falchion_build::{Arch, PtxBuilder};
use std::{env, error::Error, fmt::Write, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let artifacts =
        PtxBuilder::new("kernels").cubin(Arch::Sm90a).out_dir(out.join("kernels")).rerun_if_changed().build()?;
    let mut table = String::from("&[\n");
    for kernel in &artifacts.kernels {
        let cubin = kernel.cubins.first().ok_or("ptxas made no cubin")?;
        writeln!(
            table,
            "    TestKernel {{ name: {:?}, ptx: include_str!({:?}), cubin: include_bytes!({:?}), description: &{:?} }},",
            kernel.name, kernel.ptx, cubin.path, kernel.description
        )?;
    }
    table.push(']');
    fs::write(out.join("test_kernels.rs"), table)?;
    Ok(())
}
