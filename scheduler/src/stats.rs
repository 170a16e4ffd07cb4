//! Counters of one engine.

pub(crate) mod counts;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Refusal;
use crate::request::{RejectReason, ResourceAllocationCommitRequest};

/// Counts of an engine's work since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineStats {
    /// Accepted commit requests.
    pub committed: u64,
    /// Containers placed.
    pub allocated: u64,
    /// Reservations made on nodes.
    pub reserved: u64,
    /// Rejected commit requests, by reason.
    #[serde(deserialize_with = "counts::rejected")]
    pub rejected: BTreeMap<&'static str, u64>,
    /// Decided batches, including empty ones.
    pub batches: u64,
    /// The most placement sets that may be checked out at a time: fewer when proposals collide.
    #[serde(alias = "sets_out_max")]
    pub sets_checked_out_max: u64,
    /// Group commits.
    pub groups: u64,
    /// Refused calls, by reason.
    #[serde(deserialize_with = "counts::refused")]
    pub refused: BTreeMap<&'static str, u64>,
    /// Containers that the committer placed itself, for starved asks.
    pub placed_by_committer: u64,
    /// Rounds of preemption.
    pub preemption_rounds: u64,
    /// Containers that these rounds ended for others.
    pub preempted: u64,
    /// Panics of proposing threads.
    pub proposer_panics: u64,
}

impl EngineStats {
    pub(crate) fn count_committed(&mut self, request: &ResourceAllocationCommitRequest) {
        self.committed += 1;
        self.allocated += request.allocate.len() as u64;
        self.reserved += request.reserve.len() as u64;
    }

    pub(crate) fn count_rejected(&mut self, reason: RejectReason) {
        *self.rejected.entry(reason.label()).or_default() += 1;
    }

    pub(crate) fn count_refused(&mut self, refusal: Refusal) {
        *self.refused.entry(refusal.label()).or_default() += 1;
    }

    /// Rejected requests, all reasons together.
    #[must_use]
    pub fn rejected_total(&self) -> u64 {
        self.rejected.values().sum()
    }

    /// The fraction of decided requests that were rejected, from 0 to 1.
    #[must_use]
    pub fn rejected_fraction(&self) -> f64 {
        let rejected = self.rejected_total();
        let decided = rejected + self.committed;
        if decided == 0 { 0.0 } else { rejected as f64 / decided as f64 }
    }
}
