//! Where a component asks for a container (spec 1.2 to 1.4), and which hosts its requests may list.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Operation;
use super::budgets::budget_tag;
use super::fleet::Fleet;
use super::outstanding::{OutstandingRequest, Reach};
use super::requests::Requests;
use crate::client::{ContainerRequest, NodeReport, RequestId};
use crate::component::{ComponentId, PlacementPolicy};
use crate::history::request_priority;

/// The id of a request that is not issued yet.
const UNNUMBERED: RequestId = RequestId(0);

/// The hosts and racks that the other components of a group use or have requested.
#[derive(Debug)]
pub(super) struct Occupied {
    hosts: BTreeSet<Arc<str>>,
    racks: BTreeSet<Arc<str>>,
}

impl Occupied {
    pub(super) fn is_clear(&self, fleet: &Fleet, host: &Arc<str>) -> bool {
        !self.hosts.contains(host) && fleet.rack(host).is_none_or(|rack| !self.racks.contains(rack))
    }
}

impl Fleet {
    /// Returns the common part of the component's requests.
    pub(super) fn request_for(&self, component: ComponentId, has_location: bool) -> ContainerRequest {
        let spec = &self.components[component].spec;
        let priority = request_priority(component, has_location);
        let mut request = ContainerRequest::new(UNNUMBERED, spec.size, priority);
        request.label.clone_from(&spec.label);
        if spec.policy == PlacementPolicy::AntiAffinity && !self.asks_one_by_one {
            request.apart = Some(spec.name.as_str().into());
        }
        request.budget = spec.disruption.map(|_| budget_tag(&spec.group).into());
        request
    }

    /// Creates a request for the component on only this host. It has no deadline.
    pub(super) fn request_on(
        &self,
        component: ComponentId,
        host: &Arc<str>,
        now_ms: u64,
    ) -> OutstandingRequest {
        let request = self.request_for(component, true).only_on([host.clone()]);
        OutstandingRequest {
            host: Some(host.clone()),
            reach: Reach::Host,
            ..OutstandingRequest::new(component, request, now_ms)
        }
    }
}

impl Requests {
    /// Requests one container: on the component's most recent host if its policy uses the history,
    /// otherwise anywhere.
    pub(super) fn ask(
        &mut self,
        component: ComponentId,
        fleet: &mut Fleet,
        now_ms: u64,
        operations: &mut Vec<Operation>,
    ) {
        let free = self.take_free_place(component, fleet);
        let Some(known) = fleet.component(component) else { return };
        let policy = known.spec.policy;
        let comes_back =
            || if policy.uses_history() { self.host_to_come_back_to(component, fleet) } else { None };
        let host = free.or_else(comes_back);
        if host.is_none() && fleet.is_choosy(component) {
            if !self.is_peer_listed(component, fleet) {
                self.ask_apart(component, fleet, now_ms, operations);
            }
            return;
        }
        let escalates = host.is_some() && policy != PlacementPolicy::Strict;
        let deadline_ms = escalates.then(|| now_ms.saturating_add(known.spec.escalate_after_ms));
        let outstanding = match host {
            Some(host) => fleet.request_on(component, &host, now_ms),
            None => OutstandingRequest::new(component, fleet.request_for(component, false), now_ms),
        };
        let outstanding = OutstandingRequest { deadline_ms, widens_ms: deadline_ms, ..outstanding };
        self.make(outstanding, fleet, operations);
    }

    /// Requests one container on any acceptable host. Requests none if no host is acceptable or none is
    /// reported yet.
    pub(super) fn ask_apart(
        &mut self,
        component: ComponentId,
        fleet: &mut Fleet,
        now_ms: u64,
        operations: &mut Vec<Operation>,
    ) {
        let hosts = self.hosts_apart(component, fleet);
        if hosts.is_empty() || !fleet.has_node_reports {
            return;
        }
        let request = fleet.request_for(component, true).only_on(hosts);
        let gained = fleet.history.gained(component);
        let outstanding = OutstandingRequest::new(component, request, now_ms);
        self.make(OutstandingRequest { reach: Reach::Listed, gained, ..outstanding }, fleet, operations);
    }

    fn make(&mut self, outstanding: OutstandingRequest, fleet: &mut Fleet, operations: &mut Vec<Operation>) {
        if let Some(known) = fleet.component_mut(outstanding.component) {
            known.counters.requested += 1;
        }
        self.issue(outstanding, fleet, operations);
    }

    /// Takes the host that a standby left for the component, if the component still accepts it.
    fn take_free_place(&self, component: ComponentId, fleet: &mut Fleet) -> Option<Arc<str>> {
        let host = fleet.component_mut(component)?.takeover.take_free_place()?;
        let is_clear = self.occupied(component, fleet).is_clear(fleet, &host);
        (fleet.takes(component, &host) && is_clear).then_some(host)
    }

    /// Returns the most recent host of the component among the hosts that it may request.
    pub(super) fn host_to_come_back_to(&self, component: ComponentId, fleet: &Fleet) -> Option<Arc<str>> {
        if !fleet.is_grouped(component) {
            return fleet.history.recent_host(component);
        }
        let occupied = self.occupied(component, fleet);
        fleet.history.candidates(component).find(|host| occupied.is_clear(fleet, host)).cloned()
    }

