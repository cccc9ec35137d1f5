//! The whole route, on the crates under `tests/fixtures`.

use crate::{
    Arch, Artifacts, Error, Lint, LintError, Manifest, Progress, PtxBuilder, Toolchain,
    cargo::{self, Request},
    progress::Listener,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The tools, or `None` after saying why the test is skipped. Where `FALCHION_REQUIRE_TOOLCHAIN` is set (as in continuous
/// integration) a missing tool fails the test.
fn toolchain() -> Option<Toolchain> {
    let found = Toolchain::locate().and_then(|toolchain| toolchain.ptxas().map(|_| toolchain.clone()));
    match found {
        Ok(toolchain) => Some(toolchain),
        Err(reason) if std::env::var_os("FALCHION_REQUIRE_TOOLCHAIN").is_some() => panic!("{reason}"),
        Err(reason) => {
            println!("skipped: {reason}");
            None
        }
    }
}

/// A builder of a fixture whose `core` is shared with every other test's.
fn builder(name: &str, toolchain: Toolchain, out_dir: &Path) -> PtxBuilder {
    builder_of(&fixture(name), toolchain, out_dir)
}

fn builder_of(crate_dir: &Path, toolchain: Toolchain, out_dir: &Path) -> PtxBuilder {
    PtxBuilder::new(crate_dir).toolchain(toolchain).target_dir(target_dir()).out_dir(out_dir)
}

fn target_dir() -> PathBuf {
    let executable = std::env::current_exe().unwrap();
    executable.ancestors().nth(2).unwrap().join("falchion-build-tests")
}

fn text(artifacts: &Artifacts, kernel: &str) -> String {
    let kernel = artifacts.kernels.iter().find(|artifact| artifact.name == kernel).unwrap();
    fs::read_to_string(&kernel.ptx).unwrap()
}

fn barriers(artifacts: &Artifacts) -> usize {
    text(artifacts, "two_barriers").matches("barrier.sync.aligned").count()
}

#[test]
fn two_barriers_stay_two() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    let artifacts = builder("sound", toolchain, out.path()).build().unwrap();
    assert_eq!(barriers(&artifacts), 2);
}

#[test]
fn without_the_annotation_barriers_multiply_and_the_lint_says_where() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    let bare = || builder("sound", toolchain.clone(), out.path()).without_convergence();
    let Err(Error::Lint(findings)) = bare().build() else { panic!("assembly without convergent was accepted") };
    let refused: Vec<_> = findings.iter().filter(|finding| finding.kernel == "two_barriers").collect();
    assert_eq!(refused.len(), 2, "{findings:?}");
    assert!(refused.iter().all(|finding| finding.lint == Lint::AssemblyNotConvergent));
    assert!(
        refused.iter().all(|finding| finding.at[0].file.ends_with("fixture-parts-0.0.0/src/lib.rs")),
        "{refused:?}"
    );

    let kernels = ["two_barriers", "bounded", "clustered"];
    let allowed = kernels.iter().fold(bare(), |builder, kernel| builder.allow(Lint::AssemblyNotConvergent, *kernel));
    let artifacts = allowed.build().unwrap();
    assert!(barriers(&artifacts) > 2, "the kernel no longer shows what the annotation is for");
    assert!(artifacts.kernels.iter().all(|kernel| !kernel.allowed.is_empty()), "what was allowed is not on record");
}

