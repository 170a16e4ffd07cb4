//! A container that makes way for another on its host, atomically if the manager can.

use apportion::Resources;
use apportion_placement::{
    ActionId, ActionKind, ActionStatus, AllocationOutcome, ClientError, ClusterClient, ComponentChange,
    ComponentId, ContainerAction, ContainerRef, ContainerRequest, FakeCluster, Fault, InstanceState,
    OutstandingCause, PlacementPolicy, RequestId, ServiceEvent, SharedFakeCluster,
};

use crate::support::{Bed, Call, Cluster, EngineCluster, Manager, component, host, on_both};

/// Stops instance 1 and starts it again, optionally with another size.
fn stop_and_restart(size: Option<i64>) -> ContainerAction {
    ContainerAction {
        expires_after_ms: 10_000,
        change: ComponentChange { version: None, size: size.map(|size| Resources::new(&[size])) },
        ..ContainerAction::new(ActionId(1), ComponentId(1), ActionKind::StopAndRestart)
    }
}

fn restart<M: Manager>(bed: &mut Bed<M>, size: Option<i64>) {
    bed.service.submit(stop_and_restart(size), bed.now_ms);
}

fn last_word<M: Manager>(bed: &mut Bed<M>) -> Option<ActionStatus> {
    bed.service.take_answers().last().map(|answer| answer.status)
}

fn on_host(id: u64, host: &str) -> ContainerRequest {
    ContainerRequest::new(RequestId(id), Resources::new(&[1]), 3).only_on([host])
}

/// A request that has waited longer, and is served first, does not get the room in between.
#[test]
fn a_container_that_is_stopped_first_keeps_its_room() {
    for policy in [PlacementPolicy::Normal, PlacementPolicy::Anywhere, PlacementPolicy::AntiAffinity] {
        let spec = component(1, 1).with_policy(policy);
        let mut bed = Cluster::<EngineCluster>::of(1, 1).start(vec![spec], None);
        bed.run_until_idle();
        let first = bed.only(1);
        bed.manager().contend(1);
        restart(&mut bed, None);
        bed.run_until_idle();
        let again = bed.only(1);
        assert_eq!((last_word(&mut bed), again.state), (Some(ActionStatus::Succeeded), InstanceState::Live));
        assert_ne!(again.container, first.container, "{policy:?}");

        // The container is released without a swap, so its room goes to the waiting request.
        assert_eq!(bed.service.kill_container(again.container, bed.now_ms), Ok(()));
        bed.run_until_idle();
        assert_eq!(bed.status(1).live, 0, "{policy:?}");
    }
}

/// In a full queue a swap needs room only for the difference.
#[test]
fn the_queue_is_charged_the_difference() {
    let mut bed = Cluster::<EngineCluster>::of(1, 9).start(vec![component(1, 1)], None);
    bed.run_until_idle();
    bed.manager().limit_queue(3);
    restart(&mut bed, Some(3));
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.status(1).live), (Some(ActionStatus::Succeeded), 1));
    assert_eq!(bed.service.client().manager.nodes()[0].free.amounts()[0], 6);
}

on_both!(a_container_without_room_for_its_new_size_returns_unchanged);
/// The manager finds that it cannot swap: the container is released and the request waits, until the action's time
/// limit.
fn a_container_without_room_for_its_new_size_returns_unchanged<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 2).start(vec![component(1, 1), component(2, 1)], None);
    bed.run_until_idle();
    restart(&mut bed, Some(2));
    bed.run_until_idle();
    assert_eq!((bed.status(1).live, bed.status(1).requested), (0, 1));
    bed.at(70_003);
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.status(1).live), (Some(ActionStatus::Failed), 1));
    assert_eq!(bed.service.state().action_count(), 0);
}

