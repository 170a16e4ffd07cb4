//! What happens because time goes by: requests are widened (spec 1.13), the failure window ends (1.12).

use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::RequestId;
use crate::history::{OutstandingRequest, Reach, request_priority};

impl ApplicationState {
    /// The next time at which something happens though nobody says anything; hand in
    /// [`TimePassed`](super::ServiceEvent::TimePassed) then. `None`: nothing will.
    #[must_use]
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let again_ms = self.leaving.next_ms();
        if self.is_over() {
            return again_ms;
        }
        let request_ms = self.outstanding.next_deadline_ms().map(|deadline_ms| deadline_ms.saturating_add(1));
        let stop_ms = self.actions.next_deadline_ms().map(|deadline_ms| deadline_ms.saturating_add(1));
        let deadlines = [request_ms, stop_ms, again_ms, self.window_ends_ms, self.next_health_check_ms()];
        deadlines.into_iter().flatten().min()
    }

    pub(super) fn pass_time(&mut self, now_ms: u64, operations: &mut Vec<Operation>) {
        self.stop_again(operations);
        if self.is_over() {
            return;
        }
        for request in self.outstanding.due(now_ms) {
            self.widen(request, now_ms, operations);
        }
        self.check_stops(now_ms, operations);
        self.forget_old_hosts(now_ms);
    }

    /// What fails from the end of a failure window on is of the next one, also if nobody looked between.
    pub(super) fn pass_window(&mut self, now_ms: u64) {
        let Some(ends_ms) = self.window_ends_ms.filter(|ends_ms| *ends_ms <= now_ms && !self.is_over())
        else {
            return;
        };
        self.reset_failures();
        let window_ms = self.settings.failure_window_ms.unwrap_or(0).max(1);
        let windows = (now_ms - ends_ms) / window_ms + 1;
        self.window_ends_ms = Some(ends_ms.saturating_add(windows.saturating_mul(window_ms)));
    }

    /// A service that runs for years does not keep every host that it ever was on. Looks once in a while.
    fn forget_old_hosts(&mut self, now_ms: u64) {
        let Some(age_max_ms) = self.settings.history_age_max_ms else { return };
        if now_ms < self.forgot_ms.saturating_add(age_max_ms / 8) {
            return;
        }
        self.forgot_ms = now_ms;
        self.history.forget_before(now_ms.saturating_sub(age_max_ms));
    }

    /// Makes a request again: as it was if the manager never took it, otherwise one step wider.
    fn widen(&mut self, request: RequestId, now_ms: u64, operations: &mut Vec<Operation>) {
        let Some(outstanding) = self.outstanding.get(request) else { return };
        if let Some(action) = outstanding.action {
            if self.look_elsewhere(action, now_ms, operations) {
                return;
            }
            self.no_place_found(request, "no place was found in time", operations);
            return;
        }
        let is_at_host = outstanding.reach == Reach::Host && outstanding.not_taken.is_none();
        let component = outstanding.component;
        if is_at_host && self.standby_to_replace(component).is_some() {
            self.lose_place(component);
            self.cancel_request(request, operations);
            return;
        }
        let known = &self.components[&component];
        let next_ms = now_ms.saturating_add(known.spec.escalate_after_ms);
        let host = outstanding.host.as_deref();
        let rack = host.and_then(|host| self.history.node(host)).and_then(|node| node.rack().cloned());
        let escalates = known.spec.policy == crate::PlacementPolicy::Normal;
        let is_widest = outstanding.reach == Reach::Anywhere;
        // The time of a request that was not taken begins when it is; one that was taken back goes on waiting.
        let was_taken = outstanding.not_taken.is_none();
        let begins_anew = !was_taken && outstanding.widens_ms.is_none();
        let is_time = was_taken || outstanding.widens_ms.is_some_and(|widens_ms| widens_ms < now_ms);
        let apart = self.is_grouped(outstanding.component).then(|| self.hosts_apart(outstanding.component));
        let change = move |outstanding: &mut OutstandingRequest| match (outstanding.reach, rack) {
            (Reach::Host | Reach::Rack, _) if !escalates => outstanding.deadline_ms = None,
            (Reach::Host | Reach::Rack, _) if begins_anew => {
                outstanding.deadline_ms = Some(next_ms);
                outstanding.widens_ms = Some(next_ms);
            }
            (Reach::Host | Reach::Rack, _) if !is_time => outstanding.deadline_ms = outstanding.widens_ms,
            (Reach::Host | Reach::Rack, _) if apart.is_some() => {
                match apart.filter(|hosts| !hosts.is_empty()) {
                    Some(hosts) => to_listed(outstanding, hosts),
                    None => {
                        outstanding.deadline_ms = Some(next_ms);
                        outstanding.widens_ms = Some(next_ms);
                    }
                }
            }
            (Reach::Host, Some(rack)) => {
                outstanding.reach = Reach::Rack;
                outstanding.request.racks = vec![rack];
                outstanding.deadline_ms = Some(next_ms);
                outstanding.widens_ms = Some(next_ms);
            }
            (Reach::Host | Reach::Rack, _) => to_anywhere(outstanding),
            (Reach::Anywhere, _) => outstanding.deadline_ms = None,
        };
        self.reissue(request, change, operations);
        if let Some(known) =
            self.components.get_mut(&component).filter(|_| is_time && escalates && !is_widest)
        {
            known.counters.widened += 1;
        }
    }
}

/// To any host that is apart from the others of its group.
fn to_listed(outstanding: &mut OutstandingRequest, hosts: Vec<Arc<str>>) {
    outstanding.reach = Reach::Anywhere;
    outstanding.deadline_ms = None;
    outstanding.request.hosts = hosts;
}

/// The host stays as a hint, except beside a label, which managers such as YARN take alone.
fn to_anywhere(outstanding: &mut OutstandingRequest) {
    let request = &mut outstanding.request;
    outstanding.reach = Reach::Anywhere;
    outstanding.deadline_ms = None;
    request.racks.clear();
    request.relax_locality = true;
    request.priority = request_priority(outstanding.component, false);
    if request.label.is_some() {
        request.hosts.clear();
    }
}
