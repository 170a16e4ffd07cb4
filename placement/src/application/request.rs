//! Requests: where a component asks for a container (spec 1.2 to 1.4), and requests that are refused or
//! withdrawn.

use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::{ClientError, ContainerRequest, RequestId};
use crate::component::{ComponentId, PlacementPolicy};
use crate::history::{OutstandingRequest, Reach, request_priority};

/// The id of a request that is not issued yet.
const UNNUMBERED: RequestId = RequestId(0);

impl ApplicationState {
    /// Requests one container: on the component's most recent host if its policy uses the history,
    /// otherwise anywhere.
    pub(super) fn ask(&mut self, component: ComponentId, operations: &mut Vec<Operation>) {
        let free = self.take_free_place(component);
        let Some(known) = self.fleet.component(component) else { return };
        let policy = known.spec.policy;
        let comes_back = || if policy.uses_history() { self.host_to_come_back_to(component) } else { None };
        let host = free.or_else(comes_back);
        if host.is_none() && self.fleet.is_choosy(component) {
            if !self.is_peer_listed(component) {
                self.ask_apart(component, operations);
            }
            return;
        }
        let escalates = host.is_some() && policy != PlacementPolicy::Strict;
        let deadline_ms = escalates.then(|| self.now_ms.saturating_add(known.spec.escalate_after_ms));
        let outstanding = match host {
            Some(host) => self.request_on(component, &host),
            None => OutstandingRequest::new(component, self.request_for(component, false), self.now_ms),
        };
        self.make(OutstandingRequest { deadline_ms, widens_ms: deadline_ms, ..outstanding }, operations);
    }

    /// Requests one container on any acceptable host. Requests none if no host is acceptable or none is
    /// reported yet.
    pub(super) fn ask_apart(&mut self, component: ComponentId, operations: &mut Vec<Operation>) {
        let hosts = self.hosts_apart(component);
        if hosts.is_empty() || !self.has_node_reports {
            return;
        }
        let request = self.request_for(component, true).only_on(hosts);
        let gained = self.fleet.history.gained(component);
        let outstanding = OutstandingRequest::new(component, request, self.now_ms);
        self.make(OutstandingRequest { reach: Reach::Listed, gained, ..outstanding }, operations);
    }

    /// Cancels requests that do not name a host which became free since. The review makes new ones (table
    /// 1.18, D18).
    pub(super) fn refresh_anti_affine(&mut self, component: ComponentId, operations: &mut Vec<Operation>) {
        let gained = self.fleet.history.gained(component);
        let stale: Vec<RequestId> = self
            .outstanding
            .of(component)
            .filter(|outstanding| outstanding.gained != gained)
            .map(OutstandingRequest::id)
            .collect();
        for request in stale {
            self.cancel_request(request, operations);
        }
    }

    /// Cancels requests with host lists that are no longer needed, because the manager now keeps the
    /// instances apart.
    pub(super) fn drop_stale_list(&mut self, component: ComponentId, operations: &mut Vec<Operation>) {
        let known = self.fleet.component_mut(component);
        if !known.is_some_and(|known| std::mem::take(&mut known.has_stale_list)) {
            return;
        }
        let listed = self.outstanding.of(component).filter(|waits| waits.reach == Reach::Listed);
        let listed: Vec<RequestId> = listed.map(OutstandingRequest::id).collect();
        for request in listed {
            self.cancel_request(request, operations);
        }
    }

    /// Returns the common part of the component's requests.
    pub(super) fn request_for(&self, component: ComponentId, has_location: bool) -> ContainerRequest {
        let spec = &self.fleet.components[component].spec;
        let mut request =
            ContainerRequest::new(UNNUMBERED, spec.size, request_priority(component, has_location));
        request.label.clone_from(&spec.label);
        if spec.policy == PlacementPolicy::AntiAffinity && !self.fleet.asks_one_by_one {
            request.apart = Some(spec.name.as_str().into());
        }
        request
    }

    fn make(&mut self, outstanding: OutstandingRequest, operations: &mut Vec<Operation>) {
        if let Some(known) = self.fleet.component_mut(outstanding.component) {
            known.counters.requested += 1;
        }
        self.issue(outstanding, operations);
    }

    /// Issues the request to the manager under a new id.
    pub(super) fn issue(
        &mut self,
        outstanding: OutstandingRequest,
        operations: &mut Vec<Operation>,
    ) -> RequestId {
        let request = self.number(outstanding);
        let id = request.id;
        operations.push(Operation::Request(request));
        id
    }

    /// Adds the request to the outstanding ones under a new id.
    pub(super) fn number(&mut self, mut outstanding: OutstandingRequest) -> ContainerRequest {
        self.last_request += 1;
        outstanding.request.id = RequestId(self.last_request);
        if let Some(host) = &outstanding.host {
            self.fleet.history.request_made(host, outstanding.component, outstanding.request.id);
        }
        self.fleet.components.touch(outstanding.component);
        let request = outstanding.request.clone();
        self.outstanding.add(outstanding);
        request
    }

