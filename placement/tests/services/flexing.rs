//! Flexing a component up and down.

use std::collections::BTreeMap;

use crate::support::{Cluster, Manager, cancels, component, on_both, releases, requests, roles};

on_both!(requests_are_taken_back_before_containers);
/// S15 and S17.
fn requests_are_taken_back_before_containers<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1).start(vec![], None);
    let calls = bed.change(|components| components.push(component(0, 5)));
    assert_eq!((requests(&calls).len(), bed.status(0).requested), (5, 5));
    bed.run_until_idle();
    assert_eq!(bed.status(0).requested, 4);
    let calls = bed.flex(0, 3);
    assert_eq!((cancels(&calls), calls.len(), bed.status(0).requested), (2, 2, 2));
    let calls = bed.flex(0, 2);
    assert_eq!((cancels(&calls), calls.len(), bed.status(0).requested), (1, 1, 1));
    bed.run_until_idle();

    let mut bed = Cluster::<M>::of(0, 0).start(vec![component(0, 6)], None);
    let calls = bed.flex(0, 3);
    assert_eq!((cancels(&calls), calls.len()), (3, 3));
    let calls = bed.flex(0, 0);
    assert_eq!((cancels(&calls), calls.len()), (3, 3));
}

on_both!(flexing_down_twice_releases_only_surplus_containers);
/// S19. A negative number cannot be expressed here: the definition refuses it.
fn flexing_down_twice_releases_only_surplus_containers<M: Manager>() {
    let mut bed = Cluster::<M>::of(6, 6).start(vec![component(0, 6)], None);
    bed.run_until_idle();
    assert_eq!(bed.status(0).live, 6);
    assert_eq!(releases(&bed.flex(0, 4)).len(), 2);
    assert_eq!(bed.tick(), []);
    assert_eq!(releases(&bed.flex(0, 1)).len(), 3);
    bed.run_until_idle();
    assert_eq!((bed.status(0).live, bed.status(0).counters.completed), (1, 5));
}

on_both!(a_component_is_released_as_a_whole);
/// S23.
fn a_component_is_released_as_a_whole<M: Manager>() {
    let mut bed = Cluster::<M>::of(4, 4).start(roles([6, 5, 4]), None);
    bed.run_until_idle();
    assert_eq!([0, 1, 2].map(|id| bed.status(id).live), [6, 5, 4]);
    let owned: Vec<_> = bed.containers(0).into_iter().map(|container| container.container).collect();
    let mut released = releases(&bed.flex(0, 0));
    released.sort();
    assert_eq!(released, owned);
    bed.run_until_idle();
    assert_eq!([0, 1, 2].map(|id| bed.status(id).live), [0, 5, 4]);
}

on_both!(crowded_hosts_are_left_first);
/// D11: hosts with several instances first, then the newest instance.
fn crowded_hosts_are_left_first<M: Manager>() {
    let mut bed = Cluster::<M>::of(3, 3).start(vec![component(0, 7)], None);
    bed.run_until_idle();
    for desired in (1..7).rev() {
        bed.flex(0, desired);
        bed.run_until_idle();
        let mut by_host: BTreeMap<String, u32> = BTreeMap::new();
        for host in bed.hosts(0) {
            *by_host.entry(host).or_default() += 1;
        }
        if desired == 3 {
            assert_eq!(by_host.into_values().collect::<Vec<_>>(), [1, 1, 1]);
        }
    }
}

on_both!(shrinking_and_growing_before_the_releases_end_asks_for_nothing);
/// F10.
fn shrinking_and_growing_before_the_releases_end_asks_for_nothing<M: Manager>() {
    let mut bed = Cluster::<M>::of(3, 3).start(vec![component(0, 3)], None);
    bed.run_until_idle();
    assert_eq!(releases(&bed.flex(0, 1)).len(), 2);
    assert_eq!(bed.flex(0, 3), []);
    let calls = bed.run_until_idle();
    assert_eq!(requests(&calls).len(), 2);
    assert_eq!(bed.status(0).live, 3);
}

on_both!(components_come_and_go);
fn components_come_and_go<M: Manager>() {
    let mut bed = Cluster::<M>::of(3, 3).start(vec![component(1, 2)], None);
    bed.run_until_idle();
    bed.change(|components| {
        components.clear();
        components.push(component(2, 3));
    });
    bed.run_until_idle();
    assert_eq!((bed.status(1).desired, bed.status(1).actual), (0, 0));
    assert_eq!(bed.status(2).live, 3);
}

on_both!(a_host_whose_request_was_taken_back_is_asked_for_again);
/// D14 and D16.
fn a_host_whose_request_was_taken_back_is_asked_for_again<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1).start(vec![component(0, 1)], None);
    bed.run_until_idle();
    bed.flex(0, 0);
    bed.run_until_idle();
    bed.change(|components| components.push(component(9, 1)));
    bed.run_until_idle();
    for _ in 0..3 {
        let calls = bed.flex(0, 1);
        assert_eq!(requests(&calls)[0].hosts.len(), 1);
        bed.run_until_idle();
        assert_eq!(cancels(&bed.flex(0, 0)), 1);
        bed.run_until_idle();
    }
}

on_both!(a_flex_to_the_same_components_would_change_nothing);
/// A component that is left out changes unless it is at 0 already.
fn a_flex_to_the_same_components_would_change_nothing<M: Manager>() {
    let specs = vec![component(0, 2), component(1, 0)];
    let mut bed = Cluster::<M>::of(2, 2).start(specs.clone(), None);
    bed.run_until_idle();
    for (others, is_change) in [
        (specs.clone(), false),
        (vec![component(0, 2)], false),
        (vec![component(1, 0)], true),
        (vec![component(0, 3), component(1, 0)], true),
        (vec![component(0, 2), component(1, 0), component(2, 0)], true),
    ] {
        assert_eq!(bed.service.state().would_change(&others), is_change, "{others:?}");
    }
}
