//! Changes between a request and its answer: hosts, their names and labels, sizes, masters.

use std::sync::Arc;

use apportion::Resources;
use apportion_placement::{
    Allocation, ApplicationState, Callback, ClientError, ClusterClient, ComponentSpec, ContainerRef,
    ContainerRequest, FakeCluster, HistoryEntry, HistoryFile, Launch, NodeReport, Operation, PlacementPolicy,
    RequestId, RunningContainer, Service, ServiceEvent, ServiceSettings, Unserved,
};

use crate::support::{Cluster, Manager, component, host, on_both};

on_both!(a_new_master_forgives_hosts_for_the_manager_too);
fn a_new_master_forgives_hosts_for_the_manager_too<M: Manager>() {
    let spec = ComponentSpec { container_failure_threshold: None, ..component(0, 1) };
    let mut bed = Cluster::<M>::of(1, 2).start(vec![spec], None);
    bed.run_until_idle();
    for _ in 0..4 {
        bed.at(bed.now_ms + 100_000);
        let container = bed.only(0).container;
        bed.end(container, 1);
        bed.run_until_idle();
    }
    assert_eq!(bed.status(0).live, 0, "the host is blacklisted");
    let mut bed = bed.restart_master();
    bed.run_until_idle();
    for hours in 1..100 {
        bed.at(hours * 3_600_000);
        bed.run_until_idle();
    }
    assert_eq!(bed.status(0).live, 1, "it runs again");
}

on_both!(a_host_that_went_and_came_between_two_looks_is_a_host_again);
fn a_host_that_went_and_came_between_two_looks_is_a_host_again<M: Manager>() {
    let spec = component(0, 1);
    let mut bed = Cluster::<M>::of(2, 2).start(vec![spec], None);
    bed.run_until_idle();
    let was = bed.only(0).host;
    bed.flex(0, 0);
    bed.run_until_idle();
    bed.manager().lose_node(&was);
    bed.flex(0, 1);
    bed.manager().add_node(&was, "", "", 2);
    bed.run_until_idle();
    bed.flex(0, 0);
    bed.run_until_idle();
    // Containers elsewhere have ended, and the former host no longer counts as down.
    let apart = ComponentSpec { ..component(1, 2).with_policy(PlacementPolicy::AntiAffinity) };
    bed.change(|components| components.push(apart));
    bed.run_until_idle();
    assert_eq!(bed.status(1).live, 2);
}

#[test]
fn a_host_that_left_and_returned_between_two_polls_is_requested_again() {
    use crate::support::EngineCluster;
    let apart = component(0, 1).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<EngineCluster>::of(2, 2).one_by_one().start(vec![apart], None);
    bed.run_until_idle();
    assert_eq!(bed.hosts(0), [host(0)]);
    bed.manager().lose_node(&host(1));
    bed.flex(0, 2);
    bed.manager().add_node(&host(1), "", "", 2);
    for hours in 1..50 {
        bed.at(hours * 3_600_000);
        bed.run_until_idle();
    }
    assert_eq!(bed.status(0).live, 2, "{:?}", bed.service.status(bed.now_ms).outstanding);
}

/// A manager that reports hosts by their fully qualified names.
#[derive(Debug, Default)]
struct FullNames {
    asked: u32,
}

