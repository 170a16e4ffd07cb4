//! Following what many callers did at a time.

use std::collections::VecDeque;

use apportion::event::Event;
use apportion::{Change, CommitOutcome, CommitSeq, Engine};

use super::{Checker, Sent, Step, read_log};

impl Checker {
    /// Checks everything, as [`check`](Self::check) does, of an engine that many callers used at a time. Nobody knows
    /// in which order they sent what, so the log is believed in that; `by_hand` are the requests that callers were
    /// told were accepted. Returns how many changes there were. Panics with what is wrong.
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

/// What must have been sent for this to be in the log; nothing if the engine did it by itself.
fn as_sent(change: Change, seq: CommitSeq, by_hand: &[CommitSeq]) -> Option<Sent> {
    match change {
        Change::Configured { .. }
        | Change::TimeAdvanced { .. }
        | Change::NodeSilenceSet { .. }
        | Change::OpportunitiesMissed { .. }
        | Change::ReservedAgain { .. }
        | Change::QueueExpired { .. }
        | Change::ReservationExpired { .. } => None,
        Change::QueueUpdated { .. } | Change::Reconfigured { .. } => Some(Sent::Queue(change, Ok(seq))),
        Change::Committed { request } => {
            by_hand.contains(&seq).then_some(Sent::Request(request, CommitOutcome::Accepted(seq)))
        }
        change => Some(Sent::Change(change)),
    }
}
