//! A control plane that runs.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::{ControlMetrics, ControlPlane};
use crate::control::metadata_store::ControlStore;

/// A control plane on a thread of its own. It turns when the store is written to, when a job wants to be called, and at
/// least every few milliseconds ([`POLL_MS`](Self::POLL_MS)), because cluster managers are polled. Ends when this is
/// dropped.
#[derive(Debug)]
pub struct ControlThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn ControlStore>,
    /// `None` when it was given back.
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
    /// How often cluster managers are polled unless someone says otherwise.
    pub const POLL_MS: u64 = 10;
    /// The longest time between two polls: whoever stops the thread waits for no longer.
    pub const POLL_MAX_MS: u64 = 100;

    /// Has the control plane run, with this clock: milliseconds since the epoch. `poll_ms` is from 1 to
    /// [`POLL_MAX_MS`](Self::POLL_MAX_MS); what is outside counts as the nearest of these.
    ///
    /// # Errors
    /// If there is no thread to be had.
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

    /// Has something done with the control plane between two of its turns: a job is taken in or out, for instance.
    /// Waits for the turn that goes on; not to be called by what it is given. `None` if it is not
    /// [running](Self::is_running) any more.
    pub fn with<T>(&self, body: impl FnOnce(&mut ControlPlane) -> T) -> Option<T> {
        if !self.is_running() {
            return None;
        }
        self.shared.plane.lock().as_mut().map(body)
    }

    /// Counts of its work so far.
    #[must_use]
    pub fn metrics(&self) -> ControlMetrics {
        self.shared.state.lock().metrics.clone()
    }

    /// Why the store did not do as it was told, the last time that it did not.
    #[must_use]
    pub fn last_error(&self) -> Option<String> {
        self.shared.state.lock().last_error.clone()
    }

    /// Whether it goes on: a job, a client or an authoriser that panics ends it for all jobs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends it after its turn, and gives the control plane back; `None` if it was not [running](Self::is_running) any
    /// more.
    pub fn stop(mut self) -> Option<ControlPlane> {
        if self.join() { self.shared.plane.lock().take() } else { None }
    }

    /// Says whether it has ended as it was told to.
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

    /// Says behind which write to wait, and for how long; `None` if it was the last turn.
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
