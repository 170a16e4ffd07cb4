//! Locks, atomics and threads: thin newtypes over one backend, so that code cannot name the raw types by accident.
#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::io;
use std::time::Duration;

pub use std::sync::atomic::Ordering;

use super::backend::{self, atomic};
use super::fault;

/// A mutual-exclusion lock; its guards do not poison.
#[derive(Debug, Default)]
pub struct Mutex<T>(backend::Mutex<T>);

/// Gives access to the value of a [`Mutex`] until it is dropped. It promises nothing more, because each backend has
/// its own type.
pub type MutexGuard<'a, T> = backend::MutexGuard<'a, T>;
/// Gives read access to the value of a [`RwLock`] until it is dropped.
pub type ReadGuard<'a, T> = backend::RwLockReadGuard<'a, T>;
/// Gives access to the value of a [`RwLock`] until it is dropped.
pub type WriteGuard<'a, T> = backend::RwLockWriteGuard<'a, T>;

impl<T> Mutex<T> {
    /// A free lock.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(backend::Mutex::new(value))
    }

    /// Waits for the lock. If a holder panicked, the value is as the holder left it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        fault::step();
        self.0.lock()
    }
}

/// A lock for many readers or one writer. A waiting writer blocks new readers, so it waits only for present
/// readers. For the same reason a thread must not hold two read guards at a time.
#[derive(Debug)]
pub struct RwLock<T>(backend::RwLock<T>);

impl<T> RwLock<T> {
    /// A free lock.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(backend::RwLock::new(value))
    }

    /// Waits until no thread writes or waits to write.
    pub fn read(&self) -> ReadGuard<'_, T> {
        fault::step();
        self.0.read()
    }

    /// Waits until no thread reads or writes.
    pub fn write(&self) -> WriteGuard<'_, T> {
        fault::step();
        self.0.write()
    }
}

/// A condition variable that takes the guard and returns it, the one form that every backend has.
#[derive(Debug, Default)]
pub struct Condvar(backend::Condvar);

impl Condvar {
    /// Releases the guard, sleeps until notified (or woken spuriously), and takes the guard again.
    #[must_use = "the guard is taken again"]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        fault::step();
        self.0.wait(guard)
    }

    /// Waits as long as `is_awaited` holds, but not longer than `patience`. A model never runs out of patience.
    #[must_use = "the guard is taken again"]
    pub fn wait_while_for<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        patience: Duration,
        is_awaited: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        fault::step();
        self.0.wait_while_for(guard, patience, is_awaited)
    }

    /// Wakes one waiting thread.
    pub fn notify_one(&self) {
        fault::step();
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        fault::step();
        self.0.notify_all();
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        /// A number that threads share, with the operations that every backend has.
        #[derive(Debug, Default)]
        pub struct $name(atomic::$name);

        impl $name {
            /// A word with this value.
            #[must_use]
            pub fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            /// The value.
            #[must_use]
            pub fn load(&self, ordering: Ordering) -> $value {
                fault::step();
                self.0.load(ordering)
            }

            /// Sets the value.
            pub fn store(&self, value: $value, ordering: Ordering) {
                fault::step();
                self.0.store(value, ordering);
            }

            /// Sets the value; returns the value before.
            pub fn swap(&self, value: $value, ordering: Ordering) -> $value {
                fault::step();
                self.0.swap(value, ordering)
            }

            /// Adds; returns the value before.
            pub fn fetch_add(&self, value: $value, ordering: Ordering) -> $value {
                fault::step();
                self.0.fetch_add(value, ordering)
            }

            /// Subtracts; returns the value before.
            pub fn fetch_sub(&self, value: $value, ordering: Ordering) -> $value {
                fault::step();
                self.0.fetch_sub(value, ordering)
            }

            /// Sets bits; returns the value before.
            pub fn fetch_or(&self, value: $value, ordering: Ordering) -> $value {
                fault::step();
                self.0.fetch_or(value, ordering)
            }

            /// Keeps only these bits; returns the value before.
            pub fn fetch_and(&self, value: $value, ordering: Ordering) -> $value {
                fault::step();
                self.0.fetch_and(value, ordering)
            }

            /// Subtracts inside a drop. It is not a [step](super::fault), because a panic would skip the rest of
            /// the drop.
            pub fn take_back(&self, value: $value, ordering: Ordering) {
                self.0.fetch_sub(value, ordering);
            }

            /// Sets the greater of the value and `value`; returns the value before.
            pub fn fetch_max(&self, value: $value, ordering: Ordering) -> $value {
                fault::step();
                self.0.fetch_max(value, ordering)
            }
        }
    };
}

atomic!(AtomicU64, u64);

/// A started thread.
#[derive(Debug)]
pub struct Thread(backend::JoinHandle<()>);

impl Thread {
    /// Starts a thread.
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    pub fn start(name: String, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        backend::spawn(name, work).map(Self)
    }

    /// Waits for the thread to end.
    ///
    /// # Errors
    /// If the thread panicked; the error is the panic's payload.
    pub fn join(self) -> std::thread::Result<()> {
        self.0.join()
    }
}
