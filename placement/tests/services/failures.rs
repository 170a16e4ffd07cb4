//! Failures, and the components and hosts that they count against.

use apportion_placement::{Callback, ComponentSpec, ContainerExit, PlacementPolicy, ServiceEvent};

use crate::support::{Call, Cluster, Manager, component, host, on_both, requests, roles};

const HOUR_MS: u64 = 3_600_000;

on_both!(a_short_life_is_a_failed_start_and_a_long_one_is_not);
/// S24.
fn a_short_life_is_a_failed_start_and_a_long_one_is_not<M: Manager>() {
    let mut bed = Cluster::<M>::of(4, 8_000).start(roles([1, 0, 0]), None);
    bed.run_until_idle();
    let first = bed.only(0);
    let calls = bed.end(first.container, 1);
    assert!(requests(&calls)[0].hosts.is_empty(), "the host is not trusted");
    let counters = bed.status(0).counters;
    assert_eq!((counters.failed, counters.start_failed), (1, 1));

    let mut bed = Cluster::<M>::of(4, 8_000).start(roles([1, 0, 0]), None);
    bed.run_until_idle();
    let first = bed.only(0);
    bed.at(HOUR_MS);
    let calls = bed.end(first.container, 1);
    assert_eq!(requests(&calls)[0].hosts.len(), 1, "it comes back");
    let counters = bed.status(0).counters;
    assert_eq!((counters.failed, counters.start_failed), (1, 0));
}

on_both!(each_end_counts_where_it_belongs);
/// S26, for components: the table of spec 1.11. A short life counts as a failed start only if the container failed
/// (D24).
fn each_end_counts_where_it_belongs<M: Manager>() {
    let table = [
        (1, [1, 1, 0, 0, 0, 0]),
        (ContainerExit::KILLED_EXCEEDED_PMEM, [1, 1, 1, 0, 0, 0]),
        (ContainerExit::KILLED_EXCEEDED_VMEM, [1, 1, 1, 0, 0, 0]),
        (ContainerExit::DISKS_FAILED, [1, 0, 0, 1, 0, 0]),
        (ContainerExit::PREEMPTED, [0, 0, 0, 0, 1, 0]),
        (ContainerExit::ABORTED, [0, 0, 0, 0, 0, 1]),
        (ContainerExit::KILLED_BY_RESOURCEMANAGER, [0, 0, 0, 0, 0, 1]),
        (0, [0, 0, 0, 0, 0, 1]),
    ];
    for (exit, expected) in table {
        let mut bed = Cluster::<M>::of(1, 1).start(vec![component(0, 1)], None);
        bed.run_until_idle();
        bed.at(HOUR_MS);
        let container = bed.only(0).container;
        bed.end(container, exit);
        let c = bed.status(0).counters;
        let recently = u64::from(c.failed_recently);
        let counted = [c.failed, recently, c.limits_exceeded, c.node_failed, c.preempted, c.completed];
        assert_eq!(counted, expected, "exit {exit}");
        assert_eq!(c.start_failed, 0);
        bed.run_until_idle();
        assert_eq!(bed.status(0).live, 1, "it comes back after exit {exit}");
    }
}

on_both!(a_start_that_fails_counts_once);
/// S28 and D21: the failure is not counted again at the container's end. The host stays off the list until the window
/// ends or the component runs elsewhere (D10).
fn a_start_that_fails_counts_once<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1).starting_by_hand().start(vec![component(0, 1)], None);
    bed.run_until_idle();
    let container = bed.only(0).container;
    assert_eq!((bed.status(0).starting, bed.status(0).live), (1, 0));
    assert_eq!(bed.manager().report_start_failed(container), Ok(()));
    let calls = bed.run_until_idle();
    let c = bed.status(0).counters;
    assert_eq!((c.failed, c.failed_recently, c.start_failed), (1, 1, 1));
    let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
    assert!(request.hosts.is_empty());
    let container = bed.only(0).container;
    assert_eq!(bed.manager().report_started(container), Ok(()));
    bed.run_until_idle();
    assert_eq!(bed.status(0).live, 1);
}

