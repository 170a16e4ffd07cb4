//! The hosts of requests, and the placements that follow.

use apportion_placement::{AllocationOutcome, ComponentSpec, FakeCluster, FaultDomain, PlacementPolicy};

use crate::support::{Cluster, Manager, cancels, component, host, named, on_both, releases, requests, roles};

on_both!(an_instance_returns_to_its_host);
/// S1. No cancel follows the container, since it names its request (D1).
fn an_instance_returns_to_its_host<M: Manager>() {
    let mut bed = Cluster::<M>::of(8, 8).start(vec![], None);
    let calls = bed.change(|components| components.extend(roles([1, 0, 0])));
    let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
    assert!(request.hosts.is_empty() && request.relax_locality);
    assert_eq!(bed.run_until_idle(), []);
    let first = bed.only(0);
    assert_eq!(first.outcome, AllocationOutcome::Open);

    assert_eq!(releases(&bed.flex(0, 0)), [first.container]);
    bed.run_until_idle();
    let calls = bed.flex(0, 1);
    let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
    assert_eq!((named(request), request.relax_locality), (vec![&*first.host], false));
    bed.run_until_idle();
    assert_eq!((bed.only(0).host, bed.only(0).outcome), (first.host, AllocationOutcome::Placed));
}

on_both!(strict_and_normal_ask_for_their_hosts_the_second_time);
/// S2.
fn strict_and_normal_ask_for_their_hosts_the_second_time<M: Manager>() {
    let strict =
        ComponentSpec { policy: PlacementPolicy::Strict, node_failure_threshold: Some(2), ..component(5, 1) };
    let mut bed = Cluster::<M>::of(8, 2).start(vec![], None);
    let calls = bed.change(|components| components.extend([component(4, 1), strict]));
    assert!(requests(&calls).iter().all(|request| request.relax_locality));
    assert_eq!(requests(&calls).len(), 2);
    bed.run_until_idle();
    for id in [5, 4] {
        let was = bed.only(id).host;
        bed.flex(id, 0);
        bed.run_until_idle();
        let calls = bed.flex(id, 1);
        let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
        assert_eq!((named(request), request.relax_locality), (vec![&*was], false));
        bed.run_until_idle();
    }
}

on_both!(a_request_is_widened_to_the_rack_and_then_to_the_cluster);
/// S9 and S11 with known racks: between host and cluster comes the rack. The deadline is the component's own, to the
/// millisecond (D12).
fn a_request_is_widened_to_the_rack_and_then_to_the_cluster<M: Manager>() {
    let cluster = Cluster::<M>::of(0, 0).with_node("a", "rack-1", "", 1).with_node("b", "rack-2", "", 1);
    let mut bed = cluster.start(roles([1, 0, 0]), None);
    bed.run_until_idle();
    let was = bed.only(0).host;
    let rack = if was == "a" { "rack-1" } else { "rack-2" };
    bed.flex(0, 0);
    bed.run_until_idle();
    bed.change(|components| {
        components.push(component(9, 2).with_policy(PlacementPolicy::Anywhere));
    });
    bed.run_until_idle();
    let calls = bed.flex(0, 1);
    assert_eq!(named(requests(&calls)[0]), [&*was]);
    bed.run_until_idle();

    assert_eq!(bed.at(1_001), []);
    let calls = bed.at(1_002);
    let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
    assert_eq!((cancels(&calls), calls.len()), (1, 2));
    assert_eq!((named(request), request.racks.len(), request.relax_locality), (vec![&*was], 1, false));
    assert_eq!(&*request.racks[0], rack);
    bed.run_until_idle();

    assert_eq!(bed.at(2_002), []);
    let calls = bed.at(2_003);
    let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
    assert_eq!((cancels(&calls), calls.len()), (1, 2));
    assert_eq!((named(request), request.racks.len(), request.relax_locality), (vec![&*was], 0, true));
    bed.run_until_idle();

    let other = bed.containers(9).into_iter().find(|container| container.host != was);
    bed.end(other.unwrap_or_else(|| panic!("one elsewhere")).container, 0);
    bed.flex(9, 1);
    // The manager has its own delay before it looks beyond the preferred hosts.
    bed.at(100_000);
    bed.run_until_idle();
    assert_eq!(bed.only(0).outcome, AllocationOutcome::Escalated);
    assert_ne!(bed.only(0).host, was);
}

on_both!(without_racks_a_request_is_widened_to_the_cluster_at_once);
/// S9.
fn without_racks_a_request_is_widened_to_the_cluster_at_once<M: Manager>() {
    let mut bed = Cluster::<M>::of(0, 0).with_node("a", "", "", 1).start(roles([1, 0, 0]), None);
    bed.run_until_idle();
    bed.flex(0, 0);
    bed.run_until_idle();
    bed.change(|components| components.push(component(9, 1)));
    bed.run_until_idle();
    bed.flex(0, 1);
    bed.run_until_idle();
    assert_eq!(bed.at(1_001), []);
    let calls = bed.at(1_002);
    let [request] = *requests(&calls) else { panic!("one request: {calls:?}") };
    assert_eq!((cancels(&calls), calls.len(), request.relax_locality), (1, 2, true));
    assert_eq!(bed.at(100_000), [], "it cannot be widened further");
}

