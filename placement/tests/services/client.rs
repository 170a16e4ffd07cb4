//! Guarantees that the engine's client and the fake's client share.

use std::sync::Arc;

use apportion::Resources;
use apportion_placement::{
    Allocation, Callback, ClientError, ClusterClient, ContainerExit, ContainerRef, ContainerRequest,
    FakeCluster, Fault, Launch, RequestId,
};

use crate::support::{EngineCluster, Manager, on_both};

fn cluster<M: Manager>() -> M {
    let mut manager = M::new();
    manager.add_node("alpha", "rack-1", "", 100);
    manager.add_node("beta", "rack-2", "", 100);
    manager.run_until_idle();
    manager.poll();
    manager
}

fn request(id: u64, size: i64) -> ContainerRequest {
    ContainerRequest::new(RequestId(id), Resources::new(&[size]), 3)
}

fn only_allocation(callbacks: &[Callback]) -> &Allocation {
    let [Callback::Allocated(allocations)] = callbacks else { panic!("one allocation: {callbacks:?}") };
    let [allocation] = &**allocations else { panic!("one container: {allocations:?}") };
    allocation
}

on_both!(a_request_is_answered_once_and_where_it_should_be);
fn a_request_is_answered_once_and_where_it_should_be<M: Manager>() {
    let mut manager: M = cluster();
    assert_eq!(manager.nodes().len(), 2);
    assert_eq!(manager.request(request(1, 60).only_on(["beta"])), Ok(()));
    manager.run_until_idle();
    let callbacks = manager.poll();
    let came = only_allocation(&callbacks);
    assert_eq!((came.request, came.priority, &*came.host), (Some(RequestId(1)), 3, "beta"));
    assert_eq!(manager.poll(), []);
    let container = came.container;
    let free: Vec<_> = manager.nodes().into_iter().map(|node| (node.host, node.free)).collect();
    assert!(free.contains(&(Arc::from("beta"), Resources::new(&[40]))), "{free:?}");

    // A request that does not fit on its host waits for it, although another host has room, and can be cancelled.
    assert_eq!(manager.request(request(2, 60).only_on(["beta"])), Ok(()));
    manager.run_until_idle();
    assert_eq!(manager.poll(), []);
    assert_eq!(manager.cancel(RequestId(2)), Ok(()));
    manager.run_until_idle();
    assert_eq!(manager.poll(), [Callback::Withdrawn(RequestId(2))]);
    assert_eq!(manager.cancel(RequestId(2)), Err(ClientError::UnknownRequest(RequestId(2))));

    // A released container ends as released, once, and its room serves the next request.
    assert_eq!(manager.start(container, &Launch::of("web")), Ok(()));
    assert_eq!(manager.poll(), [Callback::Started(container)]);
    assert_eq!(manager.release(container), Ok(()));
    manager.run_until_idle();
    let released = ContainerExit::of(ContainerExit::KILLED_BY_APPMASTER);
    assert_eq!(manager.poll(), [Callback::Completed(vec![(container, released)])]);
    assert_eq!(manager.release(container), Err(ClientError::UnknownContainer(container)));
    assert_eq!(manager.start(container, &Launch::of("web")), Err(ClientError::UnknownContainer(container)));
    assert_eq!(manager.request(request(3, 100).only_on(["beta"])), Ok(()));
    manager.run_until_idle();
    assert_eq!(only_allocation(&manager.poll()).request, Some(RequestId(3)));
}

on_both!(wrong_requests_are_refused_and_leave_nothing);
fn wrong_requests_are_refused_and_leave_nothing<M: Manager>() {
    let mut manager: M = cluster();
    let unknown = manager.request(request(1, 1).only_on(["alpha", "gamma"]));
    assert_eq!(unknown, Err(ClientError::UnknownHost { host: "gamma".into() }));
    assert_eq!(manager.request(request(2, 500)), Ok(()));
    assert_eq!(manager.request(request(2, 1)), Err(ClientError::RequestRepeated(RequestId(2))));
    manager.run_until_idle();
    assert_eq!(manager.poll(), []);
}

on_both!(a_completed_callback_has_the_exit);
fn a_completed_callback_has_the_exit<M: Manager>() {
    let mut manager: M = cluster();
    assert_eq!(manager.request(request(1, 1)), Ok(()));
    manager.run_until_idle();
    let container = only_allocation(&manager.poll()).container;
    let exit = ContainerExit { status: 137, diagnostics: "killed".into() };
    assert_eq!(manager.end(container, exit.clone()), Ok(()));
    manager.run_until_idle();
    assert_eq!(manager.poll(), [Callback::Completed(vec![(container, exit)])]);
    assert!(manager.end(container, ContainerExit::of(0)).is_err());
}

