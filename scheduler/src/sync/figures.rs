//! What is counted and measured for people to read: nothing is decided by it. So these are the real types in all
//! builds, which spares a model the orders of what nobody looks at, and using them is no [step](super::fault) at which
//! anything could go wrong.
#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what happened. It orders nothing.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Figures that one thread notes and another takes.
#[derive(Debug, Default)]
pub(crate) struct Figures<T>(parking_lot::Mutex<T>);

impl<T: Default> Figures<T> {
    pub(crate) fn note(&self, note: impl FnOnce(&mut T)) {
        note(&mut self.0.lock());
    }

    /// What was noted since the last call.
    pub(crate) fn take(&self) -> T {
        let fresh = T::default();
        std::mem::replace(&mut *self.0.lock(), fresh)
    }
}
