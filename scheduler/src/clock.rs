//! Time, as the driver hands it in.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{AtomicU64, Ordering};

/// The engine's only source of time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Milliseconds since a moment of the clock's own choice. Never runs backwards. Read under the write guard, so
    /// it has to be quick and must call nothing of the engine.
    fn now_ms(&self) -> u64;

    /// How long to wait, in real time, until the clock reads `at_ms`; `None` if only somebody else can move
    /// it, who will then say so with [`Handle::tick`](crate::Handle::tick).
    fn until(&self, at_ms: u64) -> Option<Duration> {
        let _ = at_ms;
        None
    }

    /// Nanoseconds of real time since any moment, for [`Engine::take_timing`](crate::Engine::take_timing) and nothing
    /// else: nothing is decided by it. Proposers and the committer read it under their guards. A clock that always says
    /// 0 measures nothing.
    fn measured_ns(&self) -> u64 {
        0
    }
}

/// A clock that stands still until it is set: virtual time. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that reads 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward to `now_ms`; an earlier time leaves it as it is.
    pub fn set(&self, now_ms: u64) {
        self.0.fetch_max(now_ms, Ordering::Release);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}
