//! `test`: the test programs of a bundle, each test in a process of its own.
//!
//! One process a test, because a kernel that faults leaves its process without a usable GPU, and one that hangs can only be
//! got rid of with its process.

use anyhow::{Context, Result, bail};
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use xtask::arguments::BackendChoice;

#[derive(clap::Args)]
pub struct Arguments {
    /// Which device runs the kernels
    #[arg(long, value_enum, default_value_t, env = BackendChoice::VARIABLE)]
    backend: BackendChoice,
    /// Seconds after which a test is killed
    #[arg(long, default_value_t = 300)]
    timeout: u64,
    /// Tests that run at once [default: as many as there are cores, at most 8]
    #[arg(long)]
    jobs: Option<usize>,
    /// Only tests with this in their names
    filter: Option<String>,
}

/// How often a running test is looked at.
const POLL: Duration = Duration::from_millis(10);
/// How long a killed process may take to disappear: the driver first waits for its kernels.
const GRACE: Duration = Duration::from_secs(10);

struct Test {
    program: PathBuf,
    name: String,
    ignored: bool,
}

impl Test {
    fn title(&self) -> String {
        format!("{} {}", self.program.file_name().unwrap_or_default().to_string_lossy(), self.name)
    }
}

enum Verdict {
    Passed,
    Failed(String),
    TimedOut(String),
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let program = std::env::current_exe().context("cannot tell where this program lies")?;
    let folder = program.parent().unwrap_or(Path::new(".")).join("tests");
    let filter = arguments.filter.as_deref().unwrap_or_default();
    let (ignored, tests): (Vec<_>, Vec<_>) = discover(&folder)?.into_iter().partition(|test| test.ignored);
    let (tests, filtered): (Vec<_>, Vec<_>) = tests.into_iter().partition(|test| test.name.contains(filter));
    if tests.is_empty() {
        bail!("no test of {} has `{filter}` in its name", folder.display());
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.unwrap_or(cores.min(8)).clamp(1, tests.len());
    println!("{} tests, {jobs} at once, backend {}", tests.len(), arguments.backend);
    let started = Instant::now();
    let (next, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let problems = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    let verdict = execute(test, arguments);
                    let count = finished.fetch_add(1, Ordering::Relaxed) + 1;
                    report(test, &verdict, began.elapsed(), &format!("{count}/{}", tests.len()));
                    if !matches!(verdict, Verdict::Passed) {
                        problems.lock().unwrap_or_else(PoisonError::into_inner).push((test.title(), verdict));
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (title, verdict) in &problems {
        let kind = if matches!(verdict, Verdict::TimedOut(_)) { "timed out" } else { "failed" };
        println!("{kind}: {title}");
    }
    let hung = problems.iter().filter(|(_, verdict)| matches!(verdict, Verdict::TimedOut(_))).count();
    println!(
        "Summary [{:.1} s] {} tests run: {} passed, {} failed, {hung} timed out, {} ignored, {} filtered out",
        started.elapsed().as_secs_f64(),
        tests.len(),
        tests.len() - problems.len(),
        problems.len() - hung,
        ignored.len(),
        filtered.len(),
    );
    if problems.is_empty() { Ok(()) } else { bail!("{} tests did not pass", problems.len()) }
}

/// Every test of every program in the folder.
fn discover(folder: &Path) -> Result<Vec<Test>> {
    let entries = fs::read_dir(folder).with_context(|| {
        format!(
            "no tests in {}: `test` runs those of a bundle; in a checkout, run `cargo xtask test`",
            folder.display()
        )
    })?;
    let mut programs: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    programs.sort();
    let mut tests = Vec::new();
    for program in programs {
        let listed = |more: &[&str]| -> Result<Vec<String>> {
            let output = Command::new(&program).args(["--list", "--format", "terse"]).args(more).output();
            let output = output.with_context(|| format!("cannot start {}", program.display()))?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                bail!("{} cannot list its tests ({}): {}", program.display(), output.status, said.trim());
            }
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
        };
        let ignored = listed(&["--ignored"])?;
        for name in listed(&[])? {
            tests.push(Test { ignored: ignored.contains(&name), program: program.clone(), name });
        }
    }
    Ok(tests)
}

fn execute(test: &Test, arguments: &Arguments) -> Verdict {
    let mut command = Command::new(&test.program);
    command.args(["--exact", &test.name, "--nocapture", "--test-threads", "1"]);
    command.env(BackendChoice::VARIABLE, arguments.backend.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Verdict::Failed(format!("cannot start it: {error}")),
    };
    // Read on threads of their own: a full pipe would stop the test. They end with the process.
    let outputs = [
        collect(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)),
        collect(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)),
    ];
    let output = |outputs: [thread::JoinHandle<String>; 2]| {
        outputs.map(|reader| reader.join().unwrap_or_default()).concat().trim().to_owned()
    };
    match wait(&mut child, Duration::from_secs(arguments.timeout)) {
        Some(Ok(status)) if status.success() => Verdict::Passed,
        Some(Ok(status)) => Verdict::Failed(format!("{}\n{status}", output(outputs))),
        Some(Err(error)) => Verdict::Failed(format!("cannot wait for it: {error}")),
        None => {
            // The verdict is the same whether the kill succeeds.
            let _ = child.kill();
            let gone = wait(&mut child, GRACE).is_some();
            let text = if gone { output(outputs) } else { "its process does not even end when killed".to_owned() };
            Verdict::TimedOut(format!("{text}\nkilled after {} s", arguments.timeout))
        }
    }
}

