//! Signals that end the program (INT, TERM, HUP): a run stops and reports what it has, and no temporary file stays.
//!
//! A command calls [`Interruptible::begin`] when it has figures to report, or will have them within a moment. A first
//! signal before that ends the program. A first signal after that is left to the command: it stops at its next step,
//! writes its reports with the [`Interruption`], and ends. A second signal always ends the program.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use tempfile::NamedTempFile;

use crate::report::duration_text;

/// The signal that came first; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Whether a first signal is left to the command.
static IS_INTERRUPTIBLE: AtomicBool = AtomicBool::new(false);
/// Files that are removed when the program ends early. Locked while one is created.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// How often work that cannot be stopped is left to look for a signal.
const LOOK: Duration = Duration::from_millis(50);

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

/// A command that stops by itself at a first signal, and reports what it has.
#[derive(Clone, Copy, Debug)]
pub struct Interruptible(());

impl Interruptible {
    /// From now on, until the program ends, a first signal is left to the command. Calling it again changes nothing.
    #[must_use]
    pub fn begin() -> Self {
        IS_INTERRUPTIBLE.store(true, Ordering::Relaxed);
        Self(())
    }

    /// Whether a signal came.
    #[must_use]
    pub fn is_stopped(self) -> bool {
        signal().is_some()
    }

    /// For loops that ask after each step whether they should go on.
    pub fn flow(self) -> ControlFlow<()> {
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The result of work that has no steps to stop between; `None` if a signal comes first. The work then goes on
    /// until the program ends.
    pub fn unless_stopped<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let worker = std::thread::spawn(move || drop(sender.send(work())));
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(result) => return Some(result),
                Err(mpsc::RecvTimeoutError::Timeout) if !self.is_stopped() => {}
                Err(mpsc::RecvTimeoutError::Timeout) => return None,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        // Without a result the work panicked.
        worker.join().map_or_else(|panic| std::panic::resume_unwind(panic), |()| None)
    }
}

/// Where a signal stopped a run, in milliseconds. All reports say it; JSON as a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interruption {
    /// Of virtual time.
    Virtual(u64),
    /// Of the machine's time, since the measurement began.
    Measured(u64),
}

impl Interruption {
    /// Now, in a measurement that began then.
    #[must_use]
    pub fn measured_since(begun: Instant) -> Self {
        Self::Measured(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn ms(self) -> u64 {
        let (Self::Virtual(ms) | Self::Measured(ms)) = self;
        ms
    }

    /// The moment, for people: `3.5 s of virtual time`.
    #[must_use]
    pub fn moment(self) -> String {
        let of = match self {
            Self::Virtual(_) => "of virtual time",
            Self::Measured(_) => "of the measurement",
        };
        format!("{} {of}", duration_text(self.ms()))
    }
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted at {}", self.moment())
    }
}

impl Serialize for Interruption {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.ms() as f64 / 1e3)
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
    let mut temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    let file = create()?;
    temporary.insert(file.path().to_owned());
    let listed = Listed(file.path().to_owned());
    Ok((file, listed))
}

impl Drop for Listed {
    fn drop(&mut self) {
        TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
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
    let mut signals = signal_hook::iterator::Signals::new(
        all.filter(|signal| !apportion_load::process::is_ignored(*signal)),
    )?;
    let watch = move || signals.forever().for_each(end::receive);
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

/// Ends the program. It waits for no other thread for long, even if that thread holds a lock.
#[cfg(unix)]
mod end {
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::AsFd;
    use std::path::PathBuf;
    use std::sync::atomic::Ordering;
    use std::sync::{MutexGuard, TryLockError, mpsc};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{IS_INTERRUPTIBLE, SIGNAL, TEMPORARY, exit_code};

    /// How long a file that is being created, and a standard error that takes nothing, are waited for.
    const PATIENCE: Duration = Duration::from_millis(500);

    /// Leaves a first signal to a command that stops by itself; ends the program otherwise.
    pub(super) fn receive(signal: i32) {
        let is_first = SIGNAL.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_first && IS_INTERRUPTIBLE.load(Ordering::Relaxed) {
            return;
        }
        // Locked until the program has ended, so no other file is created.
        let temporary = temporary();
        for file in temporary.iter().flat_map(|files| files.iter()) {
            drop(std::fs::remove_file(file));
        }
        say(if is_first {
            "apportion-bench: interrupted; no report was written\n"
        } else {
            "apportion-bench: interrupted again, so the rest was not written\n"
        });
        // `std::process::exit` would flush standard output, and wait for a main thread that does so.
        signal_hook::low_level::exit(exit_code(signal).into());
    }

    /// The list, unless a thread is stuck in creating a file.
    fn temporary() -> Option<MutexGuard<'static, BTreeSet<PathBuf>>> {
        let begun = Instant::now();
        loop {
            match TEMPORARY.try_lock() {
                Ok(files) => return Some(files),
                Err(TryLockError::Poisoned(files)) => return Some(files.into_inner()),
                Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Writes to standard error past its lock, which a thread may hold that is stuck on a full pipe.
    fn say(message: &'static str) {
        let (sender, receiver) = mpsc::sync_channel(1);
        let write = move || {
            if let Ok(stderr) = io::stderr().as_fd().try_clone_to_owned() {
                drop(File::from(stderr).write_all(message.as_bytes()));
            }
            // The watcher may have lost its patience.
            let _ = sender.send(());
        };
        if thread::Builder::new().spawn(write).is_ok() {
            let _ = receiver.recv_timeout(PATIENCE);
        }
    }
}
