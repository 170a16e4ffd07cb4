//! Locks, atomics and threads: thin newtypes over one backend, so that nobody can name the raw types by accident.
#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::io;

pub use std::sync::atomic::Ordering;

use super::backend::{self, atomic};
use super::fault;

/// A lock for one; its guards do not poison.
#[derive(Debug, Default)]
pub struct Mutex<T>(backend::Mutex<T>);

/// Gives access to what a [`Mutex`] protects, until it is dropped. More than that is not promised: each backend has
/// its own.
pub type MutexGuard<'a, T> = backend::MutexGuard<'a, T>;
/// Gives access for reading to what a [`RwLock`] protects, until it is dropped.
pub type ReadGuard<'a, T> = backend::RwLockReadGuard<'a, T>;
/// Gives access to what a [`RwLock`] protects, until it is dropped.
pub type WriteGuard<'a, T> = backend::RwLockWriteGuard<'a, T>;

impl<T> Mutex<T> {
    /// A lock that nobody holds.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(backend::Mutex::new(value))
    }

    /// Waits until nobody else has it. Where a holder panicked, what it left is there.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        fault::step();
        self.0.lock()
    }
}

/// A lock for many readers or one writer. A waiting writer holds new readers back, so it waits for at most
/// the readers that are in, and a thread must not read twice at a time.
#[derive(Debug)]
pub struct RwLock<T>(backend::RwLock<T>);

impl<T> RwLock<T> {
    /// A lock that nobody holds.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(backend::RwLock::new(value))
    }

    /// Waits until nobody writes or waits to write.
    pub fn read(&self) -> ReadGuard<'_, T> {
        fault::step();
        self.0.read()
    }

    /// Waits until nobody reads or writes.
    pub fn write(&self) -> WriteGuard<'_, T> {
        fault::step();
        self.0.write()
    }
}

/// A condition variable that takes the guard and hands it back, the one form that every backend has.
#[derive(Debug, Default)]
pub struct Condvar(backend::Condvar);

impl Condvar {
    /// Gives the guard up, sleeps until notified (or for no reason), and takes it again.
    #[must_use = "the guard is taken again"]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        fault::step();
        self.0.wait(guard)
    }

    /// Wakes one of those who wait.
    pub fn notify_one(&self) {
        fault::step();
        self.0.notify_one();
    }

    /// Wakes everybody who waits.
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
            /// Starts with `value`.
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

            /// Another value.
            pub fn store(&self, value: $value, ordering: Ordering) {
                fault::step();
                self.0.store(value, ordering);
            }

            /// Another value; returns the value before.
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

            /// Subtracts, in a drop: no [step](super::fault), since a panic there would keep the rest of it from
            /// being done.
            pub fn take_back(&self, value: $value, ordering: Ordering) {
                self.0.fetch_sub(value, ordering);
            }

            /// The greater of the value and `value`; returns the value before.
            pub fn fetch_max(&self, value: $value, ordering: Ordering) -> $value {
                fault::step();
                self.0.fetch_max(value, ordering)
            }
        }
    };
}

atomic!(AtomicU64, u64);

/// A thread that was started.
#[derive(Debug)]
pub struct Thread(backend::JoinHandle<()>);

impl Thread {
    /// Starts a thread.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn start(name: String, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        backend::spawn(name, work).map(Self)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it panicked; what it panicked with comes back.
    pub fn join(self) -> std::thread::Result<()> {
        self.0.join()
    }
}
