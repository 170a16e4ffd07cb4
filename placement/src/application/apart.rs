//! Keeps instances apart: those of an anti-affine component, and a processor and its standbys (Samza's
//! standby constraints, `samza.md` 1.9).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::{ContainerRef, RequestId};
use crate::component::{ComponentId, FaultDomain, PlacementPolicy};
use crate::history::{InstanceState, OutstandingRequest, Reach};

/// The hosts and racks that the other components of a group use or have requested.
#[derive(Debug)]
pub(super) struct Occupied {
    hosts: BTreeSet<Arc<str>>,
    racks: BTreeSet<Arc<str>>,
}

impl ApplicationState {
    /// Returns whether the component's instances are kept apart from those of other components.
    pub(super) fn is_grouped(&self, component: ComponentId) -> bool {
        self.components.get(&component).is_some_and(|known| known.spec.apart_from.is_some())
    }

    /// Returns whether requests for the component list acceptable hosts, and exist only while there are
    /// some.
    pub(super) fn lists_hosts(&self, component: ComponentId) -> bool {
        self.is_one_by_one(component) || self.is_choosy(component)
    }

    /// Returns whether only the service knows the acceptable hosts: the component is in a group, or it
    /// alone avoids hosts.
    pub(super) fn is_choosy(&self, component: ComponentId) -> bool {
        self.is_grouped(component) || self.history.shuns_alone(component)
    }

    /// Returns whether the host accepts containers of the component.
    pub(super) fn takes(&self, component: ComponentId, host: &str) -> bool {
        self.why_closed(component, host).is_none()
    }

