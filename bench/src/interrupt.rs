//! Signals that end the program (INT, TERM, HUP): a run stops and reports what it has, and no temporary file stays.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

/// The signal that came first; 0 for none. Simulations look at it after each step.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

static STATE: Mutex<State> = Mutex::new(State { stopping_runs: 0, temporary: BTreeSet::new() });

struct State {
    /// Runs that stop by themselves once a signal came.
    stopping_runs: usize,
    /// Files that are removed when the program ends early.
    temporary: BTreeSet<PathBuf>,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The signal that asked the program to end, if one did.
#[must_use]
pub fn signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// The exit code of a program that a signal ended, as shells have it.
#[must_use]
pub fn exit_code(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// While it lives, a first signal is left to the run.
#[derive(Debug)]
pub struct StopsItself(());

impl StopsItself {
    /// The run looks at [`signal`] from now on.
    #[must_use]
    pub fn new() -> Self {
        state().stopping_runs += 1;
        Self(())
    }
}

impl Default for StopsItself {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for StopsItself {
    fn drop(&mut self) {
        state().stopping_runs -= 1;
    }
}

/// A temporary file that is removed even if a signal ends the program.
#[derive(Debug)]
pub struct Listed(PathBuf);

/// Creates a temporary file and lists it, in one step as signals see it.
///
/// # Errors
/// When the file cannot be created.
pub fn list(create: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<(NamedTempFile, Listed)> {
    let mut state = state();
    let file = create()?;
    state.temporary.insert(file.path().to_owned());
    let listed = Listed(file.path().to_owned());
    Ok((file, listed))
}

impl Drop for Listed {
    fn drop(&mut self) {
        state().temporary.remove(&self.0);
    }
}

/// Starts to watch for signals. Those that the program was started to ignore, as `nohup` does, are left alone.
///
/// # Errors
/// When the system does not let it.
#[cfg(unix)]
pub fn watch() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let all = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let mut signals =
        signal_hook::iterator::Signals::new(all.filter(|signal| !crate::process::is_ignored(*signal)))?;
    let watch = move || signals.forever().for_each(receive);
    std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop)
}

/// Where there are no such signals, the system ends the program.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn watch() -> io::Result<()> {
    Ok(())
}

/// Leaves a first signal to a run that stops by itself; ends the program otherwise.
#[cfg(unix)]
fn receive(signal: i32) {
    use std::io::Write;

    let is_first = SIGNAL.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let state = state();
    if is_first && state.stopping_runs > 0 {
        return;
    }
    // The lock is held until the program has ended, so no other file is created.
    for file in &state.temporary {
        drop(std::fs::remove_file(file));
    }
    let what =
        if is_first { "no report was written" } else { "interrupted again, so the rest was not written" };
    drop(writeln!(io::stderr(), "apportion-bench: interrupted; {what}"));
    std::process::exit(exit_code(signal).into());
}
