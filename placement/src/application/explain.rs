//! Explains why requests wait, and how to get them served (Slider placement, "Slider and Outstanding
//! Requests").

use std::sync::Arc;

use super::ApplicationState;
use super::outstanding::{OutstandingRequest, Reach};
use super::shunned::Shunned;
use crate::client::{Obstacle, RequestId, Unserved};
use crate::component::{ComponentId, PlacementPolicy};
use crate::status::{OutstandingCause, OutstandingStatus};

/// Explains why the instances of a service are missing.
pub(super) struct Explainer<'a> {
    pub(super) state: &'a ApplicationState,
    /// Returns the manager's explanation of a request.
    pub(super) manager: &'a dyn Fn(RequestId) -> Option<Unserved>,
    pub(super) now_ms: u64,
}

impl Explainer<'_> {
    /// Returns the waiting requests, oldest first, then the instances for which no request can be made yet.
    pub(super) fn outstanding(&self) -> Vec<OutstandingStatus> {
        let mut waiting: Vec<_> = self.state.requests.iter().map(|known| self.explained(known)).collect();
        waiting.sort_by_key(|status| (status.since_ms, status.request));
        waiting
            .extend(self.state.fleet.components.ids().filter_map(|component| self.nowhere_to_ask(component)));
        waiting.extend(self.state.fleet.components.ids().filter_map(|component| self.held_back(component)));
        waiting
    }

    /// Describes the instances that wait for a pause to end.
    fn held_back(&self, component: ComponentId) -> Option<OutstandingStatus> {
        if self.state.is_over() {
            return None;
        }
        let known = &self.state.fleet.components[component];
        let instances = known.held_back(self.state.requests.count(component));
        let until_ms = known.back_off.next_end_ms(instances)?;
        let generations = known.back_off.generation();
        let why = match generations {
            0 | 1 => "its last retry is delayed".to_owned(),
            _ => format!("its last {generations} generations ended soon after they started"),
        };
        let last = if known.last_failure.is_empty() { "exit status 0" } else { &known.last_failure };
        let wait_ms = until_ms.saturating_sub(self.now_ms);
        Some(OutstandingStatus {
            request: None,
            component: known.spec.name.clone(),
            hosts: Vec::new(),
            since_ms: self.now_ms,
            widens_at_ms: None,
            cause: OutstandingCause::BackOff,
            explanation: format!("{instances} more wanted, the next one in {wait_ms} ms: {why} ({last})"),
            remedy: remedy(OutstandingCause::BackOff, None, None),
        })
    }

    /// Describes the instances for which no acceptable host is left.
    fn nowhere_to_ask(&self, component: ComponentId) -> Option<OutstandingStatus> {
        let known = &self.state.fleet.components[component];
        if known.pending_anti_affine == 0 || self.state.requests.count(component) > 0 {
            return None;
        }
        let waiting = known.pending_anti_affine;
        let makes_way = self.state.fleet.awaited_place(component);
        let explanation = match (self.state.fleet.has_node_reports, makes_way) {
            (_, Some(host)) => takes_place_on(host),
            (true, None) => format!("{waiting} more wanted, and no host is left that takes one"),
            (false, None) => format!("{waiting} more wanted, and no host has been reported yet"),
        };
        let shunned =
            if makes_way.is_none() { self.state.fleet.shunned(component, None) } else { Shunned::default() };
        let cause = match makes_way {
            Some(_) => OutstandingCause::AboutToBeServed,
            None if shunned.is_all => OutstandingCause::Shunned,
            None => OutstandingCause::AntiAffinity,
        };
        Some(OutstandingStatus {
            request: None,
            component: known.spec.name.clone(),
            hosts: Vec::new(),
            since_ms: self.now_ms,
            widens_at_ms: None,
            cause,
            explanation: joined(explanation, shunned.explanation()),
            remedy: self.remedy(cause, None, known.spec.label.as_deref(), &shunned),
        })
    }

    fn explained(&self, waits: &OutstandingRequest) -> OutstandingStatus {
        let spec = &self.state.fleet.components[waits.component].spec;
        let said = match (&waits.not_taken, self.taken_place(waits)) {
            (None, Some(host)) => Some(Unserved { obstacle: Obstacle::None, text: takes_place_on(host) }),
            (Some(why), _) => Some(Unserved {
                obstacle: Obstacle::NoNode,
                text: match self.state.fleet.unregistered_host(waits) {
                    Some(host) => format!("{host} has not registered with the cluster manager yet"),
                    None => format!("the cluster manager did not take the request: {why}"),
                },
            }),
            (None, None) => (self.manager)(waits.id()),
        };
        let obstacle = said.as_ref().map_or(Obstacle::None, |said| said.obstacle);
        let lacks_hosts = !matches!(obstacle, Obstacle::None | Obstacle::Queue) && waits.not_taken.is_none();
        let shunned = if lacks_hosts {
            self.state.fleet.shunned(waits.component, Some(waits))
        } else {
            Shunned::default()
        };
        let cause = match self.cause(waits, spec.policy, obstacle) {
            _ if shunned.is_all => OutstandingCause::Shunned,
            cause => cause,
        };
        let hosts = waits.request.hosts.iter().map(|host| host.to_string()).collect();
        OutstandingStatus {
            request: Some(waits.id()),
            component: spec.name.clone(),
            hosts,
            since_ms: waits.since_ms,
            widens_at_ms: waits.widens_ms,
            cause,
            explanation: joined(
                said.map_or_else(|| "nothing is in its way".to_owned(), |said| said.text),
                shunned.explanation(),
            ),
            remedy: self.remedy(cause, waits.host.as_ref(), spec.label.as_deref(), &shunned),
        }
    }

    /// Returns what an operator can do. Hosts that the service avoids are one option, or the only one.
    fn remedy(
        &self,
        cause: OutstandingCause,
        host: Option<&Arc<str>>,
        label: Option<&str>,
        shunned: &Shunned,
    ) -> String {
        match shunned.remedy(self.state.window_ends_ms) {
            Some(only) if cause == OutstandingCause::Shunned => only,
            other => joined(remedy(cause, host, label), other.map(|other| format!("or {other}"))),
        }
    }

    /// Returns the host of the container that makes way for the request.
    fn taken_place<'a>(&self, waits: &'a OutstandingRequest) -> Option<&'a Arc<str>> {
        let is_awaited = self.state.fleet.awaited_place(waits.component) == waits.host.as_ref();
        waits.host.as_ref().filter(|_| is_awaited || self.state.is_swapped(waits))
    }

    fn cause(
        &self,
        waits: &OutstandingRequest,
        policy: PlacementPolicy,
        obstacle: Obstacle,
    ) -> OutstandingCause {
        let host = waits.host.as_ref().filter(|_| waits.reach == Reach::Host);
        let is_host_down =
            host.is_some_and(|host| self.state.fleet.history.node(host).is_none_or(|node| !node.is_online));
        let is_host_down = is_host_down
            || (waits.not_taken.is_some() && self.state.fleet.unregistered_host(waits).is_some());
        match obstacle {
            _ if waits.not_taken.is_some() && !is_host_down => OutstandingCause::NotTaken,
            Obstacle::None => OutstandingCause::AboutToBeServed,
            Obstacle::Queue => OutstandingCause::Queue,
            _ if policy == PlacementPolicy::Strict && is_host_down => OutstandingCause::StrictHostDown,
            Obstacle::Apart => OutstandingCause::AntiAffinity,
            Obstacle::TooLarge if host.is_none() => OutstandingCause::TooLarge,
            _ if host.is_some() => OutstandingCause::WaitsForHost,
            _ if policy == PlacementPolicy::AntiAffinity => OutstandingCause::AntiAffinity,
            Obstacle::NoNode => OutstandingCause::NoSuchLabel,
            _ if self.wants_more_than_there_is(waits) => OutstandingCause::ClusterTooSmall,
            _ => OutstandingCause::NoRoom,
        }
    }

    /// Returns whether the component's containers would not all fit on its nodes even if nothing else ran
    /// there.
    fn wants_more_than_there_is(&self, waits: &OutstandingRequest) -> bool {
        let spec = &self.state.fleet.components[waits.component].spec;
        let nodes = self
            .state
            .fleet
            .history
            .nodes()
            .filter(|(_, node)| node.is_online && node.has_label(spec.label.as_deref()));
        let room: u64 = nodes.map(|(_, node)| node.most_of(&spec.size)).fold(0, u64::saturating_add);
        u64::from(spec.desired) > room
    }
}

