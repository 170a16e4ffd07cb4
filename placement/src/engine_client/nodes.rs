//! The engine's nodes as hosts of a service, and those that changed since the last report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apportion::view::NodeView;
use apportion::{Handle, NodeId, NodeState, PartitionId};

use crate::client::{Callback, NodeReport};

/// Nodes as they were told last.
#[derive(Debug, Default)]
pub(super) struct ReportedNodes {
    /// The version of the engine's nodes that they were told of; `None`: never.
    looked_at: Option<u64>,
    told: BTreeMap<Arc<str>, NodeReport>,
    hosts: BTreeMap<NodeId, Arc<str>>,
    /// Hosts that the service was told are not there: it has to hear of them again, though they have not changed.
    doubted: BTreeSet<Arc<str>>,
}

impl ReportedNodes {
    /// The name of a node that holds a container, which is told many times and made once.
    pub(super) fn host_of(&mut self, handle: &Handle, node: NodeId) -> Arc<str> {
        let name =
            || handle.read(|view| view.node(node).map_or_else(|| "".into(), |node| node.name().into()));
        self.hosts.entry(node).or_insert_with(name).clone()
    }

    /// Tells of the nodes that came, went or changed. How much of them is free is told along, but is no change. It
    /// costs nothing while the engine's nodes are as they were.
    pub(super) fn update(&mut self, handle: &Handle) -> Option<Callback> {
        // What changes from here on has a later version.
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
            // Numbers of nodes that are gone come to no end.
            self.hosts.clear();
        }
        (is_first || !changed.is_empty()).then_some(Callback::NodesUpdated(changed))
    }

    /// The service was told that there is no such host.
    pub(super) fn doubt(&mut self, host: &str) {
        if self.told.contains_key(host) {
            self.doubted.insert(host.into());
        }
    }

    /// All nodes are news again.
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