    /// Returns all hosts that the component may request.
    pub(super) fn hosts_apart(&self, component: ComponentId, fleet: &Fleet) -> Vec<Arc<str>> {
        if !fleet.is_grouped(component) && fleet.is_anti_affine(component) {
            return fleet.history.candidates(component).cloned().collect();
        }
        let occupied = self.occupied(component, fleet);
        let takes_it =
            fleet.history.nodes().map(|(host, _)| host).filter(|host| fleet.takes(component, host));
        takes_it.filter(|host| occupied.is_clear(fleet, host)).cloned().collect()
    }

    pub(super) fn occupied(&self, component: ComponentId, fleet: &Fleet) -> Occupied {
        let mut hosts = BTreeSet::new();
        for peer in fleet.components.peers(component) {
            hosts.extend(fleet.instances_of(peer).map(|(_, _, instance)| instance.host.clone()));
            let asked = self.of(peer).filter(|waits| matches!(waits.reach, Reach::Host | Reach::Rack));
            let takes_a_place = self.of_actions(peer).filter(|waits| waits.way.is_some());
            hosts.extend(asked.chain(takes_a_place).filter_map(|waits| waits.host.clone()));
        }
        let spans_racks = fleet.spans_racks(component);
        let racks = hosts.iter().filter(|_| spans_racks).filter_map(|host| fleet.rack(host).cloned());
        let racks = racks.collect();
        Occupied { hosts, racks }
    }

    /// Returns whether a peer has a request with a list of hosts. The next peer waits, or both might get
    /// one host.
    fn is_peer_listed(&self, component: ComponentId, fleet: &Fleet) -> bool {
        let mut asked = fleet.components.peers(component).flat_map(|peer| self.of(peer));
        asked.any(|waits| waits.reach == Reach::Listed)
    }

    /// Cancels or reissues the component's requests whose lists of hosts are out of date.
    pub(super) fn refresh(
        &mut self,
        component: ComponentId,
        fleet: &mut Fleet,
        operations: &mut Vec<Operation>,
    ) {
        if !fleet.is_one_by_one(component) && fleet.is_choosy(component) {
            return self.refresh_lists(component, fleet, operations);
        }
        let asked = self.of(component);
        let stale: Vec<RequestId> = if fleet.is_one_by_one(component) {
            // They do not name a host which became free since. The review makes new ones (table 1.18, D18).
            let gained = fleet.history.gained(component);
            asked.filter(|waits| waits.gained != gained).map(OutstandingRequest::id).collect()
        } else if fleet.components.take_stale_list(component) {
            // The manager now keeps the instances apart.
            asked.filter(|waits| waits.reach == Reach::Listed).map(OutstandingRequest::id).collect()
        } else {
            return;
        };
        self.cancel_all(&stale, fleet, operations);
    }

    /// Reissues requests whose list of acceptable hosts has changed. A request for any host becomes a
    /// request with a list.
    fn refresh_lists(&mut self, component: ComponentId, fleet: &mut Fleet, operations: &mut Vec<Operation>) {
        let listed = self.of(component).filter(|waits| waits.reach != Reach::Host);
        let listed: Vec<RequestId> = listed.map(OutstandingRequest::id).collect();
        if listed.is_empty() {
            return;
        }
        let hosts = self.hosts_apart(component, fleet);
        for request in listed {
            let is_same = self.get(request).is_some_and(|waits| waits.is_for(&hosts));
            if !is_same && hosts.is_empty() {
                self.cancel(request, fleet, operations);
            } else if !is_same {
                self.reissue(request, |waits| waits.list(hosts.clone()), fleet, operations);
            }
        }
    }

    /// Cancels one-by-one requests that list a host whose label no longer matches.
    pub(super) fn cancel_where_relabelled(
        &mut self,
        reports: &[NodeReport],
        fleet: &mut Fleet,
        operations: &mut Vec<Operation>,
    ) {
        let is_relabelled = |waits: &&OutstandingRequest| {
            let label = fleet.components[waits.component].spec.label.as_deref().unwrap_or_default();
            let mut odd = reports.iter().filter(|report| *report.label != *label);
            waits.action.is_none()
                && fleet.is_one_by_one(waits.component)
                && odd.any(|odd| waits.request.hosts.contains(&odd.host))
        };
        let stale: Vec<RequestId> = self.iter().filter(is_relabelled).map(OutstandingRequest::id).collect();
        self.cancel_all(&stale, fleet, operations);
    }

    /// Returns whether acceptable hosts may have changed since the last call. Then it marks components with
    /// list requests for review: newly reported nodes may lengthen the lists.
    pub(super) fn are_lists_stale(&mut self, fleet: &mut Fleet) -> bool {
        let version = fleet.history.hosts_version();
        if std::mem::replace(&mut self.listed_version, version) == version {
            return false;
        }
        let is_waiting = |component: &ComponentId| {
            let known = fleet.component(*component);
            known.is_some_and(|known| known.pending_anti_affine > 0) || self.count(*component) > 0
        };
        let listing = fleet.components.grouped().chain(fleet.history.shunning_alone());
        let waiting: Vec<ComponentId> = listing.filter(is_waiting).collect();
        fleet.components.touch_only(waiting);
        true
    }
}
