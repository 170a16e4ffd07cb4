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
        let sent = self.sent_since(log, by_hand);
        self.check(Step { engine, log, events, sent, refusals: None });
        self.seen
    }

    /// The same for an engine that recovered from `log`, with the events up to its end.
    pub fn check_recovered_crowd(
        &mut self,
        engine: &Engine,
        log: &[u8],
        events: Vec<Event>,
        by_hand: &[CommitSeq],
    ) {
        let sent = self.sent_since(log, by_hand);
        self.check_recovered(Step { engine, log, events, sent, refusals: None });
    }

    /// Everything that was sent after the last step, in the order of the log.
    fn sent_since(&self, log: &[u8], by_hand: &[CommitSeq]) -> VecDeque<Sent> {
        let changes = read_log(log).into_iter().zip(1..).skip(usize::try_from(self.seen).unwrap());
        changes.filter_map(|(change, number)| as_sent(change, CommitSeq(number), by_hand)).collect()
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
