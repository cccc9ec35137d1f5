//! Whether the kernels of the last build are still right, without asking cargo and LLVM.

use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// What a build depends on: sources, manifests, tools, and this program, which holds the compile route.
pub struct Freshness {
    started: SystemTime,
    /// Tools and architectures.
    options: String,
    /// Lists the sources; cargo writes it beside the library.
    dependencies: PathBuf,
    manifests: [PathBuf; 4],
    stamp: PathBuf,
}

impl Freshness {
    pub fn new(workspace: &Workspace, work: &Path, options: String) -> Self {
        let manifest = |folder: &str| workspace.root.join(folder).join("Cargo.toml");
        Self {
            started: SystemTime::now(),
            options,
            dependencies: work.join("nvptx64-nvidia-cuda/release/libfalchion_stock.d"),
            manifests: [
                workspace.root.join("Cargo.lock"),
                manifest(""),
                manifest("gpu-kernels"),
                manifest("gpu-kernels/stock"),
            ],
            stamp: work.join("fresh"),
        }
    }

    /// Whether everything is as it was at [`record`](Self::record).
    pub fn holds(&self) -> bool {
        let recorded = fs::read_to_string(&self.stamp).ok();
        recorded.is_some() && recorded == self.fingerprint()
    }

    /// Notes that the kernels are those of the present sources. A source that changed since the build began may not be in
    /// them, so nothing is noted then.
    pub fn record(&self) -> Result<()> {
        let unchanged = |path: &PathBuf| {
            let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
            modified.is_ok_and(|modified| modified < self.started)
        };
        let fingerprint = self.fingerprint().filter(|_| self.inputs().iter().flatten().all(unchanged));
        fs::write(&self.stamp, fingerprint.unwrap_or_default())
            .with_context(|| format!("cannot write {}", self.stamp.display()))
    }

    /// `None` where something cannot be read: before the first build, say.
    fn fingerprint(&self) -> Option<String> {
        let mut hash = DefaultHasher::new();
        self.options.hash(&mut hash);
        let program = fs::metadata(std::env::current_exe().ok()?).ok()?;
        (program.len(), program.modified().ok()?).hash(&mut hash);
        for path in self.inputs()? {
            fs::read(&path).ok()?.hash(&mut hash);
            path.hash(&mut hash);
        }
        Some(format!("{:016x}", hash.finish()))
    }

    fn inputs(&self) -> Option<Vec<PathBuf>> {
        let mut inputs = sources(&fs::read_to_string(&self.dependencies).ok()?);
        inputs.extend(self.manifests.clone());
        Some(inputs)
    }
}

/// The files behind the colon, separated by spaces unless escaped, as in make.
fn sources(dependencies: &str) -> Vec<PathBuf> {
    let lists =
        dependencies.lines().filter_map(|line| line.split_once(": ")).map(|(_, list)| list.replace("\\ ", "\0"));
    let files = lists.flat_map(|list| list.split(' ').map(|file| file.replace('\0', " ")).collect::<Vec<_>>());
    files.filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_record_holds_until_an_input_changes() {
        let root = std::env::temp_dir().join(format!("falchion-fresh-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let file = |name: &str, text: &str| {
            let path = root.join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let source = file("a b.rs", "1");
        let listed = source.display().to_string().replace(' ', "\\ ");
        let mut freshness = Freshness {
            started: SystemTime::now() + Duration::from_secs(5),
            options: "rustc".to_owned(),
            dependencies: file("lib.d", &format!("lib.rlib: {listed}\n")),
            manifests: ["lock", "root", "parts", "stock"].map(|name| file(name, name)),
            stamp: root.join("fresh"),
        };
        assert!(!freshness.holds());
        freshness.record().unwrap();
        assert!(freshness.holds());
        freshness.options = "another rustc".to_owned();
        assert!(!freshness.holds());
        freshness.options = "rustc".to_owned();
        fs::write(&source, "2").unwrap();
        assert!(!freshness.holds());
        freshness.started = SystemTime::UNIX_EPOCH;
        freshness.record().unwrap();
        assert!(!freshness.holds(), "the source may have changed during the build");
        fs::remove_dir_all(&root).unwrap();
    }
}
