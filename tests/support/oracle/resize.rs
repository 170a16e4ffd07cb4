//! Resizing, demotion and promotion of containers.

use apportion::event::EventKind;
use apportion::{ContainerId, ExecutionType, Resources};

use super::amounts::{Amounts, amounts, may_add, minus};
use super::{Container, Effect, NOTHING, Oracle};

impl Oracle {
    /// The container's amounts after the resize: its devices stay.
    fn resized(&self, id: ContainerId, size: &Resources) -> Amounts {
        let mut size = amounts(size);
        if let (Some(devices), Some(container)) = (self.config.resources.device_type(), self.container(id)) {
            size[devices] = container.size[devices];
        }
        size
    }

    /// Whether the container may have this size: the increase must fit like a new container.
    pub(super) fn may_resize(&self, id: ContainerId, size: &Resources) -> bool {
        let Some(container) = self.container(id) else { return false };
        let change = minus(&self.resized(id, size), &container.size);
        let more = change.map(|amount| amount.max(0));
        if more == NOTHING {
            return true;
        }
        let (books, node) = (self.books(), &self.nodes[&container.node]);
        let (application, partition) =
            (&self.applications[&container.application], self.partition(node.partition));
        let queues = self.tree.chain(application.leaf);
        let mut queues = queues.iter().map(|queue| &books.queues[partition][*queue]);
        let user = &application.spec.user;
        let weight = self.tree.weight(application.leaf, user);
        let held = books.user(partition, application.leaf, user);
        node.is_candidate()
            && !self.reservations.contains_key(&container.node)
            && may_add(&books.nodes[&container.node].used, &more, &node.capacity)
            && application.is_active
            && queues.all(|queue| may_add(&queue.used, &more, &queue.limits.maximum))
            && self.contest(&books, partition, application.leaf).allows(weight, &held, &change, &more)
            && self.holders_allow(&books, partition, application.leaf, user, &more)
    }

    pub(super) fn resize(&mut self, id: ContainerId, size: &Resources) -> Effect {
        let size = self.resized(id, size);
        let container = self.container_mut(id);
        container.size = size;
        (container.application, EventKind::ContainerResized { container: id })
    }

    /// The guaranteed size of an opportunistic container.
    pub(super) fn put_aside(&self, id: ContainerId) -> Option<Resources> {
        self.container(id)?.put_aside.as_ref().map(|size| Resources::new(size))
    }

    /// Whether the type may change. Promotion needs room for the guaranteed size like a resize from zero.
    pub(super) fn may_set_execution_type(&self, id: ContainerId, execution_type: ExecutionType) -> bool {
        match (self.put_aside(id), execution_type) {
            _ if !self.is_unstopped(id) => false,
            (None, ExecutionType::Opportunistic) => self.container(id).is_some(),
            (Some(size), ExecutionType::Guaranteed) => self.may_resize(id, &size),
            _ => false,
        }
    }

    pub(super) fn set_execution_type(&mut self, id: ContainerId, execution_type: ExecutionType) -> Effect {
        let charged = self.resized(id, &Resources::ZERO);
        let container = self.container_mut(id);
        match execution_type {
            ExecutionType::Opportunistic => {
                container.put_aside = Some(std::mem::replace(&mut container.size, charged));
            }
            ExecutionType::Guaranteed => container.size = container.put_aside.take().expect("checked before"),
        }
        (container.application, EventKind::ExecutionTypeChanged { container: id, execution_type })
    }

    pub(super) fn container_mut(&mut self, id: ContainerId) -> &mut Container {
        let container = self.containers.values_mut().find(|container| container.id == Some(id));
        container.expect("checked before")
    }
}
