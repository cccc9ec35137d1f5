//! Compiles a device crate from the command line: `compile CRATE OUT [ARCH…]`.

use falchion_build::{Arch, Progress, PtxBuilder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [crate_dir, out_dir, archs @ ..] = arguments.as_slice() else {
        return Err("usage: compile CRATE OUT [sm_75|sm_80|sm_89|sm_90a]…".into());
    };
    let mut builder = PtxBuilder::new(crate_dir).out_dir(out_dir).progress(|progress| match progress {
        Progress::Toolchain(text) | Progress::Cargo(text) => eprintln!("{text}"),
        Progress::Kernel { name, arch, finished, total, seconds, reused } => {
            let how = if reused { "kept" } else { "built" };
            eprintln!("{finished}/{total} {name} ({arch}) {how} in {seconds:.2} s");
        }
        other => eprintln!("{other:?}"),
    });
    for arch in archs {
        builder = builder.cubin(arch.parse::<Arch>()?);
    }
    let artifacts = match builder.build() {
        Ok(artifacts) => artifacts,
        // `main` would print the error's fields; its text is for people.
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    for kernel in &artifacts.kernels {
        println!("{} {} {:.2} s", kernel.name, kernel.ptx.display(), kernel.seconds);
        for cubin in &kernel.cubins {
            println!(
                "  {}: {} registers, {} bytes shared, {} stack",
                cubin.arch, cubin.registers, cubin.static_shared, cubin.stack
            );
        }
        for finding in &kernel.allowed {
            println!("  allowed: {finding}");
        }
    }
    Ok(())
}
