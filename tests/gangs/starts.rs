//! When and where gangs start.

use std::collections::BTreeSet;

use apportion::event::EventKind;
use apportion::explain::{Blocker, PendingReason};
use apportion::gang::GangSpec;
use apportion::{
    AskSpec, CommitOutcome, Locality, ResourceAllocationCommitRequest, TagLimit, request::RejectReason,
};

use crate::{Cluster, ask, has_started, placed};

#[test]
fn all_members_start_at_once_or_none() {
    for cluster in Cluster::of_each_mode() {
        cluster.nodes(4, 2);
        let (other, job) = (cluster.application(), cluster.application());
        cluster.handle.submit_ask(other, ask(1, 3)).unwrap();
        cluster.run();
        let running = placed(&cluster.events());
        let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 6)).without_gathering());
        cluster.run();
        gang.ticket.try_take().unwrap().unwrap();
        assert_eq!((cluster.running(job), cluster.events().len()), (0, 0), "only five have room");
        // Ordinary asks go on.
        cluster.handle.submit_ask(other, ask(1, 1)).unwrap();
        cluster.run();
        assert_eq!(cluster.running(other), 4);
        cluster.events();
        cluster.complete(running.iter().take(1).map(|(container, _)| *container));
        assert_eq!(cluster.running(job), 0);
        cluster.complete(running.iter().skip(1).take(1).map(|(container, _)| *container));
        let events = cluster.events();
        assert_eq!(placed(&events).len(), 6);
        assert_eq!(events.last(), Some(&EventKind::GangStarted { gang: gang.gang }));
        assert_eq!(cluster.running(job), 6);
    }
}

/// Roles with units, members and the number of a host, and whether all members are on one rack.
type SomeGang = (&'static [(i64, u32, Option<usize>)], bool);

/// The two gangs differ in one respect only.
#[test]
fn a_gang_that_fits_starts_although_the_gang_before_it_finds_no_room() {
    let pairs: [(&str, [SomeGang; 2]); 5] = [
        ("smaller members", [(&[(2, 2, None)], false), (&[(1, 2, None)], false)]),
        ("fewer members", [(&[(1, 3, None)], false), (&[(1, 2, None)], false)]),
        ("fewer roles", [(&[(1, 1, None), (2, 1, None)], false), (&[(1, 1, None)], false)]),
        ("not on one rack", [(&[(1, 2, None)], true), (&[(1, 2, None)], false)]),
        ("another host", [(&[(1, 1, Some(2))], false), (&[(1, 1, Some(0))], false)]),
    ];
    for (difference, gangs) in pairs {
        // Later, one unit is free on each of two racks, and none on a third. One search then finds room for one gang.
        let cluster = Cluster::serial();
        let nodes = [("a", 0), ("b", 1), ("c", 2)].map(|(rack, number)| cluster.node(number, 2, rack));
        let at = |ask: AskSpec, host: Option<usize>| match host {
            Some(host) => ask.on_hosts([nodes[host]]).strictly_local(),
            None => ask,
        };
        let other = cluster.application();
        for (units, count, host) in [(1, 2, 0), (1, 2, 1), (2, 1, 2)] {
            cluster.handle.submit_ask(other, at(ask(units, count), Some(host))).unwrap();
        }
        cluster.run();
        let running = placed(&cluster.events());
        let [stuck, fitting] = gangs.map(|(roles, is_on_one_rack)| {
            let mut spec = GangSpec::new(cluster.application()).without_gathering();
            for (number, &(units, members, host)) in roles.iter().enumerate() {
                spec = spec.with_role(format!("role {number}"), at(ask(units, members), host));
            }
            cluster.submit(if is_on_one_rack { spec.on_one_rack() } else { spec }).gang
        });
        cluster.run();
        let on = |node| running.iter().find(|(_, of)| *of == node).unwrap().0;
        cluster.complete([on(nodes[0]), on(nodes[1])]);
        let events = cluster.events();
        assert!(!has_started(&events, stuck) && has_started(&events, fitting), "{difference}: {events:?}");
    }
}

#[test]
fn units_above_the_minimum_follow_as_an_ordinary_ask() {
    for cluster in Cluster::of_each_mode() {
        cluster.nodes(2, 2);
        let job = cluster.application();
        let gang = cluster.submit(GangSpec::new(job).with_role_of_at_least("worker", ask(1, 6), 3));
        cluster.run();
        let events = cluster.events();
        assert!(has_started(&events, gang.gang));
        assert_eq!(placed(&events).len(), 4, "three at once, then one");
        let outstanding = || cluster.engine.read(|view| view.ask(gang.asks[0]).map(|ask| ask.outstanding()));
        assert_eq!(outstanding(), Some(2));
        cluster.nodes(1, 1);
        assert_eq!(outstanding(), Some(1));
        cluster.nodes(1, 1);
        assert_eq!(outstanding(), None);
    }
}

#[test]
fn each_role_has_a_minimum() {
    let cluster = Cluster::serial();
    cluster.nodes(1, 4);
    let job = cluster.application();
    let gang = GangSpec::new(job)
        .with_role("master", ask(2, 1))
        .with_role_of_at_least("worker", ask(1, 4), 2)
        .with_role_of_at_least("helper", ask(1, 1), 0);
    let blocker = cluster.application();
    cluster.handle.submit_ask(blocker, ask(1, 1)).unwrap();
    cluster.run();
    let running = placed(&cluster.events());
    let gang = cluster.submit(gang);
    cluster.run();
    assert_eq!(cluster.running(job), 0);
    let explanation = cluster.engine.read(|view| view.explain(gang.asks[1]));
    let why = explanation.pending().unwrap();
    assert_eq!(why.reason, PendingReason::WaitsForGang);
    let Some(Blocker::Gang(wait)) = &why.blocker else { panic!("{why:?}") };
    assert_eq!((wait.gang, &*wait.role, wait.members, wait.found), (gang.gang, "worker", 3, 2));
    assert!(
        explanation
            .to_string()
            .contains("which starts with 3 members at once; 2 of 3 would find a node now."),
        "{explanation}"
    );
    cluster.complete(running.iter().map(|(container, _)| *container));
    assert!(has_started(&cluster.events(), gang.gang));
    assert_eq!(cluster.running(job), 3);
    cluster.nodes(1, 8);
    assert_eq!(cluster.running(job), 6, "the other workers and the helper");
}

/// Four nodes of two units on two racks. The first rack has one unit less.
#[test]
fn a_gang_for_one_rack_starts_on_one_rack() {
    for cluster in Cluster::of_each_mode() {
        for number in 0..4 {
            cluster.node(number, 2, ["a", "b"][number % 2]);
        }
        let (other, job) = (cluster.application(), cluster.application());
        let rack = cluster.handle.rack("a");
        cluster.handle.submit_ask(other, ask(1, 1).on_racks([rack]).strictly_local()).unwrap();
        cluster.run();
        cluster.events();
        let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 4)).on_one_rack());
        cluster.run();
        let events = cluster.events();
        assert!(has_started(&events, gang.gang));
        let rack_of = |node| cluster.engine.read(|view| view.node(node).unwrap().rack().to_owned());
        let racks: BTreeSet<_> = placed(&events).iter().map(|(_, node)| rack_of(*node)).collect();
        assert_eq!(racks, BTreeSet::from(["b".to_owned()]));
        // Three units are left on the other rack, but none for four.
        let next = GangSpec::new(job).with_role("worker", ask(1, 4)).on_one_rack().without_gathering();
        let next = cluster.submit(next);
        cluster.run();
        assert!(!has_started(&cluster.events(), next.gang));
        // A plain gang of three starts there.
        let next = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 3)));
        cluster.run();
        assert!(has_started(&cluster.events(), next.gang));
    }
}

