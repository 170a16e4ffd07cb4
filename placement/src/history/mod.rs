//! Role history: the hosts of each component, so that its instances return there (Slider role history,
//! 2013).
//!
//! The history chooses the host that a request should name. `application` makes the requests.

mod candidates;
mod census;
mod image;
mod node_map;
mod priority;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use census::Census;
pub use census::InstanceState;
pub use image::ThawReport;
pub(crate) use node_map::{NodeEntry, NodeInstance};
pub use priority::COMPONENT_ID_MAX;
pub(crate) use priority::{component_of, request_priority};

use crate::client::{ContainerRef, NodeReport, RequestId};
use crate::component::{ComponentId, ComponentSpec, PlacementPolicy};
use candidates::Candidates;

/// The past and present hosts of components.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoleHistory {
    nodes: BTreeMap<Arc<str>, NodeInstance>,
    rules: BTreeMap<ComponentId, Rules>,
    /// Anti-affine components: their candidates are all hosts without them. Other components return to used
    /// hosts.
    anti_affine: BTreeSet<ComponentId>,
    candidates: BTreeMap<ComponentId, Candidates>,
    /// Hosts where a start failed, by component, until they are trusted again.
    distrusted: BTreeMap<ComponentId, BTreeSet<Arc<str>>>,
    /// Hosts with too many failures.
    unreliable: BTreeSet<Arc<str>>,
    /// Hosts that only this component avoids, because too many of its instances failed there.
    shunned: BTreeMap<ComponentId, BTreeSet<Arc<str>>>,
    /// Increases when usability, rack, label, exclusion or reliability of a host changes.
    hosts_version: u64,
    /// Increases when the rack of a host is learnt or changes.
    racks_version: u64,
    /// Increases with every change worth saving.
    version: u64,
}

/// The properties of a component that decide where it may be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rules {
    policy: PlacementPolicy,
    label: Option<String>,
    node_failure_threshold: Option<u32>,
    shuns_alone: bool,
}

impl RoleHistory {
    /// Adds a component or changes its placement rules.
    pub(crate) fn declare(&mut self, spec: &ComponentSpec) {
        let rules = Rules {
            policy: spec.policy,
            label: spec.label.clone(),
            node_failure_threshold: spec.node_failure_threshold,
            shuns_alone: spec.shuns_hosts_alone,
        };
        if self.rules.get(&spec.id) == Some(&rules) {
            return;
        }
        match rules.policy {
            PlacementPolicy::AntiAffinity => self.anti_affine.insert(spec.id),
            _ => self.anti_affine.remove(&spec.id),
        };
        self.rules.insert(spec.id, rules);
        let hosts: Vec<Arc<str>> = self.nodes.keys().cloned().collect();
        for host in hosts {
            self.review_host(&host);
            self.refresh(&host, spec.id);
        }
    }

    /// Updates nodes from reports.
    pub(crate) fn update_nodes(&mut self, reports: &[NodeReport]) {
        for report in reports {
            let node = self.nodes.entry(report.host.clone()).or_default();
            let rack = node.rack().cloned();
            self.hosts_version += u64::from(node.report(report));
            if node.rack() != rack.as_ref() {
                self.racks_version += 1;
                node.rack_version = self.racks_version;
            }
            self.refresh_all(&report.host);
        }
    }

    /// Excludes the host from the service, or readmits it.
    pub(crate) fn transition_excluded(&mut self, host: &Arc<str>, is_excluded: bool) {
        self.nodes.entry(host.clone()).or_default().is_excluded = is_excluded;
        self.hosts_version += 1;
        self.refresh_all(host);
    }

    /// Marks a host as offline until it is reported: the manager does not know it, or it did not register
    /// in time.
    pub(crate) fn host_unknown(&mut self, host: &Arc<str>) {
        self.nodes.entry(host.clone()).or_default().is_online = false;
        self.hosts_version += 1;
        self.refresh_all(host);
    }

    /// Returns the host that the component should return to: the most recently used one without an instance
    /// or request of it.
    pub(crate) fn recent_host(&self, component: ComponentId) -> Option<Arc<str>> {
        self.candidates.get(&component)?.first().cloned()
    }

    /// Returns all candidate hosts of a component, most recently used first; if anti-affine, by name.
    pub(crate) fn candidates(&self, component: ComponentId) -> impl Iterator<Item = &Arc<str>> {
        self.candidates.get(&component).into_iter().flat_map(Candidates::iter)
    }

    /// Increases when a host becomes a candidate of the component.
    pub(crate) fn gained(&self, component: ComponentId) -> u64 {
        self.candidates.get(&component).map_or(0, Candidates::gained)
    }

