//! Hosts as the manager and the operator report them: known hosts, excluded hosts, and the effects on
//! requests.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::{NodeReport, RequestId};
use crate::history::OutstandingRequest;

impl ApplicationState {
    /// Learns the cluster's nodes when the service starts. Makes no requests yet.
    pub fn learn_nodes(&mut self, reports: &[NodeReport]) {
        self.has_node_reports = true;
        self.fleet.history.update_nodes(reports);
    }

    /// Excludes these hosts, and only these, from the service.
    pub(super) fn exclude(&mut self, hosts: BTreeSet<Arc<str>>, operations: &mut Vec<Operation>) {
        for host in self.excluded.symmetric_difference(&hosts) {
            self.fleet.history.transition_excluded(host, hosts.contains(host));
        }
        self.excluded = hosts;
        let is_hopeless = |waits: &&OutstandingRequest| {
            let hosts = &waits.request.hosts;
            waits.action.is_some() && hosts.iter().all(|host| self.excluded.contains(host))
        };
        let hopeless = self.outstanding.iter().filter(is_hopeless);
        let hopeless: Vec<_> = hopeless.filter_map(|waits| Some((waits.id(), waits.action?))).collect();
        for (request, action) in hopeless {
            let why = "its host is excluded from the service";
            self.look_elsewhere_or_fail(action, request, why, operations);
        }
    }

    /// Reissues one-by-one requests that list a host whose label no longer matches.
    pub(super) fn cancel_where_relabelled(
        &mut self,
        reports: &[NodeReport],
        operations: &mut Vec<Operation>,
    ) {
        let is_relabelled = |waits: &&OutstandingRequest| {
            let label = self.fleet.components[waits.component].spec.label.as_deref().unwrap_or_default();
            let mut odd = reports.iter().filter(|report| *report.label != *label);
            waits.action.is_none()
                && self.fleet.is_one_by_one(waits.component)
                && odd.any(|odd| waits.request.hosts.contains(&odd.host))
        };
        let stale: Vec<RequestId> =
            self.outstanding.iter().filter(is_relabelled).map(OutstandingRequest::id).collect();
        for request in stale {
            self.cancel_request(request, operations);
        }
    }

    /// Retries refused requests when one of their hosts is reported as usable.
    pub(super) fn retry_where(&mut self, reports: &[NodeReport]) {
        let is_named = |host: &Arc<str>| reports.iter().any(|r| r.is_usable && r.host == *host);
        let hopeful: Vec<RequestId> = self
            .outstanding
            .iter()
            .filter(|outstanding| outstanding.not_taken.is_some())
            .filter(|outstanding| outstanding.request.hosts.iter().any(is_named))
            .map(OutstandingRequest::id)
            .collect();
        for request in hopeful {
            if let Some(mut outstanding) = self.outstanding.remove(request) {
                outstanding.deadline_ms = Some(self.now_ms.saturating_sub(1));
                self.outstanding.add(outstanding);
            }
        }
    }

    /// Updates the manager's blacklist if the unreliable or excluded hosts changed.
    pub(super) fn review_blacklist(&mut self, operations: &mut Vec<Operation>) {
        let shunned = || self.fleet.history.unreliable().union(&self.excluded);
        if shunned().eq(&self.blacklisted) {
            return;
        }
        let shunned: BTreeSet<Arc<str>> = shunned().cloned().collect();
        let add: Vec<Arc<str>> = shunned.difference(&self.blacklisted).cloned().collect();
        let remove: Vec<Arc<str>> = self.blacklisted.difference(&shunned).cloned().collect();
        self.blacklisted = shunned;
        operations.push(Operation::UpdateBlacklist { add, remove });
    }
}
