//! From the rlibs that cargo built to one textual module.

use crate::{
    Error, Toolchain,
    error::{At, run},
};
use object::read::archive::ArchiveFile;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Links the bitcode of `libraries`, the device crate first, and returns the textual IR.
///
/// Of the crate everything is kept; of its dependencies and `core`, only what those before need.
pub(crate) fn link(toolchain: &Toolchain, libraries: &[PathBuf], work: &Path) -> Result<String, Error> {
    let objects = work.join("objects");
    if objects.exists() {
        fs::remove_dir_all(&objects).at("remove", &objects)?;
    }
    fs::create_dir_all(&objects).at("create", &objects)?;
    let mut command = toolchain.llvm("llvm-link");
    command.arg("--only-needed");
    for library in libraries {
        for object in extract(library, &objects)? {
            command.arg(object);
        }
    }
    let linked = work.join("linked.bc");
    run(command.arg("-o").arg(&linked))?;
    let text = work.join("linked.ll");
    run(toolchain.llvm("llvm-dis").arg(&linked).arg("-o").arg(&text))?;
    fs::read_to_string(&text).at("read", &text)
}

/// Writes the bitcode objects of an rlib into a folder.
fn extract(library: &Path, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let broken = |reason: String| Error::Archive { path: library.to_owned(), reason };
    let bytes = fs::read(library).at("read", library)?;
    let archive = ArchiveFile::parse(bytes.as_slice()).map_err(|error| broken(error.to_string()))?;
    let mut objects = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|error| broken(error.to_string()))?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if !name.ends_with(".o") {
            continue;
        }
        let data = member.data(bytes.as_slice()).map_err(|error| broken(error.to_string()))?;
        if !data.starts_with(b"BC\xC0\xDE") {
            return Err(broken(format!("`{name}` is not LLVM bitcode")));
        }
        let path = folder.join(&name);
        fs::write(&path, data).at("write", &path)?;
        objects.push(path);
    }
    Ok(objects)
}