impl ClusterClient for FullNames {
    fn keeps_apart(&self) -> bool {
        true
    }
    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError> {
        self.asked += 1;
        assert!(self.asked < 10_000, "the service sends requests in an endless loop");
        match request.hosts.first() {
            Some(host) => Err(ClientError::UnknownHost { host: format!("{host}.example.com") }),
            None => Ok(()),
        }
    }
    fn cancel(&mut self, _: RequestId) -> Result<(), ClientError> {
        Ok(())
    }
    fn release(&mut self, _: ContainerRef) -> Result<(), ClientError> {
        Ok(())
    }
    fn start(&mut self, _: ContainerRef, _: &Launch) -> Result<(), ClientError> {
        Ok(())
    }
    fn update_blacklist(&mut self, _: &[Arc<str>], _: &[Arc<str>]) -> Result<(), ClientError> {
        Ok(())
    }
    fn nodes(&self) -> Vec<NodeReport> {
        Vec::new()
    }
    fn take_over(&mut self) -> Vec<RunningContainer> {
        Vec::new()
    }
    fn explain(&self, _: RequestId) -> Option<Unserved> {
        None
    }
    fn poll(&mut self) -> Vec<Callback> {
        Vec::new()
    }
}

#[test]
fn a_manager_that_names_hosts_otherwise_is_not_asked_for_ever() {
    let history = HistoryFile {
        saved_ms: 1_000,
        roles: 1,
        mapping: [].into(),
        entries: vec![HistoryEntry { host: "a".into(), role: 0, is_active: true, last_used_ms: 1 }],
    };
    let client = FullNames::default();
    let mut service =
        Service::start(vec![component(0, 1)], ServiceSettings::default(), client, Some(&history), 1);
    service.tick(1);
    assert!(service.client().asked < 10);
}

fn first_request(operations: &[Operation]) -> ContainerRequest {
    operations
        .iter()
        .find_map(
            |operation| {
                if let Operation::Request(request) = operation { Some(request.clone()) } else { None }
            },
        )
        .unwrap_or_else(|| panic!("a request: {operations:?}"))
}

/// No report has named the host of the history, but the manager does not refuse the wider request because of it.
#[test]
fn a_wider_request_that_is_refused_does_not_wait_for_the_host_to_register() {
    let history = HistoryFile {
        saved_ms: 1_000,
        roles: 1,
        mapping: [].into(),
        entries: vec![HistoryEntry { host: "a".into(), role: 0, is_active: true, last_used_ms: 1 }],
    };
    let refuse = |mut state: ApplicationState, request: ContainerRequest, error, now_ms| {
        state.handle(ServiceEvent::NotTaken { request: request.id, error }, now_ms);
        state.status(now_ms, &|_| None).outstanding.remove(0).explanation
    };
    let mut state = ApplicationState::new(vec![component(0, 1)], ServiceSettings::default(), 1);
    state.thaw(&history);
    let narrow = first_request(&state.handle(ServiceEvent::TimePassed, 1));
    let unknown = ClientError::UnknownHost { host: "a".to_owned() };
    let said = refuse(state.clone(), narrow, unknown, 1);
    assert!(said.contains("a has not registered"), "{said}");
    let late_ms = ComponentSpec::ESCALATE_AFTER_MS + 2;
    let wide = first_request(&state.handle(ServiceEvent::TimePassed, late_ms));
    assert!(wide.relax_locality, "{wide:?}");
    let said = refuse(state, wide, ClientError::Refused("the queue is full".to_owned()), late_ms);
    assert!(said.contains("the queue is full"), "{said}");
}

#[test]
fn a_container_of_the_size_before_a_flex_is_not_taken() {
    let mut state = ApplicationState::new(vec![component(0, 1)], ServiceSettings::default(), 0);
    let small = first_request(&state.handle(ServiceEvent::TimePassed, 0));
    let grown = ComponentSpec { size: Resources::new(&[8]), ..component(0, 1) };
    let operations = state.handle(ServiceEvent::Flex(vec![grown]), 1);
    assert!(operations.contains(&Operation::Cancel(small.id)));
    let came = Allocation {
        request: Some(small.id),
        priority: small.priority,
        container: ContainerRef(1),
        size: Resources::new(&[1]),
        host: "a".into(),
    };
    let operations = state.handle(ServiceEvent::Callback(Callback::Allocated(vec![came])), 2);
    assert_eq!(operations, [Operation::Release(ContainerRef(1))]);
}

