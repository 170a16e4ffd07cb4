//! Time, as the driver provides it.

mod system;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{AtomicU64, Ordering};

pub use system::SystemClock;

/// The engine's only source of time.
#[doc = include_str!("../doc/clock.md")]
pub trait Clock: Send + Sync + fmt::Debug {
    /// Milliseconds since a moment of the clock's choice. Never runs backwards. The engine reads it under the write
    /// guard, so it must be quick and must not call the engine.
    fn now_ms(&self) -> u64;

    /// The real time to wait until the clock reads `at_ms`. `None` if only the driver moves the clock; the driver
    /// then calls [`Handle::tick`](crate::Handle::tick).
    fn until(&self, at_ms: u64) -> Option<Duration> {
        let _ = at_ms;
        None
    }

    /// Nanoseconds of real time since any moment, only for [`Engine::take_timing`](crate::Engine::take_timing). No
    /// decision depends on it. Proposers and the committer read it under their guards, the committer also before it
    /// waits for its guard. A clock that always returns 0 turns measuring off.
    fn measured_ns(&self) -> u64 {
        0
    }
}

/// A clock that stands still until it is set: virtual time. Clones share the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that reads 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward to `now_ms`; an earlier time leaves it as it is. The engine learns of it with its next
    /// message; without one, call [`Handle::tick`](crate::Handle::tick).
    pub fn set(&self, now_ms: u64) {
        self.0.fetch_max(now_ms, Ordering::Release);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}
