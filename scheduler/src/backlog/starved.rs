//! Starved asks: the committer rejected their proposals several times in a row.
//!
//! Another proposer, or a caller with requests of its own, was quicker each time. The committer places such an ask
//! itself, under the write guard, where no other thread can be quicker.

use rustc_hash::FxHashMap;

use crate::ids::AskId;

/// An ask is due after this many rejections in a row. Rejected units of one batch count separately.
const REJECTIONS_MAX: u32 = 4;
/// The most asks that the committer places itself in one group, since it looks at every node for each of them.
const PLACED_MAX: usize = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct Starved {
    /// Rejections in a row.
    rejections: FxHashMap<AskId, u32>,
    due: Vec<AskId>,
}

impl Starved {
    /// Counts a rejected proposal for the ask.
    pub(crate) fn record_rejected(&mut self, ask: AskId) {
        let rejections = self.rejections.entry(ask).or_default();
        *rejections += 1;
        if *rejections == REJECTIONS_MAX {
            self.due.push(ask);
        }
    }

    /// Forgets an ask that was placed or is gone.
    pub(crate) fn forget(&mut self, ask: AskId) {
        if !self.rejections.is_empty() && self.rejections.remove(&ask).is_some() {
            self.due.retain(|due| *due != ask);
        }
    }

    /// Whether any ask is due.
    pub(crate) fn is_any_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes the asks that the committer has to place itself in this group, in the order in which they became due. Each
    /// gets one attempt, and its count starts at zero again.
    pub(crate) fn take_due(&mut self) -> Vec<AskId> {
        let due: Vec<AskId> = self.due.drain(..self.due.len().min(PLACED_MAX)).collect();
        due.iter().for_each(|ask| self.forget(*ask));
        due
    }
}
