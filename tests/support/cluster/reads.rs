//! Short methods that read the engine's state.

use apportion::{ApplicationId, ContainerId, NodeId};

use super::Cluster;

impl Cluster {
    /// The queue's use of the first resource type in the default partition.
    #[must_use]
    pub fn used(&self, path: &str) -> i64 {
        self.quota(path).used[0]
    }

    /// The queue's pending amount of the first resource type in the default partition.
    #[must_use]
    pub fn pending(&self, path: &str) -> i64 {
        self.quota(path).pending[0]
    }

    /// The queue's quota in the default partition.
    #[must_use]
    pub fn quota(&self, path: &str) -> apportion::Quota {
        self.engine.read(|view| view.queue(path).unwrap().quota(apportion::PartitionId::DEFAULT))
    }

    /// The allocated amount of the first resource type on a node.
    #[must_use]
    pub fn allocated(&self, node: NodeId) -> i64 {
        self.engine.read(|view| view.node(node).unwrap().allocated()[0])
    }

    /// The running containers of an application, oldest first.
    #[must_use]
    pub fn running(&self, application: ApplicationId) -> Vec<ContainerId> {
        let of_application = |(id, container): (ContainerId, apportion::view::ContainerView)| {
            (container.application == application).then_some(id)
        };
        self.engine.read(|view| view.containers().filter_map(of_application).collect())
    }
}