    /// Increases when there is something to save.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn hosts_version(&self) -> u64 {
        self.hosts_version
    }

    pub(crate) fn racks_version(&self) -> u64 {
        self.racks_version
    }

    pub(crate) fn unreliable(&self) -> &BTreeSet<Arc<str>> {
        &self.unreliable
    }

    /// Returns whether the component avoids hosts that other components do not.
    pub(crate) fn shuns_alone(&self, component: ComponentId) -> bool {
        self.shunned.contains_key(&component)
    }

    /// Returns the components that avoid hosts alone.
    pub(crate) fn shunning_alone(&self) -> impl Iterator<Item = ComponentId> {
        self.shunned.keys().copied()
    }

    pub(crate) fn node(&self, host: &str) -> Option<&NodeInstance> {
        self.nodes.get(host)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&Arc<str>, &NodeInstance)> {
        self.nodes.iter()
    }

    pub(crate) fn entry(&self, host: &str, component: ComponentId) -> Option<&NodeEntry> {
        self.nodes.get(host)?.entries.get(&component)
    }

    /// Records a request that names the host.
    pub(crate) fn request_made(&mut self, host: &Arc<str>, component: ComponentId, request: RequestId) {
        self.change(host, component, |entry| {
            entry.requested.insert(request);
        });
    }

    /// Removes a request that is over. The host becomes a candidate again if nothing else is there.
    pub(crate) fn request_over(&mut self, host: &Arc<str>, component: ComponentId, request: RequestId) {
        self.change(host, component, |entry| {
            entry.requested.remove(&request);
        });
    }

    /// Sets the state of an instance. An instance that becomes live restores trust in its component's
    /// hosts.
    pub(crate) fn transition_instance(
        &mut self,
        host: &Arc<str>,
        component: ComponentId,
        container: ContainerRef,
        state: InstanceState,
    ) {
        self.change(host, component, |entry| {
            entry.instances.put(container, state);
        });
        if state == InstanceState::Live {
            self.version += 1;
            self.trust_again(component);
        }
    }

    /// Removes an instance that has ended. `used_until_ms` is the last use of the host; `None` if the
    /// instance never ran or failed soon after its start.
    pub(crate) fn instance_gone(
        &mut self,
        host: &Arc<str>,
        component: ComponentId,
        container: ContainerRef,
        used_until_ms: Option<u64>,
    ) {
        self.version += 1;
        self.change(host, component, |entry| {
            entry.instances.remove(container);
            if let Some(used_until_ms) = used_until_ms {
                entry.last_used_ms = entry.last_used_ms.max(used_until_ms);
            }
        });
    }

    /// Records that the component used the host at this time.
    pub(crate) fn used(&mut self, host: &Arc<str>, component: ComponentId, now_ms: u64) {
        self.change(host, component, |entry| entry.last_used_ms = entry.last_used_ms.max(now_ms));
    }

    /// Counts a failure of the component on the host. A failed start makes the host distrusted.
    pub(crate) fn failed(&mut self, host: &Arc<str>, component: ComponentId, is_start_failure: bool) {
        self.version += 1;
        self.change(host, component, |entry| {
            entry.failed_recently += 1;
            entry.is_distrusted |= is_start_failure;
        });
        if is_start_failure {
            self.distrusted.entry(component).or_default().insert(host.clone());
        }
        self.review_host(host);
    }

    /// Starts a new failure window: forgets recent failures and trusts all hosts.
    pub(crate) fn reset_failures(&mut self) {
        for node in self.nodes.values_mut() {
            for entry in node.entries.values_mut() {
                entry.failed_recently = 0;
            }
        }
        let components: Vec<ComponentId> = self.distrusted.keys().copied().collect();
        for component in components {
            self.trust_again(component);
        }
        let hosts: Vec<Arc<str>> = self.nodes.keys().cloned().collect();
        for host in hosts {
            self.review_host(&host);
            self.refresh_all(&host);
        }
    }

    /// Forgets entries last used before this time, and offline hosts without entries.
    pub(crate) fn forget_before(&mut self, oldest_ms: u64) {
        let is_old = |entry: &NodeEntry| entry.is_idle() && entry.last_used_ms < oldest_ms;
        let old = |(host, node): (&Arc<str>, &NodeInstance)| {
            let entries = node.entries.iter().filter(|(_, entry)| is_old(entry));
            entries.map(|(component, _)| (host.clone(), *component)).collect::<Vec<_>>()
        };
        let old: Vec<(Arc<str>, ComponentId)> = self.nodes.iter().flat_map(old).collect();
        for (host, component) in old {
            self.version += 1;
            self.change(&host, component, |entry| *entry = NodeEntry::default());
            // A strict component that exempted the host may have gone with its entry.
            self.review_host(&host);
        }
        self.nodes.retain(|_, node| {
            node.is_online || node.is_unreliable || node.is_excluded || !node.entries.is_empty()
        });
    }

    fn trust_again(&mut self, component: ComponentId) {
        for host in self.distrusted.remove(&component).unwrap_or_default() {
            self.change(&host, component, |entry| entry.is_distrusted = false);
        }
    }

    fn change(&mut self, host: &Arc<str>, component: ComponentId, change: impl FnOnce(&mut NodeEntry)) {
        let node = self.nodes.entry(host.clone()).or_default();
        let entry = node.entries.entry(component).or_default();
        change(entry);
        if entry.is_blank() {
            node.entries.remove(&component);
        }
        self.refresh(host, component);
    }

    /// Recomputes whether the host is unreliable. A strict component neither makes a host unreliable nor is
    /// kept away from it (table 1.18, D9).
    fn review_host(&mut self, host: &Arc<str>) {
        self.review_host_by_component(host);
        let Some(node) = self.nodes.get_mut(host) else { return };
        let rules_of = |component: &ComponentId| self.rules.get(component);
        let is_strict = |component| rules_of(component).is_some_and(|r| r.policy == PlacementPolicy::Strict);
        let is_above = |(component, entry): (&ComponentId, &NodeEntry)| {
            rules_of(component).is_some_and(|rules| !rules.shuns_alone && rules.bears_less_than(entry))
        };
        let is_unreliable = !node.entries.keys().any(is_strict) && node.entries.iter().any(is_above);
        if node.is_unreliable == is_unreliable {
            return;
        }
        node.is_unreliable = is_unreliable;
        self.hosts_version += 1;
        if is_unreliable {
            self.unreliable.insert(host.clone());
        } else {
            self.unreliable.remove(host);
        }
        self.refresh_all(host);
    }

    /// Recomputes which components with `shuns_alone` avoid the host.
    fn review_host_by_component(&mut self, host: &Arc<str>) {
        let Some(node) = self.nodes.get_mut(host) else { return };
        let mut changed = Vec::new();
        for (component, entry) in &mut node.entries {
            let rules = self.rules.get(component).filter(|rules| rules.shuns_alone);
            let is_shunned = rules.is_some_and(|rules| rules.bears_less_than(entry));
            if std::mem::replace(&mut entry.is_shunned, is_shunned) != is_shunned {
                changed.push((*component, is_shunned));
            }
        }
        for (component, is_shunned) in changed {
            let hosts = self.shunned.entry(component).or_default();
            if is_shunned {
                hosts.insert(host.clone());
            } else {
                hosts.remove(host);
            }
            self.shunned.retain(|_, hosts| !hosts.is_empty());
            self.hosts_version += 1;
            self.refresh(host, component);
        }
    }

    fn refresh_all(&mut self, host: &Arc<str>) {
        let used = self.nodes.get(host).into_iter().flat_map(|node| node.entries.keys());
        let components: BTreeSet<ComponentId> = used.chain(&self.anti_affine).copied().collect();
        for component in components {
            self.refresh(host, component);
        }
    }

    /// Returns the components whose stored candidates differ from those derived from the nodes.
    pub(crate) fn wrong_candidates(&self) -> impl Iterator<Item = ComponentId> + '_ {
        let expected = |component: &ComponentId, rules: &Rules| {
            let mut expected = Candidates::default();
            for (host, node) in &self.nodes {
                expected.set(host, node.candidate(*component, rules));
            }
            expected
        };
        let is_wrong = move |(component, rules): &(&ComponentId, &Rules)| {
            let kept = self.candidates(**component);
            !kept.eq(expected(component, rules).iter())
        };
        self.rules.iter().filter(is_wrong).map(|(component, _)| *component)
    }

    /// Recomputes whether a host is a candidate. No other function decides that.
    fn refresh(&mut self, host: &Arc<str>, component: ComponentId) {
        let Some(rules) = self.rules.get(&component) else { return };
        let last_used_ms = self.nodes.get(host).and_then(|node| node.candidate(component, rules));
        self.candidates.entry(component).or_default().set(host, last_used_ms);
    }
}

