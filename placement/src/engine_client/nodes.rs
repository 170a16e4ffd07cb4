//! The engine's nodes as hosts of a service, and changes since the last report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apportion::view::NodeView;
use apportion::{Handle, NodeId, NodeState, PartitionId};

use crate::client::{Callback, NodeReport};

/// Nodes as last reported to the service.
#[derive(Debug, Default)]
pub(super) struct ReportedNodes {
    /// The node version at the last report; `None`: no report yet.
    looked_at: Option<u64>,
    told: BTreeMap<Arc<str>, NodeReport>,
    hosts: BTreeMap<NodeId, Arc<str>>,
    /// Reported hosts for which a request failed as unknown. The next update reports them again.
    doubted: BTreeSet<Arc<str>>,
}

impl ReportedNodes {
    /// Returns the host name of a node; cached, because every container event needs it.
    pub(super) fn host_of(&mut self, handle: &Handle, node: NodeId) -> Arc<str> {
        let name =
            || handle.read(|view| view.node(node).map_or_else(|| "".into(), |node| node.name().into()));
        self.hosts.entry(node).or_insert_with(name).clone()
    }

    /// Reports nodes that were added, removed or changed. Free resources are included, but do not count as
    /// a change. Costs nothing while the engine's node version is the same.
    pub(super) fn update(&mut self, handle: &Handle) -> Option<Callback> {
        // Read the version first: later changes then have a higher one.
        let version = handle.read(|view| view.nodes_version());
        if self.looked_at == Some(version) {
            return None;
        }
        let is_first = self.looked_at.replace(version).is_none();
        let now: BTreeMap<Arc<str>, NodeReport> =
            reports(handle).into_iter().map(|report| (report.host.clone(), report)).collect();
        let mut changed: Vec<NodeReport> = now
            .values()
            .filter(|report| {
                let is_known = self.told.get(&report.host).is_some_and(|told| is_same(told, report));
                !is_known || self.doubted.contains(&report.host)
            })
            .cloned()
            .collect();
        for gone in self.told.values().filter(|told| told.is_usable && !now.contains_key(&told.host)) {
            changed.push(NodeReport { is_usable: false, ..gone.clone() });
        }
        self.doubted.clear();
        self.told = now;
        if !changed.is_empty() {
            // Node numbers never repeat, so the cache would grow without limit.
            self.hosts.clear();
        }
        (is_first || !changed.is_empty()).then_some(Callback::NodesUpdated(changed))
    }

    /// Records that a request for this host failed because the engine did not know it.
    pub(super) fn doubt(&mut self, host: &str) {
        if self.told.contains_key(host) {
            self.doubted.insert(host.into());
        }
    }

    /// Makes the next update report all nodes.
    pub(super) fn forget(&mut self) {
        self.looked_at = None;
        self.told.clear();
    }
}

fn is_same(told: &NodeReport, report: &NodeReport) -> bool {
    (told.is_usable, &told.label, &told.rack, told.capacity)
        == (report.is_usable, &report.label, &report.rack, report.capacity)
}

pub(crate) fn reports(handle: &Handle) -> Vec<NodeReport> {
    let names = handle.config().partition_names();
    let labels: BTreeMap<PartitionId, Arc<str>> =
        names.filter_map(|name| Some((handle.partition(name).ok()?, name.into()))).collect();
    let no_label: Arc<str> = "".into();
    let report = |node: NodeView<'_>| NodeReport {
        host: node.name().into(),
        rack: node.rack().into(),
        label: labels.get(&node.partition()).unwrap_or(&no_label).clone(),
        capacity: node.capacity(),
        free: node.free(),
        is_usable: node.state() == NodeState::Active && !node.is_stale(),
    };
    handle.read(|view| view.nodes().map(report).collect())
}