/// The swap was refused after the next master had taken over the running containers.
#[test]
fn a_swap_of_the_last_master_ends_nothing() {
    let specs = vec![component(1, 1), component(2, 1)];
    let mut bed = Cluster::<EngineCluster>::of(1, 2).start(specs, None);
    bed.run_until_idle();
    let first = bed.only(1);
    restart(&mut bed, Some(2));
    let mut bed = bed.restart_master();
    bed.run_until_idle();
    assert_eq!((bed.only(1).container, bed.status(1).live), (first.container, 1));
}

on_both!(a_container_without_room_for_its_new_size_goes_elsewhere_in_time);
/// With every policy except the strict one, its host is requested for as long as that of a returning container.
fn a_container_without_room_for_its_new_size_goes_elsewhere_in_time<M: Manager>() {
    for policy in [PlacementPolicy::Normal, PlacementPolicy::Anywhere, PlacementPolicy::AntiAffinity] {
        for one_by_one in [false, true] {
            let specs = vec![component(1, 1).with_policy(policy), component(2, 1)];
            let cluster = Cluster::<M>::of(1, 2);
            let cluster = if one_by_one { cluster.one_by_one() } else { cluster };
            let mut bed = cluster.start(specs, None);
            bed.run_until_idle();
            let was = bed.only(1).host;
            bed.manager().add_node("roomy", "", "", 2);
            bed.run_until_idle();
            restart(&mut bed, Some(2));
            bed.run_until_idle();
            let waits = bed.service.status(bed.now_ms).outstanding;
            if !one_by_one || policy != PlacementPolicy::AntiAffinity {
                assert_eq!((bed.status(1).live, waits[0].hosts.clone()), (0, vec![was]), "{policy:?}");
                assert_eq!(waits[0].widens_at_ms, Some(30_001), "{policy:?}");
            }
            bed.at(30_002);
            bed.run_until_idle();
            // The manager has its own delay before it looks beyond the preferred hosts.
            bed.at(60_000);
            bed.run_until_idle();
            let found = bed.only(1);
            assert_eq!(
                (last_word(&mut bed), &*found.host),
                (Some(ActionStatus::Succeeded), "roomy"),
                "{policy:?}"
            );
        }
    }
}

on_both!(a_one_by_one_container_returns_by_the_request_of_its_swap);
/// The service sends no further request, although another host would also do.
fn a_one_by_one_container_returns_by_the_request_of_its_swap<M: Manager>() {
    let apart = component(1, 1).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<M>::of(3, 1).one_by_one().start(vec![apart], None);
    bed.run_until_idle();
    let was = bed.only(1).host;
    restart(&mut bed, None);
    let calls = bed.run_until_idle();
    assert!(calls.iter().all(|call| !matches!(call, Call::Request(_) | Call::Cancel(_))), "{calls:?}");
    let again = bed.only(1);
    assert_eq!((again.host, again.outcome), (was, AllocationOutcome::Placed));
    assert_eq!(last_word(&mut bed), Some(ActionStatus::Succeeded));
}

on_both!(a_one_by_one_container_returns_while_another_is_requested);
/// The service requests one container at a time, so its request is cancelled when the container has ended.
fn a_one_by_one_container_returns_while_another_is_requested<M: Manager>() {
    let apart = component(1, 2).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<M>::of(2, 1).one_by_one().start(vec![component(9, 1), apart], None);
    bed.run_until_idle();
    assert_eq!((bed.status(1).live, bed.status(1).requested), (1, 1), "one host is full");
    let container = bed.containers(1)[0].container;
    let action = ContainerAction { container: Some(container), ..stop_and_restart(None) };
    bed.service.submit(action, bed.now_ms);
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.status(1).live), (Some(ActionStatus::Succeeded), 1));
    assert_eq!(bed.service.state().action_count(), 0);
}

