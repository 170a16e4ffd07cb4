//! The nodes as the plan would leave them: their room, and the containers on them that may be taken.

use super::candidates::{Candidate, candidates};
use super::exempt::Exemptions;
use crate::ids::{NodeId, PartitionId, QueueId, SlotId};
use crate::resource::{Need, Resources, Room, fits, missing};
use crate::state::State;

/// A node as the plan would leave it.
#[derive(Clone, Debug)]
pub(super) struct PlannedNode {
    pub(super) node: NodeId,
    pub(super) room: Room,
    /// The room after the containers that are being stopped have ended.
    pub(super) later: Room,
    /// By rank.
    pub(super) candidates: Vec<Candidate>,
}

/// The nodes of a partition.
pub(super) struct PlannedNodes {
    pub(super) all: Vec<PlannedNode>,
    /// The site of the node in each slot, from 1 on; 0 if the node is in another partition.
    by_slot: Vec<u32>,
    /// The nodes that the plan has changed, in order.
    pub(super) touched: Vec<usize>,
    /// The nodes as they were before a trial, in the order of its changes.
    before: Option<Vec<(usize, PlannedNode)>>,
    /// By node, the place of its first container whose leaf is not spent in this round, or an earlier place.
    first: Vec<u32>,
}

impl PlannedNodes {
    /// The nodes of the partition, with the containers of leaves that `may_lose` some.
    pub(super) fn new(
        state: &State,
        partition: PartitionId,
        exemptions: Exemptions<'_>,
        may_lose: impl Fn(QueueId) -> bool,
    ) -> Self {
        let facts = &state.facts;
        let site = |node: NodeId| {
            let room = facts.nodes.at(node).room;
            PlannedNode { node, room, later: room, candidates: Vec::new() }
        };
        let all: Vec<PlannedNode> = state.node_shards.nodes_of(partition).map(site).collect();
        let mut by_slot = Vec::new();
        for (place, site) in (1..).zip(&all) {
            let slot = site.node.index();
            if by_slot.len() <= slot {
                by_slot.resize(slot + 1, 0);
            }
            by_slot[slot] = place;
        }
        let mut sites = Self { first: vec![0; all.len()], all, by_slot, touched: Vec::new(), before: None };
        sites.add_stopping(state);
        candidates(state, partition, exemptions, may_lose, |node, candidate| {
            if let Some(site) = sites.of_node(node) {
                let listed = &mut sites.all[site].candidates;
                if listed.is_empty() {
                    listed.reserve(facts.nodes.at(node).containers.len());
                }
                listed.push(candidate);
            }
        });
        sites
    }

    /// The index of the node in `all`, which is its site.
    pub(super) fn of_node(&self, node: NodeId) -> Option<usize> {
        (*self.by_slot.get(node.index())? as usize).checked_sub(1)
    }

    /// The node, to be changed.
    pub(super) fn change(&mut self, site: usize) -> &mut PlannedNode {
        self.touched.push(site);
        self.first[site] = 0;
        if let Some(before) = &mut self.before {
            before.push((site, self.all[site].clone()));
        }
        &mut self.all[site]
    }

    /// Begins a trial: from now on changes can be taken back.
    pub(super) fn begin_trial(&mut self) {
        self.before = Some(Vec::new());
    }

    /// Ends the trial, and keeps its changes.
    pub(super) fn keep_trial(&mut self) {
        self.before = None;
    }

    /// Ends the trial, and takes its changes back.
    pub(super) fn undo_trial(&mut self) {
        for (site, node) in self.before.take().into_iter().flatten().rev() {
            self.all[site] = node;
            self.first[site] = 0;
            self.touched.push(site);
        }
    }

    /// The first container on the node whose leaf is not spent. Outside of trials, a spent leaf stays so.
    pub(super) fn first(&mut self, site: usize, is_spent: impl Fn(QueueId) -> bool) -> Option<&Candidate> {
        let (candidates, first) = (&self.all[site].candidates, &mut self.first[site]);
        let spent = candidates[*first as usize..].iter().take_while(|of| is_spent(of.leaf));
        *first += spent.count() as u32;
        candidates.get(*first as usize)
    }

    fn add_stopping(&mut self, state: &State) {
        let facts = &state.facts;
        for container in facts.stopping.keys().filter_map(|id| facts.containers.get(*id)) {
            if let Some(site) = self.of_node(container.node) {
                let need = &facts.shapes.at(container.shape).need;
                self.all[site].later.give(need, container.devices);
            }
        }
    }
}

impl PlannedNode {
    pub(super) fn has_room_for(&self, need: &Need) -> bool {
        fits(need, &self.later)
    }

    /// The amounts that the container lacks in the room. A missing device counts as at least 1 of the device type.
    pub(super) fn lacking(room: &Room, need: &Need, device_type: Option<usize>) -> Resources {
        let mut lacking = missing(&need.resources, &room.free);
        let lacks_device = need.devices.is_some_and(|devices| !room.devices.can_hold(devices));
        if let Some(index) = device_type.filter(|_| lacks_device) {
            lacking.set(index, lacking[index].max(1));
        }
        lacking
    }
}
