//! Lists of acceptable hosts, for components whose hosts only the service knows.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::RequestId;
use crate::component::ComponentId;
use crate::history::{OutstandingRequest, Reach};

/// The hosts and racks that the other components of a group use or have requested.
#[derive(Debug)]
pub(super) struct Occupied {
    hosts: BTreeSet<Arc<str>>,
    racks: BTreeSet<Arc<str>>,
}

impl ApplicationState {
    /// Returns the most recent host of the component among the hosts that it may request.
    pub(super) fn host_to_come_back_to(&self, component: ComponentId) -> Option<Arc<str>> {
        if !self.fleet.is_grouped(component) {
            return self.fleet.history.recent_host(component);
        }
        let occupied = self.occupied(component);
        self.fleet.history.candidates(component).find(|host| self.is_clear(&occupied, host)).cloned()
    }

    /// Returns all hosts that the component may request.
    pub(super) fn hosts_apart(&self, component: ComponentId) -> Vec<Arc<str>> {
        if !self.fleet.is_grouped(component) && self.fleet.is_anti_affine(component) {
            return self.fleet.history.candidates(component).cloned().collect();
        }
        let occupied = self.occupied(component);
        let takes_it =
            self.fleet.history.nodes().map(|(host, _)| host).filter(|host| self.fleet.takes(component, host));
        takes_it.filter(|host| self.is_clear(&occupied, host)).cloned().collect()
    }

    /// Returns whether no other component of the group is, or is requested, near the host.
    pub(super) fn is_clear_of_peers(&self, component: ComponentId, host: &Arc<str>) -> bool {
        self.is_clear(&self.occupied(component), host)
    }

    pub(super) fn is_clear(&self, occupied: &Occupied, host: &Arc<str>) -> bool {
        let rack = self.fleet.rack(host);
        !occupied.hosts.contains(host) && rack.is_none_or(|rack| !occupied.racks.contains(rack))
    }

    pub(super) fn occupied(&self, component: ComponentId) -> Occupied {
        let mut hosts = BTreeSet::new();
        for peer in self.fleet.components.peers(component) {
            hosts.extend(self.fleet.instances_of(peer).map(|(_, _, instance)| instance.host.clone()));
            let asked =
                self.outstanding.of(peer).filter(|waits| matches!(waits.reach, Reach::Host | Reach::Rack));
            hosts.extend(asked.filter_map(|waits| waits.host.clone()));
            hosts.extend(self.places_taken_by(peer).cloned());
        }
        let spans_racks = self.fleet.spans_racks(component);
        let racks = hosts.iter().filter(|_| spans_racks).filter_map(|host| self.fleet.rack(host).cloned());
        let racks = racks.collect();
        Occupied { hosts, racks }
    }

    /// Returns whether a peer has a request with a list of hosts. The next peer waits, or both might get
    /// one host.
    pub(super) fn is_peer_listed(&self, component: ComponentId) -> bool {
        let mut asked = self.fleet.components.peers(component).flat_map(|peer| self.outstanding.of(peer));
        asked.any(|waits| waits.reach == Reach::Listed)
    }

    /// Reissues requests whose list of acceptable hosts has changed. A request for any host becomes a
    /// request with a list.
    pub(super) fn refresh_choosy(&mut self, component: ComponentId, operations: &mut Vec<Operation>) {
        let listed = self.outstanding.of(component).filter(|waits| waits.reach != Reach::Host);
        let listed: Vec<RequestId> = listed.map(OutstandingRequest::id).collect();
        if listed.is_empty() {
            return;
        }
        let hosts = self.hosts_apart(component);
        for request in listed {
            let is_same = self.outstanding.get(request).is_some_and(|waits| waits.is_for(&hosts));
            if !is_same && hosts.is_empty() {
                self.cancel_request(request, operations);
            } else if !is_same {
                self.reissue(request, |waits| waits.list(hosts.clone()), operations);
            }
        }
    }

    /// Marks components with list requests for review: newly reported nodes may lengthen the lists.
    pub(super) fn touch_listed(&mut self) {
        let is_waiting = |component: &ComponentId| {
            let known = self.fleet.component(*component);
            known.is_some_and(|known| known.pending_anti_affine > 0) || self.outstanding.count(*component) > 0
        };
        let listing = self.fleet.components.grouped().chain(self.fleet.history.shunning_alone());
        let waiting: Vec<ComponentId> = listing.filter(is_waiting).collect();
        self.fleet.components.touch_only(waiting);
    }
}
