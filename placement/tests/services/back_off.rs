//! Back-off: instances that end soon after their start are restarted with growing delays.

use apportion_placement::{ComponentSpec, ContainerExit, OutstandingCause, ServiceEvent};

use crate::support::{Cluster, Manager, component, on_both};

fn patient(desired: u32) -> ComponentSpec {
    ComponentSpec { node_failure_threshold: None, container_failure_threshold: None, ..component(0, desired) }
}

on_both!(an_instance_that_ends_at_once_comes_back_later_and_later);
/// The exit status does not matter. The first restart is immediate; later ones wait 1, 2, 4 s and so on, up to 64 s.
fn an_instance_that_ends_at_once_comes_back_later_and_later<M: Manager>() {
    for exit in [0, 1, ContainerExit::KILLED_EXCEEDED_PMEM] {
        let mut bed = Cluster::<M>::of(2, 2).start(vec![patient(1)], None);
        bed.run_until_idle();
        for pause_ms in [0, 1, 2, 4, 8, 16, 32, 64, 64].map(|seconds| seconds * 1_000) {
            let container = bed.only(0).container;
            bed.end(container, exit);
            bed.run_until_idle();
            if pause_ms > 0 {
                let ended_ms = bed.now_ms;
                assert_eq!(bed.status(0).actual, 0, "exit {exit}, {pause_ms} ms");
                let status = bed.service.status(ended_ms);
                assert_eq!(status.outstanding.len(), 1, "exit {exit}, {pause_ms} ms");
                assert_eq!(status.outstanding[0].cause, OutstandingCause::BackOff);
                assert_eq!(bed.service.state().next_deadline_ms(), Some(ended_ms + pause_ms));
                bed.at(ended_ms + pause_ms - 1);
                bed.run_until_idle();
                assert_eq!(bed.status(0).actual, 0, "exit {exit}, {pause_ms} ms");
                bed.at(ended_ms + pause_ms);
                bed.run_until_idle();
            }
            assert_eq!(bed.status(0).live, 1, "exit {exit}, {pause_ms} ms");
        }
    }
}

on_both!(an_instance_that_ran_for_a_while_comes_back_at_once);
fn an_instance_that_ran_for_a_while_comes_back_at_once<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![patient(1)], None);
    bed.run_until_idle();
    for exit in [1, 0, 1, 0] {
        bed.at(bed.now_ms + 60_000);
        let container = bed.only(0).container;
        bed.end(container, exit);
        bed.run_until_idle();
        assert_eq!(bed.status(0).live, 1);
    }
}

on_both!(a_long_life_makes_up_for_short_ones);
fn a_long_life_makes_up_for_short_ones<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![patient(1)], None);
    bed.run_until_idle();
    for lived_ms in [0, 60_000] {
        bed.at(bed.now_ms + lived_ms);
        let container = bed.only(0).container;
        bed.end(container, 0);
        bed.run_until_idle();
    }
    let container = bed.only(0).container;
    bed.end(container, 0);
    bed.run_until_idle();
    assert_eq!(bed.status(0).live, 1, "its first short life since the long one");
}

on_both!(ends_caused_by_others_cause_no_pause);
/// Preempted, lost with its node, stopped, or killed by hand.
fn ends_caused_by_others_cause_no_pause<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![patient(1)], None);
    bed.run_until_idle();
    let ends = [ContainerExit::ABORTED, ContainerExit::PREEMPTED, ContainerExit::KILLED_BY_RESOURCEMANAGER];
    for exit in ends.repeat(3) {
        let container = bed.only(0).container;
        bed.end(container, exit);
        bed.run_until_idle();
        assert_eq!(bed.status(0).live, 1, "exit {exit}");
        let container = bed.only(0).container;
        assert_eq!(bed.service.kill_container(container, bed.now_ms), Ok(()));
        bed.run_until_idle();
        assert_eq!(bed.status(0).live, 1, "killed after exit {exit}");
    }
}

