//! Role history: where each component was, so that its instances come back there (Slider role history, 2013).
//!
//! The history says which host a request should name. It does not make requests: that is `application`.

mod candidates;
mod census;
mod image;
mod node_map;
mod outstanding;
mod priority;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use census::Census;
pub use census::InstanceState;
pub use image::ThawReport;
pub(crate) use node_map::{NodeEntry, NodeInstance};
pub(crate) use outstanding::{OutstandingRequest, OutstandingRequests, Reach};
pub use priority::COMPONENT_ID_MAX;
pub(crate) use priority::{component_of, request_priority};

use crate::client::{ContainerRef, NodeReport, RequestId};
use crate::component::{ComponentId, ComponentSpec, PlacementPolicy};
use candidates::Candidates;

/// Where components were and are.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoleHistory {
    nodes: BTreeMap<Arc<str>, NodeInstance>,
    rules: BTreeMap<ComponentId, Rules>,
    /// Components whose candidates are all hosts that have none of them; those of others are hosts where they were.
    anti_affine: BTreeSet<ComponentId>,
    candidates: BTreeMap<ComponentId, Candidates>,
    /// Hosts where a start failed, by component, until something speaks for them.
    distrusted: BTreeMap<ComponentId, BTreeSet<Arc<str>>>,
    /// Hosts on which too much failed.
    unreliable: BTreeSet<Arc<str>>,
    /// Hosts that a component alone avoids, because too much of it failed there.
    shunned: BTreeMap<ComponentId, BTreeSet<Arc<str>>>,
    /// Moves when a host begins or ceases to take containers.
    hosts_version: u64,
    /// Moves when the rack of a host is learnt or changes.
    racks_version: u64,
    /// Moves with every change worth saving.
    version: u64,
}

/// What of a component decides where it may go.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rules {
    policy: PlacementPolicy,
    label: Option<String>,
    node_failure_threshold: Option<u32>,
    shuns_alone: bool,
}

impl RoleHistory {
    /// The component is placed by these rules from now on.
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

    /// Takes over what is reported of nodes.
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

    /// Nothing of the service is to come to the host, or it may again.
    pub(crate) fn transition_excluded(&mut self, host: &Arc<str>, is_excluded: bool) {
        self.nodes.entry(host.clone()).or_default().is_excluded = is_excluded;
        self.hosts_version += 1;
        self.refresh_all(host);
    }

    /// The manager does not know the host, or it has not registered in time: it takes nothing until it is reported.
    pub(crate) fn host_unknown(&mut self, host: &Arc<str>) {
        self.nodes.entry(host.clone()).or_default().is_online = false;
        self.hosts_version += 1;
        self.refresh_all(host);
    }

    /// The host to ask for, for a component that goes back to where it was: the one used last among those where nothing
    /// of it is or will be.
    pub(crate) fn recent_host(&self, component: ComponentId) -> Option<Arc<str>> {
        self.candidates.get(&component)?.first().cloned()
    }

    /// All hosts that a component may be asked for, in that order; by name for one whose instances keep apart.
    pub(crate) fn candidates(&self, component: ComponentId) -> impl Iterator<Item = &Arc<str>> {
        self.candidates.get(&component).into_iter().flat_map(Candidates::iter)
    }

    /// Moves when a host becomes a candidate of the component.
    pub(crate) fn gained(&self, component: ComponentId) -> u64 {
        self.candidates.get(&component).map_or(0, Candidates::gained)
    }

    /// Moves when there is something to save.
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

    /// Whether the component avoids hosts that others of the service do not.
    pub(crate) fn shuns_alone(&self, component: ComponentId) -> bool {
        self.shunned.contains_key(&component)
    }

    /// Components of which that is so.
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

    /// A request that names the host was made.
    pub(crate) fn request_made(&mut self, host: &Arc<str>, component: ComponentId, request: RequestId) {
        self.change(host, component, |entry| {
            entry.requested.insert(request);
        });
    }

    /// It is over, however: the host is a candidate again if nothing else is there.
    pub(crate) fn request_over(&mut self, host: &Arc<str>, component: ComponentId, request: RequestId) {
        self.change(host, component, |entry| {
            entry.requested.remove(&request);
        });
    }

    /// The container is in this state from now on. One that starts to run speaks for the other hosts of its component.
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

    /// The container has ended. Unless it left because of the host, this is when the host was used last.
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

    /// The component was there at this time.
    pub(crate) fn used(&mut self, host: &Arc<str>, component: ComponentId, now_ms: u64) {
        self.change(host, component, |entry| entry.last_used_ms = entry.last_used_ms.max(now_ms));
    }

    /// Something went wrong with the component there. A failure while starting lets the host off the list.
    pub(crate) fn failed(&mut self, host: &Arc<str>, component: ComponentId, is_start_failure: bool) {
        self.version += 1;
        self.change(host, component, |entry| {
            entry.failures.failed += 1;
            entry.failures.failed_recently += 1;
            entry.failures.start_failed += u32::from(is_start_failure);
            entry.is_distrusted |= is_start_failure;
        });
        if is_start_failure {
            self.distrusted.entry(component).or_default().insert(host.clone());
        }
        self.review_host(host);
    }

    /// A container of the component was taken back there for somebody else.
    pub(crate) fn preempted(&mut self, host: &Arc<str>, component: ComponentId) {
        self.change(host, component, |entry| entry.failures.preempted += 1);
    }

    /// The failure window begins anew: recent failures are forgotten, and hosts trusted.
    pub(crate) fn reset_failures(&mut self) {
        for node in self.nodes.values_mut() {
            for entry in node.entries.values_mut() {
                entry.failures.failed_recently = 0;
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

    /// Entries of hosts that were left before this time go, and with the last of them a host that takes nothing.
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
            // A component that exempts the host from judgement may be gone with its entry.
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

    /// Works out anew whether too much failed on the host. Components that go back to their hosts whatever happens
    /// neither bring that about nor are kept away by it (table 1.18, D9).
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

    /// The same for each component that avoids hosts alone.
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

    /// Components whose candidates are not those that follow from the nodes.
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

    /// The only place that says whether a host is a candidate.
    fn refresh(&mut self, host: &Arc<str>, component: ComponentId) {
        let Some(rules) = self.rules.get(&component) else { return };
        let last_used_ms = self.nodes.get(host).and_then(|node| node.candidate(component, rules));
        self.candidates.entry(component).or_default().set(host, last_used_ms);
    }
}

impl Rules {
    /// Whether more failed on a host than the component bears. One that goes back to its hosts whatever happens bears
    /// all.
    fn bears_less_than(&self, entry: &NodeEntry) -> bool {
        let threshold = self.node_failure_threshold.filter(|_| self.policy != PlacementPolicy::Strict);
        threshold.is_some_and(|threshold| entry.failures.failed_recently > threshold)
    }
}

impl NodeInstance {
    /// When the component was last here, if it may be asked to come here. Where instances keep apart every host will
    /// do that has none of them, and the order is that of names.
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
            // An instance that was told to stop is there until it has ended.
            PlacementPolicy::AntiAffinity => {
                let is_empty = entry.is_none_or(|entry| entry.instances.total() == 0);
                (is_available && is_empty && is_trusted && self.report.is_some()).then_some(0)
            }
        }
    }
}
