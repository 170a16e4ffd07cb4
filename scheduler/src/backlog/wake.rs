//! Waking asks that wait for hosts or racks.
//!
//! Room for one container is no reason to look at a thousand asks. So a node that gains room wakes, of each
//! application and shape, as many units as it has room for, in the order in which they are served. An awake ask
//! stands for the hosts and racks that it names, and for nothing else; when a unit of it is placed, claimed or
//! cancelled, it passes the turn on there. No wake-up is lost (I13): before an ask that waits for a node, as many
//! units stand for it as the node has room for.

use std::collections::BTreeSet;

use super::notes::AskClass;
use super::{Backlog, PendingAsk, Waiting};
use crate::config::LocalityDelay;
use crate::facts::{Ask, Facts, Locality, Node};
use crate::ids::{AskId, NodeId, PartitionId, RackId, SlotId};

/// Of so many awake asks at most the units are counted. To wake too many costs a look at each, no more.
const AWAKE_LOOKED_AT: usize = 16;

/// Where asks wait: they are woken for hosts and for racks apart.
#[derive(Clone, Copy, Debug)]
enum Spot {
    Host(NodeId),
    Rack(RackId),
}

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
    pub(crate) fn wake_all_counting(&mut self, facts: &Facts, partition: PartitionId, version: u64) {
        if let LocalityDelay::Time { .. } = facts.config.locality_delay {
            return;
        }
        let counting = self.waiting.counting[partition.index()].iter().copied();
        let counting: BTreeSet<AskId> = counting.chain(self.waiting.by_rack.asks()).collect();
        for id in counting {
            self.wake(facts, id, version);
        }
    }

    /// A node gained room: before the group ends, those are woken whom that may help.
    pub(crate) fn node_gained(&mut self, id: NodeId, node: &Node) {
        let waiting = &mut self.waiting;
        let may_help = waiting.by_node.is_noted(id)
            || waiting.by_rack.is_noted(node.rack)
            || !waiting.counting[node.partition.index()].is_empty();
        if may_help {
            waiting.gained.insert(id);
        }
    }

    /// Units of an ask were placed, claimed or cancelled: what it named may have room for the next of its class.
    pub(crate) fn pass_turn_on(&mut self, facts: &Facts, ask: &Ask, units: u32, version: u64) {
        let backlog = self.applications.get(ask.application.index());
        if backlog.is_none_or(|backlog| backlog.waiting.is_empty()) {
            return;
        }
        self.waiting.gained.extend(&ask.wishes.hosts);
        // To go through all nodes of a rack would cost more than to wake some in vain.
        for &rack in &ask.wishes.racks {
            let next = first_with(
                facts,
                units,
                self.waiting.by_rack.at(rack, AskClass::of(ask)).into_iter().flatten().copied(),
            );
            next.into_iter().for_each(|next| self.wake(facts, next.ask, version));
        }
    }

    /// Puts those waiting asks back whom the nodes may help that gained room since the last call.
    pub(crate) fn wake_for_gained(&mut self, facts: &Facts, version: u64) {
        for id in std::mem::take(&mut self.waiting.gained) {
            let Some(node) = facts.nodes.get(id) else { continue };
            self.wake_counting(facts, node, version);
            for spot in [Spot::Host(id), Spot::Rack(node.rack)] {
                for class in self.waiting.classes_at(spot) {
                    self.wake_class(facts, class, node, spot, version);
                }
            }
        }
    }

    /// Every node with room counts for those that count what they are offered.
    fn wake_counting(&mut self, facts: &Facts, node: &Node, version: u64) {
        let counting = self.waiting.counting[node.partition.index()].iter().copied();
        let fits =
            |id: &AskId| facts.asks.get(*id).is_some_and(|ask| node.can_take(facts.shapes.at(ask.shape)));
        let counting: Vec<AskId> = counting.filter(fits).collect();
        counting.into_iter().for_each(|id| self.wake(facts, id, version));
    }

    /// Wakes as many units of the class as the node has room for, of those noted at `spot`.
    fn wake_class(&mut self, facts: &Facts, class: AskClass, node: &Node, spot: Spot, version: u64) {
        let short = self.short_of(facts, class, node, spot, AWAKE_LOOKED_AT);
        let noted = self.waiting.noted_at(spot, class).into_iter().flatten().copied();
        for next in first_with(facts, short, noted) {
            self.wake(facts, next.ask, version);
        }
    }

    /// How many units more would have to be awake to fill the node, before those that wait at `spot`. At most
    /// `looked_at` awake asks are counted.
    fn short_of(&self, facts: &Facts, class: AskClass, node: &Node, spot: Spot, looked_at: usize) -> u32 {
        let Some(first) = self.waiting.noted_at(spot, class).and_then(BTreeSet::first) else { return 0 };
        let user = facts.applications.in_slot(class.slot).user;
        let lane = self.lane_of.get(&(user, class.shape)).and_then(|lane| self.asks_in(class.slot, *lane));
        let before = lane.into_iter().flat_map(|lane| &lane.asks).take_while(|ask| *ask < first);
        let awake = before.take(looked_at).map(|pending| {
            let ask = facts.asks.at(pending.ask);
            if self.waiting.stands_at(facts, spot, pending.ask, ask) { ask.unclaimed() } else { 0 }
        });
        let places = node.places_for(facts.shapes.at(class.shape));
        places.saturating_sub(awake.fold(0, u32::saturating_add))
    }

    /// I13 for waiting asks: nodes with room for which not enough is awake before those that wait.
    pub(super) fn overlooked(&self, facts: &Facts) -> impl Iterator<Item = (NodeId, AskClass)> {
        facts.nodes.iter().flat_map(move |(id, node)| {
            let spots = [Spot::Host(id), Spot::Rack(node.rack)].into_iter();
            let classes = spots
                .flat_map(|spot| self.waiting.classes_at(spot).into_iter().map(move |class| (spot, class)));
            let is_short =
                |(spot, class): &(Spot, AskClass)| self.short_of(facts, *class, node, *spot, usize::MAX) > 0;
            classes.filter(is_short).map(move |(_, class)| (id, class)).collect::<Vec<_>>()
        })
    }
}

