//! One kernel from its slice of bitcode to PTX, cubins and lints.

use crate::{
    Arch, Cubin, Description, Error, KernelArtifact, Lint, LintError, Toolchain,
    error::{At, run},
    ir::{Annotation, annotate, asm_without_convergent, source_line},
    ptx::{Lines, align_tensor_maps},
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
    /// Names the tools in fingerprints and in the manifest.
    pub(crate) tools: &'a str,
    pub(crate) out_dir: &'a Path,
    pub(crate) work: &'a Path,
    pub(crate) cubins: &'a [Arch],
    pub(crate) allowed: &'a BTreeSet<(Lint, String)>,
    pub(crate) convergent: bool,
    /// The kernels that the output folder holds from before.
    pub(crate) earlier: &'a [KernelArtifact],
}

/// One entry point.
pub(crate) struct Kernel<'a> {
    pub(crate) name: &'a str,
    pub(crate) arch: Arch,
    pub(crate) words: Vec<u32>,
    pub(crate) description: Option<Description>,
    /// Its module, before annotation.
    pub(crate) slice: String,
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
    pub(crate) fn compile(&self, job: &Job<'_>) -> Result<Compiled, Error> {
        let started = Instant::now();
        let annotation = Annotation {
            kernel: self.name,
            arch: self.arch,
            description: self.description.as_ref(),
            convergent: job.convergent,
        };
        let annotated = annotate(&self.slice, &annotation);
        let fingerprint = self.fingerprint(&annotated, job);
        if let Some(artifact) = self.earlier(&fingerprint, job) {
            return Ok(Compiled { artifact, reused: true });
        }
        let mut findings = self.lint_assembly(&annotated);
        let ptx = self.translate(&annotated, job)?;
        findings.extend(self.lint_ptx(&ptx));
        let path = PathBuf::from(format!("{}.ptx", self.name));
        fs::write(job.out_dir.join(&path), &ptx).at("write", &job.out_dir.join(&path))?;
        let mut cubins = Vec::new();
        for arch in job.cubins.iter().copied().filter(|arch| self.arch.runs_on(*arch)) {
            let cubin = self.assemble(job, &path, arch)?;
            findings.extend(self.lint_cubin(&cubin, &ptx));
            cubins.push(cubin);
        }
        let (allowed, refused): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(|finding| job.allowed.contains(&(finding.lint, self.name.to_owned())));
        if !refused.is_empty() {
            return Err(Error::Lint(refused));
        }
        let artifact = KernelArtifact {
            name: self.name.to_owned(),
            arch: self.arch,
            ptx: path,
            cubins,
            description: self.words.clone(),
            allowed,
            seconds: started.elapsed().as_secs_f64(),
            fingerprint,
        };
        Ok(Compiled { artifact, reused: false })
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
        let same = |artifact: &&KernelArtifact| artifact.name == self.name && artifact.fingerprint == fingerprint;
        let artifact = job.earlier.iter().find(same)?;
        artifact.files().all(|file| job.out_dir.join(file).is_file()).then(|| artifact.clone())
    }

    /// Annotated IR → optimised IR → PTX.
    fn translate(&self, annotated: &str, job: &Job<'_>) -> Result<String, Error> {
        let file = |suffix: &str| job.work.join(format!("{}.{suffix}", self.name));
        let (input, optimised, ptx) = (file("annotated.ll"), file("optimised.ll"), file("ptx"));
        fs::write(&input, annotated).at("write", &input)?;
        let target = [format!("-mcpu={}", self.arch), format!("-mattr=+ptx{}", self.arch.ptx_version())];
        let keep = format!("-internalize-public-api-list={0},{1}{0}", self.name, crate::description::SYMBOL_PREFIX);
        run(job
            .toolchain
            .llvm("opt")
            .args(["-S", "-passes=internalize,globaldce,default<O3>", &keep])
            .arg(format!("-unroll-threshold={UNROLL_THRESHOLD}"))
            .args(&target)
            .arg(&input)
            .arg("-o")
            .arg(&optimised))?;
        run(job.toolchain.llvm("llc").arg("-O3").args(&target).arg(&optimised).arg("-o").arg(&ptx))?;
        Ok(align_tensor_maps(&fs::read_to_string(&ptx).at("read", &ptx)?))
    }

    fn assemble(&self, job: &Job<'_>, ptx: &Path, arch: Arch) -> Result<Cubin, Error> {
        let path = PathBuf::from(format!("{}.{arch}.cubin", self.name));
        let mut command = job.toolchain.ptxas()?;
        command.arg(format!("-arch={arch}")).args(["-lineinfo", "-v"]);
        let output = run(command.arg(job.out_dir.join(ptx)).arg("-o").arg(job.out_dir.join(&path)))?;
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

    fn finding(&self, lint: Lint, message: String, at: Vec<crate::SourceLine>) -> LintError {
        LintError { lint, kernel: self.name.to_owned(), message, at }
    }

    fn lint_assembly(&self, annotated: &str) -> Vec<LintError> {
        let mut findings = Vec::new();
        for (function, call) in asm_without_convergent(annotated) {
            let message = format!("inline assembly in `{function}` is not convergent: `{}`", call.trim());
            findings.push(self.finding(
                Lint::AssemblyNotConvergent,
                message,
                source_line(annotated, call).into_iter().collect(),
            ));
        }
        findings
    }

    fn lint_ptx(&self, ptx: &str) -> Vec<LintError> {
        let lines = Lines::new(ptx);
        let mut findings = Vec::new();
        let mut depot = None;
        let mut external = Vec::new();
        for (index, line) in lines.iter() {
            let code = line.trim_start();
            if code.starts_with(".local ") && code.contains("__local_depot") {
                depot = Some((index, code));
            } else if code.starts_with(".extern .func") {
                external.push(index);
            } else if let Some(callee) = callee(code).filter(|callee| callee.contains("panic")) {
                let message = format!("a check can panic (`{callee}`): use unchecked or wrapping operations");
                findings.push(self.finding(Lint::Panic, message, lines.source(index)));
            }
        }
        if let Some((index, code)) = depot {
            let bytes = code.split('[').nth(1).and_then(|rest| rest.split(']').next()).unwrap_or("?");
            let message = format!(
                "{bytes} bytes of local memory a thread: index arrays by constants, and take a parameter's address for run-time indices"
            );
            findings.push(self.finding(Lint::LocalMemory, message, first_local_access(&lines, index)));
        }
        for index in external {
            let name = external_name(&lines, index);
            // A panic that is called is reported with the line of the call.
            if name.contains("panic") && findings.iter().any(|finding| finding.lint == Lint::Panic) {
                continue;
            }
            let call = lines.iter().find(|(_, line)| callee(line.trim_start()) == Some(&name));
            let at = call.map(|(call, _)| lines.source(call)).unwrap_or_default();
            findings.push(self.finding(Lint::ExternalFunction, format!("`{name}` is defined nowhere"), at));
        }
        findings
    }

    fn lint_cubin(&self, cubin: &Cubin, ptx: &str) -> Vec<LintError> {
        let entry = || Lines::new(ptx).entry();
        let arch = cubin.arch;
        let mut findings = Vec::new();
        if cubin.spill_stores + cubin.spill_loads > 0 {
            let (stores, loads) = (cubin.spill_stores, cubin.spill_loads);
            let message = format!(
                "{stores} bytes of spill stores and {loads} of loads for {arch} at {} registers: hold fewer values a thread or launch fewer threads",
                cubin.registers
            );
            findings.push(self.finding(Lint::Spills, message, entry()));
        } else if cubin.stack > 0 && !ptx.contains("__local_depot") {
            let message = format!("a stack frame of {} bytes for {arch}", cubin.stack);
            findings.push(self.finding(Lint::LocalMemory, message, entry()));
        }
        for note in cubin.notes.iter().filter(|note| ptxas::code(note).is_some_and(|code| (7500..7700).contains(&code)))
        {
            findings.push(self.finding(Lint::Serialisation, format!("ptxas for {arch}: {note}"), entry()));
        }
        findings
    }
}

