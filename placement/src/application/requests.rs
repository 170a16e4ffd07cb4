//! The outstanding requests of a service (seed, "OutstandingRequestTracker"). Fleet and requests change
//! together: a host with a request for a component is not a candidate of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fleet::Fleet;
use super::outstanding::{OutstandingRequest, Way};
use super::{ActionId, Operation};
use crate::client::{Allocation, ContainerRef, ContainerRequest, RequestId};
use crate::component::ComponentId;

/// All outstanding requests, indexed by id, component, host and deadline.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    requests: BTreeMap<RequestId, OutstandingRequest>,
    /// Requests for missing instances.
    by_component: BTreeMap<ComponentId, BTreeSet<RequestId>>,
    /// Requests for placement actions.
    for_actions: BTreeMap<ComponentId, BTreeSet<RequestId>>,
    by_host: BTreeMap<(ComponentId, Arc<str>), RequestId>,
    by_deadline: BTreeSet<(u64, RequestId)>,
    last: u64,
    /// The history's `hosts_version` when host lists were last made.
    pub(super) listed_version: u64,
}

impl Requests {
    pub(super) fn get(&self, id: RequestId) -> Option<&OutstandingRequest> {
        self.requests.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &OutstandingRequest> {
        self.requests.values()
    }

    pub(super) fn count(&self, component: ComponentId) -> u32 {
        self.by_component.get(&component).map_or(0, |ids| u32::try_from(ids.len()).unwrap_or(u32::MAX))
    }

    /// Returns the component's requests for missing instances, oldest first.
    pub(super) fn of(&self, component: ComponentId) -> impl Iterator<Item = &OutstandingRequest> {
        let ids = self.by_component.get(&component).into_iter().flatten();
        ids.filter_map(|id| self.requests.get(id))
    }

    /// Returns the component's requests for placement actions, oldest first.
    pub(super) fn of_actions(&self, component: ComponentId) -> impl Iterator<Item = &OutstandingRequest> {
        let ids = self.for_actions.get(&component).into_iter().flatten();
        ids.filter_map(|id| self.requests.get(id))
    }

    /// Returns the component's request for an instance on the host.
    pub(super) fn on(&self, component: ComponentId, host: &Arc<str>) -> Option<RequestId> {
        let mut asked = self.of(component);
        asked.find(|waits| waits.host.as_ref() == Some(host)).map(OutstandingRequest::id)
    }

    /// Returns the request that a container answers: the request that it names, otherwise the one for its
    /// host, otherwise the oldest that fits (spec 1.9).
    pub(super) fn answered_by(&self, component: ComponentId, came: &Allocation) -> Option<RequestId> {
        if came.request.is_some() {
            return came.request.filter(|id| self.get(*id).is_some_and(|known| known.component == component));
        }
        let placed = self.by_host.get(&(component, came.host.clone())).copied();
        let is_taken = |id: &RequestId| self.get(*id).is_some_and(|known| known.not_taken.is_none());
        placed.filter(is_taken).or_else(|| self.open_for(component, came))
    }

    /// Returns the oldest request with the container's priority that accepts its host and its size.
    pub(super) fn open_for(&self, component: ComponentId, came: &Allocation) -> Option<RequestId> {
        let mut all = self.of(component).chain(self.of_actions(component));
        all.find(|open| open.takes(came)).map(OutstandingRequest::id)
    }

    /// Returns the request and the action that wait for this container's place.
    pub(super) fn waits_for_way(
        &self,
        container: ContainerRef,
        of: ComponentId,
        fleet: &Fleet,
    ) -> Option<(RequestId, ActionId, Way)> {
        let mut waiting = fleet.components.peers(of).flat_map(|peer| self.of_actions(peer));
        waiting.find_map(|waits| {
            let way = waits.way.filter(|way| way.of == container)?;
            Some((waits.id(), waits.action?, way))
        })
    }

    /// Returns requests whose deadline has passed, in the order of deadlines.
    pub(super) fn due(&self, now_ms: u64) -> Vec<RequestId> {
        self.by_deadline.iter().take_while(|(deadline, _)| *deadline < now_ms).map(|(_, id)| *id).collect()
    }

    /// Returns the earliest deadline.
    pub(super) fn next_deadline_ms(&self) -> Option<u64> {
        self.by_deadline.first().map(|(deadline, _)| *deadline)
    }

    /// Changes a request that the manager need not learn of.
    pub(super) fn change(&mut self, id: RequestId, change: impl FnOnce(&mut OutstandingRequest)) {
        if let Some(mut outstanding) = self.remove(id) {
            change(&mut outstanding);
            self.add(outstanding);
        }
    }

    /// Adds the request under a new id.
    pub(super) fn number(
        &mut self,
        mut outstanding: OutstandingRequest,
        fleet: &mut Fleet,
    ) -> ContainerRequest {
        self.last += 1;
        outstanding.request.id = RequestId(self.last);
        if let Some(host) = &outstanding.host {
            fleet.history.request_made(host, outstanding.component, outstanding.request.id);
        }
        fleet.components.touch(outstanding.component);
        let request = outstanding.request.clone();
        self.add(outstanding);
        request
    }

    /// Issues the request to the manager under a new id.
    pub(super) fn issue(
        &mut self,
        outstanding: OutstandingRequest,
        fleet: &mut Fleet,
        operations: &mut Vec<Operation>,
    ) -> RequestId {
        let request = self.number(outstanding, fleet);
        let id = request.id;
        operations.push(Operation::Request(request));
        id
    }

    /// Removes a request. Its host becomes a candidate again if nothing else occupies it.
    pub(super) fn forget(&mut self, request: RequestId, fleet: &mut Fleet) -> Option<OutstandingRequest> {
        let outstanding = self.remove(request)?;
        fleet.components.touch(outstanding.component);
        if let Some(host) = &outstanding.host {
            fleet.history.request_over(host, outstanding.component, request);
        }
        Some(outstanding)
    }

    /// Cancels a request. Returns it as it can be issued again.
    pub(super) fn cancel(
        &mut self,
        request: RequestId,
        fleet: &mut Fleet,
        operations: &mut Vec<Operation>,
    ) -> Option<OutstandingRequest> {
        let mut outstanding = self.forget(request, fleet)?;
        if outstanding.not_taken.take().is_none() {
            operations.push(Operation::Cancel(request));
        }
        Some(outstanding)
    }

    /// Cancels up to `most` requests, those without a host first, the oldest first of each kind. Returns
    /// how many.
    pub(super) fn cancel_some(
        &mut self,
        component: ComponentId,
        most: usize,
        fleet: &mut Fleet,
        operations: &mut Vec<Operation>,
    ) -> usize {
        let asked = self.of(component).map(|outstanding| (outstanding.host.is_some(), outstanding.id()));
        let (placed, open): (Vec<_>, Vec<_>) = asked.partition(|(is_placed, _)| *is_placed);
        let chosen: Vec<_> = open.into_iter().chain(placed).take(most).map(|(_, id)| id).collect();
        self.cancel_all(&chosen, fleet, operations);
        chosen.len()
    }

    pub(super) fn cancel_all(
        &mut self,
        requests: &[RequestId],
        fleet: &mut Fleet,
        operations: &mut Vec<Operation>,
    ) {
        for request in requests {
            self.cancel(*request, fleet, operations);
        }
    }

    /// Cancels a request and issues it again with `change`. Returns the new id.
    pub(super) fn reissue(
        &mut self,
        request: RequestId,
        change: impl FnOnce(&mut OutstandingRequest),
        fleet: &mut Fleet,
        operations: &mut Vec<Operation>,
    ) -> Option<RequestId> {
        let mut outstanding = self.cancel(request, fleet, operations)?;
        change(&mut outstanding);
        Some(self.issue(outstanding, fleet, operations))
    }

    fn add(&mut self, outstanding: OutstandingRequest) {
        let id = outstanding.id();
        self.ids_like(&outstanding).insert(id);
        if let Some(host) = &outstanding.host {
            self.by_host.insert((outstanding.component, host.clone()), id);
        }
        if let Some(deadline_ms) = outstanding.deadline_ms {
            self.by_deadline.insert((deadline_ms, id));
        }
        self.requests.insert(id, outstanding);
    }

    fn remove(&mut self, id: RequestId) -> Option<OutstandingRequest> {
        let outstanding = self.requests.remove(&id)?;
        self.ids_like(&outstanding).remove(&id);
        if let Some(host) = &outstanding.host {
            self.by_host.remove(&(outstanding.component, host.clone()));
        }
        if let Some(deadline_ms) = outstanding.deadline_ms {
            self.by_deadline.remove(&(deadline_ms, id));
        }
        Some(outstanding)
    }

    /// Returns the ids of the component's requests for the same purpose.
    fn ids_like(&mut self, outstanding: &OutstandingRequest) -> &mut BTreeSet<RequestId> {
        let index = if outstanding.action.is_none() { &mut self.by_component } else { &mut self.for_actions };
        index.entry(outstanding.component).or_default()
    }
}