#[test]
fn conditions_hold_for_members_together() {
    let cluster = Cluster::serial();
    let nodes = cluster.nodes(3, 4);
    let job = cluster.application();
    let apart = |count| {
        AskSpec::new(crate::amount(1), count).with_tag("w").with_tag_limit(TagLimit::per_node("w", 1))
    };
    let gang = cluster.submit(GangSpec::new(job).with_role("worker", apart(3)));
    cluster.run();
    let events = cluster.events();
    assert!(has_started(&events, gang.gang));
    let used: BTreeSet<_> = placed(&events).iter().map(|(_, node)| *node).collect();
    assert_eq!(used.len(), 3);
    // A host that it names comes first, without a delay.
    let near = ask(1, 4).on_hosts([nodes[2]]);
    let gang = cluster.submit(GangSpec::new(job).with_role("worker", near));
    cluster.run();
    let events = cluster.events();
    assert!(has_started(&events, gang.gang));
    let local =
        |event: &&EventKind| matches!(event, EventKind::Allocated { locality: Locality::NodeLocal, .. });
    assert_eq!(events.iter().filter(local).count(), 3);
}

#[test]
fn a_later_gang_that_fits_is_not_stopped_by_an_earlier_one() {
    let cluster = Cluster::serial();
    cluster.nodes(4, 1);
    let (first, second) = (cluster.application(), cluster.application());
    cluster.handle.submit_ask(first, ask(1, 1)).unwrap();
    cluster.run();
    let large = GangSpec::new(first).with_role("worker", ask(1, 4)).without_gathering();
    let large = cluster.submit(large);
    let small = cluster.submit(GangSpec::new(second).with_role("worker", ask(1, 2)));
    cluster.run();
    let events = cluster.events();
    assert!(has_started(&events, small.gang) && !has_started(&events, large.gang));
}

#[test]
fn the_application_with_the_higher_priority_is_first() {
    let cluster = Cluster::serial();
    cluster.nodes(4, 1);
    let jobs = [1, 5].map(|priority| {
        let spec = apportion::ApplicationSpec::new("job", "root.default", "ann").with_priority(priority);
        cluster.handle.submit_application(spec, &cluster.events).unwrap()
    });
    let gangs = jobs.map(|job| cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 3))));
    cluster.run();
    let events = cluster.events();
    assert!(!has_started(&events, gangs[0].gang) && has_started(&events, gangs[1].gang));
}

#[test]
fn a_request_made_by_hand_cannot_start_a_part_of_a_gang() {
    let cluster = Cluster::serial();
    let nodes = cluster.nodes(2, 1);
    let (other, job) = (cluster.application(), cluster.application());
    cluster.handle.submit_ask(other, ask(1, 1)).unwrap();
    cluster.run();
    let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 2)));
    cluster.run();
    for request in [
        ResourceAllocationCommitRequest::allocate(gang.asks[0], nodes[1]),
        ResourceAllocationCommitRequest::reserve(gang.asks[0], nodes[0]),
    ] {
        let ticket = cluster.handle.commit(request).unwrap();
        cluster.run();
        let outcome = ticket.try_take().unwrap();
        assert_eq!(outcome, CommitOutcome::Rejected(RejectReason::GangIncomplete));
    }
}
