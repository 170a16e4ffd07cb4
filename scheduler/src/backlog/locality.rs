//! Asks that wait for the hosts or racks they name.
//!
//! Such an ask is blocked by itself, not with its lane. It leaves the lane and is registered at the hosts and racks
//! that its allowed locality covers. It returns when one of them gains room, or when it may look further.
//!
//! The locality delay is time by default. In nodes, it counts distinct nodes that had room, at most as many as the
//! partition has besides the named ones. The backlog remembers these nodes. In the compatible mode the delay counts
//! missed opportunities, which are facts (`facts/opportunity.rs`).

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::Backlog;
use crate::config::LocalityDelay;
use crate::facts::{Ask, Facts, Locality, Node, Opportunities};
use crate::ids::{AskId, NodeId, PartitionId, RackId, SlotId};

#[derive(Clone, Debug)]
pub(crate) struct LocalityWaits {
    with_locality: FxHashMap<AskId, WithLocality>,
    by_node: FxHashMap<NodeId, BTreeSet<AskId>>,
    by_rack: FxHashMap<RackId, BTreeSet<AskId>>,
    /// By partition: waiting asks whose delay counts every further node with room.
    delayed: Vec<BTreeSet<AskId>>,
}

/// The record of an ask that names hosts or racks.
#[derive(Clone, Debug, Default)]
struct WithLocality {
    /// Distinct nodes that had room and that the ask does not name, ascending.
    offered: Vec<NodeId>,
    waits: bool,
}

impl LocalityWaits {
    pub(super) fn new(partitions: usize) -> Self {
        Self {
            with_locality: FxHashMap::default(),
            by_node: FxHashMap::default(),
            by_rack: FxHashMap::default(),
            delayed: vec![BTreeSet::new(); partitions],
        }
    }

    /// How far from its locality preference the ask may be placed by now.
    pub(crate) fn allowed(&self, facts: &Facts, id: AskId, ask: &Ask) -> Locality {
        self.allowed_with(facts, id, ask, Opportunities::of(ask))
    }

    /// The same, with these missed opportunities instead of the ask's own.
    pub(crate) fn allowed_with(&self, facts: &Facts, id: AskId, ask: &Ask, now: Opportunities) -> Locality {
        let reached = match facts.config.locality_delay {
            LocalityDelay::Nodes { rack, any, .. } if facts.counts_opportunities() => {
                facts.allowed_at_next(ask, now, rack, any)
            }
            LocalityDelay::Nodes { rack, any, .. } => {
                let (offered, rack, any) =
                    (self.offered(id).len(), rack as usize, any.unwrap_or(rack) as usize);
                // One more than were offered is as good as any number.
                let others = offers_possible(facts, ask, offered + 1);
                level(offered, others.min(rack), others.min(any))
            }
            LocalityDelay::Time { rack_ms, any_ms } => {
                level(facts.now_ms.saturating_sub(ask.pending_since_ms), rack_ms, any_ms)
            }
        };
        // Named racks need no delay if the ask names no host.
        let least = if ask.preference().hosts.is_empty() { Locality::RackLocal } else { Locality::NodeLocal };
        reached.max(least).min(ask.preference().loosest())
    }

    /// When the ask may next look further, if its locality delay is a time.
    pub(crate) fn looks_further_ms(facts: &Facts, ask: &Ask) -> Option<u64> {
        Self::further_times(facts, ask).min()
    }

    /// All times at which the ask will look further.
    pub(crate) fn further_times(facts: &Facts, ask: &Ask) -> impl Iterator<Item = u64> + use<> {
        let (since_ms, now_ms) = (ask.pending_since_ms, facts.now_ms);
        let delays_ms = match facts.config.locality_delay {
            LocalityDelay::Time { rack_ms, any_ms } => Some([rack_ms, any_ms]),
            LocalityDelay::Nodes { .. } => None,
        };
        let due_ms = delays_ms.into_iter().flatten().map(move |delay_ms| since_ms.saturating_add(delay_ms));
        due_ms.filter(move |at_ms| *at_ms > now_ms)
    }

