//! Runs a control plane on a thread.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::{ControlMetrics, ControlPlane};
use crate::control::metadata_store::ControlStore;

/// A control plane on a thread of its own. The thread calls [`ControlPlane::turn`] when the store is
/// written to, when a job's deadline passes, and at least every `poll_ms`, because cluster managers are
/// polled. Dropping the handle stops the thread.
#[derive(Debug)]
pub struct ControlThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn ControlStore>,
    /// `None` after [`ControlThread::stop`].
    plane: Mutex<Option<ControlPlane>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_stopping: bool,
    metrics: ControlMetrics,
    last_error: Option<String>,
}

impl ControlThread {
    /// The default interval between polls of the cluster managers.
    pub const POLL_MS: u64 = 10;
    /// The longest interval between polls. It also bounds how long a stop waits for an idle thread.
    pub const POLL_MAX_MS: u64 = 100;

    /// Starts the thread. `clock` returns milliseconds since the epoch. `poll_ms` is clamped to 1 to
    /// [`POLL_MAX_MS`](Self::POLL_MAX_MS).
    ///
    /// # Errors
    /// If the operating system provides no thread.
    pub fn start(
        plane: ControlPlane,
        poll_ms: u64,
        clock: impl Fn() -> u64 + Send + 'static,
    ) -> io::Result<Self> {
        let store = Arc::clone(plane.store());
        let shared = Shared { store, plane: Mutex::new(Some(plane)), state: Mutex::new(State::default()) };
        let shared = Arc::new(shared);
        let body = Arc::clone(&shared);
        let builder = thread::Builder::new().name("control-plane".to_owned());
        let thread = builder.spawn(move || body.run(poll_ms.clamp(1, Self::POLL_MAX_MS), &clock))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Calls `body` with the control plane between two turns, for instance to deploy a job. Waits for the
    /// current turn. `body` must not call this itself. `None` if the thread no longer
    /// [runs](Self::is_running).
    pub fn with<T>(&self, body: impl FnOnce(&mut ControlPlane) -> T) -> Option<T> {
        if !self.is_running() {
            return None;
        }
        self.shared.plane.lock().as_mut().map(body)
    }

    /// Returns the counters of its work so far.
    #[must_use]
    pub fn metrics(&self) -> ControlMetrics {
        self.shared.state.lock().metrics.clone()
    }

    /// Returns the latest error of the store.
    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        self.shared.state.lock().last_error.clone()
    }

    /// Returns whether the thread runs. A panic in a job, a client or an authoriser ends it for all jobs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Stops the thread after its current turn, and returns the control plane; `None` if the thread no
    /// longer [ran](Self::is_running).
    pub fn stop(mut self) -> Option<ControlPlane> {
        if self.join() { self.shared.plane.lock().take() } else { None }
    }

    /// Stops the thread. Returns whether it ended without a panic.
    fn join(&mut self) -> bool {
        self.shared.state.lock().is_stopping = true;
        self.thread.take().is_some_and(|thread| thread.join().is_ok())
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        self.join();
    }
}

impl Shared {
    fn run(&self, poll_ms: u64, clock: &dyn Fn() -> u64) {
        while let Some((seen, wait)) = self.turn(poll_ms, clock) {
            self.store.wait_for_write(seen, wait);
        }
    }

    /// Returns the write count to wait behind and the longest wait; `None` after the last turn.
    fn turn(&self, poll_ms: u64, clock: &dyn Fn() -> u64) -> Option<(u64, Duration)> {
        let mut plane = self.plane.lock();
        let plane = plane.as_mut()?;
        let turned = plane.turn(clock());
        let mut state = self.state.lock();
        state.metrics.clone_from(plane.metrics());
        let until_ms = match turned {
            Ok(next_ms) => next_ms.map_or(poll_ms, |next_ms| next_ms.saturating_sub(clock())),
            Err(error) => {
                state.last_error = Some(error.to_string());
                poll_ms
            }
        };
        let wait = Duration::from_millis(until_ms.min(poll_ms));
        (!state.is_stopping).then(|| (plane.seen(), wait))
    }
}
