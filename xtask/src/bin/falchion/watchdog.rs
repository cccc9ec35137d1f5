//! An end to waiting for a kernel that never finishes.

use std::{
    process::abort,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

/// While it lives, the process has `limit` to drop it; otherwise it says what hung, and aborts.
///
/// A driver call that waits for a kernel cannot be interrupted, and an orderly exit waits for the kernel as well.
#[must_use = "dropping it ends the watch"]
pub struct Watchdog {
    _done: Sender<()>,
}

impl Watchdog {
    /// Watches over `what`, such as a kernel and its problem.
    pub fn new(what: String, limit: Duration) -> Self {
        let (done, watched) = channel::<()>();
        thread::spawn(move || {
            if watched.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                eprintln!("error: {what} did not finish within {} s: the device hangs", limit.as_secs());
                abort();
            }
        });
        Self { _done: done }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the test below the process that hangs.
    const HANGING: &str = "FALCHION_TEST_HANGING";

    #[test]
    fn a_hang_ends_the_process_and_says_what_hung() {
        if std::env::var_os(HANGING).is_some() {
            let _watch = Watchdog::new("kernel k on 1x2x3".to_owned(), Duration::from_millis(50));
            thread::sleep(Duration::from_secs(60));
            return;
        }
        let mut itself = std::process::Command::new(std::env::current_exe().unwrap());
        let name = "watchdog::tests::a_hang_ends_the_process_and_says_what_hung";
        let output = itself.args(["--exact", name, "--nocapture"]).env(HANGING, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains("kernel k on 1x2x3 did not finish"), "{text}");
    }

    #[test]
    fn work_that_ends_in_time_is_left_alone() {
        let limit = Duration::from_millis(50);
        drop(Watchdog::new("nothing".to_owned(), limit));
        thread::sleep(2 * limit);
    }
}