/// The function that a line of PTX calls. LLVM breaks a call over lines, with the name on one of its own:
/// `call.uni` / `name,` / `(`.
fn callee(code: &str) -> Option<&str> {
    let code = code.strip_prefix("call.uni").or_else(|| code.strip_prefix("call")).unwrap_or(code).trim();
    let code = if code.starts_with('(') { code.split_once("),")?.1.trim() } else { code };
    let name = code.split([',', ';', ' ', '(']).next()?;
    let identifier = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
    (!name.is_empty() && !name.starts_with('.') && name.bytes().all(identifier)).then_some(name)
}

fn external_name(lines: &Lines<'_>, index: usize) -> String {
    // `.extern .func (.param .b32 r) name` or `.extern .func name`, the parameters on the lines after.
    let text = lines.iter().nth(index).map_or("", |(_, line)| line);
    let text = text.trim_start().trim_start_matches(".extern .func").trim();
    let text = text.rsplit(')').next().unwrap_or(text).trim();
    text.split([' ', '(', ';']).next().unwrap_or(text).to_owned()
}

fn first_local_access(lines: &Lines<'_>, depot: usize) -> Vec<crate::SourceLine> {
    let access = lines.iter().skip(depot).find(|(_, line)| {
        let code = line.trim_start();
        ["st.local", "ld.local"].iter().any(|op| code.starts_with(op)) || code.contains("[%SP")
    });
    access.map_or_else(|| lines.entry(), |(index, _)| lines.source(index))
}
