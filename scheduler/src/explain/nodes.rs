//! The funnel: the stage at which each node drops out for an ask.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::NodeOfOtherAsk;
use super::limits::{Blocker, first_limit_of};
use super::shortage::{Shortage, Shortages};
use crate::facts::{Ask, Breach, Locality, Node, NodeState, Shape};
use crate::ids::{AskId, NodeId, PartitionId, ShapeId};
use crate::resource::{Need, fits};
use crate::state::State;

/// Why a node drops out, in the order of the checks: conditions on the node, room, conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stage {
    /// The node belongs to another partition than the ask's.
    OtherPartition,
    /// The node takes no new containers.
    Draining,
    /// The node has been silent for too long.
    Silent,
    /// The node is not a host or rack that the ask names, and the ask accepts no other.
    NotNamed,
    /// The node's attributes do not meet the ask's rule.
    WrongAttributes,
    /// The node or its rack is on the application's blacklist.
    Blacklisted,
    /// The node or its rack is at the ask's limit of containers with a tag.
    TagLimit,
    /// The node is not a host or rack that the ask names, and the ask still waits for those.
    LaterByLocality,
    /// The node's partition lends it, but a queue, the user or a group is at its limit there.
    BorrowedLimit,
    /// Even empty, the node could not hold one container.
    TooSmall,
    /// The node has too little free of some resource type.
    NoRoom,
    /// The node has enough free in total, but not on single devices.
    NoDevice,
    /// The node has room, but is reserved for another ask.
    ReservedForOther,
    /// The node has room, but undecided proposals are about to use it.
    InFlight,
    /// The node has room and no check fails.
    Fits,
}

impl Stage {
    /// All stages, in order.
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
        Self::ReservedForOther,
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

/// The number of nodes that drop out at each stage; they add up to all nodes of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Funnel {
    /// All nodes of the cluster.
    pub nodes: usize,
    /// Nodes that drop out at each stage; nodes at [`Stage::Fits`] pass.
    pub stages: BTreeMap<Stage, usize>,
}

impl Funnel {
    /// The number of nodes that drop out at this stage.
    #[must_use]
    pub fn at(&self, stage: Stage) -> usize {
        self.stages.get(&stage).copied().unwrap_or(0)
    }
}

/// Checks nodes for one ask.
#[derive(Clone)]
pub(crate) struct NodeFilter<'a> {
    pub(super) state: &'a State,
    pub(super) ask: &'a Ask,
    pub(super) shape: &'a Shape,
    /// How far from its named hosts and racks the ask may be placed now.
    allowed: Locality,
    /// The partitions in which the ask may borrow nodes, and whether a limit blocks it there.
    lenders: Vec<(PartitionId, bool)>,
}

impl<'a> NodeFilter<'a> {
    pub(crate) fn new(state: &'a State, id: AskId, ask: &'a Ask) -> Self {
        let shape = state.facts.shapes.at(ask.shape);
        // An ask with a reserved node has waited long enough to go anywhere, if it accepts any node at all.
        let is_bound = ask.preference().loosest() < Locality::OffSwitch;
        // Members of a gang that start together look everywhere at once.
        let is_held = state.facts.gang_of(id).is_some();
        let allowed = if shape.has_locality && !is_held && (is_bound || ask.reservations().is_empty()) {
            state.backlog.locality.allowed(&state.facts, id, ask)
        } else {
            ask.preference().loosest()
        };
        let is_unreserved = ask.outstanding() as usize > ask.reservations().len();
        let variants = state.facts.shapes.variants_of(ask.shape).iter().filter(|_| is_unreserved);
        let lender = |variant: &ShapeId| {
            let variant = state.facts.shapes.at(*variant);
            (variant.partition, first_limit_of(state, ask, variant).is_some())
        };
        Self { state, ask, shape, allowed, lenders: variants.map(lender).collect() }
    }

