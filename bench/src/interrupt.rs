//! Signals that end the program (INT, TERM, HUP): a run stops and reports its results, and no temporary file stays.
//!
//! A command calls [`Interruptible::begin`] when it has figures to report, or will have them within a moment. A first
//! signal before that call ends the program. After that call, the command handles a first signal: it stops at its next
//! step, writes its reports with the [`Interruption`], and ends. A second signal always ends the program.

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

/// The first signal received; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Whether the command handles a first signal.
static IS_INTERRUPTIBLE: AtomicBool = AtomicBool::new(false);
/// Files that are removed when the program ends early. Locked while one is created.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// How often the wait for uninterruptible work checks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// The signal that asked the program to end, if there was one.
#[must_use]
pub fn signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// The exit code of a program that a signal ended, as shells report it.
#[must_use]
pub fn exit_code(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// A command that stops by itself at a first signal, and reports what it has.
#[derive(Clone, Copy, Debug)]
pub struct Interruptible(());

impl Interruptible {
    /// From now until the program ends, the command handles a first signal. Calling it again changes nothing.
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

    /// Whether a loop should continue after the current step.
    pub fn flow(self) -> ControlFlow<()> {
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The result of work without steps at which to stop; `None` if a signal comes first. The work then continues
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

/// The point at which a signal stopped a run, in milliseconds. All reports give it; in JSON as a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interruption {
    /// In virtual time.
    Virtual(u64),
    /// In the machine's time, since the measurement began.
    Measured(u64),
}

impl Interruption {
    /// The present moment of a measurement that began at this time.
    #[must_use]
    pub fn measured_since(begun: Instant) -> Self {
        Self::Measured(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn ms(self) -> u64 {
        let (Self::Virtual(ms) | Self::Measured(ms)) = self;
        ms
    }

    /// The moment as text: `3.5 s of virtual time`.
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

/// Creates a temporary file and lists it, without a signal in between.
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

/// Starts to watch for signals. Signals that the program was started to ignore, as `nohup` does, stay ignored.
///
/// # Errors
/// When the operating system refuses.
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

/// On systems without such signals, does nothing: the system ends the program.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn watch() -> io::Result<()> {
    Ok(())
}

/// Ends the program. It waits for other threads only briefly, even if one holds a lock.
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

    /// The longest wait for a file that is being created, and for a blocked standard error.
    const PATIENCE: Duration = Duration::from_millis(500);

    /// Leaves a first signal to a command that handles it; ends the program otherwise.
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
        // `std::process::exit` would flush standard output, and wait for a main thread that is flushing.
        signal_hook::low_level::exit(exit_code(signal).into());
    }

    /// The list of temporary files, unless a thread is stuck creating a file.
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

    /// Writes to standard error without its lock, which a thread stuck on a full pipe may hold.
    fn say(message: &'static str) {
        let (sender, receiver) = mpsc::sync_channel(1);
        let write = move || {
            if let Ok(stderr) = io::stderr().as_fd().try_clone_to_owned() {
                drop(File::from(stderr).write_all(message.as_bytes()));
            }
            // The receiver may have timed out.
            let _ = sender.send(());
        };
        if thread::Builder::new().spawn(write).is_ok() {
            let _ = receiver.recv_timeout(PATIENCE);
        }
    }
}
