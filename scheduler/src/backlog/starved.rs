//! Asks whose proposals are rejected time and again.
//!
//! Somebody else is always quicker: another proposer, or a caller with requests of its own. Such an ask is placed by
//! the committer itself, under its own guard, where nobody can be quicker.

use rustc_hash::FxHashMap;

use crate::ids::AskId;

/// After so many rejections in a row an ask is due; each of its units in a batch counts.
const REJECTIONS_MAX: u32 = 4;
/// So many asks are placed this way in one group: the committer looks at every node for each.
const PLACED_MAX: usize = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct Starved {
    /// Rejections in a row.
    rejections: FxHashMap<AskId, u32>,
    due: Vec<AskId>,
}

impl Starved {
    /// A proposal for the ask was rejected.
    pub(crate) fn record_rejected(&mut self, ask: AskId) {
        let rejections = self.rejections.entry(ask).or_default();
        *rejections += 1;
        if *rejections == REJECTIONS_MAX {
            self.due.push(ask);
        }
    }

    /// The ask was placed, or is gone.
    pub(crate) fn forget(&mut self, ask: AskId) {
        if !self.rejections.is_empty() && self.rejections.remove(&ask).is_some() {
            self.due.retain(|due| *due != ask);
        }
    }

    /// Whether any ask is due.
    pub(crate) fn is_any_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The asks that the committer has to place itself in this group, in the order in which they became due. Each
    /// gets one attempt, and counts from none again.
    pub(crate) fn take_due(&mut self) -> Vec<AskId> {
        let due: Vec<AskId> = self.due.drain(..self.due.len().min(PLACED_MAX)).collect();
        due.iter().for_each(|ask| self.forget(*ask));
        due
    }
}
