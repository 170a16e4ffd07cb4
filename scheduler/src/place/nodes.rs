//! The part of the state that placement sets are views of.

use super::node_shards::NodeShards;
use crate::facts::{Facts, Node};
use crate::ids::NodeId;
use crate::in_flight::InFlight;
use crate::resource::Room;

/// The state that a placement set is a view of.
#[derive(Clone, Copy)]
pub(crate) struct Nodes<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) in_flight: &'a InFlight,
    pub(crate) node_shards: &'a NodeShards,
}

impl Nodes<'_> {
    /// The resources left on the node after picks in flight.
    pub(crate) fn room_left(&self, id: NodeId, node: &Node) -> Room {
        Room { free: node.room.free - self.in_flight.on_node(id), devices: node.room.devices }
    }
}
