//! The nodes as the plan would leave them: their room, and the containers on them that may be taken.

use super::planned_use::PlannedUse;
use crate::facts::{Application, Facts};
use crate::ids::{ApplicationId, ContainerId, NodeId, PartitionId, QueueId, ShapeId, SlotId};
use crate::resource::{DeviceMask, Need, Resources, Room};
use crate::state::State;

/// A container that may be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) container: ContainerId,
    pub(super) application: ApplicationId,
    pub(super) leaf: QueueId,
    pub(super) shape: ShapeId,
    pub(super) devices: DeviceMask,
    /// Its place among all candidates. The first is taken first.
    pub(super) rank: u32,
    pub(super) is_master: bool,
}

/// A node.
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
    /// The place of the node in each slot, from 1 on; 0 if it is in another partition.
    by_slot: Vec<u32>,
    /// The nodes that the plan has changed, in order.
    pub(super) touched: Vec<usize>,
}

impl PlannedNodes {
    pub(super) fn new(state: &State, partition: PartitionId, planned_use: &PlannedUse<'_>) -> Self {
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
        let mut sites = Self { all, by_slot, touched: Vec::new() };
        sites.add_stopping(state);
        sites.add_candidates(state, partition, planned_use);
        sites.put_announced_first(&state.facts);
        sites
    }

    pub(super) fn of_node(&self, node: NodeId) -> Option<usize> {
        (*self.by_slot.get(node.index())? as usize).checked_sub(1)
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

    /// Puts announced victims before all others, so that rounds in turn name the same ones.
    fn put_announced_first(&mut self, facts: &Facts) {
        let notices = &facts.later.notices;
        for container in notices.keys().filter_map(|id| facts.containers.get(*id)) {
            let Some(site) = self.of_node(container.node) else { continue };
            for candidate in &mut self.all[site].candidates {
                candidate.rank = if notices.contains_key(&candidate.container) { 0 } else { candidate.rank };
            }
            self.all[site].candidates.sort_by_key(|candidate| candidate.rank);
        }
    }

    /// Lists the containers of leaves that may lose some, in the order in which they are taken: borrowed containers
    /// first, then of the application with the lowest priority, then of the latest application, then the newest.
    /// Masters come last.
    fn add_candidates(&mut self, state: &State, partition: PartitionId, planned_use: &PlannedUse<'_>) {
        let facts = &state.facts;
        let may_lose = |application: &Application| !planned_use.queue(application.leaf).to_take.is_zero();
        let mut applications: Vec<(ApplicationId, &Application)> =
            facts.applications.iter().filter(|(_, application)| may_lose(application)).collect();
        applications.sort_by_key(|(_, application)| (application.priority, u64::MAX - application.submitted));
        let classes = if facts.lends(partition) { &[true, false][..] } else { &[false] };
        let (mut rank, mut masters) = (0, Vec::new());
        for (is_borrowed, (id, application)) in classes
            .iter()
            .flat_map(|class| applications.iter().map(move |application| (*class, *application)))
        {
            let containers = || application.containers.iter(&facts.containers);
            let master = application.master.and_then(|_| containers().next());
            for container in containers().rev() {
                let placed = facts.containers.at(container);
                let shape = facts.shapes.at(placed.shape);
                let is_here = shape.partition == partition && shape.share().is_borrowed == is_borrowed;
                let is_stopping = !facts.stopping.is_empty() && facts.stopping.contains_key(&container);
                let Some(site) = self.of_node(placed.node).filter(|_| is_here && !is_stopping) else {
                    continue;
                };
                rank += 1;
                let is_master = master == Some(container);
                let (leaf, devices) = (application.leaf, placed.devices);
                let candidate = Candidate {
                    container,
                    application: id,
                    leaf,
                    shape: placed.shape,
                    devices,
                    rank,
                    is_master,
                };
                if is_master {
                    masters.push((site, candidate));
                } else {
                    self.all[site].candidates.push(candidate);
                }
            }
        }
        for (site, master) in masters {
            rank += 1;
            self.all[site].candidates.push(Candidate { rank, ..master });
        }
    }
}

impl Room {
    /// Adds what a container has given back.
    pub(super) fn give(&mut self, need: &Need, devices: DeviceMask) {
        self.free += need.resources;
        if let Some(need) = need.devices {
            self.devices.give(devices, need.milli);
        }
    }

    /// Takes what a container needs. Where it does not fit, no device is left.
    pub(super) fn take(&mut self, need: &Need) {
        self.free -= need.resources;
        let Some(need) = need.devices else { return };
        match self.devices.choose(need) {
            Some(mask) => self.devices.take(mask, need.milli),
            None => self.devices = crate::resource::Devices::NONE,
        }
    }
}

impl PlannedNode {
    pub(super) fn has_room_for(&self, need: &Need) -> bool {
        crate::resource::fits(need, &self.later)
    }

    /// The amounts of one type or another that the container lacks now.
    pub(super) fn lacking(room: &Room, need: &Need, device_type: Option<usize>) -> Resources {
        let mut lacking =
            need.resources.combine(&room.free, |need, free| if need > 0 { (need - free).max(0) } else { 0 });
        let lacks_device = need.devices.is_some_and(|devices| !room.devices.can_hold(devices));
        if let Some(index) = device_type.filter(|_| lacks_device) {
            lacking.set(index, lacking[index].max(1));
        }
        lacking
    }
}