    /// Removes a request. Its host becomes a candidate again if nothing else occupies it.
    pub(super) fn forget_request(&mut self, request: RequestId) -> Option<OutstandingRequest> {
        let outstanding = self.outstanding.remove(request)?;
        self.fleet.components.touch(outstanding.component);
        if let Some(host) = &outstanding.host {
            self.fleet.history.request_over(host, outstanding.component, request);
        }
        Some(outstanding)
    }

    pub(super) fn cancel_request(&mut self, request: RequestId, operations: &mut Vec<Operation>) {
        let Some(outstanding) = self.forget_request(request) else { return };
        if outstanding.not_taken.is_none() {
            operations.push(Operation::Cancel(request));
        }
    }

    /// Cancels up to `most` requests, those without a host first, the oldest first of each kind. Returns
    /// how many.
    pub(super) fn cancel_requests(
        &mut self,
        component: ComponentId,
        most: usize,
        operations: &mut Vec<Operation>,
    ) -> usize {
        let (placed, open): (Vec<_>, Vec<_>) = self
            .outstanding
            .of(component)
            .map(|outstanding| (outstanding.host.is_some(), outstanding.id()))
            .partition(|(is_placed, _)| *is_placed);
        let chosen: Vec<_> = open.into_iter().chain(placed).take(most).map(|(_, id)| id).collect();
        for request in &chosen {
            self.cancel_request(*request, operations);
        }
        chosen.len()
    }

    /// Cancels a request and issues it again with `change`. Returns the new id.
    pub(super) fn reissue(
        &mut self,
        request: RequestId,
        change: impl FnOnce(&mut OutstandingRequest),
        operations: &mut Vec<Operation>,
    ) -> Option<RequestId> {
        let mut outstanding = self.forget_request(request)?;
        if outstanding.not_taken.take().is_none() {
            operations.push(Operation::Cancel(request));
        }
        change(&mut outstanding);
        Some(self.issue(outstanding, operations))
    }

    /// Handles a refused request. A host of the history that has not registered yet gets as much time as a
    /// host without room. Another unknown host is not requested again until it is reported, except by
    /// strict components.
    pub(super) fn request_not_taken(
        &mut self,
        request: RequestId,
        error: &ClientError,
        operations: &mut Vec<Operation>,
    ) {
        let Some(outstanding) = self.outstanding.get(request) else { return };
        let is_strict = self.fleet.components[outstanding.component].is_strict();
        match error {
            ClientError::UnknownHost { .. }
                if !is_strict && self.unregistered_host(outstanding).is_some() =>
            {
                self.wait_to_retry(request, error.to_string());
            }
            ClientError::UnknownHost { host }
                if !is_strict && outstanding.action.is_none() && !outstanding.request.hosts.is_empty() =>
            {
                // If the manager's name for the host is none of these, any of them may be meant.
                let mut unknown = outstanding.request.hosts.clone();
                if unknown.iter().any(|named| **named == **host) {
                    unknown.retain(|named| **named == **host);
                }
                for host in &unknown {
                    self.fleet.history.host_unknown(host);
                }
                self.forget_request(request);
            }
            other if outstanding.action.is_some() => {
                self.no_place_found(request, &other.to_string(), operations);
            }
            other => {
                self.outstanding.begin_anew(request);
                self.wait_to_retry(request, other.to_string());
            }
        }
    }

    /// Returns the request's host if only the history knows it: no report has named it since the service
    /// started.
    pub(super) fn unregistered_host<'a>(&self, waits: &'a OutstandingRequest) -> Option<&'a Arc<str>> {
        let host = waits.host.as_ref().filter(|_| waits.reach == Reach::Host && waits.action.is_none())?;
        let node = self.fleet.history.node(host)?;
        (node.report.is_none() && node.is_online).then_some(host)
    }

    /// Handles a request that the manager withdrew without a container.
    pub(super) fn request_withdrawn(&mut self, request: RequestId, operations: &mut Vec<Operation>) {
        let why = "the cluster manager withdrew the request";
        match self.outstanding.get(request).map(|known| known.action.is_some()) {
            Some(true) => self.no_place_found(request, why, operations),
            Some(false) => self.wait_to_retry(request, why.to_owned()),
            None => {}
        }
    }

    fn wait_to_retry(&mut self, request: RequestId, why: String) {
        let Some(mut outstanding) = self.outstanding.remove(request) else { return };
        outstanding.not_taken = Some(why);
        let again_ms = self.now_ms.saturating_add(self.settings.retry_after_ms);
        outstanding.deadline_ms =
            Some(outstanding.widens_ms.map_or(again_ms, |widens_ms| widens_ms.min(again_ms)));
        self.outstanding.add(outstanding);
    }
}
