//! The builder: its options, and the order of the steps.

use crate::{
    Arch, Artifacts, Description, Error, KernelArtifact, Lint, Manifest, Progress, Toolchain,
    cargo::{self, Request},
    description::{SYMBOL_PREFIX, words_of_definition},
    error::At,
    ir::Module,
    kernel::{Compiled, Job, Kernel},
    link::link,
    progress::Listener,
};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

/// Builds the kernels of a device crate.
#[derive(Debug, Clone)]
#[must_use = "nothing is built before `build`"]
pub struct PtxBuilder {
    crate_dir: PathBuf,
    arch: Arch,
    cubins: Vec<Arch>,
    out_dir: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    features: Vec<String>,
    default_features: bool,
    toolchain: Option<Toolchain>,
    allowed: BTreeSet<(Lint, String)>,
    rerun_if_changed: bool,
    convergent: bool,
    listener: Listener,
}

impl PtxBuilder {
    /// A build of the device crate in `crate_dir`, the folder with its `Cargo.toml`.
    pub fn new(crate_dir: impl Into<PathBuf>) -> Self {
        PtxBuilder {
            crate_dir: crate_dir.into(),
            arch: Arch::Sm80,
            cubins: Vec::new(),
            out_dir: None,
            target_dir: None,
            features: Vec::new(),
            default_features: true,
            toolchain: None,
            allowed: BTreeSet::new(),
            rerun_if_changed: false,
            convergent: true,
            listener: Listener::default(),
        }
    }

    /// What kernels without a description are compiled for; sm_80 unless set.
    pub fn arch(mut self, arch: Arch) -> Self {
        self.arch = arch;
        self
    }

    /// Also assembles every kernel that can run there for `arch`. May be called again for more; without it there is only PTX.
    pub fn cubin(mut self, arch: Arch) -> Self {
        if !self.cubins.contains(&arch) {
            self.cubins.push(arch);
        }
        self
    }

    /// Where the files go. Unless set: `$OUT_DIR` in a build script, else `target/falchion` in the crate's folder.
    pub fn out_dir(mut self, out_dir: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(out_dir.into());
        self
    }

    /// Where cargo builds the crate and `core`, and where intermediate files stay. Unless set: `target` in the output folder.
    /// Builds that share it compile `core` once.
    pub fn target_dir(mut self, target_dir: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(target_dir.into());
        self
    }

    /// Turns a cargo feature of the crate on.
    pub fn feature(mut self, feature: impl Into<String>) -> Self {
        self.features.push(feature.into());
        self
    }

    /// Turns the crate's default features off.
    pub fn no_default_features(mut self) -> Self {
        self.default_features = false;
        self
    }

    /// Uses these tools instead of those that [`Toolchain::locate`] finds.
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Prints `cargo::rerun-if-changed` for every source file of the crate and of the dependencies beside it. For build scripts.
    pub fn rerun_if_changed(mut self) -> Self {
        self.rerun_if_changed = true;
        self
    }

    /// Lets `lint` pass for one kernel. The finding is still in [`crate::KernelArtifact::allowed`].
    pub fn allow(mut self, lint: Lint, kernel: impl Into<String>) -> Self {
        self.allowed.insert((lint, kernel.into()));
        self
    }

    /// Calls back at every step, from several threads.
    pub fn progress(mut self, callback: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        self.listener = Listener::new(callback);
        self
    }

    /// Leaves inline assembly as rustc emits it, to show that the annotation is what keeps barriers single.
    #[cfg(test)]
    pub(crate) fn without_convergence(mut self) -> Self {
        self.convergent = false;
        self
    }

    /// Builds: PTX and cubins in the output folder, and a [`Manifest`] beside them.
    ///
    /// A kernel whose bitcode, options and tools are those of the last build is not compiled again. Files of kernels that the
    /// crate has no longer are removed.
    ///
    /// # Errors
    /// The first of: missing tools, a crate that does not compile, a description that is wrong, a tool that fails; else
    /// [`Error::Lint`] with every refused kernel. The manifest of the last good build stays.
    pub fn build(self) -> Result<Artifacts, Error> {
        let toolchain = match &self.toolchain {
            Some(toolchain) => toolchain.clone(),
            None => Toolchain::locate()?,
        };
        if !self.cubins.is_empty() {
            toolchain.ptxas()?;
        }
        let tools = toolchain.to_string();
        self.listener.tell(Progress::Toolchain(&tools));
        let out_dir = self.out_dir.clone().or_else(|| std::env::var_os("OUT_DIR").map(PathBuf::from));
        let out_dir = out_dir.unwrap_or_else(|| self.crate_dir.join("target/falchion"));
        let out_dir = absolute_folder(&out_dir)?;
        let target_dir = absolute_folder(&self.target_dir.clone().unwrap_or_else(|| out_dir.join("target")))?;
        let _lock = lock(&target_dir)?;
        let libraries = cargo::build(
            &toolchain,
            &Request {
                crate_dir: &self.crate_dir,
                target_dir: &target_dir,
                features: &self.features,
                default_features: self.default_features,
            },
            &self.listener,
        )?;
        if self.rerun_if_changed {
            for source in cargo::sources(&libraries)? {
                println!("cargo::rerun-if-changed={}", source.display());
            }
        }
        let stem = libraries.first().and_then(|path| path.file_stem()).unwrap_or_default();
        let work = absolute_folder(&target_dir.join("falchion").join(stem))?;
        let linked = link(&toolchain, &libraries, &work)?;
        let module = Module::parse(&linked);
        let kernels = self.kernels(&module)?;
        self.listener.tell(Progress::Linked { kernels: kernels.len() });
        let job = Job {
            toolchain: &toolchain,
            module: &module,
            tools: &tools,
            work: &work,
            cubins: &self.cubins,
            allowed: &self.allowed,
            convergent: self.convergent,
        };
        let kernels = self.compile_all(&kernels, &job)?;
        let manifest = Manifest { toolchain: tools.clone(), kernels };
        for kernel in &manifest.kernels {
            kernel.publish(&work, &out_dir)?;
        }
        remove_stale(&out_dir, &manifest)?;
        manifest.write(&out_dir)?;
        Ok(manifest.into_artifacts(&out_dir))
    }