on_both!(instances_that_end_together_wait_together);
/// A hundred instances of a broken version: the pause doubles per generation, not per instance.
fn instances_that_end_together_wait_together<M: Manager>() {
    let mut bed = Cluster::<M>::of(10, 20).start(vec![patient(100)], None);
    bed.run_until_idle();
    for pause_ms in [0, 1_000, 2_000] {
        for container in bed.containers(0) {
            bed.manager().end(container.container, ContainerExit::of(1)).unwrap_or_else(|e| panic!("{e}"));
        }
        bed.run_until_idle();
        let live = if pause_ms == 0 { 100 } else { 0 };
        assert_eq!(bed.status(0).live, live, "{pause_ms} ms");
        bed.at(bed.now_ms + pause_ms);
        bed.run_until_idle();
        assert_eq!(bed.status(0).live, 100, "{pause_ms} ms");
    }
    bed.flex(0, 40);
    bed.run_until_idle();
    assert_eq!(bed.status(0).live, 40);
    bed.flex(0, 100);
    bed.run_until_idle();
    assert_eq!(bed.status(0).live, 100, "after the pause a flex starts instances at once");
}

on_both!(a_pause_lasts_although_the_instance_is_not_wanted_for_a_while);
/// Otherwise a component's scale-down and scale-up would restart a failing instance at once. (A flex forgets pauses.)
fn a_pause_lasts_although_the_instance_is_not_wanted_for_a_while<M: Manager>() {
    for left in [0, 1] {
        let mut bed = Cluster::<M>::of(2, 2).start(vec![patient(left + 1)], None);
        bed.run_until_idle();
        // A pause follows the second short life of the youngest. With `left` = 1 another instance runs on.
        for _ in 0..2 {
            let youngest = bed.containers(0).into_iter().map(|running| running.container).max();
            bed.end(youngest.unwrap_or_else(|| panic!("{left}: none runs")), 1);
            bed.run_until_idle();
        }
        assert_eq!((bed.status(0).live, bed.status(0).requested), (left, 0), "it pauses");
        let ends_ms = bed.now_ms + 1_000;
        for desired in [left, left + 1] {
            bed.service.handle(ServiceEvent::Change(patient(desired)), bed.now_ms);
            bed.run_until_idle();
            assert_eq!((bed.status(0).live, bed.status(0).requested), (left, 0), "{left}: the pause lasts");
        }
        bed.at(ends_ms);
        bed.run_until_idle();
        assert_eq!(bed.status(0).live, left + 1, "{left}: the pause is over");
    }
}

on_both!(only_missing_instances_wait_for_a_pause);
/// Pauses last although fewer instances are wanted meanwhile. Those instances wait for nothing.
fn only_missing_instances_wait_for_a_pause<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![patient(2)], None);
    bed.run_until_idle();
    for wait_ms in [0, 0, 0, 400] {
        bed.at(bed.now_ms + wait_ms);
        let oldest = bed.containers(0).into_iter().map(|running| running.container).min();
        bed.end(oldest.unwrap_or_else(|| panic!("one runs")), 1);
        bed.run_until_idle();
    }
    assert_eq!((bed.status(0).live, bed.status(0).requested), (0, 0), "both pause");
    for (desired, expected) in [
        (0, vec![]),
        (1, vec!["1 more wanted, the next one in 1000 ms"]),
        (2, vec!["2 more wanted, the next one in 600 ms"]),
    ] {
        bed.service.handle(ServiceEvent::Change(patient(desired)), bed.now_ms);
        let outstanding = bed.service.status(bed.now_ms).outstanding;
        let said: Vec<_> = outstanding.iter().map(|waits| waits.explanation.split(':').next()).collect();
        assert_eq!(said, expected.into_iter().map(Some).collect::<Vec<_>>(), "{desired} desired");
    }
    bed.service.stop(bed.now_ms);
    assert_eq!(bed.service.status(bed.now_ms).outstanding, [], "a service that is over wants nothing");
}
