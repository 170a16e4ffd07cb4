//! Requests that are refused, withdrawn or late, or whose hosts are excluded: the service asks elsewhere, or
//! the action of the request fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ApplicationState;
use super::outstanding::OutstandingRequest;
use crate::client::{ClientError, NodeReport, RequestId};

impl ApplicationState {
    /// Learns the cluster's nodes when the service starts. Makes no requests yet.
    pub fn learn_nodes(&mut self, reports: &[NodeReport]) {
        self.fleet.has_node_reports = true;
        self.fleet.history.update_nodes(reports);
    }

    /// Excludes these hosts, and only these, from the service.
    pub(super) fn exclude(&mut self, hosts: BTreeSet<Arc<str>>) {
        self.blacklist.exclude(hosts, &mut self.fleet.history);
        let is_hopeless = |waits: &&OutstandingRequest| {
            let hosts = &waits.request.hosts;
            waits.action.is_some() && hosts.iter().all(|host| self.blacklist.is_excluded(host))
        };
        let hopeless = self.requests.iter().filter(is_hopeless);
        let hopeless: Vec<_> = hopeless.filter_map(|waits| Some((waits.id(), waits.action?))).collect();
        for (request, action) in hopeless {
            let why = "its host is excluded from the service";
            self.look_elsewhere_or_fail(action, request, why);
        }
    }

    /// Handles a request whose deadline has passed.
    pub(super) fn request_is_late(&mut self, request: RequestId) {
        let Some(outstanding) = self.requests.get(request) else { return };
        let component = outstanding.component;
        if let Some(action) = outstanding.action {
            self.look_elsewhere_or_fail(action, request, "no place was found in time");
        } else if self.requests.has_lost_host(outstanding, &self.fleet, self.now_ms)
            && self.standby_to_replace(component).is_some()
        {
            self.fleet.lose_place(component);
            self.requests.cancel(request, &mut self.fleet, &mut self.operations);
        } else {
            self.requests.widen(request, &mut self.fleet, self.now_ms, &mut self.operations);
        }
    }

    /// Handles a refused request. A host of the history that has not registered yet gets as much time as a
    /// host without room. Another unknown host is not requested again until it is reported, except by
    /// strict components.
    pub(super) fn request_not_taken(&mut self, request: RequestId, error: &ClientError) {
        let Some(outstanding) = self.requests.get(request) else { return };
        let is_strict = self.fleet.components[outstanding.component].is_strict();
        match error {
            ClientError::UnknownHost { .. }
                if !is_strict && self.fleet.unregistered_host(outstanding).is_some() =>
            {
                self.wait_to_retry(request, error.to_string());
            }
            ClientError::UnknownHost { host }
                if !is_strict && outstanding.action.is_none() && !outstanding.request.hosts.is_empty() =>
            {
                // If the manager's name for the host is none of these, any of them may be meant.
                let mut unknown = outstanding.request.hosts.clone();
                if unknown.iter().any(|named| **named == **host) {
                    unknown.retain(|named| **named == **host);
                }
                for host in &unknown {
                    self.fleet.history.host_unknown(host);
                }
                self.requests.forget(request, &mut self.fleet);
            }
            other if outstanding.action.is_some() => {
                self.no_place_found(request, &other.to_string());
            }
            other => {
                // The time limit starts only when the manager accepts the request.
                self.requests.change(request, |outstanding| outstanding.widens_ms = None);
                self.wait_to_retry(request, other.to_string());
            }
        }
    }

    /// Handles a request that the manager withdrew without a container.
    pub(super) fn request_withdrawn(&mut self, request: RequestId) {
        let why = "the cluster manager withdrew the request";
        match self.requests.get(request).map(|known| known.action.is_some()) {
            Some(true) => self.no_place_found(request, why),
            Some(false) => self.wait_to_retry(request, why.to_owned()),
            None => {}
        }
    }

    fn wait_to_retry(&mut self, request: RequestId, why: String) {
        let again_ms = self.now_ms.saturating_add(self.settings.retry_after_ms);
        self.requests.wait_to_retry(request, why, again_ms);
    }
}
