//! Placement: finds the host for each request.

use std::collections::BTreeSet;
use std::sync::Arc;

use apportion::Resources;

use super::shared::client_of;
use super::{FakeCluster, FakeContainer, FakeNode};
use crate::client::{
    Allocation, Callback, ClientError, ContainerRef, ContainerRequest, NodeReport, Obstacle, RequestId,
    Unserved,
};

impl FakeNode {
    fn free(&self) -> Resources {
        self.capacity - self.used
    }
}

impl FakeCluster {
    /// Serves every request that fits.
    pub(super) fn place(&mut self) {
        if !self.places_by_itself {
            return;
        }
        let waiting: Vec<_> = self.waiting.keys().copied().collect();
        for key in waiting {
            self.place_one(key);
        }
    }

    /// Serves a request if it fits.
    pub(super) fn place_one(&mut self, key: (u32, RequestId)) {
        if self.places_by_itself {
            let Some(request) = self.waiting.get(&key) else { return };
            let host = self.hosts_in_order(request).find(|host| self.is_place_for(request, host)).cloned();
            if let Some(host) = host {
                self.serve(key, host);
            }
        }
    }

    /// Serves a request on this host, whatever the request says.
    ///
    /// # Errors
    /// If the request is over, or the host is unknown.
    pub fn grant(&mut self, request: RequestId, host: &str) -> Result<ContainerRef, ClientError> {
        let key = self.key_of(request)?;
        let known = self.nodes.get_key_value(host).map(|(host, _)| host.clone());
        let host = known.ok_or_else(|| ClientError::UnknownHost { host: host.to_owned() })?;
        Ok(self.serve(key, host))
    }

    pub(super) fn key_of(&self, request: RequestId) -> Result<(u32, RequestId), ClientError> {
        let key = self.waiting.keys().find(|(_, id)| *id == request).copied();
        key.ok_or(ClientError::UnknownRequest(request))
    }

    /// Cancels a request. If the cluster does not name the request of a container, equal requests are
    /// interchangeable. Then a served one is cancelled in place of the waiting one.
    pub(super) fn take_back(&mut self, request: RequestId) -> Result<(), ClientError> {
        if self.served.remove(&request).is_some() {
            return Ok(());
        }
        let awaited =
            self.swaps.iter().find(|(_, waits)| waits.id == request).map(|(container, _)| *container);
        if awaited.is_some_and(|container| self.swaps.remove(&container).is_some()) {
            return Ok(());
        }
        let key = self.key_of(request)?;
        let Some(waits) = self.waiting.remove(&key) else { return Ok(()) };
        let equal = self.served.iter().find(|(_, served)| are_one(served, &waits)).map(|(id, _)| *id);
        if let Some(id) = equal {
            self.served.remove(&id);
            self.waiting.insert((key.0, id), ContainerRequest { id, ..waits });
        }
        Ok(())
    }

    fn serve(&mut self, key: (u32, RequestId), host: Arc<str>) -> ContainerRef {
        self.last_container += 1;
        let container = ContainerRef(self.last_container);
        if let Some(wanted) = self.waiting.remove(&key) {
            if !self.echoes_requests {
                self.served.insert(wanted.id, wanted.clone());
            }
            let ContainerRequest { id, size, priority, apart, .. } = wanted;
            if let Some(node) = self.nodes.get_mut(&host) {
                node.running.insert(container);
                node.used += size;
            }
            self.running.insert(
                container,
                FakeContainer {
                    request: id,
                    host: host.clone(),
                    size,
                    priority,
                    apart,
                    launch: None,
                    is_stopping: false,
                },
            );
            let request = self.echoes_requests.then_some(id);
            self.tell(Callback::Allocated(vec![Allocation { request, priority, container, size, host }]));
        }
        container
    }

    /// Returns the hosts to try: named hosts first in their order, then hosts of named racks, then all.
    /// A host may come several times.
    fn hosts_in_order<'a>(&'a self, request: &'a ContainerRequest) -> impl Iterator<Item = &'a Arc<str>> {
        let named = request.hosts.iter().filter(|host| self.nodes.contains_key(*host));
        let near = self.nodes.iter().filter(|(_, node)| request.racks.contains(&node.rack));
        let others = self.nodes.keys().filter(|_| request.relax_locality);
        named.chain(near.map(|(host, _)| host)).chain(others)
    }

    fn is_place_for(&self, request: &ContainerRequest, host: &Arc<str>) -> bool {
        let Some(node) = self.nodes.get(host) else { return false };
        self.may_be_on(request, host, node)
            && self.is_apart(request, host)
            && request.size.within(&node.free())
    }

    fn may_be_on(&self, request: &ContainerRequest, host: &Arc<str>, node: &FakeNode) -> bool {
        let has_label = *node.label == *request.label.as_deref().unwrap_or_default();
        let shunned = self.shunned.get(&client_of(request.id)).unwrap_or(&self.blacklist);
        node.is_usable && has_label && !shunned.contains(host)
    }

    fn is_apart(&self, request: &ContainerRequest, host: &Arc<str>) -> bool {
        let Some(node) = self.nodes.get(host).filter(|_| request.apart.is_some()) else { return true };
        let is_alike = |found: &FakeContainer| found.apart == request.apart;
        !node.running.iter().filter_map(|container| self.running.get(container)).any(is_alike)
    }

    pub(super) fn report_of(&self, host: &Arc<str>, node: &FakeNode) -> NodeReport {
        NodeReport {
            host: host.clone(),
            rack: node.rack.clone(),
            label: node.label.clone(),
            capacity: node.capacity,
            free: node.free(),
            is_usable: node.is_usable,
        }
    }

    /// Returns the obstacle of a waiting request: the test that the last nodes fail.
    pub(super) fn obstacle(&self, request: &ContainerRequest) -> Unserved {
        // A host can be named, be near and be one of the others.
        let hosts: BTreeSet<&Arc<str>> = self.hosts_in_order(request).collect();
        let nodes = hosts.into_iter().filter_map(|host| self.nodes.get_key_value(host));
        let usable: Vec<_> = nodes.filter(|(host, node)| self.may_be_on(request, host, node)).collect();
        let large = usable.iter().filter(|(_, node)| request.size.within(&node.capacity)).count();
        let with_room: Vec<_> = usable.iter().filter(|(_, node)| request.size.within(&node.free())).collect();
        let apart = with_room.iter().filter(|(host, _)| self.is_apart(request, host)).count();
        let obstacle = match (usable.len(), large, with_room.len(), apart) {
            (0, ..) => Obstacle::NoNode,
            (_, 0, ..) => Obstacle::TooLarge,
            (_, _, 0, _) => Obstacle::NoRoom,
            (.., 0) => Obstacle::Apart,
            _ => Obstacle::None,
        };
        let text = format!(
            "{} nodes may take it, {large} of them are large enough, {} have room, {apart} of those keep it apart",
            usable.len(),
            with_room.len()
        );
        Unserved { obstacle, text }
    }
}

fn are_one(one: &ContainerRequest, other: &ContainerRequest) -> bool {
    client_of(one.id) == client_of(other.id)
        && one.priority == other.priority
        && one.relax_locality == other.relax_locality
        && (one.relax_locality || (&one.hosts, &one.racks) == (&other.hosts, &other.racks))
}
