//! Nodes come, change and go.

use super::handle::{Handle, SubmitError};
use crate::change::{Change, NodeSpec};
use crate::facts::{NodeAttributes, NodeState};
use crate::ids::{NodeId, PartitionId};
use crate::resource::{DEVICE_MILLI, DEVICES_MAX, Resources};

impl Handle {
    /// Registers a node.
    ///
    /// # Errors
    /// When a node of that name is registered, or its amounts are not possible.
    pub fn add_node(&self, mut spec: NodeSpec) -> Result<NodeId, SubmitError> {
        let types = &self.shared.config.resources;
        if usize::from(spec.devices) > DEVICES_MAX {
            return Err(SubmitError::Devices { count: spec.devices, milli: DEVICE_MILLI });
        }
        let milli = spec.devices_milli();
        types.count_devices(&mut spec.capacity, milli)?;
        types.check(&spec.capacity)?;
        self.check_partition(spec.partition)?;
        let rack = self.rack(&spec.rack);
        let names = &self.shared.names.nodes;
        let (node, is_new) = names.get_or_insert_with(&spec.name, || self.shared.ids.nodes.lock().take());
        if !is_new {
            return Err(SubmitError::DuplicateNode { name: spec.name });
        }
        let name = spec.name.clone();
        self.send(Change::NodeAdded { node, rack, spec: Box::new(spec) }).inspect_err(|_| {
            names.remove(&name, node);
            self.shared.ids.nodes.lock().give_back(node);
        })?;
        Ok(node)
    }

    /// Gives a node another capacity and other attributes. Its devices stay.
    ///
    /// # Errors
    /// When the amounts are not possible.
    pub fn update_node(
        &self,
        node: NodeId,
        capacity: Resources,
        attributes: NodeAttributes,
    ) -> Result<(), SubmitError> {
        self.shared.config.resources.check(&capacity)?;
        self.send(Change::NodeUpdated { node, capacity, attributes })
    }

    /// Lets a node go to another partition, as relabelling does in YARN. Its containers go on, and from then on their use
    /// counts there, above limits if need be; a reservation on the node ends.
    ///
    /// # Errors
    /// When there is no such partition.
    pub fn set_node_partition(&self, node: NodeId, partition: PartitionId) -> Result<(), SubmitError> {
        self.check_partition(partition)?;
        self.send(Change::NodePartitionSet { node, partition })
    }

    /// Lets a node take no new containers.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn drain_node(&self, node: NodeId) -> Result<(), SubmitError> {
        self.send(Change::NodeStateSet { node, state: NodeState::Draining })
    }

    /// Ends draining.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn activate_node(&self, node: NodeId) -> Result<(), SubmitError> {
        self.send(Change::NodeStateSet { node, state: NodeState::Active })
    }

    /// Takes a node out; its containers end as lost.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn remove_node(&self, node: NodeId) -> Result<(), SubmitError> {
        self.send(Change::NodeRemoved { node })
    }

    /// Reports that nodes are alive.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn heartbeat(&self, nodes: &[NodeId]) -> Result<(), SubmitError> {
        self.send(Change::Heartbeats { nodes: nodes.to_vec() })
    }
}
