//! Missed opportunities: how YARN counts the nodes offered without success to an ask with named hosts.
//!
//! They count in the compatible mode only, one for each node of each pass. They are facts: a change records each count.
//!
//! A pass over one node counts that node even if it is full. A pass over several nodes counts each node that had room,
//! up to the number of nodes. The committer turns the observations of a pass into `Change::OpportunitiesMissed` and
//! `Change::ReservedAgain` (for re-reservations). A local container resets the count. An ask whose count changed is in
//! its lane again at once.

use super::{Ask, Facts, Locality};
use crate::config::LocalityDelay;
use crate::ids::{AskId, ReservationId};

/// The counts of an ask that decide its allowed locality at the next opportunity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opportunities {
    pub(crate) missed: u32,
    pub(crate) outstanding: u32,
}

impl Opportunities {
    pub(crate) fn of(ask: &Ask) -> Self {
        Self { missed: ask.extras().missed, outstanding: ask.outstanding() }
    }

    /// The counts after a container of this locality, for which the ask needed an opportunity unless it had a
    /// reservation. An off-switch container does not reset the missed opportunities.
    pub(crate) fn after(self, locality: Locality, from: Option<ReservationId>, delay: LocalityDelay) -> Self {
        let begins_anew = match locality {
            Locality::NodeLocal => true,
            Locality::RackLocal => matches!(delay, LocalityDelay::Nodes { full_reset: true, .. }),
            Locality::OffSwitch => false,
        };
        let missed = if begins_anew { 0 } else { self.missed.saturating_add(u32::from(from.is_none())) };
        Self { missed, outstanding: self.outstanding.saturating_sub(1) }
    }
}

impl Facts {
    /// Whether missed opportunities count, instead of distinct nodes or time.
    pub(crate) fn counts_opportunities(&self) -> bool {
        self.config.semantics.counts_opportunities()
            && matches!(self.config.locality_delay, LocalityDelay::Nodes { .. })
    }

    /// How far from its locality preference the ask may be placed at its next opportunity, which is included in the
    /// count. No ask waits for more opportunities than the cluster has nodes.
    pub(crate) fn allowed_at_next(
        &self,
        ask: &Ask,
        now: Opportunities,
        rack: u32,
        any: Option<u32>,
    ) -> Locality {
        let nodes = self.nodes.len() as u64;
        let count = u64::from(now.missed) + 1;
        let goes_anywhere = match any {
            Some(any) => count > nodes.min(u64::from(any)),
            None => {
                // Threshold: outstanding units x named hosts and racks / nodes, at most the number of nodes. Both sides
                // are multiplied by the number of nodes to stay in integers.
                let named = distinct(&ask.preference().hosts) + distinct(&ask.preference().racks);
                count * nodes > (nodes * nodes).min(u64::from(now.outstanding) * named.min(nodes))
            }
        };
        match goes_anywhere {
            true => Locality::OffSwitch,
            false if count > nodes.min(u64::from(rack)) => Locality::RackLocal,
            false => Locality::NodeLocal,
        }
    }

    /// Counts `count` nodes that were offered to the ask without success.
    pub(crate) fn miss_opportunities(&mut self, id: AskId, count: u32) {
        let missed = &mut self.asks.at_mut(id).extras_mut().missed;
        *missed = missed.saturating_add(count);
    }

    /// Updates the ask's count when it gets a container of this locality.
    pub(crate) fn take_opportunity(&mut self, id: AskId, locality: Locality, from: Option<ReservationId>) {
        let ask = self.asks.at_mut(id);
        if !ask.preference().is_empty() {
            let missed = Opportunities::of(ask).after(locality, from, self.config.locality_delay).missed;
            ask.extras_mut().missed = missed;
        }
    }
}

fn distinct<T: PartialEq>(names: &[T]) -> u64 {
    names.iter().enumerate().filter(|(place, name)| !names[..*place].contains(name)).count() as u64
}
