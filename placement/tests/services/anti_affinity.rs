//! Instances that keep apart from each other.

use std::collections::BTreeSet;

use apportion::Resources;
use apportion_placement::{ComponentSpec, FakeCluster, HistoryEntry, HistoryFile, PlacementPolicy};

use crate::support::{Cluster, Manager, cancels, component, host, named, on_both, requests};

fn apart(id: u32, desired: u32) -> ComponentSpec {
    component(id, desired).with_policy(PlacementPolicy::AntiAffinity)
}

on_both!(one_request_at_a_time_on_hosts_without_an_instance);
/// S30.
fn one_request_at_a_time_on_hosts_without_an_instance<M: Manager>() {
    let mut bed = Cluster::<M>::of(3, 8).one_by_one().start(vec![], None);
    let calls = bed.change(|components| components.push(apart(2, 2)));
    let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
    assert_eq!((named(request).len(), request.relax_locality, request.racks.len()), (3, false, 0));
    assert_eq!(bed.status(2).pending_anti_affine, 1);
    bed.manager().run_until_idle();
    let calls = bed.tick();
    let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
    let first = bed.hosts(2);
    assert_eq!(named(request).len(), 2);
    assert!(!named(request).contains(&&*first[0]));
    assert_eq!(bed.status(2).pending_anti_affine, 0);
    bed.run_until_idle();
    assert_eq!(bed.hosts(2).into_iter().collect::<BTreeSet<_>>().len(), 2);
    assert_eq!(bed.tick(), []);
}

on_both!(flexing_down_takes_the_turns_first_and_then_the_request);
/// S32: pending instances are dropped first, then the request (D17).
fn flexing_down_takes_the_turns_first_and_then_the_request<M: Manager>() {
    let mut bed = Cluster::<M>::of(3, 8).one_by_one().start(vec![apart(2, 2)], None);
    assert_eq!(bed.flex(2, 1), []);
    assert_eq!((bed.status(2).requested, bed.status(2).pending_anti_affine), (1, 0));
    bed.run_until_idle();
    assert_eq!(bed.status(2).live, 1);

    let mut bed = Cluster::<M>::of(3, 8).one_by_one().start(vec![apart(2, 3)], None);
    let calls = bed.flex(2, 0);
    assert_eq!((cancels(&calls), calls.len()), (1, 1));
    assert_eq!((bed.status(2).requested, bed.status(2).pending_anti_affine), (0, 0));
    bed.run_until_idle();
    bed.flex(2, 3);
    bed.run_until_idle();
    assert_eq!(bed.status(2).live, 3, "it still has a request");
}

on_both!(a_host_that_becomes_free_is_asked_for_too);
/// D18.
fn a_host_that_becomes_free_is_asked_for_too<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 8).one_by_one().start(vec![apart(2, 3)], None);
    bed.run_until_idle();
    assert_eq!((bed.status(2).live, bed.status(2).requested, bed.status(2).pending_anti_affine), (2, 0, 1));
    bed.manager().add_node(&host(7), "", "", 8);
    bed.run_until_idle();
    assert_eq!(bed.status(2).live, 3);
    let container = bed.containers(2)[0].container;
    bed.end(container, 1);
    bed.run_until_idle();
    assert_eq!((bed.status(2).live, bed.hosts(2).into_iter().collect::<BTreeSet<_>>().len()), (3, 3));
}

on_both!(all_at_once_and_never_two_on_a_host);
/// With the engine, the service sends one request per instance, and the manager keeps them apart.
fn all_at_once_and_never_two_on_a_host<M: Manager>() {
    let mut bed = Cluster::<M>::of(4, 8).start(vec![], None);
    let calls = bed.change(|components| components.push(apart(2, 5)));
    assert_eq!(requests(&calls).len(), 5);
    bed.run_until_idle();
    assert_eq!((bed.status(2).live, bed.status(2).requested), (4, 1));
    assert_eq!(bed.hosts(2).into_iter().collect::<BTreeSet<_>>().len(), 4);
    bed.manager().add_node(&host(9), "", "", 1);
    bed.run_until_idle();
    assert_eq!(bed.status(2).live, 5);
}

