//! Matching containers to requests. If the manager does not name the request, the match is by host, then by priority
//! and size (D1). The decisions do not depend on the manager, so these tests call the decision code directly.

use apportion::Resources;
use apportion_placement::{
    Allocation, AllocationOutcome, ApplicationState, Callback, ComponentId, ComponentSpec, ContainerExit,
    ContainerRef, ContainerRequest, HistoryEntry, HistoryFile, NodeReport, Operation, RequestId,
    ServiceEvent, ServiceSettings,
};

use crate::support::{component, roles};

fn state(desired: [u32; 3], history: &[(&str, u32, u64)]) -> (ApplicationState, Vec<ContainerRequest>) {
    let mut state = ApplicationState::new(roles(desired), ServiceSettings::default(), 0);
    let entry = |(host, role, last_used_ms): &(&str, u32, u64)| HistoryEntry {
        host: (*host).into(),
        role: *role,
        is_active: false,
        last_used_ms: *last_used_ms,
    };
    let entries = history.iter().map(entry).collect();
    state.thaw(&HistoryFile { saved_ms: 1_000, roles: 3, mapping: [].into(), entries });
    let operations = state.handle(ServiceEvent::TimePassed, 0);
    (state, requests(operations))
}

fn requests(operations: Vec<Operation>) -> Vec<ContainerRequest> {
    let request = |operation| if let Operation::Request(request) = operation { Some(request) } else { None };
    operations.into_iter().filter_map(request).collect()
}

/// A container that does not name its request.
fn came(container: u64, priority: u32, host: &str) -> Allocation {
    let size = Resources::new(&[1]);
    Allocation { request: None, priority, container: ContainerRef(container), size, host: host.into() }
}

fn allocate(state: &mut ApplicationState, allocations: Vec<Allocation>) -> Vec<Operation> {
    let operations = state.handle(ServiceEvent::Callback(Callback::Allocated(allocations)), 10);
    assert_eq!(state.audit(), []);
    operations
}

fn outcome(state: &ApplicationState, container: ContainerRef) -> Option<AllocationOutcome> {
    state.container(container).map(|container| container.outcome)
}

fn unrequested(state: &ApplicationState) -> u64 {
    state.component(ComponentId(0)).expect("it exists").counters.unrequested
}

/// S13: a container with another priority answers no request. It is kept all the same, since the component lacks one,
/// and the request is cancelled (D3, D16).
#[test]
fn without_its_priority_a_container_answers_nothing() {
    let (mut service, asked) = state([1, 0, 0], &[]);
    let open = &asked[0];
    let operations = allocate(&mut service, vec![came(1, 0, "a")]);
    assert_eq!(outcome(&service, ContainerRef(1)), Some(AllocationOutcome::Unallocated));
    assert_eq!(unrequested(&service), 1);
    assert!(operations.contains(&Operation::Cancel(open.id)), "{operations:?}");

    let (mut service, asked) = state([1, 0, 0], &[]);
    let operations = allocate(&mut service, vec![came(1, asked[0].priority, "a")]);
    assert_eq!(outcome(&service, ContainerRef(1)), Some(AllocationOutcome::Open));
    assert_eq!(unrequested(&service), 0);
    let started = Operation::Start { container: ContainerRef(1), component: ComponentId(0) };
    assert_eq!(operations, [Operation::Cancel(asked[0].id), started]);
}

/// S14: within a batch, the component with the lower number comes first.
#[test]
fn a_batch_is_dealt_with_in_the_order_of_components() {
    let (mut service, asked) = state([1, 1, 0], &[]);
    let operations =
        allocate(&mut service, vec![came(1, asked[1].priority, "a"), came(2, asked[0].priority, "a")]);
    let started: Vec<_> = operations
        .iter()
        .filter_map(
            |done| if let Operation::Start { component, .. } = done { Some(component.0) } else { None },
        )
        .collect();
    assert_eq!(started, [0, 1]);
}

/// Within a batch, a container on a requested host comes before others, so that it is not the surplus one.
#[test]
fn containers_on_requested_hosts_come_first() {
    let (mut service, asked) = state([1, 0, 0], &[("a", 0, 5)]);
    assert_eq!(asked[0].hosts, ["a".into()]);
    allocate(&mut service, vec![came(1, 0, "b"), came(2, 0, "a")]);
    assert_eq!(outcome(&service, ContainerRef(2)), Some(AllocationOutcome::Placed));
    assert_eq!(outcome(&service, ContainerRef(1)), None, "given back");
}

