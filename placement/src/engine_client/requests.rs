//! Requests of a service, and the engine's asks that represent them.

use std::collections::BTreeMap;
use std::sync::Arc;

use apportion::view::View;
use apportion::{AskId, AskSpec, Handle, NodeId, Resources, TagLimit};

use crate::client::{Allocation, ClientError, ContainerRef, ContainerRequest, RequestId};

/// Maps asks to requests. An ask of a previous master has no request id.
#[derive(Debug, Default)]
pub(super) struct Requests {
    by_ask: BTreeMap<AskId, Made>,
    by_request: BTreeMap<RequestId, AskId>,
}

#[derive(Clone, Copy, Debug)]
struct Made {
    request: Option<RequestId>,
    priority: u32,
    size: Resources,
}

impl Requests {
    pub(super) fn check_new(&self, request: RequestId) -> Result<(), ClientError> {
        let is_known = self.by_request.contains_key(&request);
        if is_known { Err(ClientError::RequestRepeated(request)) } else { Ok(()) }
    }

    pub(super) fn made(&mut self, ask: AskId, request: &ContainerRequest) {
        let made = Made { request: Some(request.id), priority: request.priority, size: request.size };
        self.by_ask.insert(ask, made);
        self.by_request.insert(request.id, ask);
    }

    /// Adds an ask of a previous master.
    pub(super) fn found(&mut self, ask: AskId, priority: u32, size: Resources) {
        self.by_ask.insert(ask, Made { request: None, priority, size });
    }

    pub(super) fn ask(&self, request: RequestId) -> Option<AskId> {
        self.by_request.get(&request).copied()
    }

    fn remove(&mut self, ask: AskId) -> Option<Made> {
        let made = self.by_ask.remove(&ask)?;
        if let Some(request) = made.request {
            self.by_request.remove(&request);
        }
        Some(made)
    }

    /// Removes an ask that a container has served.
    pub(super) fn served(
        &mut self,
        ask: AskId,
        container: ContainerRef,
        host: Arc<str>,
    ) -> Option<Allocation> {
        let Made { request, priority, size } = self.remove(ask)?;
        Some(Allocation { request, priority, container, size, host })
    }

    /// Removes an ask that ended without a container.
    pub(super) fn over(&mut self, ask: AskId) -> Option<RequestId> {
        self.remove(ask)?.request
    }

    /// Returns the asks that the engine has finished.
    pub(super) fn over_in(&self, view: &View<'_>) -> Vec<AskId> {
        self.by_ask.keys().copied().filter(|ask| view.is_ask_over(*ask)).collect()
    }

    /// Forgets all request ids. Returns the asks that still wait.
    pub(super) fn forget(&mut self) -> Vec<AskId> {
        self.by_request.clear();
        for made in self.by_ask.values_mut() {
            made.request = None;
        }
        self.by_ask.keys().copied().collect()
    }
}

/// Translates a request into an ask. Omits a host whose rack is named too. The engine would wait for the
/// host before it tries the rack, and the service has done that already.
pub(super) fn ask_spec(handle: &Handle, request: &ContainerRequest) -> Result<AskSpec, ClientError> {
    let mut spec = AskSpec::new(request.size, 1).with_priority(request.priority);
    for host in &request.hosts {
        let node = handle.node(host).ok_or_else(|| ClientError::UnknownHost { host: host.to_string() })?;
        if !is_on_rack(handle, node, &request.racks) {
            spec = spec.on_hosts([node]);
        }
    }
    spec = spec.on_racks(request.racks.iter().map(|rack| handle.rack(rack)));
    spec.preference.relax_locality = request.relax_locality;
    if let Some(label) = &request.label {
        let partition = handle.partition(label);
        let partition = partition.map_err(|_| ClientError::UnknownLabel { label: label.clone() })?;
        spec = spec.in_partition(partition);
    }
    if let Some(tag) = &request.apart {
        spec = spec.with_tag(&**tag).with_tag_limit(TagLimit::per_node(&**tag, 1).within_application());
    }
    if let Some(tag) = &request.budget {
        spec = spec.with_tag(&**tag);
    }
    Ok(spec)
}

fn is_on_rack(handle: &Handle, node: NodeId, racks: &[Arc<str>]) -> bool {
    let is_named = |rack: &str| racks.iter().any(|named| **named == *rack);
    !racks.is_empty() && handle.read(|view| view.node(node).is_some_and(|node| is_named(node.rack())))
}
