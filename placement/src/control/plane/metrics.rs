//! Counters of a control plane.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::control::action::ActionName;
use crate::control::metadata_store::StatusCode;

/// The number of requests that ended with one action and status, and their durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeTally {
    /// How many ended.
    pub count: u64,
    /// The sum of their durations, from acceptance on.
    pub total_ms: u64,
    /// The longest duration.
    pub longest_ms: u64,
}

/// Counts of a control plane's work since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlMetrics {
    /// Ended requests by action and status. `None`: the message was not a valid request.
    pub outcomes: BTreeMap<(Option<ActionName>, StatusCode), OutcomeTally>,
    /// Accepted requests.
    pub accepted: u64,
    /// The most requests open at once.
    pub open_max: usize,
    /// Unreadable values among the requests.
    pub unreadable: u64,
    /// Requests of earlier deployments that were answered as failed.
    pub orphans: u64,
    /// Outcomes deleted because of their age.
    pub aged_out: u64,
    /// Turns in which the store failed.
    pub store_errors: u64,
}

impl ControlMetrics {
    pub(super) fn ended(&mut self, action: Option<ActionName>, status: StatusCode, took_ms: u64) {
        let tally = self.outcomes.entry((action, status)).or_default();
        tally.count += 1;
        tally.total_ms = tally.total_ms.saturating_add(took_ms);
        tally.longest_ms = tally.longest_ms.max(took_ms);
    }

    /// Counts ended requests with this status over all actions.
    #[must_use]
    pub fn count(&self, status: StatusCode) -> u64 {
        self.outcomes.iter().filter(|((_, ended), _)| *ended == status).map(|(_, tally)| tally.count).sum()
    }
}
