//! The primitives of a model build: the same interfaces, with every step controlled by a model checker.
//!
//! These bodies do not test the shipped ones: that parking_lot's locks and condition variables, crossbeam's
//! channels and dashmap's shards behave as documented. A lock here is unfair, a channel is a queue under a lock,
//! and a directory is a map under a lock. A wait with a time limit never ends by itself, because virtual time
//! stands still.

pub(super) mod channel;

use std::fmt;
use std::io;
use std::sync::PoisonError;
use std::time::Duration;

#[cfg(apportion_loom)]
use loom as checker;
#[cfg(apportion_shuttle)]
use shuttle as checker;

pub(super) use checker::sync::atomic;
pub(super) use checker::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
pub(super) use checker::thread::JoinHandle;
#[cfg(any(test, apportion_faults))]
pub(super) use checker::thread_local;

/// A mutex without poisoning, like the shipped one.
pub(super) struct Mutex<T>(checker::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Self {
        Self(checker::sync::Mutex::new(value))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// Does not show the value: reading it would be a step of the model.
impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

/// A readers-writer lock without poisoning, like the shipped one.
pub(super) struct RwLock<T>(checker::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(super) fn new(value: T) -> Self {
        Self(checker::sync::RwLock::new(value))
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RwLock")
    }
}

/// A condition variable that takes the guard and returns it.
#[derive(Debug, Default)]
pub(super) struct Condvar(checker::sync::Condvar);

impl Condvar {
    pub(super) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait_while_for<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        _: Duration,
        mut is_awaited: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        while is_awaited(&mut guard) {
            guard = self.wait(guard);
        }
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
    checker::thread::Builder::new().name(name).stack_size(stack_bytes()).spawn(work)
}

/// The stack of a model's thread. The checkers' own default, 32 to 60 KiB, is too small for an engine without
/// optimisation.
pub(crate) fn stack_bytes() -> usize {
    let set = std::env::var("RUST_MIN_STACK").ok();
    set.and_then(|bytes| bytes.parse().ok()).unwrap_or(1 << 20)
}