#[test]
fn a_container_on_nodes_of_the_label_before_a_flex_is_not_taken() {
    let labelled = component(0, 1).with_label("gpu");
    let mut state = ApplicationState::new(vec![component(0, 1)], ServiceSettings::default(), 0);
    state.learn_nodes(&[NodeReport {
        host: "plain".into(),
        rack: "".into(),
        label: "".into(),
        capacity: Resources::new(&[8]),
        free: Resources::new(&[8]),
        is_usable: true,
    }]);
    let plain = first_request(&state.handle(ServiceEvent::TimePassed, 0));
    state.handle(ServiceEvent::Flex(vec![labelled]), 1);
    let came = Allocation {
        request: Some(plain.id),
        priority: plain.priority,
        container: ContainerRef(1),
        size: Resources::new(&[1]),
        host: "plain".into(),
    };
    let operations = state.handle(ServiceEvent::Callback(Callback::Allocated(vec![came])), 2);
    assert_eq!(operations, [Operation::Release(ContainerRef(1))]);
}

#[test]
fn a_host_that_loses_the_label_is_asked_for_no_more() {
    let labelled = component(0, 1).with_policy(PlacementPolicy::AntiAffinity).with_label("gpu");
    let manager = FakeCluster::new().like_yarn().granting_by_hand();
    let mut bed = Cluster::<FakeCluster>::on(manager, 0, 1)
        .with_node("a", "", "gpu", 2)
        .with_node("b", "", "gpu", 2)
        .start(vec![labelled], None);
    bed.run_until_idle();
    bed.manager().set_label("b", "");
    bed.run_until_idle();
    let named: Vec<String> =
        bed.manager().waiting().flat_map(|r| r.hosts.clone()).map(|h| h.to_string()).collect();
    assert_eq!(named, ["a"]);
}

on_both!(hosts_used_too_long_ago_are_forgotten_while_it_runs);
fn hosts_used_too_long_ago_are_forgotten_while_it_runs<M: Manager>() {
    const DAY_MS: u64 = 86_400_000;
    let mut bed = Cluster::<M>::of(1, 2).start(vec![component(0, 1)], None);
    bed.run_until_idle();
    for number in 1..40_u64 {
        bed.at(number * DAY_MS);
        let now = format!("ephemeral-{number}");
        bed.manager().add_node(&now, "", "", 2);
        let was = bed.only(0).host;
        bed.manager().lose_node(&was);
        bed.run_until_idle();
        assert_eq!(bed.only(0).host, now);
    }
    let known = bed.service.state().image(bed.now_ms).entries.len();
    assert!(known <= 9, "{known} hosts are kept, but most were last used more than a week ago");
}

on_both!(a_move_elsewhere_requests_only_reported_hosts);
fn a_move_elsewhere_requests_only_reported_hosts<M: Manager>() {
    use apportion_placement::{ActionId, ActionKind, ActionStatus, ComponentId, ContainerAction};
    let entry = |host: &str, last_used_ms| HistoryEntry {
        host: host.into(),
        role: 0,
        is_active: false,
        last_used_ms,
    };
    let history = HistoryFile {
        saved_ms: 1_000,
        roles: 1,
        mapping: [].into(),
        entries: vec![entry("gone", 1), entry(&host(0), 900)],
    };
    let mut bed = Cluster::<M>::of(2, 2).start(vec![component(0, 1)], Some(&history));
    bed.run_until_idle();
    assert_eq!(bed.only(0).host, host(0));
    let action = ContainerAction {
        expires_after_ms: 60_000,
        ..ContainerAction::new(ActionId(1), ComponentId(0), ActionKind::MoveElsewhere)
    };
    bed.service.submit(action, bed.now_ms);
    bed.run_until_idle();
    let answers = bed.service.take_answers();
    assert_eq!(answers.last().map(|answer| answer.status), Some(ActionStatus::Succeeded), "{answers:?}");
}
