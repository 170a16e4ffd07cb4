//! Locks, atomics and threads: thin newtypes over one backend, so that nobody can name the raw types by accident.
#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::io;

pub(crate) use std::sync::atomic::Ordering;

use super::backend::{self, atomic};

/// A lock for one; its guards do not poison.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(backend::Mutex<T>);

pub(crate) type MutexGuard<'a, T> = backend::MutexGuard<'a, T>;
pub(crate) type ReadGuard<'a, T> = backend::RwLockReadGuard<'a, T>;
pub(crate) type WriteGuard<'a, T> = backend::RwLockWriteGuard<'a, T>;

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(backend::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock()
    }
}

/// A lock for many readers or one writer. A waiting writer holds new readers back, so it waits for at most
/// the readers that are in (`crates.md` 1.2), and a thread must not read twice at a time.
#[derive(Debug)]
pub(crate) struct RwLock<T>(backend::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(backend::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> ReadGuard<'_, T> {
        self.0.read()
    }

    pub(crate) fn write(&self) -> WriteGuard<'_, T> {
        self.0.write()
    }
}

/// A condition variable that takes the guard and hands it back, the one form that every backend has.
#[derive(Debug, Default)]
pub(crate) struct Condvar(backend::Condvar);

impl Condvar {
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard)
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        #[derive(Debug, Default)]
        pub(crate) struct $name(atomic::$name);

        #[allow(dead_code, reason = "not every width uses every operation")]
        impl $name {
            pub(crate) fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                self.0.load(ordering)
            }

            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                self.0.store(value, ordering);
            }

            pub(crate) fn fetch_add(&self, value: $value, ordering: Ordering) -> $value {
                self.0.fetch_add(value, ordering)
            }

            pub(crate) fn fetch_sub(&self, value: $value, ordering: Ordering) -> $value {
                self.0.fetch_sub(value, ordering)
            }

            pub(crate) fn fetch_or(&self, value: $value, ordering: Ordering) -> $value {
                self.0.fetch_or(value, ordering)
            }

            pub(crate) fn fetch_max(&self, value: $value, ordering: Ordering) -> $value {
                self.0.fetch_max(value, ordering)
            }

            /// Adds one unless the value has reached `bound`.
            pub(crate) fn increment_below(&self, bound: $value, ordering: Ordering) -> bool {
                let mut seen = self.0.load(Ordering::Relaxed);
                while seen < bound {
                    match self.0.compare_exchange_weak(seen, seen + 1, ordering, Ordering::Relaxed) {
                        Ok(_) => return true,
                        Err(now) => seen = now,
                    }
                }
                false
            }
        }
    };
}

atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicI64, i64);

/// A thread that was started.
#[derive(Debug)]
pub(crate) struct Thread(backend::JoinHandle<()>);

impl Thread {
    /// Starts a thread.
    pub(crate) fn start(name: String, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        backend::spawn(name, work).map(Self)
    }

    /// Waits for its end; a panic was reported by the thread itself.
    pub(crate) fn join(self) {
        let _ = self.0.join();
    }
}
