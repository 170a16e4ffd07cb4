//! A control plane that runs.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::{ControlMetrics, ControlPlane};

/// A control plane on a thread of its own. It turns when the store is written to, when a job wants to be called, and at
/// least every few milliseconds ([`POLL_MS`](Self::POLL_MS)), because cluster managers are polled. Ends when this is dropped.
#[derive(Debug)]
pub struct ControlThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<ControlPlane>>,
}

#[derive(Debug)]
struct Shared {
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
        let shared = Arc::new(Shared { state: Mutex::new(State::default()) });
        let body = Arc::clone(&shared);
        let builder = thread::Builder::new().name("control-plane".to_owned());
        let thread = builder.spawn(move || body.run(plane, poll_ms.clamp(1, Self::POLL_MAX_MS), &clock))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What it has done so far.
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

    /// Ends it after its turn, and gives the control plane back; `None` if it was not [running](Self::is_running) any more.
    pub fn stop(mut self) -> Option<ControlPlane> {
        self.join()
    }

    fn join(&mut self) -> Option<ControlPlane> {
        self.shared.state.lock().is_stopping = true;
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        self.join();
    }
}

impl Shared {
    fn run(&self, mut plane: ControlPlane, poll_ms: u64, clock: &dyn Fn() -> u64) -> ControlPlane {
        loop {
            let turned = plane.turn(clock());
            let wait = {
                let mut state = self.state.lock();
                state.metrics.clone_from(plane.metrics());
                if state.is_stopping {
                    return plane;
                }
                match turned {
                    Ok(next_ms) => {
                        let until_ms = next_ms.map_or(poll_ms, |next_ms| next_ms.saturating_sub(clock()));
                        Duration::from_millis(until_ms.min(poll_ms))
                    }
                    Err(error) => {
                        state.last_error = Some(error.to_string());
                        Duration::from_millis(poll_ms)
                    }
                }
            };
            plane.store().wait_for_write(plane.seen(), wait);
        }
    }
}
