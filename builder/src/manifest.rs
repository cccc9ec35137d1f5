//! What a build made, and the file that says so.

use crate::{Arch, Error, LintError, error::At};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A kernel assembled for one architecture, with what `ptxas -v` said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cubin {
    /// What it runs on.
    pub arch: Arch,
    /// The file.
    pub path: PathBuf,
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory, in bytes.
    pub static_shared: u32,
    /// Bytes written to spill registers.
    pub spill_stores: u32,
    /// Bytes read back.
    pub spill_loads: u32,
    /// Stack frame, in bytes a thread.
    pub stack: u32,
    /// Warnings and performance notes, one line each.
    pub notes: Vec<String>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelArtifact {
    /// The entry point.
    pub name: String,
    /// What its PTX targets.
    pub arch: Arch,
    /// The PTX file.
    pub ptx: PathBuf,
    /// One cubin for every requested architecture that can run it.
    pub cubins: Vec<Cubin>,
    /// The words of its description; empty where the crate describes it not. See [`crate::Description`].
    pub description: Vec<u32>,
    /// Lints that fired and that the build allows.
    pub allowed: Vec<LintError>,
    /// Wall-clock seconds from bitcode to cubins, when it was last compiled.
    pub seconds: f64,
    /// Hash of all that went in: bitcode, options, tools. The same hash means the same files.
    pub fingerprint: String,
}

impl KernelArtifact {
    fn map_paths(mut self, map: impl Fn(&Path) -> PathBuf) -> Self {
        self.ptx = map(&self.ptx);
        for cubin in &mut self.cubins {
            cubin.path = map(&cubin.path);
        }
        self
    }

    /// Writes what is known of the kernel beside its files in a work folder, for the next build.
    pub(crate) fn record(&self, work: &Path) -> Result<(), Error> {
        write_json(&work.join(format!("{}.json", self.name)), self)
    }

    /// What an earlier build recorded of a kernel. A record that cannot be read is none: the kernel is compiled again.
    pub(crate) fn recorded(work: &Path, name: &str) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(work.join(format!("{name}.json"))).ok()?).ok()
    }

    /// Copies the kernel's files from the work folder, except those that are there already: cargo goes by modification times.
    pub(crate) fn publish(&self, work: &Path, out_dir: &Path) -> Result<(), Error> {
        for file in self.files() {
            let (from, to) = (work.join(file), out_dir.join(file));
            let bytes = fs::read(&from).at("read", &from)?;
            if !fs::read(&to).is_ok_and(|present| present == bytes) {
                fs::write(&to, bytes).at("write", &to)?;
            }
        }
        Ok(())
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.ptx.as_path()).chain(self.cubins.iter().map(|cubin| cubin.path.as_path()))
    }
}

/// `manifest.json`: what an output folder holds. File names in it are relative to the folder, so that it can be moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The tools that made the files, in one line.
    pub toolchain: String,
    /// The kernels, in alphabetical order.
    pub kernels: Vec<KernelArtifact>,
}

impl Manifest {
    /// The manifest's name in an output folder.
    pub const FILE_NAME: &'static str = "manifest.json";

    /// Reads the manifest of an output folder.
    ///
    /// # Errors
    /// [`Error::Io`] where there is none, [`Error::Manifest`] where it is not one.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let path = folder.as_ref().join(Self::FILE_NAME);
        let text = fs::read_to_string(&path).at("read", &path)?;
        serde_json::from_str(&text).map_err(|source| Error::Manifest { path, source })
    }

    /// Writes the manifest into an output folder, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder cannot be written.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        let path = folder.as_ref().join(Self::FILE_NAME);
        write_json(&path, self)
    }

    /// The kernels with the paths of their files under `folder`.
    #[must_use]
    pub fn into_artifacts(self, folder: impl AsRef<Path>) -> Artifacts {
        let folder = folder.as_ref();
        let kernels = self.kernels.into_iter().map(|kernel| kernel.map_paths(|path| folder.join(path))).collect();
        Artifacts { out_dir: folder.to_owned(), toolchain: self.toolchain, kernels }
    }
}

/// What a build made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Artifacts {
    /// The folder with the files and their [`Manifest`].
    pub out_dir: PathBuf,
    /// The tools that made the files, in one line.
    pub toolchain: String,
    /// The kernels, in alphabetical order.
    pub kernels: Vec<KernelArtifact>,
}

/// Writes a file whole or not at all.
fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let text =
        serde_json::to_string_pretty(value).map_err(|source| Error::Manifest { path: path.to_owned(), source })?;
    let whole = path.with_extension("json.new");
    fs::write(&whole, text + "\n").at("write", &whole)?;
    fs::rename(&whole, path).at("write", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            toolchain: "rustc 1.96.0".into(),
            kernels: vec![KernelArtifact {
                name: "k".into(),
                arch: Arch::Sm80,
                ptx: "k.ptx".into(),
                cubins: vec![Cubin {
                    arch: Arch::Sm90a,
                    path: "k.sm_90a.cubin".into(),
                    registers: 32,
                    static_shared: 1024,
                    spill_stores: 0,
                    spill_loads: 0,
                    stack: 0,
                    notes: vec!["a note".into()],
                }],
                description: vec![1, 0xFFFF_FFFF],
                allowed: vec![],
                seconds: 0.25,
                fingerprint: "f00".into(),
            }],
        }
    }

    #[test]
    fn a_manifest_reads_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        manifest().write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest());
    }

    #[test]
    fn artifacts_have_paths_in_the_folder() {
        let artifacts = manifest().into_artifacts("/out");
        assert_eq!(artifacts.kernels[0].ptx, Path::new("/out/k.ptx"));
        assert_eq!(artifacts.kernels[0].cubins[0].path, Path::new("/out/k.sm_90a.cubin"));
    }

    #[test]
    fn a_missing_or_broken_manifest_is_a_typed_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Manifest::read(folder.path()), Err(Error::Io { .. })));
        fs::write(folder.path().join(Manifest::FILE_NAME), "{").unwrap();
        assert!(matches!(Manifest::read(folder.path()), Err(Error::Manifest { .. })));
    }
}