on_both!(too_many_failures_end_the_service);
/// Spec 1.11 and F15: one failure above the threshold ends the service.
fn too_many_failures_end_the_service<M: Manager>() {
    let limited = ComponentSpec {
        container_failure_threshold: Some(2),
        node_failure_threshold: None,
        ..component(0, 2)
    };
    let mut bed = Cluster::<M>::of(4, 8).start(vec![limited, component(1, 3)], None);
    bed.run_until_idle();
    for failures in 1..=3 {
        let container = bed.containers(0)[0].container;
        bed.end(container, 7);
        assert_eq!(bed.service.state().is_over(), failures == 3);
        bed.run_until_idle();
    }
    let failure = bed.service.state().failure().cloned().unwrap_or_else(|| panic!("a failure"));
    assert_eq!((failure.exit_code, &*failure.component), (72, "role0"));
    assert!(
        failure.message.contains("3 failures") && failure.message.contains("exit status 7"),
        "{failure:?}"
    );
    assert_eq!(bed.service.state().container_count(), 0, "all containers were released");
    assert_eq!(bed.tick(), []);
}

on_both!(a_component_is_given_up_also_when_another_ends_the_service);
/// Both fail in one event. The status shows both.
fn a_component_is_given_up_also_when_another_ends_the_service<M: Manager>() {
    let fragile = |id| ComponentSpec { container_failure_threshold: Some(0), ..component(id, 1) };
    let optional = ComponentSpec { degrades: true, ..fragile(1) };
    let mut bed = Cluster::<M>::of(2, 2).start(vec![fragile(0), optional], None);
    bed.run_until_idle();
    let failed = [0, 1].map(|id| (bed.only(id).container, ContainerExit::of(1)));
    bed.service.handle(ServiceEvent::Callback(Callback::Completed(failed.into())), bed.now_ms);
    assert_eq!(bed.service.state().failure().map(|failure| &*failure.component), Some("role0"));
    assert!(bed.status(1).is_given_up);
}

on_both!(failures_of_nodes_and_preemption_never_end_the_service);
fn failures_of_nodes_and_preemption_never_end_the_service<M: Manager>() {
    let limited = ComponentSpec { container_failure_threshold: Some(0), ..component(0, 1) };
    let mut bed = Cluster::<M>::of(4, 8).start(vec![limited], None);
    for exit in [ContainerExit::ABORTED, ContainerExit::PREEMPTED, ContainerExit::DISKS_FAILED].repeat(2) {
        bed.run_until_idle();
        let container = bed.only(0).container;
        bed.end(container, exit);
        assert!(!bed.service.state().is_over());
    }
}

on_both!(a_host_where_too_much_fails_is_shunned_until_the_window_ends);
/// S5, S27 and the windows of spec 1.12; the window is exactly six hours (D20).
fn a_host_where_too_much_fails_is_shunned_until_the_window_ends<M: Manager>() {
    let fragile = ComponentSpec {
        node_failure_threshold: Some(2),
        container_failure_threshold: None,
        ..component(0, 1)
    };
    let mut bed = Cluster::<M>::of(1, 8).start(vec![fragile], None);
    let window_ends_ms = 1 + 6 * HOUR_MS;
    for failures in 1..=3 {
        bed.run_until_idle();
        let container = bed.only(0).container;
        bed.at(HOUR_MS * failures / 2);
        let calls = bed.end(container, 1);
        let shunned = calls.iter().filter(|call| matches!(call, Call::Blacklist { .. })).count();
        assert_eq!(shunned, usize::from(failures == 3));
    }
    bed.run_until_idle();
    assert_eq!(bed.status(0).live, 0, "the only host is shunned");
    assert_eq!(bed.at(window_ends_ms - 1), []);
    let calls = bed.at(window_ends_ms);
    let forgiven = vec![host(0).into()];
    assert!(calls.contains(&Call::Blacklist { add: vec![], remove: forgiven }), "{calls:?}");
    bed.run_until_idle();
    assert_eq!(bed.status(0).live, 1);
    assert_eq!((bed.status(0).counters.failed, bed.status(0).counters.failed_recently), (3, 0));
}

