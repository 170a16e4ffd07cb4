//! Requests that wait for too long are reissued unchanged, or one step wider (spec 1.13).

use std::sync::Arc;

use super::Operation;
use super::fleet::Fleet;
use super::outstanding::{OutstandingRequest, Reach};
use super::requests::Requests;
use crate::client::{NodeReport, RequestId};
use crate::component::PlacementPolicy;
use crate::history::request_priority;

/// The next state of a request whose deadline has passed.
#[derive(Debug)]
enum Escalation {
    /// It waits on, and is never widened.
    Stays,
    /// It waits on, and is reviewed again at this time.
    WaitsUntil(u64),
    /// It is widened to the host's rack, and further at this time.
    Rack(Arc<str>, u64),
    /// It is widened to this list of hosts, which are apart from the other instances of the group.
    Listed(Vec<Arc<str>>),
    /// It is widened to any host.
    Anywhere,
}

impl Requests {
    /// Reissues a request: unchanged if the manager never accepted it, otherwise one step wider.
    pub(super) fn widen(
        &mut self,
        request: RequestId,
        fleet: &mut Fleet,
        now_ms: u64,
        operations: &mut Vec<Operation>,
    ) {
        let Some(outstanding) = self.get(request) else { return };
        let escalation = self.escalation(outstanding, fleet, now_ms);
        let given_up = fleet
            .unregistered_host(outstanding)
            .filter(|_| outstanding.not_taken.is_some() && escalation.is_wider())
            .cloned();
        if let Some(known) = fleet.component_mut(outstanding.component).filter(|_| escalation.is_wider()) {
            known.counters.widened += 1;
        }
        let widen = |outstanding: &mut OutstandingRequest| escalation.apply(outstanding, given_up.is_none());
        self.reissue(request, widen, fleet, operations);
        if let Some(host) = given_up {
            fleet.history.host_unknown(&host);
        }
    }

    /// Returns whether the request was for one host, and that host had its time.
    pub(super) fn has_lost_host(&self, outstanding: &OutstandingRequest, fleet: &Fleet, now_ms: u64) -> bool {
        let is_late = outstanding.widens_ms.is_some_and(|widens_ms| widens_ms < now_ms);
        let is_asked =
            outstanding.not_taken.is_none() || (is_late && fleet.unregistered_host(outstanding).is_some());
        outstanding.reach == Reach::Host && is_asked
    }

    /// Decides the next step. The time limit starts when the manager accepts the request; a withdrawn one
    /// keeps its limit.
    fn escalation(&self, outstanding: &OutstandingRequest, fleet: &Fleet, now_ms: u64) -> Escalation {
        let spec = &fleet.components[outstanding.component].spec;
        let next_ms = now_ms.saturating_add(spec.escalate_after_ms);
        let is_narrow = matches!(outstanding.reach, Reach::Host | Reach::Rack);
        if !is_narrow || spec.policy == PlacementPolicy::Strict {
            return Escalation::Stays;
        }
        match outstanding.widens_ms.filter(|_| outstanding.not_taken.is_some()) {
            Some(widens_ms) if widens_ms >= now_ms => return Escalation::WaitsUntil(widens_ms),
            None if outstanding.not_taken.is_some() => return Escalation::WaitsUntil(next_ms),
            _ => {}
        }
        if fleet.lists_hosts(outstanding.component) {
            let hosts = self.hosts_apart(outstanding.component, fleet);
            return if hosts.is_empty() {
                Escalation::WaitsUntil(next_ms)
            } else {
                Escalation::Listed(hosts)
            };
        }
        let host = outstanding.host.as_deref().filter(|_| outstanding.reach == Reach::Host);
        let rack = host.and_then(|host| fleet.rack(host)).cloned();
        rack.map_or(Escalation::Anywhere, |rack| Escalation::Rack(rack, next_ms))
    }

