//! Embeds the stock kernels: every PTX file and cubin that `kernels/manifest.json` names, deflated.
//!
//! A checkout in which nobody has built the kernels has no such folder. The crate then embeds an
//! empty list, which `falchion` reports as a typed error when a stock kernel is asked for.

use serde::Deserialize;
use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// The part of the manifest that is embedded; the rest is for people.
#[derive(Deserialize)]
struct Manifest {
    kernels: Vec<Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    name: String,
    arch: String,
    ptx: PathBuf,
    cubins: Vec<Cubin>,
    description: Vec<u32>,
}

#[derive(Deserialize)]
struct Cubin {
    arch: String,
    path: PathBuf,
    registers: u32,
}

/// Text and machine code repeat themselves; beyond this level the size gains under one percent.
const COMPRESSION_LEVEL: u8 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("kernels");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let manifest = folder.join("manifest.json");
    // A missing file counts as changed on every build, so the folder is watched through its parent when absent.
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", if manifest.exists() { "kernels" } else { "." });
    let mut code = String::from("pub(super) static KERNELS: &[StockKernel] = &[\n");
    if manifest.exists() {
        let text = fs::read_to_string(&manifest)?;
        let manifest: Manifest =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", manifest.display()))?;
        for kernel in &manifest.kernels {
            embed(&folder, &out, kernel, &mut code)?;
        }
    }
    code.push_str("];\n");
    fs::write(out.join("stock.rs"), code)?;
    Ok(())
}

/// Appends the initialiser of one kernel to `code`.
fn embed(folder: &Path, out: &Path, kernel: &Kernel, code: &mut String) -> Result<(), Box<dyn Error>> {
    let ptx = deflate(folder, &kernel.ptx, out)?;
    writeln!(
        code,
        "StockKernel {{ name: {:?}, arch: {:?}, description: &{:?}, ptx: {ptx}, cubins: &[",
        kernel.name, kernel.arch, kernel.description
    )?;
    for cubin in &kernel.cubins {
        let image = deflate(folder, &cubin.path, out)?;
        writeln!(code, "StockCubin {{ arch: {:?}, registers: {}, image: {image} }},", cubin.arch, cubin.registers)?;
    }
    code.push_str("] },\n");
    Ok(())
}

/// Writes the deflated file into `out` and returns the initialiser that includes it.
fn deflate(folder: &Path, name: &Path, out: &Path) -> Result<String, Box<dyn Error>> {
    let path = folder.join(name);
    let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file_name = format!("{}.deflate", name.file_name().ok_or("a manifest path names no file")?.to_string_lossy());
    fs::write(out.join(&file_name), miniz_oxide::deflate::compress_to_vec(&bytes, COMPRESSION_LEVEL))?;
    Ok(format!(
        "Deflated {{ bytes: include_bytes!(concat!(env!(\"OUT_DIR\"), {:?})), length: {} }}",
        format!("/{file_name}"),
        bytes.len()
    ))
}
