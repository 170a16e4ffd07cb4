//! Asks that wait for the hosts or racks they name.
//!
//! Such an ask is blocked by itself, not with its lane: it leaves the lane and is noted at the hosts and
//! racks that will do. Who wakes it, and when, is in `wake.rs`.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::notes::{AskClass, Notes};
use super::{Backlog, PendingAsk};
use crate::config::LocalityDelay;
use crate::facts::{Ask, Facts, Locality};
use crate::ids::{AskId, NodeId, RackId, SlotId};

#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    located: FxHashMap<AskId, Located>,
    pub(super) by_node: Notes<NodeId>,
    pub(super) by_rack: Notes<RackId>,
    /// By partition: asks for which every further node with room counts.
    pub(super) counting: Vec<BTreeSet<AskId>>,
    /// Nodes that may have room for asks that wait; they are woken when the group ends.
    pub(super) gained: BTreeSet<NodeId>,
}

/// What is remembered about an ask that names hosts or racks.
#[derive(Clone, Debug, Default)]
struct Located {
    /// Distinct nodes that had room and were not what it named, ascending.
    offered: Vec<NodeId>,
    waits: bool,
}

impl Waiting {
    pub(super) fn new(partitions: usize) -> Self {
        Self {
            located: FxHashMap::default(),
            by_node: Notes::default(),
            by_rack: Notes::default(),
            counting: vec![BTreeSet::new(); partitions],
            gained: BTreeSet::new(),
        }
    }

    /// How far from its wishes the ask may be placed by now.
    pub(crate) fn allowed(&self, facts: &Facts, id: AskId, ask: &Ask) -> Locality {
        let reached = match facts.config.locality_delay {
            LocalityDelay::Nodes { rack, any } => {
                let others = offers_possible(facts, ask);
                level(self.offered(id).len(), others.min(rack as usize), others.min(any as usize))
            }
            LocalityDelay::Time { rack_ms, any_ms } => {
                level(facts.now_ms.saturating_sub(ask.pending_since_ms), rack_ms, any_ms)
            }
        };
        // Named racks need no delay where no host is named.
        let least = if ask.wishes.hosts.is_empty() { Locality::RackLocal } else { Locality::NodeLocal };
        reached.max(least).min(ask.wishes.loosest())
    }

    /// The distinct nodes that were offered to the ask, ascending.
    pub(crate) fn offered(&self, id: AskId) -> &[NodeId] {
        self.located.get(&id).map_or(&[], |located| &located.offered)
    }

    pub(crate) fn record_offers(&mut self, id: AskId, nodes: &[NodeId]) {
        if nodes.is_empty() {
            return;
        }
        let offered = &mut self.located.entry(id).or_default().offered;
        for &node in nodes {
            if let Err(place) = offered.binary_search(&node) {
                offered.insert(place, node);
            }
        }
    }

    /// Forgets what was remembered about the ask; true if it was waiting.
    pub(super) fn forget(&mut self, id: AskId, ask: &Ask) -> bool {
        let waited = !ask.wishes.is_empty() && self.located.remove(&id).is_some_and(|located| located.waits);
        if waited {
            self.unlist(id, ask);
        }
        waited
    }

    /// Whether the ask waits for hosts or racks.
    pub(crate) fn is_waiting(&self, id: AskId) -> bool {
        self.located.get(&id).is_some_and(|located| located.waits)
    }

    /// Every ask noted somewhere, some of them repeatedly.
    pub(super) fn noted(&self) -> impl Iterator<Item = AskId> {
        self.by_node.asks().chain(self.by_rack.asks()).chain(self.counting.iter().flatten().copied())
    }

    /// The ask waits no more; what it was offered is still known.
    pub(super) fn stop(&mut self, id: AskId, ask: &Ask) {
        self.unlist(id, ask);
        if let Some(located) = self.located.get_mut(&id) {
            located.waits = false;
        }
    }

    /// Takes the ask's notes off its hosts and racks.
    fn unlist(&mut self, id: AskId, ask: &Ask) {
        let (class, pending) = (AskClass::of(ask), PendingAsk::of(id, ask));
        ask.wishes.hosts.iter().for_each(|host| self.by_node.remove(*host, class, pending));
        ask.wishes.racks.iter().for_each(|rack| self.by_rack.remove(*rack, class, pending));
        for counting in &mut self.counting {
            counting.remove(&id);
        }
    }

    fn note(&mut self, facts: &Facts, id: AskId, ask: &Ask) {
        let allowed = self.allowed(facts, id, ask);
        self.located.entry(id).or_default().waits = true;
        let (class, pending) = (AskClass::of(ask), PendingAsk::of(id, ask));
        ask.wishes.hosts.iter().for_each(|host| self.by_node.add(*host, class, pending));
        if allowed >= Locality::RackLocal {
            ask.wishes.racks.iter().for_each(|rack| self.by_rack.add(*rack, class, pending));
        }
        let counts_nodes = matches!(facts.config.locality_delay, LocalityDelay::Nodes { .. });
        if counts_nodes && allowed < ask.wishes.loosest() {
            let partition = facts.shapes.at(ask.shape).partition;
            self.counting[partition.index()].insert(id);
        }
    }
}

impl Backlog {
    /// Takes a located ask out of its lane until something it waits for happens.
    pub(crate) fn let_wait(&mut self, facts: &Facts, id: AskId, ask: &Ask) {
        if self.waiting.is_waiting(id) {
            return;
        }
        let remembered = self.waiting.located.remove(&id).unwrap_or_default();
        self.remove_ask(id, ask);
        self.waiting.located.insert(id, remembered);
        self.waiting.note(facts, id, ask);
        self.applications[ask.application.index()].waiting.insert(id);
    }
}

/// How many distinct nodes can be offered to the ask beside those it names.
fn offers_possible(facts: &Facts, ask: &Ask) -> usize {
    let partition = facts.shapes.at(ask.shape).partition;
    facts.partitions[partition.index()].nodes.saturating_sub(ask.wishes.hosts.len())
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