    /// The number of offers to the ask that count: missed opportunities, or else distinct nodes.
    pub(crate) fn offered_count(&self, facts: &Facts, id: AskId, ask: &Ask) -> usize {
        if facts.counts_opportunities() { ask.extras().missed as usize } else { self.offered(id).len() }
    }

    /// The distinct nodes that were offered to the ask, ascending.
    pub(crate) fn offered(&self, id: AskId) -> &[NodeId] {
        self.with_locality.get(&id).map_or(&[], |entry| &entry.offered)
    }

    pub(crate) fn record_offers(&mut self, id: AskId, nodes: &[NodeId]) {
        if nodes.is_empty() {
            return;
        }
        let offered = &mut self.with_locality.entry(id).or_default().offered;
        for &node in nodes {
            if let Err(place) = offered.binary_search(&node) {
                offered.insert(place, node);
            }
        }
    }

    /// Drops the record of the ask. Returns whether it was waiting.
    pub(super) fn forget(&mut self, id: AskId, ask: &Ask) -> bool {
        let waited =
            !ask.preference().is_empty() && self.with_locality.remove(&id).is_some_and(|entry| entry.waits);
        if waited {
            self.unlist(id, ask);
        }
        waited
    }

    /// Whether the ask waits for hosts or racks.
    pub(crate) fn is_waiting(&self, id: AskId) -> bool {
        self.with_locality.get(&id).is_some_and(|entry| entry.waits)
    }

    /// Every ask registered at a host, rack or partition; repeated if it is at several.
    pub(super) fn registered(&self) -> impl Iterator<Item = AskId> {
        self.by_node.values().chain(self.by_rack.values()).chain(&self.delayed).flatten().copied()
    }

    /// Every ask that waits.
    pub(super) fn waiting(&self) -> impl Iterator<Item = AskId> {
        self.with_locality.iter().filter(|(_, entry)| entry.waits).map(|(id, _)| *id)
    }

    /// Removes the ask from the lists of its hosts, its racks and its partition.
    fn unlist(&mut self, id: AskId, ask: &Ask) {
        for host in &ask.preference().hosts {
            if let Entry::Occupied(mut registered) = self.by_node.entry(*host) {
                registered.get_mut().remove(&id);
                if registered.get().is_empty() {
                    registered.remove();
                }
            }
        }
        for rack in &ask.preference().racks {
            if let Entry::Occupied(mut registered) = self.by_rack.entry(*rack) {
                registered.get_mut().remove(&id);
                if registered.get().is_empty() {
                    registered.remove();
                }
            }
        }
        for delayed in &mut self.delayed {
            delayed.remove(&id);
        }
    }

    fn register(&mut self, facts: &Facts, id: AskId, ask: &Ask) {
        let allowed = self.allowed(facts, id, ask);
        self.with_locality.entry(id).or_default().waits = true;
        for host in &ask.preference().hosts {
            self.by_node.entry(*host).or_default().insert(id);
        }
        if allowed >= Locality::RackLocal {
            for rack in &ask.preference().racks {
                self.by_rack.entry(*rack).or_default().insert(id);
            }
        }
        let counts_nodes = facts.config.locality_delay.counts_nodes();
        if counts_nodes && allowed < ask.preference().loosest() {
            let partition = facts.shapes.at(ask.shape).partition;
            self.delayed[partition.index()].insert(id);
        }
    }

    /// Whether no ask waits for anything.
    pub(super) fn is_empty(&self) -> bool {
        self.by_node.is_empty() && self.by_rack.is_empty() && self.delayed.iter().all(BTreeSet::is_empty)
    }

