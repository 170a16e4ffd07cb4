//! Latencies from ask to commit.

use std::collections::VecDeque;
use std::time::Instant;

use apportion::CommitSeq;
use hdrhistogram::{CreationError, Histogram};

/// Longer times count as this one.
const LONGEST_NS: u64 = 60_000_000_000;

/// Latencies, and the commit times of groups whose events have not been read.
#[derive(Debug)]
pub(crate) struct Latency {
    groups: VecDeque<(CommitSeq, Instant)>,
    ns: Histogram<u64>,
}

impl Latency {
    pub(crate) fn new() -> Result<Self, CreationError> {
        Ok(Self { groups: VecDeque::new(), ns: Histogram::new_with_max(LONGEST_NS, 3)? })
    }

    /// Discards the latencies.
    pub(crate) fn reset(&mut self) {
        self.ns.reset();
    }

    pub(crate) fn ns(&self) -> &Histogram<u64> {
        &self.ns
    }

    /// Records groups, in order, with their last changes.
    pub(crate) fn record_groups(&mut self, groups: Vec<(CommitSeq, Instant)>) {
        self.groups.extend(groups);
    }

    /// Records that this change placed an ask.
    pub(crate) fn record(&mut self, seq: CommitSeq, asked_at: Instant) {
        while self.groups.front().is_some_and(|(last, _)| *last < seq) {
            self.groups.pop_front();
        }
        if let Some((_, committed_at)) = self.groups.front() {
            let ns = committed_at.saturating_duration_since(asked_at).as_nanos();
            self.ns.saturating_record(ns.try_into().unwrap_or(u64::MAX));
        }
    }
}
