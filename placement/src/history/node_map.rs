//! Nodes as one service knows them (seed, "NodeMap").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apportion::Resources;

use super::census::Census;
use crate::client::{NodeReport, RequestId};
use crate::component::ComponentId;

/// A host, with the present and past state of each component on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeInstance {
    /// Whether it accepts containers. A host without a report counts as online.
    pub(crate) is_online: bool,
    /// The last report.
    pub(crate) report: Option<NodePlace>,
    /// The [version of the racks](super::RoleHistory::racks_version) at which its rack was learnt or changed last.
    pub(crate) rack_version: u64,
    /// Whether an operator or a client excluded it.
    pub(crate) is_excluded: bool,
    /// Whether more instances failed on it than some component tolerates.
    pub(crate) is_unreliable: bool,
    pub(crate) entries: BTreeMap<ComponentId, NodeEntry>,
}

/// The properties of a node in its last report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodePlace {
    pub(crate) rack: Arc<str>,
    pub(crate) capacity: Resources,
    pub(crate) label: Arc<str>,
}

/// The present and past state of a component on a host. The seed's counters of containers and requests
/// follow from the sets here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeEntry {
    pub(crate) instances: Census,
    /// Requests that name the host.
    pub(crate) requested: BTreeSet<RequestId>,
    /// The last time at which an instance left or was known to be there; 0 if there never was one.
    pub(crate) last_used_ms: u64,
    /// Failures since the failure window began that count against the host. Not saved: a thaw forgives them.
    pub(crate) failed_recently: u32,
    /// Whether a start failed there, and the host is not trusted again yet.
    pub(crate) is_distrusted: bool,
    /// Whether only this component avoids the host, because too many of its instances failed there.
    pub(crate) is_shunned: bool,
}

impl NodeEntry {
    /// Returns whether the component has neither an instance nor a request there (seed,
    /// `NodeEntry.available()`).
    pub(crate) fn is_available(&self) -> bool {
        self.instances.staying() == 0 && self.requested.is_empty()
    }

    /// Returns whether the component has no container, no request, no recent failure and no distrust there.
    pub(crate) fn is_idle(&self) -> bool {
        let is_empty = self.instances.total() == 0 && self.requested.is_empty();
        is_empty && self.failed_recently == 0 && !self.is_distrusted
    }

    /// Returns whether the entry can be dropped.
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
    /// Returns whether the host has the label (`None`: no label). A host without a report has any.
    pub(crate) fn has_label(&self, label: Option<&str>) -> bool {
        self.report.as_ref().is_none_or(|place| *place.label == *label.unwrap_or_default())
    }

    /// Returns why it accepts no containers of components with this label; `None` if it does.
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

    /// Returns how many containers of this size it could hold if it were empty.
    pub(crate) fn most_of(&self, size: &Resources) -> u64 {
        let Some(place) = &self.report else { return 0 };
        let whole = |(has, wants): (&i64, &i64)| (*has).max(0) / wants;
        let amounts = place.capacity.amounts().iter().zip(size.amounts());
        let most = amounts.filter(|(_, wants)| **wants > 0).map(whole).min();
        most.map_or(u64::MAX, i64::unsigned_abs)
    }

    /// Applies a report. Returns whether rack, label or usability changed (spec 1.14).
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
