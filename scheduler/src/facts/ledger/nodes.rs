//! Transitions of nodes.

use crate::facts::{Facts, Node};
use crate::ids::{NodeId, PartitionId};
use crate::resource::Resources;

impl Facts {
    /// A node joins its partition.
    pub(crate) fn transition_add_node(&mut self, id: NodeId, node: Node) {
        let totals = &mut self.tree.partitions[node.partition.index()];
        totals.capacity += node.capacity;
        totals.nodes += 1;
        self.nodes.insert(id, node);
        self.node_loads.touch(id);
    }

    /// A node gets another capacity. Below its use, it is overcommitted until enough containers have ended.
    pub(crate) fn transition_resize_node(&mut self, id: NodeId, capacity: Resources) {
        let node = self.nodes.at_mut(id);
        let change = capacity - node.capacity;
        node.capacity = capacity;
        node.room.free += change;
        node.overcommitted = !Resources::ZERO.within(&node.room.free);
        self.tree.partitions[node.partition.index()].capacity += change;
        self.node_loads.touch(id);
    }

    /// A node without containers or reservation leaves its partition.
    pub(crate) fn transition_remove_node(&mut self, id: NodeId) -> Node {
        let node = self.nodes.remove(id).expect("the caller checked that it is alive");
        debug_assert!(node.containers.is_empty() && node.reservation.is_none(), "{id} is in use");
        let totals = &mut self.tree.partitions[node.partition.index()];
        totals.capacity -= node.capacity;
        totals.nodes -= 1;
        self.node_loads.touch(id);
        node
    }

    /// A node without reservation moves to another partition, with its capacity. The caller then charges its containers
    /// there one by one.
    pub(crate) fn transition_set_node_partition(&mut self, id: NodeId, partition: PartitionId) {
        let node = self.nodes.at_mut(id);
        debug_assert!(node.reservation.is_none(), "the reservation on {id} is for its old partition");
        let left = std::mem::replace(&mut node.partition, partition);
        let totals = &mut self.tree.partitions[left.index()];
        totals.capacity -= node.capacity;
        totals.nodes -= 1;
        let totals = &mut self.tree.partitions[partition.index()];
        totals.capacity += node.capacity;
        totals.nodes += 1;
        self.node_loads.touch(id);
    }
}