fn collect(pipe: Option<Box<dyn Read + Send>>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a failure is still worth showing.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The exit status, or `None` after `limit`.
fn wait(child: &mut Child, limit: Duration) -> Option<std::io::Result<std::process::ExitStatus>> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if started.elapsed() < limit => thread::sleep(POLL),
            Ok(None) => return None,
            Ok(Some(status)) => return Some(Ok(status)),
            Err(error) => return Some(Err(error)),
        }
    }
}

fn report(test: &Test, verdict: &Verdict, time: Duration, count: &str) {
    let (word, text) = match verdict {
        Verdict::Passed => ("pass", ""),
        Verdict::Failed(text) => ("FAIL", text.as_str()),
        Verdict::TimedOut(text) => ("TIMEOUT", text.as_str()),
    };
    let mut lines = format!("{count} {word} [{:.2} s] {}", time.as_secs_f64(), test.title());
    for line in text.lines() {
        lines += &format!("\n    {line}");
    }
    println!("{lines}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(name: &str, body: &str) -> Test {
        use std::os::unix::fs::PermissionsExt;
        let program = std::env::temp_dir().join(format!("falchion-bundled-{}-{name}", std::process::id()));
        fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Test { program, name: "a_test".to_owned(), ignored: false }
    }

    fn verdict(name: &str, body: &str) -> Verdict {
        let test = script(name, body);
        let arguments = Arguments { backend: BackendChoice::Sim, timeout: 1, jobs: None, filter: None };
        let verdict = execute(&test, &arguments);
        fs::remove_file(&test.program).unwrap();
        verdict
    }

    #[test]
    fn a_test_passes_fails_with_its_output_or_is_killed() {
        assert!(matches!(verdict("pass", "test $2 = a_test && test $FALCHION_BACKEND = sim"), Verdict::Passed));
        let Verdict::Failed(text) = verdict("fail", "echo the reason; exit 101") else { panic!("it fails") };
        assert!(text.contains("the reason") && text.contains("101"), "{text}");
        let Verdict::TimedOut(text) = verdict("hang", "echo so far; exec sleep 60") else { panic!("it hangs") };
        assert!(text.contains("so far") && text.contains("killed after 1 s"), "{text}");
    }

    #[test]
    fn tests_are_listed_with_their_ignored_ones() {
        let folder = std::env::temp_dir().join(format!("falchion-discover-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let test = script("list", "case \"$*\" in *--ignored*) ;; *) echo 'fast: test';; esac; echo 'slow: test'");
        fs::rename(&test.program, folder.join("program")).unwrap();
        let found: Vec<_> = discover(&folder).unwrap().into_iter().map(|test| (test.name, test.ignored)).collect();
        assert_eq!(found, [("fast".to_owned(), false), ("slow".to_owned(), true)]);
        fs::remove_dir_all(&folder).unwrap();
        assert!(discover(&folder).err().unwrap().to_string().contains("cargo xtask test"));
    }
}
