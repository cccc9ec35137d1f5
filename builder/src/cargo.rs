//! Runs cargo on the device crate.

use crate::{
    Error, Progress, Toolchain,
    error::{At, command_line},
    progress::Listener,
};
use serde::Deserialize;
use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

/// rustc's name of the device target.
const TARGET: &str = "nvptx64-nvidia-cuda";

/// What rustc is told beyond the profile; each flag has its reason.
const RUSTFLAGS: [&str; 4] = [
    // rlibs hold bitcode instead of PTX.
    "-Clinker-plugin-lto",
    // Optimising before assembly is annotated as convergent would duplicate barriers.
    "-Cno-prepopulate-passes",
    // rustc's own jump threading (up to 1.96) duplicates barriers into divergent branches.
    "-Zmir-enable-passes=-JumpThreading",
    // `.loc` and nothing else: ptxas refuses PTX with the DWARF sections of the fuller kinds.
    "-Cdebuginfo=line-directives-only",
];

/// The profile of a device crate, whatever the profiles of its workspace say.
const PROFILE: [&str; 10] = [
    "panic=\"abort\"",
    "codegen-units=1",
    "opt-level=3",
    "debug=false",
    "strip=false",
    "lto=false",
    "incremental=false",
    "debug-assertions=false",
    "overflow-checks=false",
    // Kernels travel; the paths of the machine that built them stay behind.
    "trim-paths=\"all\"",
];

/// What cargo is asked to build.
pub(crate) struct Request<'a> {
    pub(crate) crate_dir: &'a Path,
    pub(crate) target_dir: &'a Path,
    pub(crate) features: &'a [String],
    pub(crate) default_features: bool,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Builds the crate and returns its libraries: the crate's own first, then each dependency before what it depends on.
pub(crate) fn build(toolchain: &Toolchain, request: &Request<'_>, listener: &Listener) -> Result<Vec<PathBuf>, Error> {
    let manifest = request.crate_dir.join("Cargo.toml");
    let manifest = fs::canonicalize(&manifest).at("read", &manifest)?;
    let mut command = command(toolchain, request, &manifest);
    let mut child =
        command.spawn().map_err(|source| Error::Start { command: command_line(&command), source, remedy: None })?;
    let stderr = child.stderr.take().map(BufReader::new);
    let stdout = child.stdout.take().map(BufReader::new);
    let (diagnostics, messages) = thread::scope(|scope| {
        let diagnostics = scope.spawn(|| {
            let mut text = String::new();
            for line in stderr.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
                listener.tell(Progress::Cargo(&line));
                text.push_str(&line);
                text.push('\n');
            }
            text
        });
        let messages: Vec<String> = stdout.into_iter().flat_map(BufRead::lines).map_while(Result::ok).collect();
        (diagnostics.join().unwrap_or_default(), messages)
    });
    let status =
        child.wait().map_err(|source| Error::Start { command: command_line(&command), source, remedy: None })?;
    if !status.success() {
        return Err(Error::DeviceCrate { crate_dir: request.crate_dir.to_owned(), diagnostics });
    }
    libraries(&messages, &manifest).ok_or_else(|| Error::NoLibrary(request.crate_dir.to_owned()))
}

