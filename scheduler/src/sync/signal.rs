//! Wake-ups that cannot be lost.

use super::primitive::{Condvar, Mutex};

/// A counter for sleeping threads: observe it, look for work, and sleep only if the counter has not moved since.
///
/// A sleep notices a raise that came after the observation. So a thread that publishes work and then raises never
/// leaves a sleeper behind (I13).
#[derive(Debug, Default)]
pub struct Signal {
    state: Mutex<State>,
    raised: Condvar,
}

#[derive(Debug, Default)]
struct State {
    count: u64,
    sleepers: usize,
    closed: bool,
}

impl Signal {
    /// The count for [`wait`](Self::wait); `None` once closed.
    pub fn observe(&self) -> Option<u64> {
        let state = self.state.lock();
        (!state.closed).then_some(state.count)
    }

    /// Announces work for `workers` threads: wakes that many sleepers, and keeps threads that are about to sleep
    /// awake.
    pub fn raise(&self, workers: usize) {
        let mut state = self.state.lock();
        state.count += 1;
        for _ in 0..workers.min(state.sleepers) {
            self.raised.notify_one();
        }
    }

    /// Wakes every sleeper for good.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        self.raised.notify_all();
    }

    /// Sleeps until raised or closed since `seen` was observed.
    pub fn wait(&self, seen: u64) {
        let mut state = self.state.lock();
        state.sleepers += 1;
        while state.count == seen && !state.closed {
            state = self.raised.wait(state);
        }
        state.sleepers -= 1;
    }
}
