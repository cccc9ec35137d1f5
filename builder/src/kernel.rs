//! One kernel from its slice of bitcode to PTX, cubins and lints.

use crate::{
    Arch, Cubin, Description, Error, KernelArtifact, Lint, LintError, Toolchain,
    error::{At, run},
    ir::{Annotation, Module, annotate},
    lint,
    ptx::{align_tensor_maps, without_comments},
    ptxas,
};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

/// What all kernels of a build share.
pub(crate) struct Job<'a> {
    pub(crate) toolchain: &'a Toolchain,
    pub(crate) module: &'a Module<'a>,
    /// Names the tools in fingerprints and in the manifest.
    pub(crate) tools: &'a str,
    /// Where intermediate files and records lie.
    pub(crate) work: &'a Path,
    pub(crate) cubins: &'a [Arch],
    pub(crate) allowed: &'a BTreeSet<(Lint, String)>,
    pub(crate) convergent: bool,
}

/// One entry point.
pub(crate) struct Kernel<'a> {
    pub(crate) name: &'a str,
    pub(crate) arch: Arch,
    pub(crate) words: Vec<u32>,
    pub(crate) description: Option<Description>,
    /// The entry point and its description: what is cut out of the linked module.
    pub(crate) roots: Vec<&'a str>,
}

/// A kernel with paths relative to the output folder.
pub(crate) struct Compiled {
    pub(crate) artifact: KernelArtifact,
    pub(crate) reused: bool,
}

/// Bounds on unrolling that LLVM's default (300) would stop at; beyond it a register array is indexed at run time and becomes
/// local memory.
const UNROLL_THRESHOLD: u32 = 20_000;

