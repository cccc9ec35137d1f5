//! Showing what a build of kernels is doing.

use falchion_build::Progress;
use std::{
    io::{IsTerminal, Write, stderr},
    sync::Mutex,
};

/// Writes one line that keeps changing to a terminal, and a line for each step, not for each kernel, to a log.
pub fn reporter() -> impl Fn(Progress<'_>) + Send + Sync + 'static {
    let terminal = stderr().is_terminal();
    // Kernels finish on several threads.
    let shown = Mutex::new(());
    move |progress| {
        let _one_at_a_time = shown.lock();
        let mut stderr = stderr();
        // What cannot be shown is not worth stopping for.
        let _ = match progress {
            Progress::Toolchain(text) => writeln!(stderr, "kernels: {text}"),
            Progress::Installing(command) => writeln!(stderr, "installing: {command}"),
            Progress::Cargo(line) if terminal => show(&mut stderr, line.trim()),
            Progress::Cargo(line) if line.starts_with("warning") => writeln!(stderr, "{line}"),
            Progress::Linked { kernels } if !terminal => writeln!(stderr, "kernels: {kernels} to compile"),
            Progress::Kernel { name, finished, total, seconds, .. } if terminal => {
                let end = if finished == total { "\r\x1b[K" } else { "" };
                show(&mut stderr, &format!("{finished}/{total} {name} {seconds:.1} s{end}"))
            }
            _ => Ok(()),
        };
    }
}

/// Replaces the terminal's current line.
fn show(stderr: &mut impl Write, text: &str) -> std::io::Result<()> {
    let text: String = text.chars().take(110).collect();
    write!(stderr, "\r\x1b[K{text}")?;
    stderr.flush()
}