/// Any container of the component on the host answers the request for that host (seed, "Reworked outstanding request
/// tracker").
#[test]
fn a_container_on_the_host_answers_the_request_for_it() {
    let (mut service, asked) = state([2, 0, 0], &[("a", 0, 5)]);
    assert_eq!((asked[0].hosts.len(), asked[1].hosts.len()), (1, 0));
    allocate(&mut service, vec![came(1, asked[1].priority, "a")]);
    assert_eq!(outcome(&service, ContainerRef(1)), Some(AllocationOutcome::Placed));
}

/// The manager considers the request of the container's priority served, but the host answered another one.
#[test]
fn a_request_whose_container_answered_another_one_is_made_again() {
    let (mut service, asked) = state([2, 0, 0], &[("a", 0, 5)]);
    let operations = allocate(&mut service, vec![came(1, asked[1].priority, "a")]);
    assert!(operations.contains(&Operation::Cancel(asked[1].id)), "{operations:?}");
    let again = requests(operations);
    assert_eq!((again.len(), again[0].priority), (1, asked[1].priority));

    let (mut service, asked) = state([2, 0, 0], &[("a", 0, 5)]);
    let operations = allocate(&mut service, vec![came(1, asked[0].priority, "a")]);
    assert!(requests(operations).is_empty(), "the other request still waits at the manager");
}

/// S4: a host where the component runs, starts or has a request is not requested again (D33).
#[test]
fn busy_hosts_are_not_asked_for() {
    let (mut service, asked) = state([3, 0, 0], &[("a2", 0, 2), ("a3", 0, 3)]);
    let hosts: Vec<usize> = asked.iter().map(|request| request.hosts.len()).collect();
    assert_eq!(hosts, [1, 1, 0]);
    allocate(
        &mut service,
        vec![Allocation { request: Some(asked[2].id), ..came(1, asked[2].priority, "a4") }],
    );
    let grown = service.handle(ServiceEvent::Flex(roles([4, 0, 0])), 20);
    assert!(requests(grown)[0].hosts.is_empty());
}

/// After a request was served on another host, its own host is requested again (D15).
#[test]
fn a_host_that_did_not_serve_is_asked_for_again() {
    let (mut service, asked) = state([1, 0, 0], &[("a", 0, 5)]);
    let wider = requests(service.handle(ServiceEvent::TimePassed, 1_001));
    assert_eq!((wider.len(), wider[0].relax_locality), (1, true));
    assert_ne!(asked[0].id, wider[0].id);
    allocate(
        &mut service,
        vec![Allocation { request: Some(wider[0].id), ..came(1, wider[0].priority, "z") }],
    );
    assert_eq!(outcome(&service, ContainerRef(1)), Some(AllocationOutcome::Escalated));
    let more = requests(service.handle(ServiceEvent::Flex(roles([2, 0, 0])), 1_010));
    assert_eq!(more[0].hosts, ["a".into()]);
}

/// A repeated container, and a container that is no longer needed.
#[test]
fn duplicates_change_nothing_and_surplus_goes_back() {
    let (mut service, asked) = state([1, 0, 0], &[]);
    let first = Allocation { request: Some(asked[0].id), ..came(1, asked[0].priority, "a") };
    assert_eq!(allocate(&mut service, vec![first.clone()]).len(), 1);
    assert_eq!(allocate(&mut service, vec![first]), []);
    let second = Allocation { request: Some(asked[0].id), ..came(2, asked[0].priority, "a") };
    assert_eq!(allocate(&mut service, vec![second]), [Operation::Release(ContainerRef(2))]);
    assert_eq!(service.component(ComponentId(0)).map(|status| status.counters.surplus), Some(1));
    let stranger = Allocation { request: Some(RequestId(77)), ..came(3, 12_345, "a") };
    assert_eq!(allocate(&mut service, vec![stranger]), [Operation::Release(ContainerRef(3))]);
}

/// S10: a request that the manager has not accepted is not widened; its time limit begins when it is accepted.
#[test]
fn a_request_that_was_not_taken_is_made_again_before_it_is_widened() {
    let (mut service, asked) = state([1, 0, 0], &[("a", 0, 5)]);
    let error = apportion_placement::ClientError::Refused("not now".into());
    let not_taken = ServiceEvent::NotTaken { request: asked[0].id, error };
    assert_eq!(service.handle(not_taken, 500), []);
    assert_eq!(service.handle(ServiceEvent::TimePassed, 5_500), []);
    let again = service.handle(ServiceEvent::TimePassed, 5_501);
    let again = requests(again);
    assert_eq!((again.len(), again[0].hosts.len(), again[0].relax_locality), (1, 1, false));
    assert_eq!(service.handle(ServiceEvent::TimePassed, 6_501), []);
    let wider = service.handle(ServiceEvent::TimePassed, 6_502);
    assert_eq!((wider.len(), requests(wider)[0].relax_locality), (2, true));
    assert_eq!(service.audit(), []);
}

