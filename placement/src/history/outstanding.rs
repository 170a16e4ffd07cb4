//! Requests that wait (seed, "OutstandingRequestTracker").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::application::ActionId;
use crate::client::{Allocation, ContainerRequest, RequestId};
use crate::component::ComponentId;

use super::priority::request_priority;

/// How far from the host that it names a request may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// On the host only.
    Host,
    /// In the host's rack.
    Rack,
    /// On any of the hosts that the request lists.
    Listed,
    /// Anywhere.
    Anywhere,
}

/// A request that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutstandingRequest {
    pub(crate) component: ComponentId,
    /// What was asked for; its number is the request's.
    pub(crate) request: ContainerRequest,
    /// The host of the history that it is for.
    pub(crate) host: Option<Arc<str>>,
    pub(crate) reach: Reach,
    /// When it, or the request that it was widened from, was made.
    pub(crate) since_ms: u64,
    /// After this time it is widened, or made again if the manager did not take it.
    pub(crate) deadline_ms: Option<u64>,
    /// After this time it is widened, whether the manager took it or not.
    pub(crate) widens_ms: Option<u64>,
    /// Why the manager has not got it.
    pub(crate) not_taken: Option<String>,
    /// What [`Candidates::gained`](super::candidates::Candidates::gained) was when its hosts were listed.
    pub(crate) gained: u64,
    /// The placement action that it finds a place for. Such a request is not one of those that the component is short
    /// of.
    pub(crate) action: Option<ActionId>,
}

impl OutstandingRequest {
    /// A request that may be served anywhere and waits for as long as it takes.
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

    /// Whether it lists these hosts and no others.
    pub(crate) fn is_for(&self, hosts: &[Arc<str>]) -> bool {
        self.reach == Reach::Listed && self.request.hosts == *hosts
    }

    /// It may be served on any of these hosts from now on, and stays so.
    pub(crate) fn list(&mut self, hosts: Vec<Arc<str>>) {
        self.reach = Reach::Listed;
        self.request.hosts = hosts;
        self.request.racks.clear();
        self.request.relax_locality = false;
        self.request.priority = request_priority(self.component, true);
        self.deadline_ms = None;
        self.widens_ms = None;
    }

    /// Whether it was made wider than it began.
    pub(crate) fn is_escalated(&self) -> bool {
        self.host.is_some() && self.reach != Reach::Host
    }
}

/// All requests that wait, found by number, by component, by host and by deadline.
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

    /// The manager never had it: the time until it is widened has not begun.
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

    /// The component's requests for what it is short of, oldest first.
    pub(crate) fn of(&self, component: ComponentId) -> impl Iterator<Item = &OutstandingRequest> {
        let ids = self.by_component.get(&component).into_iter().flatten();
        ids.filter_map(|id| self.requests.get(id))
    }

    /// The request that a container answers: the one it names; else the one for its host; else the oldest one
    /// that it may have been meant for (spec 1.9).
    pub(crate) fn answered_by(&self, component: ComponentId, came: &Allocation) -> Option<RequestId> {
        if came.request.is_some() {
            return came.request.filter(|id| self.get(*id).is_some_and(|known| known.component == component));
        }
        let placed = self.by_host.get(&(component, came.host.clone())).copied();
        let is_taken = |id: &RequestId| self.get(*id).is_some_and(|known| known.not_taken.is_none());
        placed.filter(is_taken).or_else(|| self.open_for(component, came))
    }

    /// The oldest request that may be served by the container where it is, was made with its priority and fits into it.
    pub(crate) fn open_for(&self, component: ComponentId, came: &Allocation) -> Option<RequestId> {
        let for_actions = self.iter().filter(|waits| waits.component == component && waits.action.is_some());
        self.of(component).chain(for_actions).find(|open| open.takes(came)).map(OutstandingRequest::id)
    }

    /// Requests whose deadline has passed, in the order of their deadlines.
    pub(crate) fn due(&self, now_ms: u64) -> Vec<RequestId> {
        self.by_deadline.iter().take_while(|(deadline, _)| *deadline < now_ms).map(|(_, id)| *id).collect()
    }

    /// The earliest deadline.
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