#[test]
fn descriptions_become_launch_bounds_and_targets() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    let artifacts = builder("sound", toolchain, out.path()).arch(Arch::Sm75).build().unwrap();
    let archs: Vec<_> = artifacts.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.arch)).collect();
    assert_eq!(archs, [("bounded", Arch::Sm80), ("clustered", Arch::Sm90a), ("two_barriers", Arch::Sm75)]);
    for (kernel, lines) in [
        ("bounded", &[".target sm_80", ".maxntid 96", ".minnctapersm 3", "falchion_description_bounded[52]"][..]),
        ("clustered", &[".target sm_90a", ".explicitcluster", ".reqnctapercluster 2, 1, 1"]),
        ("two_barriers", &[".target sm_75"]),
    ] {
        let ptx = text(&artifacts, kernel);
        for line in lines {
            assert!(ptx.contains(line), "{kernel} lacks {line}:\n{ptx}");
        }
        assert!(!ptx.contains("falchion_description_") || kernel != "two_barriers");
        assert_eq!(ptx.matches(".entry").count(), 1);
        assert_eq!(ptx.matches(".extern .shared .align 1024 .b8 falchion_shared[];").count(), 1);
    }
    assert_eq!(artifacts.kernels[0].description[5], 96);
    assert!(artifacts.kernels.iter().all(|kernel| kernel.cubins.is_empty()));
}

#[test]
fn every_architecture_assembles() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    for arch in Arch::ALL {
        let builder = Arch::ALL.into_iter().fold(builder("sound", toolchain.clone(), out.path()), PtxBuilder::cubin);
        let artifacts = builder.arch(arch).build().unwrap();
        let kernel = artifacts.kernels.iter().find(|kernel| kernel.name == "two_barriers").unwrap();
        let made: Vec<_> = kernel.cubins.iter().map(|cubin| cubin.arch).collect();
        let expected: Vec<_> = Arch::ALL.into_iter().filter(|device| arch.runs_on(*device)).collect();
        assert!(made.contains(&arch));
        assert_eq!((kernel.arch, made), (arch, expected));
    }
}

#[test]
fn tensor_maps_are_aligned_for_tma() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    let artifacts = builder("sound", toolchain, out.path()).build().unwrap();
    assert!(text(&artifacts, "clustered").contains(".param .align 64 .b8 clustered_param_0[128]"));
}

#[test]
fn cubins_are_made_where_the_kernel_runs_and_keep_rust_lines() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    let disassembler = toolchain.cuda().and_then(crate::Cuda::nvdisasm);
    let artifacts =
        builder("sound", toolchain, out.path()).cubin(Arch::Sm80).cubin(Arch::Sm90a).cubin(Arch::Sm80).build().unwrap();
    let made: Vec<Vec<_>> =
        artifacts.kernels.iter().map(|kernel| kernel.cubins.iter().map(|cubin| cubin.arch).collect()).collect();
    assert_eq!(made, [vec![Arch::Sm80, Arch::Sm90a], vec![Arch::Sm90a], vec![Arch::Sm80, Arch::Sm90a]]);
    for cubin in artifacts.kernels.iter().flat_map(|kernel| &kernel.cubins) {
        assert!(cubin.registers > 0 && fs::read(&cubin.path).unwrap().starts_with(b"\x7FELF"));
    }
    match disassembler {
        Some(nvdisasm) => {
            let sass = Command::new(nvdisasm)
                .arg("--print-line-info")
                .arg(&artifacts.kernels[0].cubins[0].path)
                .output()
                .unwrap();
            let sass = String::from_utf8_lossy(&sass.stdout).into_owned();
            assert!(sass.contains("./src/lib.rs\", line "), "{sass}");
        }
        None => println!("skipped: the lines in SASS, because there is no nvdisasm beside ptxas"),
    }
    let manifest = Manifest::read(out.path()).unwrap();
    assert_eq!(manifest.kernels[0].ptx, Path::new("bounded.ptx"));
    assert_eq!(manifest.into_artifacts(&artifacts.out_dir), artifacts);
}

fn refusals(builder: PtxBuilder) -> Vec<LintError> {
    match builder.build() {
        Err(Error::Lint(findings)) => findings,
        other => panic!("expected refusals, got {other:?}"),
    }
}