on_both!(hosts_of_a_rack_will_do_if_the_rack_is_named);
fn hosts_of_a_rack_will_do_if_the_rack_is_named<M: Manager>() {
    let mut manager: M = cluster();
    manager.add_node("gamma", "rack-2", "", 100);
    manager.poll();
    assert_eq!(manager.request(request(1, 100).only_on(["beta"])), Ok(()));
    let near = ContainerRequest { racks: vec!["rack-2".into()], ..request(2, 100).only_on(["beta"]) };
    manager.run_until_idle();
    manager.poll();
    assert_eq!(manager.request(near), Ok(()));
    manager.run_until_idle();
    assert_eq!(&*only_allocation(&manager.poll()).host, "gamma");
}

on_both!(nothing_comes_to_hosts_on_the_blacklist);
fn nothing_comes_to_hosts_on_the_blacklist<M: Manager>() {
    let mut manager: M = cluster();
    let hosts: Vec<Arc<str>> = vec!["alpha".into(), "beta".into()];
    assert_eq!(manager.update_blacklist(&hosts, &[]), Ok(()));
    assert_eq!(manager.request(request(1, 1)), Ok(()));
    manager.run_until_idle();
    assert_eq!(manager.poll(), []);
    assert_eq!(manager.update_blacklist(&[], &hosts[1..]), Ok(()));
    manager.run_until_idle();
    assert_eq!(&*only_allocation(&manager.poll()).host, "beta");
}

on_both!(only_changed_nodes_are_reported);
fn only_changed_nodes_are_reported<M: Manager>() {
    let mut manager: M = cluster();
    assert_eq!(manager.poll(), []);
    manager.lose_node("alpha");
    manager.run_until_idle();
    let callbacks = manager.poll();
    let [Callback::NodesUpdated(reports)] = &*callbacks else { panic!("one report: {callbacks:?}") };
    let told: Vec<_> = reports.iter().map(|report| (&*report.host, report.is_usable)).collect();
    assert_eq!(told, [("alpha", false)]);
    manager.add_node("alpha", "rack-9", "gpu", 7);
    let callbacks = manager.poll();
    let [Callback::NodesUpdated(reports)] = &*callbacks else { panic!("one report: {callbacks:?}") };
    let told: Vec<_> = reports.iter().map(|r| (&*r.host, &*r.rack, &*r.label, r.is_usable)).collect();
    assert_eq!(told, [("alpha", "rack-9", "gpu", true)]);
}

fn engine_cluster(events_max: usize) -> EngineCluster {
    let mut manager = EngineCluster::with_events(events_max);
    manager.add_node("alpha", "", "", 100);
    manager.poll();
    manager
}

/// A client that polls too rarely catches up on lost callbacks.
#[test]
fn a_lagging_client_catches_up() {
    let mut manager = engine_cluster(2);
    for id in 1..=4 {
        assert_eq!(manager.request(request(id, 10)), Ok(()));
    }
    manager.run_until_idle();
    let mut served = Vec::new();
    for callback in manager.poll() {
        if let Callback::Allocated(allocations) = callback {
            served.extend(allocations.into_iter().filter_map(|came| came.request));
        }
    }
    served.sort();
    assert_eq!(served, [1, 2, 3, 4].map(RequestId));
}

/// After lost callbacks, a cancelled request is not mistaken for a placed one, and a pending request is kept.
#[test]
fn a_lagging_client_distinguishes_cancelled_from_placed() {
    let mut manager = engine_cluster(1);
    for (id, size) in [(1, 1_000), (2, 10), (3, 10)] {
        assert_eq!(manager.request(request(id, size)), Ok(()));
    }
    assert_eq!(manager.cancel(RequestId(1)), Ok(()));
    manager.run_until_idle();
    assert_eq!(manager.request(request(4, 10)), Ok(()));
    let (mut served, mut withdrawn) = (Vec::new(), Vec::new());
    // Callbacks from before the overflow come first, the lost ones with the next poll.
    for callback in [manager.poll(), manager.poll()].concat() {
        match callback {
            Callback::Allocated(allocations) => {
                served.extend(allocations.into_iter().filter_map(|a| a.request));
            }
            Callback::Withdrawn(request) => withdrawn.push(request),
            other => panic!("{other:?} is unexpected"),
        }
    }
    served.sort();
    assert_eq!((served, withdrawn), ([2, 3].map(RequestId).to_vec(), vec![RequestId(1)]));
    manager.run_until_idle();
    assert_eq!(only_allocation(&manager.poll()).request, Some(RequestId(4)));
}

