//! Checks the invariants (spec 4.1) by counting from scratch.

use std::collections::BTreeSet;

use thiserror::Error;

use super::ApplicationState;
use super::component::Component;
use super::outstanding::OutstandingRequest;
use crate::client::ContainerRef;
use crate::component::ComponentId;
use crate::history::{Census, NodeEntry};

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Inconsistency {
    /// A container has different states in different places.
    #[error("container {} is not in the same state everywhere", .0.0)]
    States(ContainerRef),
    /// A component counts containers that it does not have.
    #[error("component {} counts containers that it has not got", .0.0)]
    Census(ComponentId),
    /// Two instances that should be apart are on one host (F11).
    #[error("component {} has {held} instances on {host}", .component.0)]
    TogetherThoughApart {
        /// The component.
        component: ComponentId,
        /// The host.
        host: String,
        /// The number of instances.
        held: u32,
    },
    /// An instance stays too near to another of its group although the service could know. Only racks known
    /// when the later instance came count. An instance that ran before the rule may stay beside one that is
    /// being released.
    #[error("component {} is on {host}, too near to those that it should be apart from", .component.0)]
    TooNearToPeers {
        /// The component.
        component: ComponentId,
        /// The host.
        host: String,
    },
    /// A component that asks one by one has several requests (F12).
    #[error("component {} has several requests", .0.0)]
    SeveralRequests(ComponentId),
    /// A host entry and the outstanding requests disagree.
    #[error("the requests for component {} on {host} are not those that wait", .component.0)]
    Requested {
        /// The component.
        component: ComponentId,
        /// The host.
        host: String,
    },
    /// The number of containers differs from the result of a review (F10).
    #[error("component {} is short of {missing} and no request or action adds any", .component.0)]
    Short {
        /// The component.
        component: ComponentId,
        /// The missing containers.
        missing: i64,
    },
    /// A component failed too often but the service runs on (F15).
    #[error("component {} failed too often and the service runs on", .0.0)]
    GoesOn(ComponentId),
    /// The stored number of missing instances differs from the sum over components.
    #[error("{counted} instances count as down, and {are} are")]
    Down {
        /// The stored sum.
        counted: u64,
        /// The recounted sum.
        are: u64,
    },
    /// The list of candidate hosts differs from the list derived from the nodes.
    #[error("the hosts to ask for component {} are not those that follow from the nodes", .0.0)]
    Candidates(ComponentId),
}

/// A recount of one state.
#[derive(Debug)]
pub(super) struct Audit<'a> {
    state: &'a ApplicationState,
    found: Vec<Inconsistency>,
}

impl<'a> Audit<'a> {
    pub(super) fn of(state: &'a ApplicationState) -> Vec<Inconsistency> {
        let mut audit = Self { state, found: Vec::new() };
        audit.run();
        audit.found
    }

    fn run(&mut self) {
        for (container, instance) in self.state.fleet.instances() {
            let there = self.state.fleet.history.entry(&instance.host, instance.component);
            let there = there.and_then(|entry| entry.instances.state(container));
            if there.is_none() || there != self.state.fleet.state(container) {
                self.found.push(Inconsistency::States(container));
            }
        }
        for known in self.state.fleet.components.iter() {
            self.audit_component(known);
        }
        for (host, node) in self.state.fleet.history.nodes() {
            for (component, entry) in &node.entries {
                self.audit_entry(host, *component, entry);
            }
        }
        let down: u64 = self.state.fleet.components.iter().map(Component::count_down).sum();
        let counted = self.state.fleet.components.down();
        if down != counted {
            self.found.push(Inconsistency::Down { counted, are: down });
        }
        self.found.extend(self.state.fleet.history.wrong_candidates().map(Inconsistency::Candidates));
    }

    fn audit_component(&mut self, known: &Component) {
        let component = known.id();
        let owned = self.state.fleet.instances().filter(|(_, instance)| instance.component == component);
        let owned: BTreeSet<ContainerRef> = owned.map(|(container, _)| container).collect();
        let is_untagged_there = known.untagged.iter().all(|untagged| owned.contains(untagged));
        if !agrees(&known.census, &owned) || !is_untagged_there {
            self.found.push(Inconsistency::Census(component));
        }
        let is_one_by_one = self.state.fleet.is_one_by_one(component);
        if is_one_by_one && self.state.requests.count(component) > 1 {
            self.found.push(Inconsistency::SeveralRequests(component));
        }
        if self.state.is_over() {
            return;
        }
        let missing = known.unasked(self.state.requests.count(component));
        let is_left = if self.state.fleet.lists_hosts(component) {
            missing != i64::from(known.pending_anti_affine)
        } else {
            missing != 0
        };
        if is_left {
            self.found.push(Inconsistency::Short { component, missing });
        }
        let threshold = known
            .spec
            .container_failure_threshold
            .filter(|_| known.spec.health.is_none() && !known.spec.degrades);
        if threshold.is_some_and(|threshold| known.counters.failed_recently > threshold) {
            self.found.push(Inconsistency::GoesOn(component));
        }
    }

    fn audit_entry(&mut self, host: &str, component: ComponentId, entry: &NodeEntry) {
        let held = entry.instances.held();
        if held > 1 && self.state.fleet.is_anti_affine(component) {
            self.found.push(Inconsistency::TogetherThoughApart { component, host: host.to_owned(), held });
        }
        let mut here = entry.instances.iter();
        if here.any(|(container, _)| self.state.fleet.is_wrongly_near(component, container)) {
            self.found.push(Inconsistency::TooNearToPeers { component, host: host.to_owned() });
        }
        let is_here =
            |waits: &&OutstandingRequest| waits.component == component && waits.host.as_deref() == Some(host);
        let waits = self.state.requests.iter().filter(is_here);
        let waits: BTreeSet<_> = waits.map(OutstandingRequest::id).collect();
        if waits != entry.requested {
            self.found.push(Inconsistency::Requested { component, host: host.to_owned() });
        }
        if !entry.instances.is_consistent() {
            self.found.push(Inconsistency::Census(component));
        }
        for (container, _) in entry.instances.iter() {
            if self.state.fleet.instance(container).is_none() {
                self.found.push(Inconsistency::States(container));
            }
        }
    }
}

fn agrees(census: &Census, owned: &BTreeSet<ContainerRef>) -> bool {
    census.is_consistent()
        && census.total() as usize == owned.len()
        && census.iter().all(|(container, _)| owned.contains(&container))
}