    /// The asks that a node's new room may help: those that fit on it.
    fn helped(
        &self,
        node: NodeId,
        rack: RackId,
        partition: PartitionId,
        fits: impl Fn(AskId) -> bool,
    ) -> BTreeSet<AskId> {
        let registered =
            [self.by_node.get(&node), self.by_rack.get(&rack), self.delayed.get(partition.index())];
        registered.into_iter().flatten().flatten().copied().filter(|id| fits(*id)).collect()
    }
}

impl Backlog {
    /// Moves an ask with locality from its lane to the waiting asks.
    pub(crate) fn let_wait(&mut self, facts: &Facts, id: AskId, ask: &Ask) {
        if self.locality.is_waiting(id) {
            return;
        }
        let remembered = self.locality.with_locality.remove(&id).unwrap_or_default();
        self.remove_ask(id, ask);
        self.locality.with_locality.insert(id, remembered);
        self.locality.register(facts, id, ask);
        self.applications[ask.application.index()].waiting.insert(id);
    }

    /// Puts a waiting ask back into its lane.
    pub(crate) fn wake_ask(&mut self, facts: &Facts, id: AskId, version: u64) {
        let Some(ask) = facts.asks.get(id) else { return };
        let Some(backlog) = self.applications.get_mut(ask.application.index()) else { return };
        let is_held_back = !facts.applications.at(ask.application).is_active;
        if is_held_back || !backlog.waiting.remove(&id) {
            return;
        }
        self.locality.unlist(id, ask);
        if let Some(entry) = self.locality.with_locality.get_mut(&id) {
            entry.waits = false;
        }
        self.add_ask(facts, id, ask, version);
    }

    /// Moves an ask into the lane of another shape, which `reshape` gives it. A waiting ask wakes up.
    pub(crate) fn move_to_shape(
        &mut self,
        facts: &mut Facts,
        id: AskId,
        version: u64,
        reshape: impl FnOnce(&mut Facts),
    ) {
        self.wake_ask(facts, id, version);
        let remembered = self.locality.with_locality.remove(&id);
        self.remove_ask(id, facts.asks.at(id));
        reshape(facts);
        self.add_ask(facts, id, facts.asks.at(id), version);
        self.locality.with_locality.extend(remembered.map(|entry| (id, entry)));
    }

    /// Wakes the partition's waiting asks whose delay counts nodes. With one node less, fewer can be offered, so these
    /// asks may look further.
    pub(crate) fn wake_with_fewer_offers(&mut self, facts: &Facts, partition: PartitionId, version: u64) {
        let delayed: Vec<AskId> = self.locality.delayed[partition.index()].iter().copied().collect();
        for id in delayed {
            self.wake_ask(facts, id, version);
        }
    }

    /// Wakes the waiting asks that a node's new room may help.
    pub(super) fn wake_helped_by(&mut self, facts: &Facts, node_id: NodeId, version: u64) {
        let node = facts.nodes.at(node_id);
        let fits = |id: AskId| {
            facts.asks.get(id).is_some_and(|ask| facts.can_take(facts.shapes.at(ask.shape), node))
        };
        for id in self.locality.helped(node_id, node.rack, node.partition, fits) {
            self.wake_ask(facts, id, version);
        }
    }
}

/// The number of distinct nodes that can be offered to the ask besides the hosts that it names, counted up to `most`. A
/// node that takes no containers, or could not hold this one, is never offered.
fn offers_possible(facts: &Facts, ask: &Ask, most: usize) -> usize {
    let shape = facts.shapes.at(ask.shape);
    let may_be_offered = |id: NodeId, node: &Node| {
        node.partition == shape.partition
            && node.is_candidate()
            && !ask.preference().hosts.contains(&id)
            && facts.could_hold(shape, node)
    };
    facts.nodes.iter().filter(|(id, node)| may_be_offered(*id, node)).take(most).count()
}

fn level<T: Ord + Copy>(passed: T, rack: T, any: T) -> Locality {
    if passed >= any {
        Locality::OffSwitch
    } else if passed >= rack {
        Locality::RackLocal
    } else {
        Locality::NodeLocal
    }
}