    /// Keeps a request that the manager does not have, to issue it again after a while.
    pub(super) fn wait_to_retry(&mut self, request: RequestId, why: String, again_ms: u64) {
        self.change(request, |outstanding| {
            outstanding.not_taken = Some(why);
            outstanding.deadline_ms =
                Some(outstanding.widens_ms.map_or(again_ms, |widens_ms| widens_ms.min(again_ms)));
        });
    }

    /// Retries refused requests when one of their hosts is reported as usable.
    pub(super) fn retry_where(&mut self, reports: &[NodeReport], now_ms: u64) {
        let is_named = |host: &Arc<str>| reports.iter().any(|r| r.is_usable && r.host == *host);
        let refused = self.iter().filter(|outstanding| outstanding.not_taken.is_some());
        let hopeful = refused.filter(|outstanding| outstanding.request.hosts.iter().any(is_named));
        let hopeful: Vec<RequestId> = hopeful.map(OutstandingRequest::id).collect();
        for request in hopeful {
            self.change(request, |outstanding| outstanding.deadline_ms = Some(now_ms.saturating_sub(1)));
        }
    }

    /// Turns the request of a swap into an ordinary one once the old container has ended. A one-by-one
    /// component cancels it if another request waits.
    pub(super) fn wait_as_any_other(
        &mut self,
        request: RequestId,
        fleet: &mut Fleet,
        now_ms: u64,
        operations: &mut Vec<Operation>,
    ) {
        let Some(component) = self.get(request).map(|waits| waits.component) else { return };
        if fleet.is_one_by_one(component) && self.of(component).any(|waits| waits.id() != request) {
            self.cancel(request, fleet, operations);
            return;
        }
        let known = fleet.component(component).filter(|known| !known.is_strict());
        let widens_ms = known.map(|known| now_ms.saturating_add(known.spec.escalate_after_ms));
        self.change(request, |outstanding| {
            outstanding.action = None;
            outstanding.gained = fleet.history.gained(component);
            outstanding.widens_ms = widens_ms;
            outstanding.deadline_ms = widens_ms;
        });
    }
}

impl Fleet {
    /// Returns the request's host if only the history knows it: no report has named it since the service
    /// started.
    pub(super) fn unregistered_host<'a>(&self, waits: &'a OutstandingRequest) -> Option<&'a Arc<str>> {
        let host = waits.host.as_ref().filter(|_| waits.reach == Reach::Host && waits.action.is_none())?;
        let node = self.history.node(host)?;
        (node.report.is_none() && node.is_online).then_some(host)
    }
}

impl Escalation {
    fn is_wider(&self) -> bool {
        matches!(self, Self::Rack(..) | Self::Listed(_) | Self::Anywhere)
    }

    fn apply(self, outstanding: &mut OutstandingRequest, is_host_known: bool) {
        let widens_ms = match self {
            Self::WaitsUntil(until_ms) | Self::Rack(_, until_ms) => Some(until_ms),
            Self::Stays | Self::Listed(_) | Self::Anywhere => None,
        };
        outstanding.deadline_ms = widens_ms;
        outstanding.widens_ms = widens_ms;
        match self {
            Self::Stays | Self::WaitsUntil(_) => {}
            Self::Rack(rack, _) => {
                outstanding.reach = Reach::Rack;
                outstanding.request.racks = vec![rack];
            }
            Self::Listed(hosts) => outstanding.list(hosts),
            Self::Anywhere => to_anywhere(outstanding, is_host_known),
        }
    }
}

/// Widens a request to any host. A known host stays as a hint, except with a label: YARN accepts a label
/// only alone.
fn to_anywhere(outstanding: &mut OutstandingRequest, is_host_known: bool) {
    let request = &mut outstanding.request;
    outstanding.reach = Reach::Anywhere;
    request.racks.clear();
    request.relax_locality = true;
    request.priority = request_priority(outstanding.component, false);
    if request.label.is_some() || !is_host_known {
        request.hosts.clear();
    }
}
