//! Keeps instances apart: those of an anti-affine component, and a processor and its standbys (Samza's
//! standby constraints, `samza.md` 1.9).

use std::sync::Arc;

use apportion::Resources;

use super::fleet::Fleet;
use crate::client::ContainerRef;
use crate::component::{ComponentId, FaultDomain};
use crate::history::NodeInstance;

impl Fleet {
    pub(super) fn is_anti_affine(&self, component: ComponentId) -> bool {
        self.component(component).is_some_and(super::component::Component::is_anti_affine)
    }

    /// Returns whether the service requests instances of the component one by one. It does if the manager cannot
    /// keep them all apart, or some started before they had to be apart.
    pub(super) fn is_one_by_one(&self, component: ComponentId) -> bool {
        let all_are_known = self.component(component).is_none_or(|known| known.untagged.is_empty());
        self.is_anti_affine(component) && (self.asks_one_by_one || !all_are_known)
    }

    /// Returns whether the component's instances are kept apart from those of other components.
    pub(super) fn is_grouped(&self, component: ComponentId) -> bool {
        self.component(component).is_some_and(|known| known.spec.apart_from.is_some())
    }

    /// Returns whether only the service knows the acceptable hosts: the component is in a group, or it
    /// alone avoids hosts.
    pub(super) fn is_choosy(&self, component: ComponentId) -> bool {
        self.is_grouped(component) || self.history.shuns_alone(component)
    }

    /// Returns whether requests for the component list acceptable hosts, and exist only while there are
    /// some.
    pub(super) fn lists_hosts(&self, component: ComponentId) -> bool {
        self.is_one_by_one(component) || self.is_choosy(component)
    }

    /// Returns whether the host accepts containers of the component, given room.
    pub(super) fn takes(&self, component: ComponentId, host: &str) -> bool {
        self.why_closed(component, host).is_none()
    }

    /// Returns why the host does not [take](Self::takes) the component; `None` if it does.
    pub(super) fn why_closed(&self, component: ComponentId, host: &str) -> Option<&'static str> {
        let label = self.component(component).and_then(|known| known.spec.label.as_deref());
        let Some(node) = self.history.node(host) else { return Some("no node report has named it") };
        let is_shunned = self.history.entry(host, component).is_some_and(|entry| entry.is_shunned);
        node.why_closed(label)
            .or(is_shunned.then_some("too many instances of the component have failed there"))
    }

    /// Returns whether an empty host with the component's label could hold a container of this size; true
    /// while no host is reported.
    pub(super) fn could_hold(&self, component: ComponentId, size: &Resources) -> bool {
        let label = self.component(component).and_then(|known| known.spec.label.as_deref());
        let mut reported = self.history.nodes().filter(|(_, node)| node.report.is_some()).peekable();
        let is_none_known = reported.peek().is_none();
        is_none_known || reported.any(|(_, node)| node.has_label(label) && node.most_of(size) > 0)
    }

    /// Returns whether another instance on the host would be too near to an existing one other than
    /// `except`. An instance that was told to stop counts until it has ended.
    pub(super) fn would_be_together(
        &self,
        component: ComponentId,
        host: &str,
        except: Option<ContainerRef>,
    ) -> bool {
        self.is_near_any(component, host, |other| Some(other) != except)
    }

    /// Returns whether another instance that stays is too near to this one.
    pub(super) fn is_beside_a_held_one(&self, component: ComponentId, host: &str, of: ContainerRef) -> bool {
        self.is_near_any(component, host, |other| other != of && self.is_held(other))
    }

    /// Returns whether the host is too near to one of these instances that the component is kept apart
    /// from.
    fn is_near_any(&self, component: ComponentId, host: &str, counts: impl Fn(ContainerRef) -> bool) -> bool {
        if self.is_anti_affine(component) {
            let entry = self.history.entry(host, component);
            return entry.is_some_and(|entry| entry.instances.iter().any(|(found, _)| counts(found)));
        }
        let mut others = self.components.peers(component).flat_map(|peer| self.instances_of(peer));
        others.any(|(other, _, instance)| counts(other) && self.is_near(component, &instance.host, host))
    }

    /// Returns whether the service wrongly keeps this instance near another of its group. Only racks that
    /// were known when the later instance came count. An instance that ran before its component joined the
    /// group may stay beside one that is being released.
    pub(super) fn is_wrongly_near(&self, component: ComponentId, container: ContainerRef) -> bool {
        let Some(known) = self.component(component).filter(|_| self.is_held(container)) else {
            return false;
        };
        let Some(instance) = self.instance(container) else { return false };
        let ran_before = known.untagged.contains(&container);
        let mut others = self.components.peers(component).flat_map(|peer| self.instances_of(peer));
        others.any(|(_, state, other)| {
            let rack_version = |host: &str| self.history.node(host).map_or(0, |node| node.rack_version);
            let racks_version = rack_version(&instance.host).max(rack_version(&other.host));
            let is_known = instance.host == other.host
                || racks_version <= instance.racks_version.max(other.racks_version);
            let is_tolerated = ran_before && !state.is_held();
            !is_tolerated && is_known && self.is_near(component, &instance.host, &other.host)
        })
    }

    /// Returns whether two hosts are too near for the component's group.
    pub(super) fn is_near(&self, component: ComponentId, one: &str, other: &str) -> bool {
        one == other || (self.spans_racks(component) && self.are_on_one_rack(one, other))
    }

    /// Returns whether the component's group is kept on different racks.
    pub(super) fn spans_racks(&self, component: ComponentId) -> bool {
        let group = self.component(component).and_then(|known| known.spec.apart_from.as_ref());
        group.is_some_and(|group| group.domain == FaultDomain::Rack)
    }

    fn are_on_one_rack(&self, one: &str, other: &str) -> bool {
        self.rack(one).is_some_and(|of_one| Some(of_one) == self.rack(other))
    }

    pub(super) fn rack(&self, host: &str) -> Option<&Arc<str>> {
        self.history.node(host).and_then(NodeInstance::rack)
    }
}