    /// The nodes of the ask's partition, then those of partitions that lend it nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (NodeId, &'a Node)> {
        let (nodes, node_shards) = (&self.state.facts.nodes, &self.state.node_shards);
        let lenders = self.lenders.iter().map(|(partition, _)| *partition);
        let partitions = std::iter::once(self.shape.partition).chain(lenders);
        partitions.flat_map(|partition| node_shards.nodes_of(partition)).map(|id| (id, nodes.at(id)))
    }

    /// Whether the node is in the ask's partition or in one that lends it nodes.
    fn is_in_reach(&self, node: &Node) -> bool {
        node.partition == self.shape.partition
            || self.lenders.iter().any(|(lender, _)| *lender == node.partition)
    }

    /// Whether the node is in the ask's partition or may be borrowed within the limits on borrowing.
    fn is_in_reach_now(&self, node: &Node) -> bool {
        node.partition == self.shape.partition
            || self.lenders.iter().any(|(lender, is_limited)| *lender == node.partition && !is_limited)
    }

    /// The blocker, a limit or blocked headroom of the ask's partition, unless a lent node has room for the ask.
    pub(super) fn unless_lent(&self, blocker: Option<Blocker>) -> Option<Blocker> {
        let is_lent =
            |(id, node): (_, &Node)| node.partition != self.shape.partition && self.has_room(id, node);
        blocker.filter(|_| self.lenders.is_empty() || !self.nodes().any(is_lent))
    }

    /// Whether the node could hold one container if it were empty and took containers.
    pub(super) fn could_hold(&self, id: NodeId, node: &Node) -> bool {
        self.ask.preference().will_do(id, node.rack) && self.state.facts.could_hold(self.shape, node)
    }

    /// Whether the node has room for one container of the ask, now or after the locality delay.
    pub(super) fn has_room(&self, id: NodeId, node: &Node) -> bool {
        self.ask.preference().will_do(id, node.rack)
            && self.is_in_reach_now(node)
            && node.is_open()
            && fits(&self.shape.need, &node.room)
            && self.state.facts.meets_rule(self.shape, node)
    }

    /// Whether nothing but room keeps the ask off the node, which is in the ask's partition.
    pub(crate) fn lacks_at_most_room(&self, id: NodeId, node: &Node) -> bool {
        node.partition == self.shape.partition
            && node.is_candidate()
            && self.ask.preference().will_do(id, node.rack)
            && self.is_near(id, node)
            && fits(&self.shape.need, &node.empty_room())
            && self.state.facts.meets_rule(self.shape, node)
    }

    /// Whether only a tag limit keeps the ask off the node, now or after the locality delay.
    pub(super) fn is_capped(&self, id: NodeId, node: &Node) -> bool {
        self.ask.preference().will_do(id, node.rack)
            && node.is_open()
            && fits(&self.shape.need, &node.room)
            && self.state.facts.breach(self.shape, node) == Some(Breach::TagLimit)
    }

    /// Whether the node is near enough to the ask's hosts and racks now.
    pub(super) fn is_near(&self, id: NodeId, node: &Node) -> bool {
        self.ask.preference().locality_of(id, node.rack) <= self.allowed
    }

    /// The stage at which the node drops out.
    pub(super) fn stage_of(&self, id: NodeId, node: &Node) -> Stage {
        let Self { state, ask, shape, .. } = self;
        if !self.is_in_reach(node) {
            Stage::OtherPartition
        } else if node.state == NodeState::Draining {
            Stage::Draining
        } else if !node.is_candidate() {
            Stage::Silent
        } else if !ask.preference().will_do(id, node.rack) {
            Stage::NotNamed
        } else if let Some(breach) = state.facts.breach(shape, node) {
            breach.into()
        } else if !self.is_near(id, node) {
            Stage::LaterByLocality
        } else if !self.is_in_reach_now(node) {
            Stage::BorrowedLimit
        } else if !fits(&shape.need, &node.empty_room()) {
            Stage::TooSmall
        } else if !fits(&Need { devices: None, ..shape.need }, &node.room) {
            Stage::NoRoom
        } else if !fits(&shape.need, &node.room) {
            Stage::NoDevice
        } else if node.reservation.is_some_and(|reservation| !ask.reservations().contains(&reservation)) {
            Stage::ReservedForOther
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
    pub(super) node_of_other_ask: Option<NodeOfOtherAsk>,
    /// Nodes short of room or devices, or at a tag limit, on which containers are being stopped.
    pub(super) stopping: usize,
}

pub(super) fn survey(filter: &NodeFilter<'_>) -> Survey {
    let facts = &filter.state.facts;
    let mut stages: BTreeMap<Stage, usize> = Stage::ALL.iter().map(|stage| (*stage, 0)).collect();
    let mut count = |stage: Stage, nodes: usize| *stages.entry(stage).or_default() += nodes;
    let (mut shortages, mut node_of_other_ask, mut nodes, mut stopping) =
        (Shortages::new(filter), None, 0, 0);
    for (id, node) in filter.nodes() {
        let stage = filter.stage_of(id, node);
        count(stage, 1);
        nodes += 1;
        shortages.record(stage, id, node);
        let may_gain = matches!(stage, Stage::TagLimit | Stage::NoRoom | Stage::NoDevice);
        stopping += usize::from(may_gain && facts.stops_on(node));
        if stage == Stage::ReservedForOther && node_of_other_ask.is_none() {
            node_of_other_ask = node.reservation.map(|reservation| NodeOfOtherAsk {
                node: id,
                name: node.name.to_string(),
                reserved_for: facts.reservations.at(reservation).ask,
            });
        }
    }
    count(Stage::OtherPartition, facts.nodes.len() - nodes);
    Survey {
        funnel: Funnel { nodes: facts.nodes.len(), stages },
        shortage: shortages.least(),
        node_of_other_ask,
        stopping,
    }
}