    /// Returns why the host does not [take](Self::takes) the component; `None` if it does.
    pub(super) fn why_closed(&self, component: ComponentId, host: &str) -> Option<&'static str> {
        let label = self.components.get(&component).and_then(|known| known.spec.label.as_deref());
        let Some(node) = self.history.node(host) else { return Some("no node report has named it") };
        let is_shunned = self.history.entry(host, component).is_some_and(|entry| entry.is_shunned);
        node.why_closed(label)
            .or(is_shunned.then_some("too many instances of the component have failed there"))
    }

    pub(super) fn is_anti_affine(&self, component: ComponentId) -> bool {
        self.components
            .get(&component)
            .is_some_and(|known| known.spec.policy == PlacementPolicy::AntiAffinity)
    }

    /// Returns the other components of its group.
    pub(super) fn peers(&self, component: ComponentId) -> impl Iterator<Item = ComponentId> + '_ {
        let group = self.components.get(&component).and_then(|known| known.spec.apart_from.as_ref());
        let members = group.and_then(|group| self.groups.get(&group.name)).into_iter().flatten();
        members.copied().filter(move |member| *member != component)
    }

    /// Returns whether another instance on the host would be too near to an existing one other than
    /// `except`. An instance that was told to stop counts until it has ended.
    pub(super) fn would_be_together(
        &self,
        component: ComponentId,
        host: &str,
        except: Option<ContainerRef>,
    ) -> bool {
        if self.is_anti_affine(component) {
            let entry = self.history.entry(host, component);
            return entry.is_some_and(|entry| entry.instances.iter().any(|(found, _)| Some(found) != except));
        }
        self.peers(component)
            .any(|peer| self.hosts_of(peer).any(|other| self.is_near(component, other, host)))
    }

    fn fault_domain(&self, component: ComponentId) -> Option<FaultDomain> {
        let known = self.components.get(&component)?;
        known.spec.apart_from.as_ref().map(|group| group.domain)
    }

    fn hosts_of(&self, component: ComponentId) -> impl Iterator<Item = &Arc<str>> {
        let census = self.components.get(&component).map(|known| &known.census);
        let containers = census.into_iter().flat_map(crate::history::Census::iter);
        containers.filter_map(|(container, _)| self.instances.get(&container)).map(|instance| &instance.host)
    }

    /// Returns whether another instance that stays is too near to this one.
    pub(super) fn is_beside_a_held_one(&self, component: ComponentId, host: &str, of: ContainerRef) -> bool {
        let stays = |container: ContainerRef| {
            container != of && self.instance_state(container).is_some_and(InstanceState::is_held)
        };
        if self.is_anti_affine(component) {
            let entry = self.history.entry(host, component);
            return entry.is_some_and(|entry| entry.instances.iter().any(|(found, _)| stays(found)));
        }
        self.peers(component).any(|peer| {
            let known = self.components.get(&peer).into_iter();
            let held = known.flat_map(|known| known.census.iter()).filter(|(container, _)| stays(*container));
            let mut hosts = held.filter_map(|(container, _)| self.instances.get(&container));
            hosts.any(|instance| self.is_near(component, &instance.host, host))
        })
    }

    /// Returns whether the service wrongly keeps this instance near another of its group. Only racks that
    /// were known when the later instance came count. An instance that ran before its component joined the
    /// group may stay beside one that is being released.
    pub(super) fn is_wrongly_near(&self, component: ComponentId, container: ContainerRef) -> bool {
        let is_held = |container| self.instance_state(container).is_some_and(InstanceState::is_held);
        let Some(known) = self.components.get(&component).filter(|_| is_held(container)) else {
            return false;
        };
        let Some(instance) = self.instances.get(&container) else { return false };
        let ran_before = known.untagged.contains(&container);
        let peers = self.peers(component).filter_map(|peer| self.components.get(&peer));
        let mut others = peers.flat_map(|peer| peer.census.iter()).filter_map(|(other, state)| {
            let is_tolerated = ran_before && !state.is_held();
            self.instances.get(&other).filter(|_| !is_tolerated)
        });
        others.any(|other| {
            let rack_version = |host: &str| self.history.node(host).map_or(0, |node| node.rack_version);
            let racks_version = rack_version(&instance.host).max(rack_version(&other.host));
            let is_known = instance.host == other.host
                || racks_version <= instance.racks_version.max(other.racks_version);
            is_known && self.is_near(component, &instance.host, &other.host)
        })
    }

    /// Returns whether two hosts are too near for the component's group.
    pub(super) fn is_near(&self, component: ComponentId, one: &str, other: &str) -> bool {
        let spans_racks = self.fault_domain(component) == Some(FaultDomain::Rack);
        one == other || (spans_racks && self.are_on_one_rack(one, other))
    }

    fn are_on_one_rack(&self, one: &str, other: &str) -> bool {
        let rack = |host: &str| self.history.node(host).and_then(|node| node.rack());
        rack(one).is_some_and(|of_one| Some(of_one) == rack(other))
    }

    /// Returns the most recent host of the component among the hosts that it may request.
    pub(super) fn host_to_come_back_to(&self, component: ComponentId) -> Option<Arc<str>> {
        if !self.is_grouped(component) {
            return self.history.recent_host(component);
        }
        let occupied = self.occupied(component);
        self.history.candidates(component).find(|host| self.is_clear(&occupied, host)).cloned()
    }

    /// Returns all hosts that the component may request.
    pub(super) fn hosts_apart(&self, component: ComponentId) -> Vec<Arc<str>> {
        if !self.is_grouped(component) && self.is_anti_affine(component) {
            return self.history.candidates(component).cloned().collect();
        }
        let occupied = self.occupied(component);
        let takes_it = self.history.nodes().map(|(host, _)| host).filter(|host| self.takes(component, host));
        takes_it.filter(|host| self.is_clear(&occupied, host)).cloned().collect()
    }

    /// Returns whether no other component of the group is, or is requested, near the host.
    pub(super) fn is_clear_of_peers(&self, component: ComponentId, host: &Arc<str>) -> bool {
        self.is_clear(&self.occupied(component), host)
    }

    pub(super) fn is_clear(&self, occupied: &Occupied, host: &Arc<str>) -> bool {
        let rack = self.history.node(host).and_then(|node| node.rack());
        !occupied.hosts.contains(host) && rack.is_none_or(|rack| !occupied.racks.contains(rack))
    }

    pub(super) fn occupied(&self, component: ComponentId) -> Occupied {
        let mut hosts = BTreeSet::new();
        for peer in self.peers(component) {
            hosts.extend(self.hosts_of(peer).cloned());
            let asked =
                self.outstanding.of(peer).filter(|waits| matches!(waits.reach, Reach::Host | Reach::Rack));
            hosts.extend(asked.filter_map(|waits| waits.host.clone()));
            hosts.extend(self.places_taken_by(peer).cloned());
        }
        let spans_racks = self.fault_domain(component) == Some(FaultDomain::Rack);
        let nodes = hosts.iter().filter(|_| spans_racks).filter_map(|host| self.history.node(host));
        let racks = nodes.filter_map(|node| node.rack().cloned()).collect();
        Occupied { hosts, racks }
    }

    /// Returns whether a peer has a request with a list of hosts. The next peer waits, or both might get
    /// one host.
    pub(super) fn is_peer_listed(&self, component: ComponentId) -> bool {
        let mut asked = self.peers(component).flat_map(|peer| self.outstanding.of(peer));
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
        let is_waiting = |component: &&ComponentId| {
            let pending = self.components.get(component).is_some_and(|known| known.pending_anti_affine > 0);
            pending || self.outstanding.count(**component) > 0
        };
        let shunning: Vec<ComponentId> = self.history.shunning_alone().collect();
        let listing = self.groups.values().flatten().chain(&shunning);
        let waiting: Vec<ComponentId> = listing.filter(is_waiting).copied().collect();
        self.touched.extend(waiting);
    }
}
