//! What the search for gangs and the committer have to know about gangs that wait. It is derived: a
//! restart makes it again.

use std::collections::{BTreeMap, BTreeSet};

use super::State;
use crate::ids::{GangId, NodeId};

/// What a gang met that could not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FailedStart {
    nodes_version: u64,
    /// The version in which a container with tags last ended.
    tags_ended_at: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct GangWaits {
    /// The version in which a gang that found no room could last find some: more room, other nodes or another order.
    room_gained_at: u64,
    /// The nodes that gained room while gangs wait, and have not been offered to the gangs that hold room.
    pub(crate) gained_nodes: BTreeSet<NodeId>,
    /// Whether a limit may have kept a gang from room on a node where it has a place.
    pub(crate) room_is_limited: bool,
    /// Gangs whose turn may be over. The next search for gangs decides.
    pub(crate) overdue_turns: BTreeSet<GangId>,
    /// Gangs that held all room for their minimum and could not start.
    failed_starts: BTreeMap<GangId, FailedStart>,
}

impl Default for GangWaits {
    fn default() -> Self {
        Self {
            room_gained_at: 0,
            gained_nodes: BTreeSet::new(),
            room_is_limited: true,
            overdue_turns: BTreeSet::new(),
            failed_starts: BTreeMap::new(),
        }
    }
}

impl State {
    /// Records that a gang which found no room may find some now.
    pub(crate) fn record_room_gain(&mut self) {
        self.gang_waits.room_gained_at = self.version;
    }

    /// The version since which a gang that found no room before may find some.
    pub(crate) fn room_gained_at(&self) -> u64 {
        self.gang_waits.room_gained_at
    }

    /// Records that the node gained room while gangs wait.
    #[cold]
    pub(super) fn record_gain_for_gangs(&mut self, id: NodeId) {
        self.record_room_gain();
        if !self.facts.held_rooms.is_empty() {
            self.gang_waits.gained_nodes.insert(id);
        }
    }

    /// Records that a gang that held all room could not start, as after a tag limit was reached.
    pub(crate) fn record_failed_start(&mut self, gang: GangId) {
        let failed = self.as_failed_start();
        let Self { gang_waits, facts, .. } = self;
        gang_waits.failed_starts.retain(|known, _| facts.gangs.contains_key(known));
        gang_waits.failed_starts.insert(gang, failed);
    }

    /// A start that fails now.
    fn as_failed_start(&self) -> FailedStart {
        FailedStart { nodes_version: self.nodes_version, tags_ended_at: self.tags_ended_at }
    }

    /// Whether the gang could not start although it held all room, on the present nodes and beside the present tags.
    pub(crate) fn has_failed_start(&self, gang: GangId) -> bool {
        self.gang_waits.failed_starts.get(&gang) == Some(&self.as_failed_start())
    }
}
