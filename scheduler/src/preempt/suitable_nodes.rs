//! The nodes for equal asks, best first.
//!
//! A node's loss is computed when the search first sees the node, and again when the node comes to the top. Budgets
//! shrink as the plan goes on, so the first loss is nearly always a lower bound. A node that the plan has changed is
//! looked at again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::planned_nodes::{PlannedNode, PlannedNodes};
use super::planned_use::PlannedUse;
use super::victims::{Choice, Loss, Wanted};
use crate::explain::NodeFilter;
use crate::facts::{Shape, TagCounts};
use crate::ids::{NodeId, QueueId, RackId};
use crate::resource::Need;
use crate::state::State;

/// A node, by the least loss that may make room on it.
type Entry = (Loss, usize);

pub(super) struct SuitableNodes {
    /// The nodes by the leaf of their first container whose leaf is not spent; `None` for nodes without victims. Once
    /// a leaf is spent, all of its nodes change at once.
    by_leaf: BTreeMap<Option<QueueId>, BinaryHeap<Reverse<Entry>>>,
    /// Whether the asks may run on each node, if it has room.
    is_suitable: Vec<bool>,
    /// The number of changes of nodes that the heaps know.
    seen: usize,
    /// Whether the heaps have only nodes with room, because nothing may be taken any more.
    has_only_room: bool,
}

impl SuitableNodes {
    /// The nodes, on one rack if it is given.
    pub(super) fn new(
        state: &State,
        filter: &NodeFilter<'_>,
        rack: Option<RackId>,
        sites: &PlannedNodes,
    ) -> Self {
        let node = |id| state.facts.nodes.at(id);
        let is_on_rack = |id| rack.is_none_or(|rack| node(id).rack == rack);
        let is_suitable =
            |id| is_on_rack(id) && node(id).reservation.is_none() && filter.lacks_at_most_room(id, node(id));
        let is_suitable: Vec<bool> = sites.all.iter().map(|site| is_suitable(site.node)).collect();
        Self { by_leaf: BTreeMap::new(), is_suitable, seen: usize::MAX, has_only_room: false }
    }

    /// Whether the asks may run on the node at this place, if it has room.
    pub(super) fn includes(&self, site: usize) -> bool {
        self.is_suitable[site]
    }

    /// Whether the asks may run on no node at all.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_suitable.contains(&true)
    }

    /// Drops the nodes without room, because nothing more may be taken. A search would find no victims on them.
    pub(super) fn keep_only_room(&mut self, sites: &PlannedNodes, need: &Need) {
        if !self.has_only_room {
            self.has_only_room = true;
            let has_room = |(_, index): &Entry| sites.all[*index].has_room_for(need);
            self.by_leaf.values_mut().for_each(|heap| heap.retain(|Reverse(entry)| has_room(entry)));
        }
    }

    /// The node with the least loss, and the victims there.
    pub(super) fn best(
        &mut self,
        shape: &Shape,
        planned_use: &PlannedUse<'_>,
        sites: &mut PlannedNodes,
        wanted: &Wanted<'_>,
    ) -> Option<(usize, Choice)> {
        self.catch_up(planned_use, sites, wanted);
        while let Some((leaf, (loss, site))) = self.first() {
            if leaf.is_some_and(|leaf| wanted.is_spent(planned_use, leaf)) {
                self.spread(leaf, planned_use, sites, wanted);
                continue;
            }
            self.by_leaf.get_mut(&leaf)?.pop();
            let Some(choice) = wanted.choose(planned_use, &sites.all[site]) else { continue };
            if choice.loss > loss {
                self.insert(planned_use, sites, wanted, site, choice.loss);
            } else if meets_rule(shape, planned_use, &choice, sites.all[site].node) {
                return Some((site, choice));
            }
        }
        None
    }

    /// The least loss, with the leaf of the first victim.
    fn first(&self) -> Option<(Option<QueueId>, Entry)> {
        let tops = self.by_leaf.iter().filter_map(|(leaf, heap)| Some((heap.peek()?.0, *leaf)));
        tops.min().map(|(top, leaf)| (leaf, top))
    }

    /// Lists the nodes of a leaf that may lose nothing more under the leaves that may lose something instead.
    fn spread(
        &mut self,
        leaf: Option<QueueId>,
        planned_use: &PlannedUse<'_>,
        sites: &mut PlannedNodes,
        wanted: &Wanted<'_>,
    ) {
        for Reverse(entry) in self.by_leaf.remove(&leaf).unwrap_or_default() {
            let (loss, site) = entry;
            self.insert(planned_use, sites, wanted, site, loss);
        }
    }

    /// Adds the node, with at least this loss. If all leaves are spent, the node may still have room later.
    fn insert(
        &mut self,
        planned_use: &PlannedUse<'_>,
        sites: &mut PlannedNodes,
        wanted: &Wanted<'_>,
        site: usize,
        loss: Loss,
    ) {
        let bound = wanted.bound(planned_use, sites, site, loss);
        if bound.is_none() && !sites.all[site].has_room_for(wanted.need) {
            return;
        }
        let (leaf, loss) = bound.unwrap_or((None, loss));
        self.by_leaf.entry(leaf).or_default().push(Reverse((loss, site)));
    }

    /// Whether only disruption budgets keep the victims on some node.
    pub(super) fn is_kept_by_budgets(
        &self,
        planned_use: &PlannedUse<'_>,
        sites: &PlannedNodes,
        wanted: &Wanted<'_>,
    ) -> bool {
        let wanted = Wanted { ignores_budgets: true, ..*wanted };
        let is_suitable = |(site, is_suitable): (&PlannedNode, &bool)| {
            *is_suitable && wanted.choose(planned_use, site).is_some()
        };
        !planned_use.budgets.is_empty() && sites.all.iter().zip(&self.is_suitable).any(is_suitable)
    }

    /// Computes the losses of nodes that are new or have changed.
    fn catch_up(&mut self, planned_use: &PlannedUse<'_>, sites: &mut PlannedNodes, wanted: &Wanted<'_>) {
        let all = 0..sites.all.len();
        let changed = sites.touched.get(self.seen..).unwrap_or_default().iter().copied();
        let is_first = self.seen == usize::MAX;
        let to_see = all.filter(|_| is_first).chain(changed);
        let loss = |index: usize| {
            let choice = wanted.choose(planned_use, &sites.all[index])?;
            Some((choice.loss, index))
        };
        let may_do = |index: &usize| {
            let has_room = || sites.all[*index].has_room_for(wanted.need);
            self.is_suitable[*index] && (!self.has_only_room || has_room())
        };
        for (loss, site) in to_see.filter(may_do).filter_map(loss).collect::<Vec<_>>() {
            self.insert(planned_use, sites, wanted, site, loss);
        }
        self.seen = sites.touched.len();
    }
}

/// Whether the shape's rule holds on the node after the plan so far and without the victims.
pub(super) fn meets_rule(shape: &Shape, planned_use: &PlannedUse<'_>, choice: &Choice, node: NodeId) -> bool {
    let facts = planned_use.facts;
    let node = facts.nodes.at(node);
    if shape.rule.is_none() {
        return true;
    }
    let mut tags: TagCounts = planned_use.tags.clone();
    for victim in &choice.victims {
        tags.add(facts.shapes.at(victim.shape).tags(), node, victim.application, -1);
    }
    facts.breach_with(shape, node, Some(&tags)).is_none()
}
