//! Scheduling opportunities, as YARN counts them.

use std::collections::BTreeSet;

use apportion::config::{LocalityDelay, Semantics};
use apportion::{AskId, Locality, NodeId};

use super::Oracle;

impl Oracle {
    /// Whether locality delays are counted in opportunities.
    #[must_use]
    pub fn counts_opportunities(&self) -> bool {
        let counts_nodes = matches!(self.config.locality_delay, LocalityDelay::Nodes { .. });
        counts_nodes && self.config.semantics == Semantics::YarnCompatible
    }

    /// Whether the ask, at the opportunity after those it missed, may be placed on the node.
    #[must_use]
    pub fn may_take_opportunity(&self, id: AskId, node: NodeId) -> bool {
        let LocalityDelay::Nodes { rack, any, .. } = self.config.locality_delay else { return true };
        let ask = &self.asks[&id];
        let (nodes, this) = (self.nodes.len() as f64, f64::from(ask.missed) + 1.0);
        let hosts: BTreeSet<_> = ask.spec.preference.hosts.iter().collect();
        let racks: BTreeSet<_> = ask.racks.iter().collect();
        let names = (hosts.len() + racks.len()) as f64;
        let rack_delay = f64::from(rack).min(nodes);
        let any_delay = match any {
            Some(any) => f64::from(any).min(nodes),
            None => (f64::from(ask.outstanding) * (names / nodes).min(1.0)).min(nodes),
        };
        // The sums are of fractions, so they need a tolerance; different whole numbers are far enough apart.
        let is_late = |delay: f64| this > delay + 1e-9;
        match ask.locality(node, &self.nodes[&node]) {
            Locality::NodeLocal => true,
            Locality::RackLocal => {
                ask.spec.preference.hosts.is_empty() || is_late(rack_delay) || is_late(any_delay)
            }
            Locality::OffSwitch => !ask.has_locality() || is_late(any_delay),
        }
    }

    /// Whether a pass may offer the node to the ask and the ask has to decline it.
    #[must_use]
    pub fn misses_opportunity(&self, id: AskId, node: NodeId) -> bool {
        let (ask, known) = (&self.asks[&id], &self.nodes[&node]);
        // The log reports the missed opportunity after the pass's own reservations and containers. So reservations of
        // this moment count as absent, and tag limits are not checked.
        let is_open =
            self.reservations.get(&node).is_none_or(|reservation| reservation.since_ms == self.now_ms);
        let may_be_offered = known.is_candidate() && is_open && !self.shuns(ask, known);
        let has_room = self.has_room(&self.books(), &ask.spec, node);
        may_be_offered && (!has_room || !self.may_take_opportunity(id, node))
    }

    /// Updates the missed opportunities of an ask that gets a container on the node.
    pub(super) fn record_opportunity(&mut self, id: AskId, node: NodeId, is_reserved: bool) {
        let LocalityDelay::Nodes { full_reset, .. } = self.config.locality_delay else { return };
        if !self.counts_opportunities() || !self.asks[&id].has_locality() {
            return;
        }
        let locality = self.asks[&id].locality(node, &self.nodes[&node]);
        let ask = self.asks.get_mut(&id).expect("just found");
        let is_reset = locality == Locality::NodeLocal || locality == Locality::RackLocal && full_reset;
        ask.missed = if is_reset { 0 } else { ask.missed + u32::from(!is_reserved) };
    }

    /// Adds `count` opportunities that the ask has missed.
    pub(super) fn miss(&mut self, id: AskId, count: u32) -> Result<(), String> {
        let counts = self.counts_opportunities();
        let Some(ask) = self.asks.get_mut(&id) else { return Err(format!("{id} is gone")) };
        let in_partition = self.nodes.values().filter(|node| node.partition == ask.partition).count();
        if !counts || !ask.has_locality() || count == 0 || count as usize > in_partition {
            return Err(format!("{id} missed {count} opportunities on {in_partition} nodes"));
        }
        ask.missed += count;
        Ok(())
    }
}