on_both!(strict_components_neither_shun_hosts_nor_are_kept_away);
/// S6 and D9.
fn strict_components_neither_shun_hosts_nor_are_kept_away<M: Manager>() {
    let strict = ComponentSpec {
        policy: PlacementPolicy::Strict,
        node_failure_threshold: Some(0),
        container_failure_threshold: None,
        ..component(1, 1)
    };
    let mut bed = Cluster::<M>::of(2, 8).start(vec![strict], None);
    bed.run_until_idle();
    let was = bed.only(1).host;
    for failures in 1..=5 {
        bed.at(HOUR_MS * failures);
        let container = bed.only(1).container;
        let calls = bed.end(container, 1);
        assert!(calls.iter().all(|call| !matches!(call, Call::Blacklist { .. })));
        bed.run_until_idle();
        assert_eq!(bed.only(1).host, was);
    }
}

on_both!(without_a_threshold_no_host_is_unreliable);
/// D9: a negative threshold means no threshold.
fn without_a_threshold_no_host_is_unreliable<M: Manager>() {
    let patient =
        ComponentSpec { node_failure_threshold: None, container_failure_threshold: None, ..component(0, 1) };
    let mut bed = Cluster::<M>::of(1, 8).start(vec![patient], None);
    for failure in 1..=20 {
        bed.run_until_idle();
        bed.at(failure * 100_000);
        let container = bed.only(0).container;
        bed.end(container, 1);
    }
    bed.run_until_idle();
    assert_eq!((bed.status(0).live, bed.status(0).counters.failed), (1, 20));
}

on_both!(a_killed_container_counts_as_failed_and_another_one_comes);
/// D29.
fn a_killed_container_counts_as_failed_and_another_one_comes<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 8).start(vec![component(0, 1)], None);
    bed.run_until_idle();
    let was = bed.only(0);
    bed.at(1_000);
    assert_eq!(bed.service.kill_container(was.container, 1_000), Ok(()));
    bed.run_until_idle();
    let c = bed.status(0).counters;
    assert_eq!((c.failed, c.failed_recently, c.completed, bed.status(0).live), (1, 0, 0, 1));
    assert_eq!(bed.only(0).host, was.host);
    assert!(bed.service.kill_container(was.container, 1_000).is_err(), "it has ended");
}

on_both!(a_lost_host_is_not_held_against_the_component);
/// S29 and spec 1.14.
fn a_lost_host_is_not_held_against_the_component<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![component(0, 1)], None);
    bed.run_until_idle();
    bed.at(HOUR_MS);
    let was = bed.only(0).host;
    bed.manager().lose_node(&was);
    bed.run_until_idle();
    assert_ne!(bed.only(0).host, was);
    assert_eq!((bed.status(0).counters.failed, bed.status(0).live), (0, 1));
}

on_both!(too_few_that_run_for_too_long_end_the_service);
/// The health monitor of spec 1.12.
fn too_few_that_run_for_too_long_end_the_service<M: Manager>() {
    let health = apportion_placement::HealthThreshold { percent: 80, window_ms: 600, initial_delay_ms: 100 };
    let watched = ComponentSpec { health: Some(health), ..component(0, 5) };
    let mut bed = Cluster::<M>::of(1, 3).start(vec![watched], None);
    bed.run_until_idle();
    assert_eq!(bed.service.state().next_deadline_ms(), Some(101));
    bed.at(101);
    bed.at(701);
    assert!(!bed.service.state().is_over());
    bed.at(702);
    let failure = bed.service.state().failure().cloned().unwrap_or_else(|| panic!("a failure"));
    assert_eq!(failure.exit_code, 56);

    let watched = ComponentSpec { health: Some(health), ..component(0, 5) };
    let mut bed = Cluster::<M>::of(1, 3).start(vec![watched], None);
    bed.run_until_idle();
    bed.at(101);
    bed.manager().add_node(&host(1), "", "", 3);
    bed.run_until_idle();
    bed.at(10_000);
    assert!(!bed.service.state().is_over());
}

