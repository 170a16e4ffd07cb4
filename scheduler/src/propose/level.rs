//! The use of a queue, user or limit usage in one pass: used and in flight at the first look, plus the pass's picks.

use crate::resource::Resources;

/// The level of one queue, user or limit usage. It belongs to the present pass if it carries the pass's stamp.
#[derive(Debug, Default)]
pub(super) struct Level {
    stamp: u64,
    start: Resources,
    now: Resources,
    is_charged: bool,
}

impl Level {
    /// Whether the pass with this stamp has begun to count here.
    #[inline]
    pub(super) fn is_begun(&self, stamp: u64) -> bool {
        self.stamp == stamp
    }

    /// Begins to count for the pass with this stamp.
    #[inline]
    pub(super) fn begin(&mut self, stamp: u64, start: Resources) {
        // By field, so that the level is built here (see `facts/table.rs`).
        (self.stamp, self.is_charged) = (stamp, false);
        (self.start, self.now) = (start, start);
    }

    /// Use, amounts in flight, and the picks of this pass.
    #[inline]
    pub(super) fn now(&self) -> &Resources {
        &self.now
    }

    /// Whether the pass has charged anything here.
    pub(super) fn is_charged(&self) -> bool {
        self.is_charged
    }

    /// Charges a pick. True for the first one, with which the caller lists the level.
    #[inline]
    pub(super) fn charge(&mut self, size: &Resources) -> bool {
        self.now += *size;
        !std::mem::replace(&mut self.is_charged, true)
    }

    /// The picks of this pass.
    pub(super) fn given(&self) -> Resources {
        self.now - self.start
    }
}
