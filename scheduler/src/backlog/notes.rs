//! The history of asks for explanations: why requests were rejected, and how asks ended. No decision depends on it.
//!
//! The committer writes it only when it rejects a request or an ask is cancelled. Its size is bounded.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::ids::AskId;
use crate::request::RejectReason;

/// The most pending asks whose rejections are counted at a time.
const REJECTED_MAX: usize = 1_024;
/// The most ended asks with cancelled units that are remembered.
const CANCELLED_MAX: usize = 1_024;

/// How often requests for an ask were rejected for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RejectionNote {
    pub(crate) reason: RejectReason,
    pub(crate) count: u64,
    pub(crate) last_ms: u64,
}

/// How an ask without outstanding units ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All of its units were placed.
    Placed,
    /// Some of its units were cancelled, and the others placed.
    Cancelled { units: u32, placed: u32 },
    /// Unknown: cancelled asks were forgotten, and this may be one of them.
    Forgotten,
}

/// An ended ask that had cancelled units.
#[derive(Clone, Copy, Debug)]
struct CancelledAsk {
    ask: AskId,
    units: u32,
    placed: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct AskNotes {
    rejected: FxHashMap<AskId, Vec<RejectionNote>>,
    /// Whether rejections are missing: too many asks were rejected, or this is a replay, which sees no rejections.
    misses_rejections: bool,
    cancelled: VecDeque<CancelledAsk>,
    /// Whether a cancelled ask was forgotten.
    misses_cancelled: bool,
}

impl AskNotes {
    /// Marks rejections as missing, for a replay, which sees none.
    pub(crate) fn miss_rejections(&mut self) {
        self.misses_rejections = true;
    }

    /// Counts a rejected request for a pending ask.
    pub(crate) fn record_rejected(&mut self, ask: AskId, reason: RejectReason, now_ms: u64) {
        if self.rejected.len() >= REJECTED_MAX && !self.rejected.contains_key(&ask) {
            self.misses_rejections = true;
            return;
        }
        let notes = self.rejected.entry(ask).or_default();
        match notes.iter_mut().find(|note| note.reason == reason) {
            Some(note) => (note.count, note.last_ms) = (note.count + 1, now_ms),
            None => notes.push(RejectionNote { reason, count: 1, last_ms: now_ms }),
        }
    }

    /// Records how an ask ended, once it has no outstanding units.
    #[inline(always)]
    pub(crate) fn record_end(&mut self, ask: AskId, cancelled: u32, placed: u32) {
        if !self.rejected.is_empty() {
            self.rejected.remove(&ask);
        }
        if cancelled == 0 {
            return;
        }
        if self.cancelled.len() == CANCELLED_MAX {
            self.cancelled.pop_front();
            self.misses_cancelled = true;
        }
        self.cancelled.push_back(CancelledAsk { ask, units: cancelled, placed });
    }

    /// The reasons why requests for a pending ask were rejected; `None` if they were not counted.
    pub(crate) fn rejections(&self, ask: AskId) -> Option<&[RejectionNote]> {
        let counted = self.rejected.get(&ask).map(Vec::as_slice);
        if self.misses_rejections { counted } else { Some(counted.unwrap_or_default()) }
    }

    /// How an ask that is gone ended.
    pub(crate) fn ending(&self, ask: AskId) -> Ending {
        match self.cancelled.iter().find(|known| known.ask == ask) {
            Some(&CancelledAsk { units, placed, .. }) => Ending::Cancelled { units, placed },
            None if self.misses_cancelled => Ending::Forgotten,
            None => Ending::Placed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SlotId;

    #[test]
    fn rejections_are_counted_by_reason_until_the_ask_ends() {
        let (mut notes, ask) = (AskNotes::default(), AskId::new(1, 0));
        assert_eq!(notes.rejections(ask), Some(&[][..]));
        for (reason, now_ms) in
            [(RejectReason::NodeFull, 1), (RejectReason::QueueLimit, 2), (RejectReason::NodeFull, 3)]
        {
            notes.record_rejected(ask, reason, now_ms);
        }
        let counted =
            notes.rejections(ask).unwrap().iter().map(|note| (note.reason, note.count, note.last_ms));
        let expected = [(RejectReason::NodeFull, 2, 3), (RejectReason::QueueLimit, 1, 2)];
        assert!(counted.eq(expected), "{notes:?}");
        notes.record_end(ask, 0, 1);
        assert_eq!(notes.rejections(ask), Some(&[][..]));
        assert_eq!(notes.ending(ask), Ending::Placed);
    }

    #[test]
    fn asks_beyond_the_size_of_the_notes_are_unknown() {
        let mut notes = AskNotes::default();
        let ask = |number: usize| AskId::new(number as u32, 0);
        for number in 0..=REJECTED_MAX {
            notes.record_rejected(ask(number), RejectReason::NodeFull, 0);
        }
        assert_eq!(notes.rejections(ask(0)).map(<[_]>::len), Some(1));
        assert_eq!(notes.rejections(ask(REJECTED_MAX)), None);
        for number in 0..=CANCELLED_MAX {
            notes.record_end(ask(number), 2, 3);
        }
        assert_eq!(notes.ending(ask(1)), Ending::Cancelled { units: 2, placed: 3 });
        assert_eq!(notes.ending(ask(0)), Ending::Forgotten);
    }
}
