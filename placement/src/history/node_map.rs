//! Nodes as one service knows them (seed, "NodeMap").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apportion::Resources;

use super::census::Census;
use crate::client::{NodeReport, RequestId};
use crate::component::ComponentId;

/// A host, with what each component has and had on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeInstance {
    /// Whether it takes containers, as far as anybody said. A host of which nobody said anything does.
    pub(crate) is_online: bool,
    /// What the last report said of it.
    pub(crate) report: Option<NodePlace>,
    /// The [version of the racks](super::RoleHistory::racks_version) at which its rack was learnt or changed last.
    pub(crate) rack_version: u64,
    /// Somebody wants it free of the service.
    pub(crate) is_excluded: bool,
    /// More failed on it than some component bears.
    pub(crate) is_unreliable: bool,
    pub(crate) entries: BTreeMap<ComponentId, NodeEntry>,
}

/// Where a node is, as its last report said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodePlace {
    pub(crate) rack: Arc<str>,
    pub(crate) capacity: Resources,
    pub(crate) label: Arc<str>,
}

/// What a component has and had on a host. Counters of the seed that concern containers and requests follow
/// from sets here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeEntry {
    pub(crate) instances: Census,
    /// Requests that name the host.
    pub(crate) requested: BTreeSet<RequestId>,
    /// When the last instance left, or was known to be there; 0 if there never was one.
    pub(crate) last_used_ms: u64,
    pub(crate) failures: NodeFailures,
    /// An instance failed while it started, and nothing has spoken for the host since.
    pub(crate) is_distrusted: bool,
    /// More of the component failed there than it bears, and it alone avoids the host.
    pub(crate) is_shunned: bool,
}

/// What went wrong with a component on a host. Not persisted: a thaw forgives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeFailures {
    /// Failures held against the host.
    pub(crate) failed: u32,
    /// Of these, those since the failure window began.
    pub(crate) failed_recently: u32,
    /// Of these, those while an instance started or soon after.
    pub(crate) start_failed: u32,
    /// Containers taken back for others; not held against the host.
    pub(crate) preempted: u32,
}

impl NodeEntry {
    /// Nothing of the component is there or will be (seed, `NodeEntry.available()`).
    pub(crate) fn is_available(&self) -> bool {
        self.instances.staying() == 0 && self.requested.is_empty()
    }

    /// Nothing of the component is there, and nothing speaks against the host.
    pub(crate) fn is_idle(&self) -> bool {
        let is_empty = self.instances.total() == 0 && self.requested.is_empty();
        is_empty && self.failures.failed_recently == 0 && !self.is_distrusted
    }

    /// Nothing about it is worth keeping.
    pub(crate) fn is_blank(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for NodeInstance {
    fn default() -> Self {
        Self {
            is_online: true,
            report: None,
            rack_version: 0,
            is_excluded: false,
            is_unreliable: false,
            entries: BTreeMap::new(),
        }
    }
}

impl NodeInstance {
    /// Whether the host has the label, as far as anybody said; none is the empty one.
    pub(crate) fn has_label(&self, label: Option<&str>) -> bool {
        self.report.as_ref().is_none_or(|place| *place.label == *label.unwrap_or_default())
    }

    /// Why it takes no containers of components with this label; `None` if it was reported to take them.
    pub(crate) fn why_closed(&self, label: Option<&str>) -> Option<&'static str> {
        match self {
            Self { report: None, .. } => Some("no node report names it"),
            Self { is_online: false, .. } => Some("it is down"),
            Self { is_excluded: true, .. } => Some("it is kept free"),
            Self { is_unreliable: true, .. } => Some("too much has failed on it"),
            _ => (!self.has_label(label)).then_some("it has another label"),
        }
    }

    pub(crate) fn rack(&self) -> Option<&Arc<str>> {
        self.report.as_ref().map(|place| &place.rack).filter(|rack| !rack.is_empty())
    }

    /// How many containers of this size it could hold if nothing else were there.
    pub(crate) fn most_of(&self, size: &Resources) -> u64 {
        let Some(place) = &self.report else { return 0 };
        let whole = |(has, wants): (&i64, &i64)| (*has).max(0) / wants;
        let amounts = place.capacity.amounts().iter().zip(size.amounts());
        let most = amounts.filter(|(_, wants)| **wants > 0).map(whole).min();
        most.map_or(u64::MAX, i64::unsigned_abs)
    }

    /// Takes over what is reported. Says whether other containers may come to it than before (spec 1.14).
    pub(crate) fn report(&mut self, report: &NodeReport) -> bool {
        let place =
            NodePlace { rack: report.rack.clone(), capacity: report.capacity, label: report.label.clone() };
        let is_as_before = |had: &NodePlace| had.rack == place.rack && had.label == place.label;
        let is_other = !self.report.as_ref().is_some_and(is_as_before) || self.is_online != report.is_usable;
        self.report = Some(place);
        self.is_online = report.is_usable;
        is_other
    }
}
