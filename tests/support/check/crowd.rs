//! Follows the log of many concurrent callers.

use std::collections::VecDeque;

use apportion::event::Event;
use apportion::{Change, CommitOutcome, CommitSeq, Engine};

use super::{Checker, Sent, Step, read_log};

impl Checker {
    /// Checks everything, as [`check`](Self::check) does, for an engine with many concurrent callers. The order in
    /// which they sent is unknown, so the log's order is taken as true. `by_hand` are the requests whose callers were
    /// told of acceptance. Returns the number of changes. Panics if anything is wrong.
    pub fn check_crowd(
        &mut self,
        engine: &Engine,
        log: &[u8],
        events: Vec<Event>,
        by_hand: &[CommitSeq],
    ) -> u64 {
        let sent: VecDeque<Sent> = read_log(log)
            .into_iter()
            .zip(1..)
            .filter_map(|(change, number)| as_sent(change, CommitSeq(number), by_hand))
            .collect();
        self.check(Step { engine, log, events, sent, refusals: None });
        self.seen
    }
}

/// Returns what must have been sent for this change to be in the log, or `None` if the engine made it by itself.
fn as_sent(change: Change, seq: CommitSeq, by_hand: &[CommitSeq]) -> Option<Sent> {
    match change {
        Change::Configured { .. }
        | Change::TimeAdvanced { .. }
        | Change::NodeSilenceSet { .. }
        | Change::OpportunitiesMissed { .. }
        | Change::ReservedAgain { .. }
        | Change::QueueExpired { .. }
        | Change::ReservationExpired { .. }
        | Change::RackNamed { .. } => None,
        Change::QueueUpdated { .. } | Change::Reconfigured { .. } => Some(Sent::Queue(change, Ok(seq))),
        Change::Committed { request } => {
            by_hand.contains(&seq).then_some(Sent::Request(request, CommitOutcome::Accepted(seq)))
        }
        change => Some(Sent::Change(change)),
    }
}