/// A named host is also near its rack, and one of all hosts if the request is relaxed.
#[test]
fn the_explanation_of_the_fake_counts_each_host_once() {
    let mut fake: FakeCluster = cluster();
    let near =
        ContainerRequest { hosts: vec!["alpha".into()], racks: vec!["rack-1".into()], ..request(1, 101) };
    for (id, relax_locality, nodes) in [(1, false, 1), (2, true, 2)] {
        let request = ContainerRequest { id: RequestId(id), relax_locality, ..near.clone() };
        assert_eq!(fake.request(request), Ok(()));
        let text = fake.explain(RequestId(id)).map(|unserved| unserved.text).unwrap_or_default();
        assert!(text.starts_with(&format!("{nodes} nodes may take it, 0 of them")), "{text}");
    }
}

/// Each injected fault of the fake happens once.
#[test]
fn each_injected_fault_happens_once() {
    let mut fake: FakeCluster = cluster();
    fake.inject(Fault::RefuseRequest);
    assert!(matches!(fake.request(request(1, 1)), Err(ClientError::Refused(_))));
    fake.inject(Fault::LoseCallback);
    assert_eq!(fake.request(request(2, 1)), Ok(()));
    assert_eq!(fake.poll(), []);
    fake.inject(Fault::RepeatCallback);
    assert_eq!(fake.request(request(3, 1)), Ok(()));
    let callbacks = fake.poll();
    assert_eq!((callbacks.len(), &callbacks[0]), (2, &callbacks[1]));
    fake.inject(Fault::DelayCallback);
    assert_eq!(fake.request(request(4, 1)), Ok(()));
    assert_eq!(fake.request(request(5, 1)), Ok(()));
    let served: Vec<_> =
        fake.poll().iter().map(|callback| only_allocation(std::slice::from_ref(callback)).request).collect();
    assert_eq!(served, [Some(RequestId(5)), Some(RequestId(4))]);
    fake.inject(Fault::FailStart);
    let container = apportion_placement::ContainerRef(4);
    assert_eq!(fake.start(container, &Launch::of("web")), Ok(()));
    assert!(matches!(&*fake.poll(), [Callback::StartFailed { .. }]));
}

/// A host that a request named while it was away is reported again, although it has not changed. It is not reported a
/// third time.
#[test]
fn a_host_that_was_away_between_two_polls_is_reported_again() {
    let mut cluster = EngineCluster::new();
    cluster.add_node("alpha", "", "", 1);
    cluster.run_until_idle();
    let told = |cluster: &mut EngineCluster| {
        cluster.run_until_idle();
        let callbacks = cluster.poll().into_iter();
        let nodes = callbacks.filter_map(|callback| match callback {
            Callback::NodesUpdated(reports) => Some(reports),
            _ => None,
        });
        nodes.flatten().map(|report| report.host.to_string()).collect::<Vec<String>>()
    };
    assert_eq!(told(&mut cluster), ["alpha"]);
    cluster.lose_node("alpha");
    cluster.run_until_idle();
    let request = ContainerRequest::new(RequestId(1), Resources::new(&[1]), 1).only_on(["alpha"]);
    assert!(matches!(cluster.request(request), Err(ClientError::UnknownHost { .. })));
    cluster.add_node("alpha", "", "", 1);
    assert_eq!(told(&mut cluster), ["alpha"]);
    cluster.add_node("beta", "", "", 1);
    assert_eq!(told(&mut cluster), ["beta"]);
}