#[test]
fn every_bad_kernel_is_refused_by_name_and_line() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    let findings = refusals(builder("refused", toolchain, out.path()).cubin(Arch::Sm80));
    let source = fs::read_to_string(fixture("refused").join("src/lib.rs")).unwrap();
    for (kernel, lint, code) in [
        ("spilling", Lint::Spills, ""),
        ("indexing", Lint::LocalMemory, ""),
        ("panicking", Lint::Panic, "(*data)[at as usize] = 1"),
        ("calling", Lint::ExternalFunction, "defined_nowhere(*data)"),
    ] {
        let mine: Vec<_> = findings.iter().filter(|finding| finding.kernel == kernel).collect();
        assert_eq!(mine.iter().map(|finding| finding.lint).collect::<Vec<_>>(), [lint], "{findings:#?}");
        let at = &mine[0].at[0];
        assert!(at.file.ends_with("./src/lib.rs"), "{at}");
        let line = source.lines().nth(at.line as usize - 1).unwrap();
        assert!(line.contains(code), "{kernel} is refused at `{line}`");
    }
    assert!(!out.path().join(Manifest::FILE_NAME).exists());
    assert!(!out.path().join("spilling.ptx").exists(), "a refused kernel was published");
}

#[test]
fn an_allowed_lint_lets_its_kernel_pass_and_no_other() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    let allowing = builder("refused", toolchain, out.path()).allow(Lint::LocalMemory, "indexing");
    let findings = refusals(allowing.clone().allow(Lint::Spills, "panicking"));
    let kernels: Vec<_> = findings.iter().map(|finding| finding.kernel.as_str()).collect();
    assert_eq!(kernels, ["calling", "panicking"]);
    let artifacts = allowing.allow(Lint::Panic, "panicking").allow(Lint::ExternalFunction, "calling").build().unwrap();
    let indexing = artifacts.kernels.iter().find(|kernel| kernel.name == "indexing").unwrap();
    assert_eq!(indexing.allowed[0].lint, Lint::LocalMemory);
}

#[test]
fn nothing_is_compiled_twice_and_stale_files_go() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    let source = tempfile::tempdir().unwrap();
    sound_with(source.path(), "repeated", "");
    let built = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let build = |cubin: Option<Arch>| {
        let (built, seen) = (Arc::clone(&built), Arc::clone(&seen));
        built.store(0, Ordering::Relaxed);
        let builder = builder_of(source.path(), toolchain.clone(), out.path());
        let builder = cubin.into_iter().fold(builder, PtxBuilder::cubin).progress(move |progress| match progress {
            Progress::Kernel { reused: false, .. } => {
                built.fetch_add(1, Ordering::Relaxed);
            }
            Progress::Linked { kernels } => seen.lock().unwrap().push(kernels),
            _ => {}
        });
        builder.build().unwrap()
    };
    let first = build(Some(Arch::Sm90a));
    assert_eq!(built.load(Ordering::Relaxed), 3);
    assert_eq!(build(Some(Arch::Sm90a)), first);
    assert_eq!(built.load(Ordering::Relaxed), 0);
    fs::remove_file(&first.kernels[0].ptx).unwrap();
    assert_eq!(build(Some(Arch::Sm90a)), first, "a file that was deleted did not come back");
    assert!(first.kernels[0].ptx.is_file());
    let bare = build(None);
    assert_eq!(built.load(Ordering::Relaxed), 3, "other options, other files");
    assert!(!first.kernels[0].cubins[0].path.exists() && bare.kernels[0].ptx.is_file());
    assert_eq!(*seen.lock().unwrap(), [3, 3, 3, 3]);
}

/// A copy of the crate `sound` under a name of its own, with something behind its source.
fn sound_with(folder: &Path, name: &str, addition: &str) {
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = fs::read_to_string(fixture("sound").join("Cargo.toml")).unwrap();
    let parts = fixture("parts").display().to_string();
    fs::write(folder.join("Cargo.toml"), manifest.replace("../parts", &parts).replace("fixture-sound", name)).unwrap();
    let source = fs::read_to_string(fixture("sound").join("src/lib.rs")).unwrap();
    fs::write(folder.join("src/lib.rs"), source + addition).unwrap();
}

