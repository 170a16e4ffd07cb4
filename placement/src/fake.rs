//! A cluster manager in memory, for tests: it places what fits, first node first, and does nothing by itself.

use std::collections::BTreeMap;

use apportion::{EndCause, Resources};

use crate::client::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, NodeReport, RequestId,
};

/// Nodes with room, requests that wait, containers that run.
#[derive(Debug, Default)]
pub struct FakeCluster {
    nodes: BTreeMap<String, FakeNode>,
    waiting: BTreeMap<(u32, RequestId), ContainerRequest>,
    running: BTreeMap<ContainerRef, (String, Resources)>,
    callbacks: Vec<Callback>,
    last_number: u64,
}

#[derive(Debug)]
struct FakeNode {
    capacity: Resources,
    free: Resources,
    is_usable: bool,
}

impl FakeCluster {
    /// A cluster without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node, or gives a known one this capacity.
    pub fn add_node(&mut self, host: &str, capacity: Resources) {
        let running = self.running.values().filter(|(on, _)| on == host);
        let free = running.fold(capacity, |free, (_, size)| free - *size);
        self.nodes.insert(host.to_owned(), FakeNode { capacity, free, is_usable: true });
        self.place();
    }

    /// Lets a node take containers, or no more of them.
    pub fn set_usable(&mut self, host: &str, is_usable: bool) {
        if let Some(node) = self.nodes.get_mut(host) {
            node.is_usable = is_usable;
        }
        self.place();
    }

    /// Takes a node away; what ran on it is lost.
    pub fn lose_node(&mut self, host: &str) {
        self.nodes.remove(host);
        let lost: Vec<ContainerRef> =
            self.running.iter().filter(|(_, (on, _))| on == host).map(|(container, _)| *container).collect();
        for container in lost {
            self.end(container, EndCause::NodeLost);
        }
    }

    /// Lets a container end.
    ///
    /// # Errors
    /// When it has ended before.
    pub fn complete(&mut self, container: ContainerRef, cause: EndCause) -> Result<(), ClientError> {
        if !self.running.contains_key(&container) {
            return Err(ClientError::UnknownContainer(container));
        }
        self.end(container, cause);
        self.place();
        Ok(())
    }

    /// Lets every waiting request that names a host look further, as a manager does when its delay is over.
    pub fn relax(&mut self) {
        for request in self.waiting.values_mut().filter(|request| request.relax_locality) {
            request.host = None;
        }
        self.place();
    }

    fn end(&mut self, container: ContainerRef, cause: EndCause) {
        let Some((host, size)) = self.running.remove(&container) else { return };
        if let Some(node) = self.nodes.get_mut(&host) {
            node.free += size;
        }
        self.callbacks.push(Callback::Completed { container, cause: Some(cause) });
    }

    fn place(&mut self) {
        let waiting: Vec<_> = self.waiting.keys().copied().collect();
        for key in waiting {
            let request = &self.waiting[&key];
            let found = self.nodes.iter_mut().find(|(host, node)| {
                node.is_usable
                    && request.host.as_ref().is_none_or(|wanted| wanted == *host)
                    && request.size.within(&node.free)
            });
            let Some((host, node)) = found else { continue };
            node.free -= request.size;
            let (host, size) = (host.clone(), request.size);
            self.waiting.remove(&key);
            self.last_number += 1;
            let container = ContainerRef(self.last_number);
            self.running.insert(container, (host.clone(), size));
            self.callbacks.push(Callback::Allocated { request: key.1, container, host });
        }
    }
}

impl ClusterClient for FakeCluster {
    fn request(&mut self, request: ContainerRequest) -> Result<RequestId, ClientError> {
        if let Some(host) = request.host.as_ref().filter(|host| !self.nodes.contains_key(*host)) {
            return Err(ClientError::UnknownHost { host: host.clone() });
        }
        self.last_number += 1;
        let id = RequestId(self.last_number);
        self.waiting.insert((request.priority, id), request);
        self.place();
        Ok(id)
    }

    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError> {
        let key = self.waiting.keys().find(|(_, id)| *id == request).copied();
        let key = key.ok_or(ClientError::UnknownRequest(request))?;
        self.waiting.remove(&key);
        self.callbacks.push(Callback::Withdrawn { request });
        Ok(())
    }

    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.complete(container, EndCause::Released)
    }

    fn nodes(&self) -> Vec<NodeReport> {
        let report = |(host, node): (&String, &FakeNode)| NodeReport {
            host: host.clone(),
            capacity: node.capacity,
            free: node.free,
            is_usable: node.is_usable,
        };
        self.nodes.iter().map(report).collect()
    }

    fn poll(&mut self) -> Vec<Callback> {
        std::mem::take(&mut self.callbacks)
    }
}
