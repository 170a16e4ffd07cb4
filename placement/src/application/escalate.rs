//! Handles requests whose deadline has passed: reissues them unchanged, or one step wider (spec 1.13).

use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::RequestId;
use crate::component::PlacementPolicy;
use crate::history::{OutstandingRequest, Reach, request_priority};

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

impl ApplicationState {
    /// Reissues a request: unchanged if the manager never accepted it, otherwise one step wider.
    pub(super) fn widen(&mut self, request: RequestId, operations: &mut Vec<Operation>) {
        let Some(outstanding) = self.outstanding.get(request) else { return };
        let component = outstanding.component;
        if let Some(action) = outstanding.action {
            self.look_elsewhere_or_fail(action, request, "no place was found in time", operations);
            return;
        }
        let is_unregistered = |_: &&Arc<str>| outstanding.not_taken.is_some();
        let unregistered = self.unregistered_host(outstanding).filter(is_unregistered).cloned();
        let is_late = outstanding.widens_ms.is_some_and(|widens_ms| widens_ms < self.now_ms);
        let is_asked = outstanding.not_taken.is_none() || (unregistered.is_some() && is_late);
        let is_at_host = outstanding.reach == Reach::Host && is_asked;
        if is_at_host && self.standby_to_replace(component).is_some() {
            self.lose_place(component);
            self.cancel_request(request, operations);
            return;
        }
        let escalation = self.escalation(outstanding);
        if let Some(known) = self.fleet.component_mut(component).filter(|_| escalation.is_wider()) {
            known.counters.widened += 1;
        }
        let given_up = unregistered.filter(|_| escalation.is_wider());
        self.reissue(request, |outstanding| escalation.apply(outstanding, given_up.is_none()), operations);
        if let Some(host) = given_up {
            self.fleet.history.host_unknown(&host);
        }
    }

    /// Decides the next step. The time limit starts when the manager accepts the request; a withdrawn one
    /// keeps its limit.
    fn escalation(&self, outstanding: &OutstandingRequest) -> Escalation {
        let spec = &self.fleet.components[outstanding.component].spec;
        let next_ms = self.now_ms.saturating_add(spec.escalate_after_ms);
        let is_narrow = matches!(outstanding.reach, Reach::Host | Reach::Rack);
        if !is_narrow || spec.policy == PlacementPolicy::Strict {
            return Escalation::Stays;
        }
        match outstanding.widens_ms.filter(|_| outstanding.not_taken.is_some()) {
            Some(widens_ms) if widens_ms >= self.now_ms => return Escalation::WaitsUntil(widens_ms),
            None if outstanding.not_taken.is_some() => return Escalation::WaitsUntil(next_ms),
            _ => {}
        }
        if self.fleet.lists_hosts(outstanding.component) {
            let hosts = self.hosts_apart(outstanding.component);
            return if hosts.is_empty() {
                Escalation::WaitsUntil(next_ms)
            } else {
                Escalation::Listed(hosts)
            };
        }
        let host = outstanding.host.as_deref().filter(|_| outstanding.reach == Reach::Host);
        let rack = host.and_then(|host| self.fleet.history.node(host)).and_then(|node| node.rack().cloned());
        rack.map_or(Escalation::Anywhere, |rack| Escalation::Rack(rack, next_ms))
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
