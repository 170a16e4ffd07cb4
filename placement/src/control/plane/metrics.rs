//! Counters of a control plane.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::control::metadata_store::StatusCode;

/// How often an action came to an end in one way, and how long that took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeTally {
    /// How often.
    pub count: u64,
    /// How long all of them took together, from their acceptance on.
    pub total_ms: u64,
    /// How long the longest took.
    pub longest_ms: u64,
}

/// Counts of a control plane's work since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlMetrics {
    /// Ends by action (`UNKNOWN` where a message names none that there is) and status.
    pub outcomes: BTreeMap<(&'static str, StatusCode), OutcomeTally>,
    /// Requests that it accepted.
    pub accepted: u64,
    /// The most that were accepted and not over at once.
    pub open_max: usize,
    /// Values in the place of requests that could not be read.
    pub unreadable: u64,
    /// Requests of earlier deployments that were told that nothing comes of them any more.
    pub orphans: u64,
    /// Outcomes that were deleted because of their age.
    pub aged_out: u64,
    /// Times that the store did not do as it was told.
    pub store_errors: u64,
}

impl ControlMetrics {
    pub(super) fn ended(&mut self, action: &'static str, status: StatusCode, took_ms: u64) {
        let tally = self.outcomes.entry((action, status)).or_default();
        tally.count += 1;
        tally.total_ms = tally.total_ms.saturating_add(took_ms);
        tally.longest_ms = tally.longest_ms.max(took_ms);
    }

    /// Ends with this status, whatever the action.
    #[must_use]
    pub fn count(&self, status: StatusCode) -> u64 {
        self.outcomes.iter().filter(|((_, ended), _)| *ended == status).map(|(_, tally)| tally.count).sum()
    }
}
