//! Statistics, on which no decision depends. So all builds use the real types. A model need not try their orders,
//! and their use is not a [step](super::fault) at which a test could ask for a panic.
#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts events. It orders nothing.
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

/// Figures that one thread records and another takes.
#[derive(Debug, Default)]
pub(crate) struct Figures<T>(parking_lot::Mutex<T>);

impl<T: Default> Figures<T> {
    pub(crate) fn record(&self, add: impl FnOnce(&mut T)) {
        add(&mut self.0.lock());
    }

    /// Takes the figures recorded since the last call.
    pub(crate) fn take(&self) -> T {
        let fresh = T::default();
        std::mem::replace(&mut *self.0.lock(), fresh)
    }
}
