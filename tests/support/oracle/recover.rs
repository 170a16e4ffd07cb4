//! Containers that were running before the engine started.

use apportion::event::EventKind;
use apportion::{AskId, NodeId, RunningContainer};

use super::amounts::amounts;
use super::node::choose_devices;
use super::{Container, Effect, Hints, Oracle};

impl Oracle {
    /// Whether the application exists and the node has the devices. No limit is checked, since the container runs
    /// already.
    pub(super) fn may_recover(&self, node: NodeId, running: &RunningContainer) -> bool {
        self.nodes.contains_key(&node)
            && self.goes_on(running.application).is_some()
            && self.devices_for(node, running).is_some()
    }

    fn devices_for(&self, node: NodeId, running: &RunningContainer) -> Option<Vec<usize>> {
        let books = self.books();
        running.devices.map_or(Some(Vec::new()), |need| choose_devices(need, &books.nodes[&node].device_free))
    }

    /// Adds the container under the identifier that the engine chose.
    pub(super) fn recover(
        &mut self,
        ask: AskId,
        node: NodeId,
        running: &RunningContainer,
        hints: &Hints,
    ) -> Result<Effect, String> {
        let [id] = hints.containers[..] else { return Err(format!("{:?} for one", hints.containers)) };
        let container = Container {
            id: Some(id),
            application: running.application,
            node,
            size: amounts(&running.size),
            put_aside: None,
            stopping: None,
            need: running.devices,
            devices: self.devices_for(node, running).expect("checked before"),
            tags: running.tags.clone(),
            allocation_request_id: running.allocation_request_id,
        };
        self.started += 1;
        self.containers.insert(self.started, container);
        let allocation_request_id = running.allocation_request_id;
        Ok((
            running.application,
            EventKind::ContainerRecovered { ask, container: id, node, allocation_request_id },
        ))
    }
}