impl Waiting {
    fn classes_at(&self, spot: Spot) -> Vec<AskClass> {
        match spot {
            Spot::Host(node) => self.by_node.classes_at(node).collect(),
            Spot::Rack(rack) => self.by_rack.classes_at(rack).collect(),
        }
    }

    /// The class's asks that wait there, in order.
    fn noted_at(&self, spot: Spot, class: AskClass) -> Option<&BTreeSet<PendingAsk>> {
        match spot {
            Spot::Host(node) => self.by_node.at(node, class),
            Spot::Rack(rack) => self.by_rack.at(rack, class),
        }
    }

    /// Whether the ask, when awake, passes the turn on there. One that may go anywhere by now does so only where
    /// it named something.
    fn stands_at(&self, facts: &Facts, spot: Spot, id: AskId, ask: &Ask) -> bool {
        match spot {
            Spot::Host(node) => ask.wishes.hosts.contains(&node),
            Spot::Rack(rack) => {
                ask.wishes.racks.contains(&rack) && self.allowed(facts, id, ask) >= Locality::RackLocal
            }
        }
    }
}

/// The first of these asks that together have so many units.
fn first_with(facts: &Facts, units: u32, asks: impl Iterator<Item = PendingAsk>) -> Vec<PendingAsk> {
    let mut short = units;
    let is_short = |next: &PendingAsk| {
        let was_short = short > 0;
        short = short.saturating_sub(facts.asks.at(next.ask).unclaimed());
        was_short
    };
    asks.take_while(is_short).collect()
}