fn command(toolchain: &Toolchain, request: &Request<'_>, manifest: &Path) -> Command {
    let mut command = Command::new(toolchain.cargo());
    // A build script inherits what cargo tells it about another crate and another target; none of it holds here.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(belongs_to_the_caller) {
            command.env_remove(name);
        }
    }
    command
        .env("RUSTC", toolchain.rustc())
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS.join("\x1f"))
        .args([
            "rustc",
            "--lib",
            "--crate-type=rlib",
            "--release",
            "--target",
            TARGET,
            "-Zbuild-std=core",
            "-Ztrim-paths",
        ])
        .args(["--message-format=json-render-diagnostics", "--color=never", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(request.target_dir);
    for setting in PROFILE {
        command.arg("--config").arg(format!("profile.release.{setting}"));
    }
    if !request.features.is_empty() {
        command.arg("--features").arg(request.features.join(","));
    }
    if !request.default_features {
        command.arg("--no-default-features");
    }
    command.current_dir(manifest.parent().unwrap_or(Path::new("/")));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Whether a variable describes the caller's own build; where cargo finds registries and how it reaches them stays.
fn belongs_to_the_caller(name: &str) -> bool {
    const KEPT: [&str; 5] = ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_"];
    const DROPPED: [&str; 10] = [
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "MAKEFLAGS",
        "TARGET",
        "HOST",
        "OUT_DIR",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "NUM_JOBS",
    ];
    (name.starts_with("CARGO_") && !KEPT.iter().any(|kept| name.starts_with(kept)))
        || DROPPED.contains(&name)
        || name.starts_with("DEP_")
        || name.starts_with("RUSTC_")
        || name == "RUSTC"
}

/// The device libraries among cargo's messages, or `None` where the crate's own is not among them.
fn libraries(messages: &[String], manifest: &Path) -> Option<Vec<PathBuf>> {
    let device_only = |path: &&PathBuf| {
        path.extension().is_some_and(|extension| extension == "rlib")
            && path.components().any(|part| part.as_os_str() == TARGET)
    };
    let mut own = None;
    let mut others = Vec::new();
    // cargo reports a crate when it is done, so dependencies come first.
    for message in messages.iter().rev().filter_map(|line| serde_json::from_str::<Message>(line).ok()) {
        if message.reason != "compiler-artifact" {
            continue;
        }
        let Some(library) = message.filenames.iter().find(device_only) else { continue };
        let same = fs::canonicalize(&message.manifest_path).is_ok_and(|path| path == manifest);
        if same {
            own = Some(library.clone());
        } else {
            others.push(library.clone());
        }
    }
    others.insert(0, own?);
    Some(others)
}

/// The source files of the crate and of its path dependencies, from the dependency file that cargo writes beside the library.
pub(crate) fn sources(libraries: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let Some(library) = libraries.first() else { return Ok(Vec::new()) };
    let file = library.with_extension("d");
    Ok(parse_dependency_file(&fs::read_to_string(&file).at("read", &file)?))
}

/// `target: a b\ c`, as in make: spaces separate, unless escaped.
fn parse_dependency_file(text: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in text.lines() {
        let Some((_, list)) = line.split_once(": ") else { continue };
        files.extend(
            list.replace("\\ ", "\0")
                .split(' ')
                .filter(|file| !file.is_empty())
                .map(|file| PathBuf::from(file.replace('\0', " "))),
        );
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_build_does_not_leak_in() {
        for dropped in ["CARGO_PKG_NAME", "CARGO_TARGET_DIR", "RUSTFLAGS", "RUSTC", "RUSTC_LINKER", "TARGET", "DEP_X_Y"]
        {
            assert!(belongs_to_the_caller(dropped), "{dropped}");
        }
        for kept in ["CARGO_HOME", "CARGO_HTTP_PROXY", "CARGO_REGISTRIES_X_INDEX", "PATH", "RUSTUP_TOOLCHAIN", "HOME"] {
            assert!(!belongs_to_the_caller(kept), "{kept}");
        }
    }

    #[test]
    fn dependency_files_are_read() {
        let files = parse_dependency_file("/t/libx.rlib: /a/lib.rs /b\\ c/d.rs\n\n");
        assert_eq!(files, [Path::new("/a/lib.rs"), Path::new("/b c/d.rs")]);
    }

    #[test]
    fn the_crate_comes_first_then_dependents_before_their_dependencies() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        fs::write(&manifest, "").unwrap();
        let manifest = fs::canonicalize(manifest).unwrap();
        let artifact = |manifest: &str, file: &str| {
            serde_json::json!({"reason": "compiler-artifact", "manifest_path": manifest, "filenames": [file]})
                .to_string()
        };
        let messages = [
            artifact("/core/Cargo.toml", "/t/nvptx64-nvidia-cuda/release/deps/libcore-1.rlib"),
            artifact("/syn/Cargo.toml", "/t/release/deps/libsyn-1.rlib"),
            artifact("/half/Cargo.toml", "/t/nvptx64-nvidia-cuda/release/deps/libhalf-1.rlib"),
            artifact(manifest.to_str().unwrap(), "/t/nvptx64-nvidia-cuda/release/libown.rlib"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let names: Vec<_> = libraries(&messages, &manifest)
            .unwrap()
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["libown.rlib", "libhalf-1.rlib", "libcore-1.rlib"]);
        assert_eq!(libraries(&messages[..3], &manifest), None);
    }
}