fn tell(state: &mut ApplicationState, callback: Callback, now_ms: u64) -> Vec<Operation> {
    let operations = state.handle(ServiceEvent::Callback(callback), now_ms);
    assert_eq!(state.audit(), []);
    operations
}

/// An allocation for this request on this host.
fn answer(container: u64, asked: &ContainerRequest, host: &str) -> Allocation {
    Allocation { request: Some(asked.id), ..came(container, asked.priority, host) }
}

/// D10: a host with a failed start is requested again once the component runs, and not before.
#[test]
fn a_host_where_a_start_failed_is_asked_for_again_when_the_component_runs() {
    let (mut service, asked) = state([1, 0, 0], &[("a", 0, 5)]);
    allocate(&mut service, vec![answer(1, &asked[0], "a")]);
    let failed = Callback::StartFailed { container: ContainerRef(1), diagnostics: "no".into() };
    tell(&mut service, failed, 20);
    let exit = vec![(ContainerRef(1), ContainerExit::of(1))];
    let asked = requests(tell(&mut service, Callback::Completed(exit), 21));
    assert!(asked[0].hosts.is_empty(), "it is not trusted");
    let status = service.component(ComponentId(0)).map(|status| status.counters);
    assert_eq!(
        status.map(|c| (c.failed, c.start_failed)),
        Some((1, 1)),
        "counted once, with any exit status (D21)"
    );
    allocate(&mut service, vec![answer(2, &asked[0], "b")]);
    let early = requests(service.handle(ServiceEvent::Flex(roles([2, 0, 0])), 22));
    assert_eq!(early.len(), 1);

    // A flex forgives failures, so the failure is repeated here.
    let (mut service, asked) = state([2, 0, 0], &[("a", 0, 5)]);
    allocate(&mut service, vec![answer(1, &asked[0], "a"), answer(2, &asked[1], "b")]);
    let failed = Callback::StartFailed { container: ContainerRef(1), diagnostics: "no".into() };
    tell(&mut service, failed, 20);
    tell(&mut service, Callback::Started(ContainerRef(2)), 21);
    let exit = vec![(ContainerRef(1), ContainerExit::of(1))];
    let asked = requests(tell(&mut service, Callback::Completed(exit), 22));
    assert_eq!(asked[0].hosts, ["a".into()], "the component has been running elsewhere since");
}

/// D11: of two containers on one host the newer is released, even if one elsewhere is newer still.
#[test]
fn a_crowded_host_is_left_before_a_newer_container_elsewhere() {
    let (mut service, asked) = state([3, 0, 0], &[]);
    for (number, (asked, host)) in (1..).zip(asked.iter().zip(["a", "a", "b"])) {
        let came = Callback::Allocated(vec![answer(number, asked, host)]);
        tell(&mut service, came, number * 10);
        tell(&mut service, Callback::Started(ContainerRef(number)), number * 10);
    }
    let released = service.handle(ServiceEvent::Flex(roles([2, 0, 0])), 100);
    assert_eq!(released, [Operation::Release(ContainerRef(2))]);
    let released = service.handle(ServiceEvent::Flex(roles([1, 0, 0])), 101);
    assert_eq!(released, [Operation::Release(ContainerRef(3))], "then the newest");
}

/// D13: a host whose label has changed is not requested.
#[test]
fn a_host_that_was_given_another_label_is_not_asked_for() {
    for (label, expected) in [("gpu", 1), ("", 0), ("cpu", 0)] {
        let labelled = component(1, 0).with_label("gpu");
        let mut service = ApplicationState::new(vec![labelled.clone()], ServiceSettings::default(), 0);
        let entries = vec![HistoryEntry { host: "a".into(), role: 1, is_active: true, last_used_ms: 1 }];
        service.thaw(&HistoryFile { saved_ms: 9, roles: 1, mapping: [].into(), entries });
        let capacity = Resources::new(&[8]);
        let report = NodeReport {
            host: "a".into(),
            rack: "".into(),
            label: label.into(),
            capacity,
            free: capacity,
            is_usable: true,
        };
        service.learn_nodes(&[report]);
        let wanted = ComponentSpec { desired: 1, ..labelled };
        let asked = requests(service.handle(ServiceEvent::Flex(vec![wanted]), 10));
        assert_eq!(asked[0].hosts.len(), expected, "label `{label}`");
    }
}
