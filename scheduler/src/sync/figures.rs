//! Counts for statistics.
#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what happened, for people to read: nothing is decided by it. So it is the real type in all builds, which spares
/// a model the orders of what nobody looks at, and counting is no [step](super::fault) at which anything could go wrong.
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
