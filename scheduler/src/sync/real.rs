//! The primitives of the shipped build.
#![expect(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::io;
use std::time::Duration;

pub(super) use crossbeam::channel;
pub(super) use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub(super) use std::sync::atomic;
pub(super) use std::thread::JoinHandle;
#[cfg(any(test, apportion_faults))]
pub(super) use std::thread_local;

/// A condition variable that takes the guard and returns it, the one form that every backend has.
#[derive(Debug, Default)]
pub(super) struct Condvar(parking_lot::Condvar);

impl Condvar {
    pub(super) fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(&mut guard);
        guard
    }

    pub(super) fn wait_while_for<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        patience: Duration,
        is_awaited: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_while_for(&mut guard, is_awaited, patience);
        guard
    }

    pub(super) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }
}

pub(super) fn spawn<T: Send + 'static>(
    name: String,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name).spawn(work)
}
