//! Nodes: capacity, room, containers, and whether they are candidates.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{ContainerId, NodeId, PartitionId, RackId, ReservationId};
use crate::resource::{Resources, Room};

/// The state that an administrator has set for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// Takes new containers.
    Active,
    /// Takes no new containers; its containers keep running.
    Draining,
}

/// A node's attributes by name.
pub type NodeAttributes = BTreeMap<String, String>;

/// A node. The fields that each placement reads or changes come first in memory, in as few cache lines as possible.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct Node {
    pub(crate) state: NodeState,
    /// Whether the node sent no heartbeat for longer than the policy allows.
    pub(crate) stale: bool,
    /// Whether use exceeds capacity; ends when the use fits again.
    pub(crate) overcommitted: bool,
    pub(crate) partition: PartitionId,
    /// The reservation on this node, if any. Then only its ask may be placed here.
    pub(crate) reservation: Option<ReservationId>,
    pub(crate) rack: RackId,
    pub(crate) containers: Vec<ContainerId>,
    /// Capacity minus what containers and gangs hold.
    pub(crate) room: Room,
    pub(crate) capacity: Resources,
    pub(crate) last_heartbeat_ms: u64,
    pub(crate) name: Arc<str>,
    #[serde(skip, default = "crate::facts::image::unknown_node")]
    pub(crate) id: NodeId,
    pub(crate) attributes: NodeAttributes,
}

impl Node {
    /// Whether asks without a reservation on the node may be placed here at all.
    pub(crate) fn is_open(&self) -> bool {
        self.is_candidate() && self.reservation.is_none()
    }

    /// Whether new containers may be placed here (apart from room and reservations).
    pub(crate) fn is_candidate(&self) -> bool {
        self.state == NodeState::Active && !self.stale
    }

    /// What containers and gangs hold.
    pub(crate) fn taken(&self) -> Resources {
        self.capacity - self.room.free
    }

    /// The room that this node would have if it were empty.
    pub(crate) fn empty_room(&self) -> Room {
        Room::empty_node(self.capacity, self.room.devices.count())
    }
}