impl Kernel<'_> {
    /// Compiles the kernel, or takes over what an earlier build made of the same input.
    ///
    /// The files stay in the work folder, with a record beside them, until [`KernelArtifact::publish`] copies them.
    pub(crate) fn compile(&self, job: &Job<'_>) -> Result<Compiled, Error> {
        let started = Instant::now();
        let annotation = Annotation {
            kernel: self.name,
            arch: self.arch,
            description: self.description.as_ref(),
            convergent: job.convergent,
        };
        let annotated = annotate(&job.module.slice(&self.roots), &annotation);
        let fingerprint = self.fingerprint(&annotated, job);
        if let Some(artifact) = self.earlier(&fingerprint, job) {
            return Ok(Compiled { artifact, reused: true });
        }
        let mut allowed = self.admit(lint::assembly(self.name, &annotated), job)?;
        let optimised = self.optimise(&annotated, job)?;
        // That LLVM understood the annotation shows in what it wrote.
        self.admit(lint::assembly(self.name, &optimised), job)?;
        let ptx = self.translate(job)?;
        allowed.extend(self.admit(lint::ptx(self.name, &ptx), job)?);
        let mut cubins = Vec::new();
        let mut findings = Vec::new();
        for arch in job.cubins.iter().copied().filter(|arch| self.arch.runs_on(*arch)) {
            let cubin = self.assemble(job, arch, &ptx)?;
            findings.extend(lint::cubin(self.name, &cubin, &ptx));
            cubins.push(cubin);
        }
        allowed.extend(self.admit(findings, job)?);
        let path = job.work.join(self.ptx_file());
        fs::write(&path, without_comments(&ptx)).at("write", &path)?;
        let artifact = KernelArtifact {
            name: self.name.to_owned(),
            arch: self.arch,
            ptx: self.ptx_file(),
            cubins,
            description: self.words.clone(),
            allowed,
            seconds: started.elapsed().as_secs_f64(),
            fingerprint,
        };
        artifact.record(job.work)?;
        Ok(Compiled { artifact, reused: false })
    }

    fn ptx_file(&self) -> PathBuf {
        PathBuf::from(format!("{}.ptx", self.name))
    }

    /// Passes on the findings that the build allows; one that it does not allow is an error.
    fn admit(&self, findings: Vec<LintError>, job: &Job<'_>) -> Result<Vec<LintError>, Error> {
        let allowed = |finding: &LintError| job.allowed.contains(&(finding.lint, self.name.to_owned()));
        let (allowed, refused): (Vec<_>, Vec<_>) = findings.into_iter().partition(allowed);
        if refused.is_empty() { Ok(allowed) } else { Err(Error::Lint(refused)) }
    }

    fn fingerprint(&self, annotated: &str, job: &Job<'_>) -> String {
        let allowed: Vec<String> =
            job.allowed.iter().filter(|(_, kernel)| kernel == self.name).map(|(lint, _)| lint.to_string()).collect();
        let options =
            format!("{}\0{}\0{:?}\0{allowed:?}\0{}\0", env!("CARGO_PKG_VERSION"), job.tools, job.cubins, self.arch);
        let mut hash = Sha256::new();
        hash.update(options);
        hash.update(annotated);
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn earlier(&self, fingerprint: &str, job: &Job<'_>) -> Option<KernelArtifact> {
        let artifact = KernelArtifact::recorded(job.work, self.name)?;
        let whole = artifact.fingerprint == fingerprint && artifact.files().all(|file| job.work.join(file).is_file());
        whole.then_some(artifact)
    }

    fn file(&self, suffix: &str, job: &Job<'_>) -> PathBuf {
        job.work.join(format!("{}.{suffix}", self.name))
    }

    /// What both `opt` and `llc` are told of the GPU.
    fn target(&self) -> [String; 2] {
        [format!("-mcpu={}", self.arch), format!("-mattr=+ptx{}", self.arch.ptx_version())]
    }

    /// Annotated IR → optimised IR.
    fn optimise(&self, annotated: &str, job: &Job<'_>) -> Result<String, Error> {
        let (input, output) = (self.file("annotated.ll", job), self.file("optimised.ll", job));
        fs::write(&input, annotated).at("write", &input)?;
        let mut opt = job.toolchain.llvm("opt");
        opt.args(["-S", "-passes=internalize,globaldce,default<O3>"])
            .arg(format!("-internalize-public-api-list={0},{1}{0}", self.name, crate::description::SYMBOL_PREFIX))
            .arg(format!("-unroll-threshold={UNROLL_THRESHOLD}"))
            .args(self.target());
        run(opt.arg(&input).arg("-o").arg(&output))?;
        fs::read_to_string(&output).at("read", &output)
    }

    /// Optimised IR → PTX.
    fn translate(&self, job: &Job<'_>) -> Result<String, Error> {
        let (input, output) = (self.file("optimised.ll", job), job.work.join(self.ptx_file()));
        run(job.toolchain.llvm("llc").arg("-O3").args(self.target()).arg(&input).arg("-o").arg(&output))?;
        let ptx = align_tensor_maps(&fs::read_to_string(&output).at("read", &output)?);
        fs::write(&output, &ptx).at("write", &output)?;
        Ok(ptx)
    }

    fn assemble(&self, job: &Job<'_>, arch: Arch, ptx: &str) -> Result<Cubin, Error> {
        let path = PathBuf::from(format!("{}.{arch}.cubin", self.name));
        let mut command = job.toolchain.ptxas()?;
        command.arg(format!("-arch={arch}")).args(["-lineinfo", "-v"]);
        command.arg(job.work.join(self.ptx_file())).arg("-o").arg(job.work.join(&path));
        let output = run(&mut command).map_err(|error| match error {
            Error::Tool { stderr, .. } => {
                Error::Assemble { kernel: self.name.to_owned(), arch, messages: ptxas::with_source(&stderr, ptx) }
            }
            other => other,
        })?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        let Some(report) = ptxas::parse(&text, self.name) else {
            return Err(Error::Report { kernel: self.name.to_owned(), output: text });
        };
        Ok(Cubin {
            arch,
            path,
            registers: report.registers,
            static_shared: report.static_shared,
            spill_stores: report.spill_stores,
            spill_loads: report.spill_loads,
            stack: report.stack,
            notes: report.notes,
        })
    }
}