    /// The entry points with their descriptions, each cut out of the module.
    fn kernels<'a>(&self, module: &Module<'a>) -> Result<Vec<Kernel<'a>>, Error> {
        let mut kernels = Vec::new();
        for name in module.kernels() {
            let wrong = |reason| Error::Description { kernel: name.to_owned(), reason };
            let definition = module.symbol_after(SYMBOL_PREFIX, name);
            let (words, description) = match definition {
                Some((_, text)) => {
                    let words = words_of_definition(text).map_err(wrong)?;
                    let description = Description::from_words(&words).map_err(wrong)?;
                    (words, Some(description))
                }
                None => (Vec::new(), None),
            };
            let mut roots = vec![name];
            roots.extend(definition.map(|(symbol, _)| symbol));
            let arch = description.as_ref().map_or(self.arch, |description| description.arch);
            kernels.push(Kernel { name, arch, words, description, roots });
        }
        if let Some((lint, kernel)) =
            self.allowed.iter().find(|(_, name)| !kernels.iter().any(|kernel| kernel.name == name))
        {
            return Err(Error::UnknownKernel { lint: *lint, kernel: kernel.clone() });
        }
        if kernels.is_empty() { Err(Error::NoKernels(self.crate_dir.clone())) } else { Ok(kernels) }
    }

    fn compile_all(&self, kernels: &[Kernel<'_>], job: &Job<'_>) -> Result<Vec<KernelArtifact>, Error> {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(kernels.len());
        let (next, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Vec<Mutex<Option<Result<Compiled, Error>>>> = kernels.iter().map(|_| Mutex::new(None)).collect();
        let work = || {
            while let Some((kernel, slot)) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                kernels.get(index).zip(results.get(index))
            } {
                let started = Instant::now();
                let result = kernel.compile(job);
                self.listener.tell(Progress::Kernel {
                    name: kernel.name,
                    arch: kernel.arch,
                    finished: finished.fetch_add(1, Ordering::Relaxed) + 1,
                    total: kernels.len(),
                    seconds: started.elapsed().as_secs_f64(),
                    reused: result.as_ref().is_ok_and(|compiled| compiled.reused),
                });
                if let Ok(mut slot) = slot.lock() {
                    *slot = Some(result);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
        let (mut compiled, mut refused) = (Vec::new(), Vec::new());
        for result in results.into_iter().filter_map(|slot| slot.into_inner().ok().flatten()) {
            match result {
                Ok(done) => compiled.push(done.artifact),
                Err(Error::Lint(findings)) => refused.extend(findings),
                Err(other) => return Err(other),
            }
        }
        if refused.is_empty() { Ok(compiled) } else { Err(Error::Lint(refused)) }
    }
}

/// Removes the files that the last build published and this one does not. A manifest that cannot be read names none.
fn remove_stale(out_dir: &Path, manifest: &Manifest) -> Result<(), Error> {
    let kept: BTreeSet<&Path> = manifest.kernels.iter().flat_map(KernelArtifact::files).collect();
    let earlier = Manifest::read(out_dir).map(|earlier| earlier.kernels).unwrap_or_default();
    for stale in earlier.iter().flat_map(KernelArtifact::files).filter(|file| !kept.contains(file)) {
        let stale = out_dir.join(stale);
        if stale.exists() {
            fs::remove_file(&stale).at("remove", &stale)?;
        }
    }
    Ok(())
}

/// Keeps other builds out of a target folder until the file is dropped: cargo's own lock ends before the libraries are read.
fn lock(target_dir: &Path) -> Result<File, Error> {
    let path = target_dir.join("falchion.lock");
    let file = File::create(&path).at("create", &path)?;
    file.lock().at("lock", &path)?;
    Ok(file)
}

fn absolute_folder(path: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(path).at("create", path)?;
    fs::canonicalize(path).at("read", path)
}
