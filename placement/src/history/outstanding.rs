//! Outstanding requests (seed, "OutstandingRequestTracker").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::application::ActionId;
use crate::client::{Allocation, ContainerRequest, RequestId};
use crate::component::ComponentId;

use super::priority::request_priority;

/// How far from the requested host a request may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only on the host.
    Host,
    /// On the host's rack.
    Rack,
    /// On any of the hosts in the request.
    Listed,
    /// On any host.
    Anywhere,
}

/// An outstanding request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutstandingRequest {
    pub(crate) component: ComponentId,
    /// The request as made; its id is the outstanding request's.
    pub(crate) request: ContainerRequest,
    /// The host of the history that it asks for.
    pub(crate) host: Option<Arc<str>>,
    pub(crate) reach: Reach,
    /// When it, or the request that it was widened from, was made.
    pub(crate) since_ms: u64,
    /// After this time it is widened, or reissued if the manager refused it.
    pub(crate) deadline_ms: Option<u64>,
    /// After this time it is widened, even if the manager refused it.
    pub(crate) widens_ms: Option<u64>,
    /// Why the manager does not have it.
    pub(crate) not_taken: Option<String>,
    /// The value of [`Candidates::gained`](super::candidates::Candidates::gained) when its hosts were
    /// listed.
    pub(crate) gained: u64,
    /// The placement action that it finds a place for. Such a request does not count towards the
    /// component's instances.
    pub(crate) action: Option<ActionId>,
}

impl OutstandingRequest {
    /// Creates a request for any host, without a deadline.
    pub(crate) fn new(component: ComponentId, request: ContainerRequest, since_ms: u64) -> Self {
        Self {
            component,
            request,
            host: None,
            reach: Reach::Anywhere,
            since_ms,
            deadline_ms: None,
            widens_ms: None,
            not_taken: None,
            gained: 0,
            action: None,
        }
    }

    pub(crate) fn id(&self) -> RequestId {
        self.request.id
    }

    /// Returns whether it lists exactly these hosts.
    pub(crate) fn is_for(&self, hosts: &[Arc<str>]) -> bool {
        self.reach == Reach::Listed && self.request.hosts == *hosts
    }

    /// Changes it to list these hosts, without a deadline.
    pub(crate) fn list(&mut self, hosts: Vec<Arc<str>>) {
        self.reach = Reach::Listed;
        self.request.hosts = hosts;
        self.request.racks.clear();
        self.request.relax_locality = false;
        self.request.priority = request_priority(self.component, true);
        self.deadline_ms = None;
        self.widens_ms = None;
    }

    /// Returns whether it is wider than at first.
    pub(crate) fn is_escalated(&self) -> bool {
        self.host.is_some() && self.reach != Reach::Host
    }
}

/// All outstanding requests, indexed by id, component, host and deadline.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutstandingRequests {
    requests: BTreeMap<RequestId, OutstandingRequest>,
    by_component: BTreeMap<ComponentId, BTreeSet<RequestId>>,
    by_host: BTreeMap<(ComponentId, Arc<str>), RequestId>,
    by_deadline: BTreeSet<(u64, RequestId)>,
}

impl OutstandingRequests {
    pub(crate) fn add(&mut self, outstanding: OutstandingRequest) {
        let id = outstanding.id();
        if outstanding.action.is_none() {
            self.by_component.entry(outstanding.component).or_default().insert(id);
        }
        if let Some(host) = &outstanding.host {
            self.by_host.insert((outstanding.component, host.clone()), id);
        }
        if let Some(deadline_ms) = outstanding.deadline_ms {
            self.by_deadline.insert((deadline_ms, id));
        }
        self.requests.insert(id, outstanding);
    }

    pub(crate) fn remove(&mut self, id: RequestId) -> Option<OutstandingRequest> {
        let outstanding = self.requests.remove(&id)?;
        if let Some(ids) = self.by_component.get_mut(&outstanding.component) {
            ids.remove(&id);
        }
        if let Some(host) = &outstanding.host {
            self.by_host.remove(&(outstanding.component, host.clone()));
        }
        if let Some(deadline_ms) = outstanding.deadline_ms {
            self.by_deadline.remove(&(deadline_ms, id));
        }
        Some(outstanding)
    }

    pub(crate) fn get(&self, id: RequestId) -> Option<&OutstandingRequest> {
        self.requests.get(&id)
    }

    /// Clears the widening time: it starts only when the manager accepts the request.
    pub(crate) fn begin_anew(&mut self, id: RequestId) {
        if let Some(outstanding) = self.requests.get_mut(&id) {
            outstanding.widens_ms = None;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &OutstandingRequest> {
        self.requests.values()
    }

    pub(crate) fn count(&self, component: ComponentId) -> u32 {
        self.by_component.get(&component).map_or(0, |ids| u32::try_from(ids.len()).unwrap_or(u32::MAX))
    }

    /// Returns the component's requests for missing instances, oldest first.
    pub(crate) fn of(&self, component: ComponentId) -> impl Iterator<Item = &OutstandingRequest> {
        let ids = self.by_component.get(&component).into_iter().flatten();
        ids.filter_map(|id| self.requests.get(id))
    }

    /// Returns the request that a container answers: the request that it names, otherwise the one for its
    /// host, otherwise the oldest that fits (spec 1.9).
    pub(crate) fn answered_by(&self, component: ComponentId, came: &Allocation) -> Option<RequestId> {
        if came.request.is_some() {
            return came.request.filter(|id| self.get(*id).is_some_and(|known| known.component == component));
        }
        let placed = self.by_host.get(&(component, came.host.clone())).copied();
        let is_taken = |id: &RequestId| self.get(*id).is_some_and(|known| known.not_taken.is_none());
        placed.filter(is_taken).or_else(|| self.open_for(component, came))
    }

    /// Returns the oldest request with the container's priority that accepts its host and its size.
    pub(crate) fn open_for(&self, component: ComponentId, came: &Allocation) -> Option<RequestId> {
        let for_actions = self.iter().filter(|waits| waits.component == component && waits.action.is_some());
        self.of(component).chain(for_actions).find(|open| open.takes(came)).map(OutstandingRequest::id)
    }

    /// Returns requests whose deadline has passed, in the order of deadlines.
    pub(crate) fn due(&self, now_ms: u64) -> Vec<RequestId> {
        self.by_deadline.iter().take_while(|(deadline, _)| *deadline < now_ms).map(|(_, id)| *id).collect()
    }

    /// Returns the earliest deadline.
    pub(crate) fn next_deadline_ms(&self) -> Option<u64> {
        self.by_deadline.first().map(|(deadline, _)| *deadline)
    }
}

impl OutstandingRequest {
    fn takes(&self, came: &Allocation) -> bool {
        let request = &self.request;
        let may_be_there = request.relax_locality || request.hosts.contains(&came.host);
        self.not_taken.is_none()
            && may_be_there
            && request.priority == came.priority
            && request.size.within(&came.size)
    }
}