on_both!(a_container_that_is_released_before_it_starts_leaves_nothing_behind);
/// S28 and D22: the host does not stay busy.
fn a_container_that_is_released_before_it_starts_leaves_nothing_behind<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1).starting_by_hand().start(vec![component(0, 1)], None);
    bed.run_until_idle();
    assert_eq!((bed.status(0).starting, bed.status(0).releasing), (1, 0));
    bed.flex(0, 0);
    assert_eq!((bed.status(0).starting, bed.status(0).releasing), (0, 1));
    bed.run_until_idle();
    let status = bed.status(0);
    assert_eq!((status.actual, status.starting, status.live, status.releasing), (0, 0, 0, 0));
    bed.flex(0, 1);
    bed.run_until_idle();
    assert_eq!(bed.status(0).starting, 1, "the container starts on the same host again");
}

on_both!(a_failed_start_does_not_touch_a_sibling_on_the_host);
/// D23.
fn a_failed_start_does_not_touch_a_sibling_on_the_host<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 2).starting_by_hand().start(vec![component(0, 1)], None);
    bed.run_until_idle();
    let sibling = bed.only(0).container;
    assert_eq!(bed.manager().report_started(sibling), Ok(()));
    bed.flex(0, 2);
    bed.run_until_idle();
    let other = bed.containers(0).into_iter().find(|found| found.container != sibling);
    let other = other.unwrap_or_else(|| panic!("a second container")).container;
    assert_eq!(bed.manager().report_start_failed(other), Ok(()));
    bed.run_until_idle();
    assert_eq!((bed.status(0).live, bed.status(0).starting), (1, 1));
    assert_eq!(bed.state_of(sibling), Some(apportion_placement::InstanceState::Live));
}

on_both!(short_lives_without_a_failure_do_not_count);
/// D24: the cause of the end counts, not the age.
fn short_lives_without_a_failure_do_not_count<M: Manager>() {
    for exit in [ContainerExit::PREEMPTED, ContainerExit::ABORTED, 0] {
        let mut bed = Cluster::<M>::of(3, 1).start(vec![component(0, 1)], None);
        bed.run_until_idle();
        let was = bed.only(0);
        bed.at(10_000);
        let calls = bed.end(was.container, exit);
        assert_eq!(requests(&calls)[0].hosts.len(), 1, "it comes back after exit {exit}");
        assert_eq!((bed.status(0).counters.failed, bed.status(0).counters.start_failed), (0, 0));
    }
}

on_both!(blacklisting_a_host_is_one_operation);
/// S27.
fn blacklisting_a_host_is_one_operation<M: Manager>() {
    let fragile = ComponentSpec {
        node_failure_threshold: Some(2),
        container_failure_threshold: None,
        ..component(0, 1)
    };
    let mut bed = Cluster::<M>::of(1, 8).start(vec![fragile], None);
    for failures in 1..=4 {
        bed.run_until_idle();
        let Some(container) = bed.containers(0).first().map(|found| found.container) else {
            assert_eq!(failures, 4, "the host is shunned after three");
            break;
        };
        bed.at(HOUR_MS * failures / 2);
        let calls = bed.end(container, 1);
        let shunned: Vec<_> = calls.iter().filter(|call| matches!(call, Call::Blacklist { .. })).collect();
        let expected = Call::Blacklist { add: vec![host(0).into()], remove: vec![] };
        assert_eq!(shunned, if failures == 3 { vec![&expected] } else { vec![] });
    }
    assert_eq!(bed.tick(), []);
}
