//! The funnel: where each node drops out for an ask.

use std::collections::BTreeMap;

use serde::Serialize;

use super::KeptNode;
use super::limits::first_limit_of;
use super::shortage::{Shortage, Shortages};
use crate::facts::{Ask, Breach, Locality, Node, NodeState, Shape};
use crate::ids::{AskId, NodeId, PartitionId, ShapeId};
use crate::resource::{Need, fits};
use crate::state::State;

/// The reasons why nodes drop out, in the order of the checks: conditions on the node, room, conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stage {
    /// It belongs to another partition than the ask is for.
    OtherPartition,
    /// It takes no new containers.
    Draining,
    /// It has been silent for too long.
    Silent,
    /// It is none of the hosts or racks that the ask names, and nothing else will do.
    NotNamed,
    /// Its attributes do not meet the ask's rule.
    WrongAttributes,
    /// The application shuns it or its rack.
    Blacklisted,
    /// As many containers with a tag are on it or its rack as the ask allows.
    TagLimit,
    /// It is none of the hosts or racks that the ask names, and the ask still waits for those.
    LaterByLocality,
    /// It would be lent by its partition, but the user has there what it may have.
    BorrowedLimit,
    /// Even empty it could not hold one container.
    TooSmall,
    /// It has too little left of some resource type.
    NoRoom,
    /// It has enough left in all, but not on the devices one by one.
    NoDevice,
    /// It has room, and is kept for another ask.
    Kept,
    /// It has room, but only until the proposals for it are decided.
    InFlight,
    /// It has room, and nothing about it is in the way.
    Fits,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 15] = [
        Self::OtherPartition,
        Self::Draining,
        Self::Silent,
        Self::NotNamed,
        Self::WrongAttributes,
        Self::Blacklisted,
        Self::TagLimit,
        Self::LaterByLocality,
        Self::BorrowedLimit,
        Self::TooSmall,
        Self::NoRoom,
        Self::NoDevice,
        Self::Kept,
        Self::InFlight,
        Self::Fits,
    ];
}

impl From<Breach> for Stage {
    fn from(breach: Breach) -> Self {
        match breach {
            Breach::Attributes => Self::WrongAttributes,
            Breach::Shunned => Self::Blacklisted,
            Breach::TagLimit => Self::TagLimit,
        }
    }
}

/// How many nodes drop out at which stage; together they are all nodes of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Funnel {
    /// All nodes of the cluster.
    pub nodes: usize,
    /// How many of them drop out at each stage; those at [`Stage::Fits`] pass.
    pub stages: BTreeMap<Stage, usize>,
}

impl Funnel {
    /// How many nodes drop out there.
    #[must_use]
    pub fn at(&self, stage: Stage) -> usize {
        self.stages.get(&stage).copied().unwrap_or(0)
    }
}

