//! Limits of a control plane, and its policy for conflicting requests.

/// Limits of a control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlSettings {
    /// The most open requests, at least 1. Further requests stay in the store.
    pub accepted_max: usize,
    /// The longest time in milliseconds that a request may wait in the store. An older request fails, and a
    /// request whose timestamp is further ahead is rejected.
    pub age_max_ms: u64,
    /// How long an outcome is kept, at least twice `age_max_ms`. A repeated request finds the first outcome
    /// until then; afterwards the request is too old.
    pub retention_ms: u64,
    /// The interval between searches for old outcomes; at least one second.
    pub sweep_every_ms: u64,
}

impl Default for ControlSettings {
    /// 10,000 open requests, an hour in the store, outcomes kept for a week.
    fn default() -> Self {
        const HOUR_MS: u64 = 3_600_000;
        Self {
            accepted_max: 10_000,
            age_max_ms: HOUR_MS,
            retention_ms: 7 * 24 * HOUR_MS,
            sweep_every_ms: HOUR_MS,
        }
    }
}

/// The policy for a request about a processor with another open request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// The request waits, unless too many wait already (Samza's way, `samza.md` Z2).
    Queue {
        /// The most requests that may wait for one processor and its standbys, and the most about many
        /// containers.
        most: usize,
    },
    /// The request is refused with `CONFLICT` (the seed's 409). A request about many containers conflicts
    /// with every open request, and every request conflicts with an open one about many containers.
    Refuse,
}

impl Default for ConflictPolicy {
    fn default() -> Self {
        Self::Queue { most: 100 }
    }
}