on_both!(labels_hold_for_those_that_keep_apart);
/// For both ways of sending requests.
fn labels_hold_for_those_that_keep_apart<M: Manager>() {
    for one_by_one in [false, true] {
        let cluster = Cluster::<M>::of(4, 8).with_node("g1", "", "gpu", 8).with_node("g2", "", "gpu", 8);
        let cluster = if one_by_one { cluster.one_by_one() } else { cluster };
        let mut bed = cluster.start(vec![apart(2, 3).with_label("gpu")], None);
        bed.run_until_idle();
        assert_eq!(bed.hosts(2), ["g1", "g2"]);
    }
}

/// A manager like YARN when Slider was written: its containers do not name their request, and it keeps no instances
/// apart. S1, S15, S23, S30 and S37 in one life.
#[test]
fn a_manager_that_can_do_less_will_do() {
    let mut bed =
        Cluster::on(FakeCluster::new().like_yarn(), 6, 3).start(vec![component(1, 3), apart(2, 4)], None);
    let calls = bed.run_until_idle();
    assert_eq!((bed.status(1).live, bed.status(2).live), (3, 4));
    assert_eq!(bed.hosts(2).into_iter().collect::<BTreeSet<_>>().len(), 4);
    assert!(cancels(&calls) >= 6, "each answered request is cancelled: {calls:?}");
    let was = bed.hosts(1);
    let mut bed = bed.restart();
    bed.run_until_idle();
    assert_eq!((bed.hosts(1), bed.status(2).live), (was, 4));
    let mut bed = bed.restart_master();
    bed.run_until_idle();
    bed.flex(2, 6);
    bed.flex(1, 1);
    bed.run_until_idle();
    assert_eq!((bed.status(1).live, bed.status(2).live, bed.status(2).requested), (1, 6, 0));
}

/// D18: a waiting request is replaced when one more host becomes suitable.
#[test]
fn a_request_that_waits_names_hosts_that_come() {
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 2, 8).one_by_one().start(vec![], None);
    let calls = bed.change(|components| components.push(apart(2, 2)));
    assert_eq!(named(requests(&calls)[0]), [host(0), host(1)]);
    Manager::add_node(bed.manager(), &host(7), "", "", 8);
    let calls = bed.tick();
    let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
    assert_eq!((cancels(&calls), named(request)), (1, vec![&*host(0), &*host(1), &*host(7)]));
    bed.manager().lose_node(&host(0));
    assert_eq!(bed.tick(), [], "the loss of a host is no reason for a new request");
}

on_both!(an_instance_that_is_being_released_occupies_its_host_for_those_that_keep_apart);
/// D33: it does not occupy the host for other components, as in the seed.
fn an_instance_that_is_being_released_occupies_its_host_for_those_that_keep_apart<M: Manager>() {
    let entry = HistoryEntry { host: host(2).into(), role: 1, is_active: true, last_used_ms: 1 };
    let file = HistoryFile { saved_ms: 100, roles: 1, mapping: [].into(), entries: vec![entry] };
    let apart = component(0, 2).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<M>::of(3, 4).one_by_one().start(vec![apart, component(1, 1)], Some(&file));
    bed.run_until_idle();
    assert_eq!((bed.hosts(0), bed.hosts(1)), (vec![host(0), host(1)], vec![host(2)]));
    for (id, asked) in [(0, host(2)), (1, host(2))] {
        let container = bed.containers(id)[0].container;
        assert_eq!(bed.service.kill_container(container, bed.now_ms), Ok(()));
        let calls = bed.flex(id, 3 - id);
        let requests = requests(&calls);
        assert_eq!(
            requests.iter().map(|request| named(request)).collect::<Vec<_>>(),
            [[asked.as_str()]],
            "{id}"
        );
    }
}

on_both!(a_change_of_the_size_leaves_the_manager_to_keep_instances_apart);
/// If the running instances counted as too old to be kept apart by it, the others would be requested one by one.
fn a_change_of_the_size_leaves_the_manager_to_keep_instances_apart<M: Manager>() {
    let mut bed = Cluster::<M>::of(4, 4).start(vec![apart(0, 2)], None);
    bed.run_until_idle();
    let calls = bed.change(|specs| (specs[0].size, specs[0].desired) = (Resources::new(&[2]), 4));
    assert_eq!(requests(&calls).len(), 2, "{calls:?}");
}
