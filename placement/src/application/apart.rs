//! Which instances are kept apart: those of an anti-affine component, and an active container and its standbys (Samza's
//! standby constraints, `samza.md` 1.9).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::{ContainerRef, RequestId};
use crate::component::{ComponentId, FaultDomain, PlacementPolicy};
use crate::history::{InstanceState, OutstandingRequest, Reach};

/// Where the others of a group are, or are about to be.
#[derive(Debug)]
pub(super) struct Occupied {
    hosts: BTreeSet<Arc<str>>,
    racks: BTreeSet<Arc<str>>,
}

impl ApplicationState {
    /// Whether the component's instances are kept apart from those of other components.
    pub(super) fn is_grouped(&self, component: ComponentId) -> bool {
        self.components.get(&component).is_some_and(|known| known.spec.apart_from.is_some())
    }

    /// Whether the component names the hosts that will do, and is asked for only while there are some.
    pub(super) fn lists_hosts(&self, component: ComponentId) -> bool {
        self.is_one_by_one(component) || self.is_choosy(component)
    }

    /// Whether only the service knows which hosts will do: others of its group are in the way, or it avoids hosts
    /// alone.
    pub(super) fn is_choosy(&self, component: ComponentId) -> bool {
        self.is_grouped(component) || self.history.shuns_alone(component)
    }

    /// Whether the host was reported to take containers of the component, and nothing speaks against it.
    pub(super) fn takes(&self, component: ComponentId, host: &str) -> bool {
        self.why_closed(component, host).is_none()
    }

    /// Why it does not [take](Self::takes) them.
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

    /// The others of its group.
    pub(super) fn peers(&self, component: ComponentId) -> impl Iterator<Item = ComponentId> + '_ {
        let group = self.components.get(&component).and_then(|known| known.spec.apart_from.as_ref());
        let members = group.and_then(|group| self.groups.get(&group.name)).into_iter().flatten();
        members.copied().filter(move |member| *member != component)
    }

    /// Whether an instance more on the host would be too near to another one, `except` this one aside. One that was
    /// told to stop may not, so it counts.
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

    /// Whether another instance that stays is too near to this one.
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

    /// Whether the service keeps the instance although another one of its group is too near. The service judges by the
    /// racks that it knows when the later of the two comes, and does not separate them when it learns of another rack.
    /// An instance that ran before it had to be apart stays beside one that is on its way out.
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

    /// Whether these are too near to each other for the component's group.
    pub(super) fn is_near(&self, component: ComponentId, one: &str, other: &str) -> bool {
        let spans_racks = self.fault_domain(component) == Some(FaultDomain::Rack);
        one == other || (spans_racks && self.are_on_one_rack(one, other))
    }

    fn are_on_one_rack(&self, one: &str, other: &str) -> bool {
        let rack = |host: &str| self.history.node(host).and_then(|node| node.rack());
        rack(one).is_some_and(|of_one| Some(of_one) == rack(other))
    }

    /// The host on which the component was last, of those where it may be asked for.
    pub(super) fn host_to_come_back_to(&self, component: ComponentId) -> Option<Arc<str>> {
        if !self.is_grouped(component) {
            return self.history.recent_host(component);
        }
        let occupied = self.occupied(component);
        self.history.candidates(component).find(|host| self.is_clear(&occupied, host)).cloned()
    }

    /// All hosts where the component may be asked for.
    pub(super) fn hosts_apart(&self, component: ComponentId) -> Vec<Arc<str>> {
        if !self.is_grouped(component) && self.is_anti_affine(component) {
            return self.history.candidates(component).cloned().collect();
        }
        let occupied = self.occupied(component);
        let takes_it = self.history.nodes().map(|(host, _)| host).filter(|host| self.takes(component, host));
        takes_it.filter(|host| self.is_clear(&occupied, host)).cloned().collect()
    }

    /// Whether none of its group is near the host, or is being asked for there.
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

    /// Whether one of its group is asked for on whatever host will do: the next one waits, or both may come to one.
    pub(super) fn is_peer_listed(&self, component: ComponentId) -> bool {
        let mut asked = self.peers(component).flat_map(|peer| self.outstanding.of(peer));
        asked.any(|waits| waits.reach == Reach::Listed)
    }

    /// A list of hosts is made anew when others will do by now. A request for any host becomes one for those that will
    /// do.
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

    /// Lists that wait may be longer by nodes that were reported.
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