on_both!(a_stop_is_over_when_the_container_has_ended);
/// A container keeps its host until its end is confirmed, so two that keep apart never run there together.
fn a_stop_is_over_when_the_container_has_ended<M: Manager>() {
    let mut manager = cluster::<M>().stop_by_hand();
    let apart = |id| ContainerRequest { apart: Some("web".into()), ..request(id, 10).only_on(["alpha"]) };
    assert_eq!(manager.request(apart(1)), Ok(()));
    manager.run_until_idle();
    let first = only_allocation(&manager.poll()).container;
    assert_eq!(manager.start(first, &Launch::of("web")), Ok(()));
    assert_eq!(manager.report_started(first), Ok(()));
    assert_eq!(manager.poll(), [Callback::Started(first)]);

    assert_eq!(manager.release(first), Ok(()));
    assert_eq!(manager.request(apart(2)), Ok(()));
    manager.run_until_idle();
    assert_eq!(manager.poll(), [], "it is being stopped");
    assert_eq!(manager.end(first, ContainerExit::of(143)), Ok(()));
    manager.run_until_idle();
    let callbacks = manager.poll();
    let [Callback::Completed(ended), Callback::Allocated(came)] = &callbacks[..] else {
        panic!("expected an end and an allocation: {callbacks:?}")
    };
    assert_eq!(*ended, [(first, ContainerExit::of(ContainerExit::KILLED_BY_APPMASTER))]);
    assert_eq!((came[0].request, &*came[0].host), (Some(RequestId(2)), "alpha"));
}

/// A started container of this size on alpha.
fn running_on_alpha<M: Manager>(manager: &mut M, size: i64) -> ContainerRef {
    assert_eq!(manager.request(request(1, size).only_on(["alpha"])), Ok(()));
    manager.run_until_idle();
    let container = only_allocation(&manager.poll()).container;
    assert_eq!(manager.start(container, &Launch::of("web")), Ok(()));
    assert_eq!(manager.report_started(container), Ok(()));
    assert_eq!(manager.poll(), [Callback::Started(container)]);
    container
}

on_both!(a_swapped_container_arrives_when_the_old_one_has_ended);
/// No other request gets the room in between.
fn a_swapped_container_arrives_when_the_old_one_has_ended<M: Manager>() {
    let mut manager = cluster::<M>().stop_by_hand();
    let first = running_on_alpha(&mut manager, 100);
    assert_eq!(manager.swap(first, request(2, 90).only_on(["alpha"])), Ok(()));
    assert_eq!(manager.request(request(3, 50).only_on(["alpha"])), Ok(()));
    manager.run_until_idle();
    assert_eq!(manager.poll(), []);
    assert_eq!(manager.end(first, ContainerExit::of(143)), Ok(()));
    manager.run_until_idle();
    let callbacks = manager.poll();
    let [Callback::Completed(ended), Callback::Allocated(came)] = &callbacks[..] else {
        panic!("expected an end and the new container: {callbacks:?}")
    };
    assert_eq!((ended[0].0, came[0].request), (first, Some(RequestId(2))));
}

on_both!(a_swap_can_be_taken_back_while_the_container_is_being_stopped);
fn a_swap_can_be_taken_back_while_the_container_is_being_stopped<M: Manager>() {
    let mut manager = cluster::<M>().stop_by_hand();
    let first = running_on_alpha(&mut manager, 100);
    assert_eq!(manager.swap(first, request(2, 90).only_on(["alpha"])), Ok(()));
    assert_eq!(manager.cancel(RequestId(2)), Ok(()));
    assert_eq!(manager.poll(), [Callback::Withdrawn(RequestId(2))]);
    assert_eq!(manager.cancel(RequestId(2)), Err(ClientError::UnknownRequest(RequestId(2))));
    assert_eq!(manager.end(first, ContainerExit::of(143)), Ok(()));
    manager.run_until_idle();
    assert!(matches!(&manager.poll()[..], [Callback::Completed(_)]));
}

on_both!(a_container_that_is_being_stopped_is_found_so_by_the_next_master);
fn a_container_that_is_being_stopped_is_found_so_by_the_next_master<M: Manager>() {
    let mut manager = cluster::<M>().stop_by_hand();
    let first = running_on_alpha(&mut manager, 1);
    assert_eq!(manager.release(first), Ok(()));
    manager.run_until_idle();
    let found = manager.take_over();
    let found: Vec<_> = found.iter().map(|found| (found.container, found.is_stopping)).collect();
    assert_eq!(found, [(first, true)]);
    assert_eq!(manager.release(first), Ok(()), "to give it back again does no harm");
    assert_eq!(manager.end(first, ContainerExit::of(143)), Ok(()));
    manager.run_until_idle();
    let ends = manager.poll().into_iter().filter(|callback| matches!(callback, Callback::Completed(_)));
    assert_eq!(ends.count(), 1);
}