impl Rules {
    /// Returns whether more instances failed on a host than the component tolerates. A strict component
    /// tolerates all failures.
    fn bears_less_than(&self, entry: &NodeEntry) -> bool {
        let threshold = self.node_failure_threshold.filter(|_| self.policy != PlacementPolicy::Strict);
        threshold.is_some_and(|threshold| entry.failed_recently > threshold)
    }
}

impl NodeInstance {
    /// Returns the last use of the host if the component may be requested there. An anti-affine component
    /// accepts every host without an instance; their order is by name.
    fn candidate(&self, component: ComponentId, rules: &Rules) -> Option<u64> {
        let entry = self.entries.get(&component);
        let is_available =
            entry.is_none_or(NodeEntry::is_available) && self.has_label(rules.label.as_deref());
        let is_shunned = self.is_unreliable || entry.is_some_and(|entry| entry.is_shunned);
        let is_trusted = self.is_online && !is_shunned && !self.is_excluded;
        let last_used_ms = entry.map(|entry| entry.last_used_ms).filter(|last_used_ms| *last_used_ms > 0);
        match rules.policy {
            PlacementPolicy::Anywhere => None,
            PlacementPolicy::Strict => last_used_ms.filter(|_| is_available && !self.is_excluded),
            PlacementPolicy::Normal => {
                let trusts = is_trusted && entry.is_some_and(|entry| !entry.is_distrusted);
                last_used_ms.filter(|_| is_available && trusts)
            }
            // An instance that was told to stop occupies the host until it has ended.
            PlacementPolicy::AntiAffinity => {
                let is_empty = entry.is_none_or(|entry| entry.instances.total() == 0);
                (is_available && is_empty && is_trusted && self.report.is_some()).then_some(0)
            }
        }
    }
}