fn joined(text: String, more: Option<String>) -> String {
    match more {
        Some(more) => format!("{text}; {more}"),
        None => text,
    }
}

fn takes_place_on(host: &str) -> String {
    format!("it takes the place of a container on {host}, which is being stopped")
}

fn remedy(cause: OutstandingCause, host: Option<&Arc<str>>, label: Option<&str>) -> String {
    let host = host.map_or("the host", |host| &**host);
    match cause {
        OutstandingCause::ClusterTooSmall => "add nodes, or flex down".to_owned(),
        OutstandingCause::NoRoom => {
            "wait until others end, add nodes, or ask for less memory or fewer cores".to_owned()
        }
        OutstandingCause::Queue => {
            "raise the queue's limit or priority, or submit to another queue".to_owned()
        }
        OutstandingCause::StrictHostDown => {
            format!("bring {host} back, or choose the normal policy, which looks elsewhere")
        }
        OutstandingCause::AntiAffinity => {
            "add hosts or make room on those without an instance, or flex down to the number of hosts"
                .to_owned()
        }
        OutstandingCause::TooLarge => "ask for less, or add larger nodes".to_owned(),
        OutstandingCause::NoSuchLabel => match label {
            Some(label) => format!("give nodes the label `{label}`, or take it off the component"),
            None => "bring a node that takes containers".to_owned(),
        },
        OutstandingCause::NotTaken => {
            "see why the cluster manager refused it; it is asked again meanwhile".to_owned()
        }
        OutstandingCause::WaitsForHost => {
            format!("bring {host} up or make room on it, or wait until the request is widened")
        }
        OutstandingCause::Shunned => "readmit an excluded host, raise the node failure threshold, or wait for the failure window to end".to_owned(),
        OutstandingCause::BackOff => "find out why instances end so soon, or wait for the pause to end".to_owned(),
        OutstandingCause::AboutToBeServed => "nothing needs to be done".to_owned(),
    }
}
