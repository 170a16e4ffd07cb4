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
    #[error("component {} counts more containers than it holds", .0.0)]
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::application::{AllocationOutcome, ServiceEvent, ServiceSettings};
    use crate::client::{Launch, NodeReport, RequestId, RunningContainer};
    use crate::component::{ComponentSpec, FaultDomain, PlacementPolicy};
    use crate::history::{InstanceState, request_priority};

    const ANTI_AFFINE: ComponentId = ComponentId(1);
    const NORMAL: ComponentId = ComponentId(2);
    const ACTIVE: ComponentId = ComponentId(3);
    const STANDBY: ComponentId = ComponentId(4);

    fn host(number: u64) -> Arc<str> {
        format!("host{number}").into()
    }

    /// Audits a service after `change`. Before, containers 1 and 2 of the anti-affine component run on hosts 1
    /// and 2. Container 3 of the normal component runs on host 1, those of active and standby on hosts 3 and 4.
    fn audit_after(change: impl FnOnce(&mut ApplicationState)) -> Vec<Inconsistency> {
        let spec = |id: ComponentId, desired| {
            ComponentSpec::new(format!("component{}", id.0), id.0, desired, apportion::Resources::new(&[1]))
        };
        let apart = |id| spec(id, 1).apart_from("processor", FaultDomain::Rack);
        let anti_affine = spec(ANTI_AFFINE, 2).with_policy(PlacementPolicy::AntiAffinity);
        let specs = vec![anti_affine, spec(NORMAL, 1), apart(ACTIVE), apart(STANDBY)];
        let mut state = ApplicationState::new(specs, ServiceSettings::default(), 0);
        let places =
            [(1, ANTI_AFFINE, 1), (2, ANTI_AFFINE, 2), (3, NORMAL, 1), (4, ACTIVE, 3), (5, STANDBY, 4)];
        let running = places.map(|(container, component, number)| RunningContainer {
            container: ContainerRef(container),
            priority: request_priority(component, false),
            host: host(number),
            launch: Some(Launch::default()),
            is_stopping: false,
        });
        state.adopt(&running, 1);
        state.handle(ServiceEvent::TimePassed, 1);
        assert_eq!(state.audit(), []);
        change(&mut state);
        state.audit()
    }

    /// Adds a live container that the component wants.
    fn add(state: &mut ApplicationState, container: u64, component: ComponentId, on: u64) {
        state.fleet.component_mut(component).unwrap().spec.desired += 1;
        let (container, outcome) = (ContainerRef(container), AllocationOutcome::Open);
        state.fleet.add(container, InstanceState::Live, component, host(on), outcome, 1);
    }

    #[test]
    fn two_instances_that_should_be_apart_are_found_on_their_host() {
        let found = audit_after(|state| add(state, 6, ANTI_AFFINE, 1));
        let host = "host1".to_owned();
        assert_eq!(found, [Inconsistency::TogetherThoughApart { component: ANTI_AFFINE, host, held: 2 }]);
        assert_eq!(audit_after(|state| add(state, 6, ANTI_AFFINE, 3)), []);
        assert_eq!(audit_after(|state| add(state, 6, NORMAL, 1)), [], "it need not be apart");
    }

    /// Reports hosts 5 and 6 on one rack.
    fn learn_rack(state: &mut ApplicationState) {
        let size = apportion::Resources::new(&[1]);
        let report = |number| NodeReport {
            host: host(number),
            rack: "rack".into(),
            label: "".into(),
            capacity: size,
            free: size,
            is_usable: true,
        };
        state.fleet.history.update_nodes(&[5, 6].map(report));
    }

    fn near(component: ComponentId, host: &str) -> Inconsistency {
        Inconsistency::TooNearToPeers { component, host: host.to_owned() }
    }

    #[test]
    fn instances_of_one_group_are_found_on_one_host() {
        let found = audit_after(|state| add(state, 6, ACTIVE, 4));
        assert_eq!(found, [near(ACTIVE, "host4"), near(STANDBY, "host4")]);
        assert_eq!(audit_after(|state| add(state, 6, ACTIVE, 3)), [], "of one component");
    }

    #[test]
    fn instances_of_one_group_are_found_on_a_rack_that_was_known_when_they_came() {
        let place = |state: &mut ApplicationState| {
            add(state, 6, ACTIVE, 5);
            add(state, 7, STANDBY, 6);
        };
        let known = audit_after(|state| (learn_rack(state), place(state)).1);
        assert_eq!(known, [near(ACTIVE, "host5"), near(STANDBY, "host6")]);
        assert_eq!(
            audit_after(|state| (place(state), learn_rack(state)).1),
            [],
            "the service could not know"
        );
    }

    #[test]
    fn a_request_that_only_its_host_knows_is_found() {
        let found = audit_after(|state| state.fleet.history.request_made(&host(1), NORMAL, RequestId(7)));
        assert_eq!(found, [Inconsistency::Requested { component: NORMAL, host: "host1".to_owned() }]);
    }

    #[test]
    fn a_container_that_only_its_host_knows_is_found() {
        let stranger = ContainerRef(9);
        let found = audit_after(|state| {
            state.fleet.history.transition_instance(&host(1), NORMAL, stranger, InstanceState::Live);
        });
        assert_eq!(found, [Inconsistency::States(stranger)]);
    }

    #[test]
    fn a_container_that_only_its_component_counts_is_found() {
        let stranger = ContainerRef(9);
        let more = audit_after(|state| {
            let known = state.fleet.component_mut(NORMAL).unwrap();
            known.census.put(stranger, InstanceState::Releasing);
        });
        assert_eq!(more, [Inconsistency::Census(NORMAL)]);
        let another = audit_after(|state| {
            let known = state.fleet.component_mut(NORMAL).unwrap();
            known.census.remove(ContainerRef(3));
            known.census.put(stranger, InstanceState::Live);
        });
        assert_eq!(another, [Inconsistency::States(ContainerRef(3)), Inconsistency::Census(NORMAL)]);
    }
}