#[test]
fn a_new_kernel_leaves_the_others_as_they_are() {
    let Some(toolchain) = toolchain() else { return };
    let folder = tempfile::tempdir().unwrap();
    let build = || {
        let built = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&built);
        let builder = builder_of(folder.path(), toolchain.clone(), &folder.path().join("out"));
        let builder = builder.progress(move |progress| {
            if let Progress::Kernel { name, reused: false, .. } = progress {
                sink.lock().unwrap().push(name.to_owned());
            }
        });
        let _ = builder.build().unwrap();
        Arc::into_inner(built).unwrap().into_inner().unwrap()
    };
    sound_with(folder.path(), "growing", "");
    assert_eq!(build().len(), 3);
    sound_with(
        folder.path(),
        "growing",
        "\n#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn added() {\n    unsafe { barrier() }\n}\n",
    );
    assert_eq!(build(), ["added"]);
}

#[test]
fn assembly_that_ptxas_refuses_is_shown_with_its_rust_line() {
    let Some(toolchain) = toolchain() else { return };
    let folder = tempfile::tempdir().unwrap();
    let kernel = "pub unsafe extern \"ptx-kernel\" fn wrong() {\n    unsafe { asm!(\"nonsense.u32 0;\") }\n}\n";
    sound_with(folder.path(), "unassembled", &format!("#[unsafe(no_mangle)]\n{kernel}"));
    let source = fs::read_to_string(folder.path().join("src/lib.rs")).unwrap();
    let line = source.lines().position(|line| line.contains("nonsense")).unwrap() + 1;
    let built = builder_of(folder.path(), toolchain, &folder.path().join("out")).cubin(Arch::Sm80).build();
    let Err(Error::Assemble { kernel, messages, .. }) = built else { panic!("expected a refusal, got {built:?}") };
    assert_eq!(kernel, "wrong");
    assert!(messages.contains(&format!("src/lib.rs:{line}\n")), "{messages}");
}

#[test]
fn a_build_script_learns_of_the_sources_of_path_dependencies() {
    let Some(toolchain) = toolchain() else { return };
    let folder = tempfile::tempdir().unwrap();
    sound_with(folder.path(), "sourced", "");
    let request =
        Request { crate_dir: folder.path(), target_dir: &target_dir(), features: &[], default_features: true };
    let libraries = cargo::build(&toolchain, &request, &Listener::default()).unwrap();
    let sources = cargo::sources(&libraries).unwrap();
    for source in [fixture("parts").join("src/lib.rs"), folder.path().join("src/lib.rs")] {
        assert!(sources.contains(&source), "{} is not in {sources:?}", source.display());
    }
}

#[test]
fn a_lint_cannot_be_allowed_for_a_kernel_that_is_not_there() {
    let Some(toolchain) = toolchain() else { return };
    let out = tempfile::tempdir().unwrap();
    let built = builder("sound", toolchain, out.path()).allow(Lint::Spills, "bound").build();
    assert!(matches!(built, Err(Error::UnknownKernel { lint: Lint::Spills, kernel }) if kernel == "bound"));
}

#[test]
fn a_crate_that_does_not_compile_shows_rustcs_own_words() {
    let Some(toolchain) = toolchain() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"broken\"\nedition = \"2024\"\n[workspace]\n")
        .unwrap();
    let source = folder.path().join("src/lib.rs");
    let build = || {
        let out = folder.path().join("out");
        builder_of(folder.path(), toolchain.clone(), &out).build()
    };
    fs::write(&source, "#![no_std]\npub fn f() -> u32 { \"text\" }\n").unwrap();
    let Err(Error::DeviceCrate { diagnostics, .. }) = build() else { panic!("it compiled") };
    assert!(diagnostics.contains("mismatched types") && diagnostics.contains("src/lib.rs:2"), "{diagnostics}");
    fs::write(&source, "#![no_std]\n").unwrap();
    assert!(matches!(build(), Err(Error::NoKernels(path)) if path == folder.path()));
}
