//! What a build reports while it runs.

use crate::Arch;
use std::{fmt, sync::Arc};

/// One step of a build or an installation, as it happens.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// The tools that will be used, in one line.
    Toolchain(&'a str),
    /// A command of the installation that is about to run.
    Installing(&'a str),
    /// A line of cargo's or rustc's own output: crates as they compile, and warnings.
    Cargo(&'a str),
    /// The device crate is compiled and linked; this many kernels follow.
    Linked {
        /// How many entry points the crate has.
        kernels: usize,
    },
    /// A kernel is done, or failed (the error comes from the build).
    Kernel {
        /// The entry point.
        name: &'a str,
        /// What its PTX targets.
        arch: Arch,
        /// How many kernels are done, this one included.
        finished: usize,
        /// How many kernels there are.
        total: usize,
        /// Wall-clock seconds from bitcode to cubins.
        seconds: f64,
        /// Whether the files of an earlier build were still right.
        reused: bool,
    },
}

type Callback = dyn Fn(Progress<'_>) + Send + Sync;

/// A callback shared by the threads of a build.
#[derive(Clone, Default)]
pub(crate) struct Listener(Option<Arc<Callback>>);

impl Listener {
    pub(crate) fn new(callback: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        Listener(Some(Arc::new(callback)))
    }

    pub(crate) fn tell(&self, progress: Progress<'_>) {
        if let Some(callback) = &self.0 {
            callback(progress);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Listener(..)" } else { "Listener(none)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn a_listener_hears_every_step_in_order() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&heard);
        let listener = Listener::new(move |progress| sink.lock().unwrap().push(format!("{progress:?}")));
        listener.tell(Progress::Cargo("Compiling core"));
        listener.clone().tell(Progress::Linked { kernels: 3 });
        assert_eq!(*heard.lock().unwrap(), ["Cargo(\"Compiling core\")", "Linked { kernels: 3 }"]);
    }
}