/// A request that keeps apart is widened to hosts that are apart, and waits while there are none.
#[test]
fn a_request_that_cannot_be_wider_yet_does_not_count_as_widened() {
    let near = |id| {
        ComponentSpec { escalate_after_ms: 1_000, ..component(id, 1) }.apart_from("pair", FaultDomain::Host)
    };
    let mut bed = Cluster::on(FakeCluster::new(), 2, 1).start(vec![near(1), near(2)], None);
    bed.run_until_idle();
    let was = bed.only(1).host;
    bed.flex(1, 0);
    bed.run_until_idle();
    bed.change(|components| components.push(component(9, 1)));
    bed.run_until_idle();
    assert_eq!(named(requests(&bed.flex(1, 1))[0]), [&*was]);
    bed.manager().set_usable(&was, false);
    bed.run_until_idle();

    let calls = bed.at(1_002);
    assert_eq!((named(requests(&calls)[0]), bed.status(1).counters.widened), (vec![&*was], 0));
    Manager::add_node(bed.manager(), &host(7), "", "", 1);
    bed.run_until_idle();
    bed.at(2_003);
    bed.run_until_idle();
    assert_eq!((bed.hosts(1), bed.status(1).counters.widened), (vec![host(7)], 1));
}

on_both!(a_strict_request_is_never_widened);
/// S10.
fn a_strict_request_is_never_widened<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 1).start(roles([0, 1, 0]), None);
    bed.run_until_idle();
    bed.flex(1, 0);
    bed.run_until_idle();
    bed.change(|components| components.push(component(9, 2)));
    bed.run_until_idle();
    let calls = bed.flex(1, 1);
    assert_eq!(requests(&calls).len(), 1);
    bed.run_until_idle();
    assert_eq!(bed.at(1_000_000), []);
    assert_eq!(bed.status(1).requested, 1);
}

on_both!(labels_are_respected_however_wide_a_request_is);
/// S11. A request with hosts carries the label too, and a host with another label is not requested (D13).
fn labels_are_respected_however_wide_a_request_is<M: Manager>() {
    let gpu = component(1, 1).with_label("gpu");
    let cluster = Cluster::<M>::of(3, 4).with_node("g1", "", "gpu", 1);
    let mut bed = cluster.start(vec![ComponentSpec { escalate_after_ms: 1_000, ..gpu }], None);
    bed.run_until_idle();
    assert_eq!(bed.hosts(1), ["g1"]);
    bed.flex(1, 0);
    bed.run_until_idle();
    bed.change(|components| components.push(component(9, 1).with_label("gpu")));
    bed.run_until_idle();
    let calls = bed.flex(1, 1);
    let placed = requests(&calls)[0];
    assert_eq!(
        (named(placed), placed.relax_locality, placed.label.as_deref()),
        (vec!["g1"], false, Some("gpu"))
    );
    bed.run_until_idle();
    let calls = bed.at(1_002);
    let wide = requests(&calls)[0];
    assert_eq!((named(wide).len(), wide.relax_locality, wide.label.as_deref()), (0, true, Some("gpu")));
    bed.run_until_idle();
    assert_eq!(bed.hosts(1), [""; 0], "there is room, but not on nodes with the label");
}

on_both!(a_second_look_finds_nothing_to_do);
/// S20.
fn a_second_look_finds_nothing_to_do<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).starting_by_hand().start(vec![], None);
    let calls = bed.change(|components| components.extend(roles([1, 0, 0])));
    assert_eq!(requests(&calls).len(), 1);
    assert_eq!((bed.status(0).requested, bed.status(0).actual), (1, 0));
    assert_eq!(bed.flex(0, 1), []);
    assert_eq!(bed.run_until_idle(), []);
    assert_eq!((bed.status(0).requested, bed.status(0).actual, bed.status(0).starting), (0, 1, 1));
}

on_both!(a_second_start_changes_nothing);
/// S22.
fn a_second_start_changes_nothing<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).starting_by_hand().start(roles([1, 0, 0]), None);
    bed.run_until_idle();
    let container = bed.only(0).container;
    for _ in 0..2 {
        assert_eq!(bed.manager().report_started(container), Ok(()));
        assert_eq!(bed.run_until_idle(), []);
        assert_eq!((bed.status(0).live, bed.status(0).counters.started), (1, 1));
    }
}

on_both!(a_host_that_the_manager_does_not_know_is_not_asked_for_again);
/// A strict component waits for its host and is served when it registers again; a normal one goes elsewhere at once.
fn a_host_that_the_manager_does_not_know_is_not_asked_for_again<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 8).with_node("lost", "", "", 9).start(roles([0, 0, 0]), None);
    bed.run_until_idle();
    bed.manager().lose_node(&host(0));
    bed.run_until_idle();
    bed.flex(0, 1);
    bed.flex(1, 1);
    bed.run_until_idle();
    assert_eq!((bed.hosts(0), bed.hosts(1)), (vec!["lost".to_owned()], vec!["lost".to_owned()]));
    bed.manager().add_node(&host(0), "", "", 8);
    bed.manager().lose_node("lost");
    bed.run_until_idle();
    assert_eq!(bed.hosts(0), [host(0)]);
    assert_eq!((bed.hosts(1).len(), bed.status(1).requested), (0, 1));
    bed.at(60_000);
    bed.run_until_idle();
    assert_eq!(bed.hosts(1).len(), 0);
    bed.manager().add_node("lost", "", "", 9);
    bed.run_until_idle();
    assert_eq!(bed.hosts(1), ["lost"]);
}
