//! Waking asks that wait for hosts or racks.
//!
//! Room for one container is no reason to look at a thousand asks. So a node that gains room wakes, of each
//! application and shape, as many units as it has room for, in the order in which they are served; and whoever
//! leaves without having used the room passes the turn on. No wake-up is lost (I13): before an ask that still
//! waits there are awake ones of its group that can fill every node it waits for.

use std::collections::BTreeSet;

use super::notes::Group;
use super::{Backlog, PendingAsk};
use crate::config::LocalityDelay;
use crate::facts::{Ask, Facts, Node};
use crate::ids::{AskId, NodeId, PartitionId, RackId, SlotId};

/// How many awake asks are looked at before more are woken. To wake too many costs a look at each, no more.
const AWAKE_LOOKED_AT: usize = 16;

impl Backlog {
    /// Puts a waiting ask back into its lane.
    pub(crate) fn wake(&mut self, facts: &Facts, id: AskId, version: u64) {
        let Some(ask) = facts.asks.get(id) else { return };
        let Some(backlog) = self.applications.get_mut(ask.application.index()) else { return };
        if backlog.waiting.remove(&id) {
            self.waiting.stop(id, ask);
            self.add_ask(facts, id, ask, version);
        }
    }

    /// With a node more or less, more or fewer can be offered to asks that count them: how far those may look has
    /// to be seen anew.
    pub(crate) fn wake_counting(&mut self, facts: &Facts, partition: PartitionId, version: u64) {
        if let LocalityDelay::Time { .. } = facts.config.locality_delay {
            return;
        }
        let delayed = self.waiting.delayed[partition.index()].iter().copied();
        let counting: BTreeSet<AskId> = delayed.chain(self.waiting.by_rack.asks()).collect();
        for id in counting {
            self.wake(facts, id, version);
        }
    }

    /// A node gained room: before the group ends, those are woken whom that may help.
    pub(crate) fn node_gained(&mut self, id: NodeId, node: &Node) {
        let waiting = &mut self.waiting;
        let may_help = waiting.by_node.is_noted(id)
            || waiting.by_rack.is_noted(node.rack)
            || !waiting.delayed[node.partition.index()].is_empty();
        if may_help {
            waiting.gained.insert(id);
        }
    }

    /// Units of an ask were placed, claimed or cancelled: what it named may have room for the next of its group.
    pub(crate) fn pass_turn_on(&mut self, facts: &Facts, ask: &Ask, units: u32, version: u64) {
        let backlog = self.applications.get(ask.application.index());
        if backlog.is_none_or(|backlog| backlog.waiting.is_empty()) {
            return;
        }
        self.waiting.gained.extend(&ask.wishes.hosts);
        // To go through all nodes of a rack would cost more than to wake some in vain.
        for &rack in &ask.wishes.racks {
            let next = enough(facts, units, self.waiting.by_rack.asks_at(rack, Group::of(ask)));
            next.into_iter().for_each(|next| self.wake(facts, next.ask, version));
        }
    }

    /// Puts those waiting asks back whom the nodes may help that gained room since the last call.
    pub(crate) fn wake_for_gained(&mut self, facts: &Facts, version: u64) {
        for id in std::mem::take(&mut self.waiting.gained) {
            if let Some(node) = facts.nodes.get(id) {
                self.wake_delayed(facts, node, version);
                let on_host = self.waiting.by_node.groups_at(id);
                let groups: Vec<Group> = on_host.chain(self.waiting.by_rack.groups_at(node.rack)).collect();
                groups.into_iter().for_each(|group| self.fill(facts, group, id, version));
            }
        }
    }

    /// Every node with room counts for those that count what they are offered.
    fn wake_delayed(&mut self, facts: &Facts, node: &Node, version: u64) {
        let delayed = self.waiting.delayed[node.partition.index()].iter().copied();
        let fits =
            |id: &AskId| facts.asks.get(*id).is_some_and(|ask| node.can_take(facts.shapes.at(ask.shape)));
        let counting: Vec<AskId> = delayed.filter(fits).collect();
        counting.into_iter().for_each(|id| self.wake(facts, id, version));
    }

    /// Wakes as many units of the group as the node has room for, less those awake that come before them.
    fn fill(&mut self, facts: &Facts, group: Group, node_id: NodeId, version: u64) {
        let node = facts.nodes.at(node_id);
        let places = node.places_for(facts.shapes.at(group.shape));
        let Some(first) = self.first_noted(group, node_id, node.rack) else { return };
        let awake = self.awake_before(facts, group, first, node_id).take(AWAKE_LOOKED_AT);
        let short = places.saturating_sub(awake.fold(0, u32::saturating_add));
        let mut noted = enough(facts, short, self.waiting.by_node.asks_at(node_id, group));
        noted.extend(enough(facts, short, self.waiting.by_rack.asks_at(node.rack, group)));
        noted.sort_unstable();
        noted.dedup();
        for next in enough(facts, short, noted.into_iter()) {
            self.wake(facts, next.ask, version);
        }
    }

    fn first_noted(&self, group: Group, node: NodeId, rack: RackId) -> Option<PendingAsk> {
        let on_host = self.waiting.by_node.asks_at(node, group).next();
        let on_rack = self.waiting.by_rack.asks_at(rack, group).next();
        on_host.into_iter().chain(on_rack).min()
    }

    /// Units of the group's asks that are awake, come before `first` and would do with the node.
    fn awake_before<'a>(
        &'a self,
        facts: &'a Facts,
        group: Group,
        first: PendingAsk,
        node_id: NodeId,
    ) -> impl Iterator<Item = u32> + 'a {
        let user = facts.applications.in_slot(group.slot).user;
        let lane = self.lane_of.get(&(user, group.shape)).and_then(|lane| self.asks_in(group.slot, *lane));
        let before = lane.into_iter().flat_map(|lane| &lane.asks).take_while(move |ask| **ask < first);
        before.map(move |pending| {
            let ask = facts.asks.at(pending.ask);
            let locality = ask.wishes.locality_of(node_id, facts.nodes.at(node_id).rack);
            let will_do = locality <= self.waiting.allowed(facts, pending.ask, ask);
            if will_do { ask.unclaimed() } else { 0 }
        })
    }

    /// Whether the ask waits for hosts or racks.
    #[cfg(test)]
    pub(crate) fn is_asleep(&self, id: AskId) -> bool {
        self.waiting.is_waiting(id)
    }

    /// I13 for waiting asks: hosts with room whose waiters are not preceded by enough awake units to fill them.
    pub(super) fn forgotten(&self, facts: &Facts) -> impl Iterator<Item = (NodeId, PendingAsk)> {
        facts.nodes.iter().flat_map(move |(node_id, node)| {
            let on_host = self.waiting.by_node.groups_at(node_id);
            let groups = on_host.chain(self.waiting.by_rack.groups_at(node.rack));
            groups.filter_map(move |group| {
                let first = self.first_noted(group, node_id, node.rack)?;
                let awake = self.awake_before(facts, group, first, node_id).fold(0, u32::saturating_add);
                (awake < node.places_for(facts.shapes.at(group.shape))).then_some((node_id, first))
            })
        })
    }
}

/// The first of these asks that together have so many units.
fn enough(facts: &Facts, units: u32, asks: impl Iterator<Item = PendingAsk>) -> Vec<PendingAsk> {
    let mut short = units;
    let is_short = |next: &PendingAsk| {
        let was_short = short > 0;
        short = short.saturating_sub(facts.asks.at(next.ask).unclaimed());
        was_short
    };
    asks.take_while(is_short).collect()
}