/// The status says why the request is not served yet.
#[test]
fn the_status_names_the_container_that_makes_way() {
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 1, 1).start(vec![component(1, 1)], None);
    let first = bed.manager().waiting().next().map(|request| request.id);
    let granted = first.map(|first| bed.manager().grant(first, &host(0)));
    assert!(granted.is_some_and(|granted| granted.is_ok()));
    bed.run_until_idle();
    bed.manager().inject(Fault::LoseCallback);
    restart(&mut bed, None);
    bed.run_until_idle();
    let waits = bed.service.status(bed.now_ms).outstanding;
    let said: Vec<_> = waits.iter().map(|waits| (waits.cause, waits.explanation.as_str())).collect();
    let expected = "it takes the place of a container on 00000000, which is being stopped";
    assert_eq!(said, [(OutstandingCause::AboutToBeServed, expected)]);
}

on_both!(a_host_that_takes_nothing_more_is_not_asked_for_again);
fn a_host_that_takes_nothing_more_is_not_asked_for_again<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 1).start(vec![component(1, 1)], None);
    bed.run_until_idle();
    let was = bed.only(1).host;
    let excluded = ServiceEvent::Exclude([was.as_str().into()].into());
    bed.service.handle(excluded, bed.now_ms);
    restart(&mut bed, None);
    let calls = bed.run_until_idle();
    assert!(calls.iter().all(|call| !matches!(call, Call::Swap(..))), "{calls:?}");
    assert_eq!((last_word(&mut bed), bed.only(1).host == was), (Some(ActionStatus::Succeeded), false));
}

/// The container runs on, and no request waits for its place.
#[test]
fn a_container_that_does_not_stop_makes_no_way() {
    let mut bed = Cluster::on(FakeCluster::new(), 1, 1).start(vec![component(1, 1)], None);
    bed.run_until_idle();
    let first = bed.only(1);
    bed.manager().inject(Fault::FailStop);
    restart(&mut bed, None);
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.only(1)), (Some(ActionStatus::Failed), first));
    assert_eq!((bed.status(1).requested, bed.manager().waiting().count()), (0, 0));
}

/// A manager that cannot swap gets the two calls one after the other.
#[test]
fn a_manager_that_cannot_swap_does_one_after_the_other() {
    let mut bed = Cluster::on(FakeCluster::new().like_yarn(), 1, 1).start(vec![component(1, 1)], None);
    bed.run_until_idle();
    let first = bed.only(1);
    restart(&mut bed, None);
    let calls = bed.run_until_idle();
    let is_release = |call: &Call| *call == Call::Release(first.container);
    assert!(calls.iter().any(is_release), "{calls:?}");
    assert_eq!((last_word(&mut bed), bed.only(1).host), (Some(ActionStatus::Succeeded), host(0)));
}

/// Either half of a swap may be refused; then neither is done.
#[test]
fn a_refused_swap_changes_nothing() {
    let mut cluster = FakeCluster::new();
    cluster.add_node("alpha", Resources::new(&[1]));
    let cluster = SharedFakeCluster::new(cluster);
    let (mut one, mut other) = (cluster.client(), cluster.client());
    assert_eq!(one.request(on_host(1, "alpha")), Ok(()));
    assert_eq!(other.request(on_host(1, "alpha")), Ok(()));
    let container = ContainerRef(1);
    assert_eq!(one.poll().len(), 2, "a node and a container");
    let refusals = [
        (one.swap(container, on_host(2, "beta")), ClientError::UnknownHost { host: "beta".into() }),
        (one.swap(ContainerRef(7), on_host(2, "alpha")), ClientError::UnknownContainer(ContainerRef(7))),
        (other.swap(container, on_host(2, "alpha")), ClientError::UnknownContainer(container)),
    ];
    for (said, expected) in refusals {
        assert_eq!(said, Err(expected));
    }
    assert_eq!(one.poll(), []);
    assert_eq!(one.swap(container, on_host(2, "alpha")), Ok(()));
    assert_eq!((one.poll().len(), one.take_over().len()), (2, 1), "an end and a container");
    assert_eq!(other.take_over(), [], "it waited for longer and got nothing");
}
