//! Running cargo, and other programs, with errors that say what failed.

use anyhow::{Context, Result, bail};
use std::{
    io::{BufRead, BufReader, IsTerminal, Read, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Mutex,
    thread,
};

/// A cargo that starts in the workspace and knows nothing of the build of this program.
pub fn command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|prefix| name.starts_with(prefix))
        {
            command.env_remove(&*name);
        }
    }
    command
}

/// Lets `cust` link against the stub in `folder` where the machine has neither driver nor toolkit.
pub fn link_cuda(command: &mut Command, folder: &Path) {
    if std::env::var_os("CUDA_LIBRARY_PATH").is_none() {
        command.env("CUDA_LIBRARY_PATH", folder);
    }
}

/// The command as one would type it.
pub fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| {
        let word = argument.to_string_lossy();
        if word.contains(' ') { format!("'{word}'") } else { word.into_owned() }
    }));
    words.join(" ")
}

/// Runs to the end with our own input and output.
pub fn run(command: &mut Command) -> Result<()> {
    let text = line(command);
    let status = command.status().with_context(|| format!("cannot start `{text}`"))?;
    if !status.success() {
        bail!("`{text}` failed ({status}); its output above says why");
    }
    Ok(())
}

/// Runs to the end and returns what it wrote to standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let text = line(command);
    let output = command.output().with_context(|| format!("cannot start `{text}`"))?;
    if !output.status.success() {
        bail!("`{text}` failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// As [`output`], with standard error passed on as it comes: cargo shows its progress there.
pub fn output_of_noisy(command: &mut Command) -> Result<String> {
    let text = line(command);
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{text}`"))?;
    if !output.status.success() {
        bail!("`{text}` failed ({}); its output above says why", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs to the end, passing its output on as it comes, and returns whether it succeeded with the lines that `keep` chooses.
pub fn run_and_keep(command: &mut Command, keep: impl Fn(&str) -> bool + Sync) -> Result<(bool, Vec<String>)> {
    let text = line(command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if std::io::stderr().is_terminal() {
        // Behind a pipe cargo would not colour.
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command.spawn().with_context(|| format!("cannot start `{text}`"))?;
    let kept = Mutex::new(Vec::new());
    let pass_on = |pipe: Option<Box<dyn Read + Send>>, mut sink: Box<dyn Write>| {
        for line in pipe.into_iter().flat_map(|pipe| BufReader::new(pipe).lines()).map_while(Result::ok) {
            // A closed terminal is no reason to stop the child.
            let _ = writeln!(sink, "{line}");
            let plain = without_colours(&line);
            if keep(&plain) {
                kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(plain);
            }
        }
    };
    let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    let stderr = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    thread::scope(|scope| {
        scope.spawn(|| pass_on(stdout, Box::new(std::io::stdout())));
        pass_on(stderr, Box::new(std::io::stderr()));
    });
    let status = child.wait().with_context(|| format!("cannot wait for `{text}`"))?;
    Ok((status.success(), kept.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)))
}

/// The text without terminal escapes (`ESC [ … letter`).
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        text += &part[end..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_removed() {
        assert_eq!(without_colours("\u{1b}[32;1m     Summary\u{1b}[0m [ 1.0s]"), "     Summary [ 1.0s]");
    }

    #[test]
    fn kept_lines_come_back_with_the_verdict() {
        let (ok, kept) =
            run_and_keep(Command::new("sh").args(["-c", "echo one; echo two >&2; exit 3"]), |line| line == "two")
                .unwrap();
        assert!(!ok);
        assert_eq!(kept, ["two"]);
    }

    #[test]
    fn a_failure_names_the_command_and_what_it_said() {
        let error = output(Command::new("sh").args(["-c", "echo reason >&2; false"])).unwrap_err().to_string();
        assert!(error.contains("sh -c") && error.contains("reason"), "{error}");
        assert!(run(&mut Command::new("/no/such/program")).unwrap_err().to_string().contains("cannot start"));
    }
}
