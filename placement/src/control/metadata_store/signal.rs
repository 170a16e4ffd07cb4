//! Wakes the threads that wait for requests.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The number of applies that brought requests.
#[derive(Debug, Default)]
pub(super) struct Signal {
    written: Mutex<u64>,
    raised: Condvar,
}

impl Signal {
    /// Counts one more, and wakes all waiters. Call it after the requests can be read: a waiter reads at
    /// once.
    pub(super) fn raise(&self) {
        *self.written.lock() += 1;
        self.raised.notify_all();
    }

    pub(super) fn written(&self) -> u64 {
        *self.written.lock()
    }

    pub(super) fn wait(&self, seen: u64, timeout: Duration) -> u64 {
        let mut written = self.written.lock();
        self.raised.wait_while_for(&mut written, |written| *written <= seen, timeout);
        *written
    }
}