/// Looks at nodes on behalf of one ask.
#[derive(Clone)]
pub(super) struct Judge<'a> {
    pub(super) state: &'a State,
    pub(super) ask: &'a Ask,
    pub(super) shape: &'a Shape,
    /// How far from its named hosts and racks the ask may be placed now.
    allowed: Locality,
    /// The partitions in which it may borrow nodes, and whether a limit is in its way there.
    lenders: Vec<(PartitionId, bool)>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(state: &'a State, id: AskId, ask: &'a Ask) -> Self {
        let shape = state.facts.shapes.at(ask.shape);
        // A unit for which a node was reserved has waited long enough to go anywhere, if its ask ever may.
        let is_bound = ask.preference.loosest() < Locality::OffSwitch;
        let allowed = if shape.has_locality && (is_bound || ask.reservations.is_empty()) {
            state.backlog.locality.allowed(&state.facts, id, ask)
        } else {
            ask.preference.loosest()
        };
        let is_unreserved = ask.outstanding() as usize > ask.reservations.len();
        let variants = state.facts.shapes.variants_of(ask.shape).iter().filter(|_| is_unreserved);
        let lender = |variant: &ShapeId| {
            let variant = state.facts.shapes.at(*variant);
            (variant.partition, first_limit_of(state, ask, variant).is_some())
        };
        Self { state, ask, shape, allowed, lenders: variants.map(lender).collect() }
    }

    /// The nodes of the ask's partition, then those of partitions that lend theirs to it.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (NodeId, &'a Node)> {
        let (nodes, node_shards) = (&self.state.facts.nodes, &self.state.node_shards);
        let lenders = self.lenders.iter().map(|(partition, _)| *partition);
        let partitions = std::iter::once(self.shape.partition).chain(lenders);
        partitions.flat_map(|partition| node_shards.nodes_of(partition)).map(|id| (id, nodes.at(id)))
    }

    /// Whether the node is of the ask's partition, or the ask may borrow nodes on it, with a limit in the way or not.
    fn takes_it(&self, node: &Node, whatever_limit: bool) -> bool {
        let is_lender = |(lender, is_limited): &(PartitionId, bool)| {
            *lender == node.partition && (whatever_limit || !is_limited)
        };
        node.partition == self.shape.partition || self.lenders.iter().any(is_lender)
    }

    /// Whether some node has room for the ask on a borrowed node.
    pub(super) fn may_borrow(&self) -> bool {
        !self.lenders.is_empty()
            && self
                .nodes()
                .any(|(id, node)| node.partition != self.shape.partition && self.has_room(id, node))
    }

    /// Whether the node, were it empty and free to take containers, could hold one.
    pub(super) fn could_hold(&self, id: NodeId, node: &Node) -> bool {
        self.ask.preference.will_do(id, node.rack) && self.state.facts.could_hold(self.shape, node)
    }

    /// Whether the node has room for one container of the ask, at once or after a delay.
    pub(super) fn has_room(&self, id: NodeId, node: &Node) -> bool {
        self.ask.preference.will_do(id, node.rack)
            && self.takes_it(node, false)
            && node.is_open()
            && fits(&self.shape.need, &node.room)
            && self.state.facts.meets_rule(self.shape, node)
    }

    /// Whether only tags of running containers keep the ask off the node, at once or after a delay.
    pub(super) fn is_capped(&self, id: NodeId, node: &Node) -> bool {
        self.ask.preference.will_do(id, node.rack)
            && node.is_open()
            && fits(&self.shape.need, &node.room)
            && self.state.facts.breach(self.shape, node) == Some(Breach::TagLimit)
    }

    /// Whether the node is near enough to the ask's hosts and racks by now.
    pub(super) fn is_near(&self, id: NodeId, node: &Node) -> bool {
        self.ask.preference.locality_of(id, node.rack) <= self.allowed
    }

    /// The reason why the node drops out.
    pub(super) fn stage_of(&self, id: NodeId, node: &Node) -> Stage {
        let Self { state, ask, shape, .. } = self;
        if !self.takes_it(node, true) {
            Stage::OtherPartition
        } else if node.state == NodeState::Draining {
            Stage::Draining
        } else if !node.is_candidate() {
            Stage::Silent
        } else if !ask.preference.will_do(id, node.rack) {
            Stage::NotNamed
        } else if let Some(breach) = state.facts.breach(shape, node) {
            breach.into()
        } else if !self.is_near(id, node) {
            Stage::LaterByLocality
        } else if !self.takes_it(node, false) {
            Stage::BorrowedLimit
        } else if !fits(&shape.need, &node.empty_room()) {
            Stage::TooSmall
        } else if !fits(&Need { devices: None, ..shape.need }, &node.room) {
            Stage::NoRoom
        } else if !fits(&shape.need, &node.room) {
            Stage::NoDevice
        } else if node.reservation.is_some_and(|reservation| !ask.reservations.contains(&reservation)) {
            Stage::Kept
        } else if !fits(&shape.need, &state.nodes().room_left(id, node)) {
            Stage::InFlight
        } else {
            Stage::Fits
        }
    }
}

/// The findings over all nodes that may serve the ask.
pub(super) struct Survey {
    pub(super) funnel: Funnel,
    pub(super) shortage: Option<Shortage>,
    pub(super) kept_node: Option<KeptNode>,
    /// Nodes short of room or devices, or at a tag limit, on which containers are being stopped.
    pub(super) stopping: usize,
}

pub(super) fn survey(judge: &Judge<'_>) -> Survey {
    let facts = &judge.state.facts;
    let mut stages: BTreeMap<Stage, usize> = Stage::ALL.iter().map(|stage| (*stage, 0)).collect();
    let mut count = |stage: Stage, nodes: usize| *stages.entry(stage).or_default() += nodes;
    let (mut shortages, mut kept_node, mut nodes, mut stopping) = (Shortages::new(judge), None, 0, 0);
    for (id, node) in judge.nodes() {
        let stage = judge.stage_of(id, node);
        count(stage, 1);
        nodes += 1;
        shortages.note(stage, id, node);
        let may_gain = matches!(stage, Stage::TagLimit | Stage::NoRoom | Stage::NoDevice);
        stopping += usize::from(may_gain && facts.stops_on(node));
        if stage == Stage::Kept && kept_node.is_none() {
            kept_node = node.reservation.map(|reservation| KeptNode {
                node: id,
                name: node.name.to_string(),
                kept_for: facts.reservations.at(reservation).ask,
            });
        }
    }
    count(Stage::OtherPartition, facts.nodes.len() - nodes);
    Survey {
        funnel: Funnel { nodes: facts.nodes.len(), stages },
        shortage: shortages.least(),
        kept_node,
        stopping,
    }
}
