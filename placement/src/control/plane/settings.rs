//! Limits of a control plane, and its policy for conflicting requests.

/// Limits of a control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlSettings {
    /// So many requests at once are taken on and not over, at least one; the others stay in the store.
    pub accepted_max: usize,
    /// A request that has waited for longer than this in the store is not begun any more, nor one whose time is ahead
    /// by more.
    pub age_max_ms: u64,
    /// The outcome of a request is kept for this long, and at least for twice `age_max_ms`: whoever repeats the request
    /// meanwhile finds the first outcome, and later it is too old.
    pub retention_ms: u64,
    /// How often outcomes that are too old are looked for; not more than once a second.
    pub sweep_every_ms: u64,
}

impl Default for ControlSettings {
    /// 10,000 requests at once, an hour in the store, outcomes for a week.
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
    /// It waits, unless so many wait already (Samza's way, `samza.md` Z2).
    Queue {
        /// How many may wait for one processor and its standbys, and how many that concern many containers.
        most: usize,
    },
    /// It is refused with `CONFLICT` (the seed's 409); so is one that concerns many containers while any other is not
    /// over, and any while one that concerns many is not over.
    Refuse,
}

impl Default for ConflictPolicy {
    fn default() -> Self {
        Self::Queue { most: 100 }
    }
}
