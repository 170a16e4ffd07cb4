//! A component whose container takes its standby's place, as an embedder of a service requests it.

use apportion::Resources;
use apportion_placement::{
    ActionId, ActionKind, ActionStatus, ComponentChange, ComponentId, ComponentSpec, ContainerAction,
    ContainerExit, ContainerRequest, FakeCluster, Fault, FaultDomain, HandOver, OutstandingCause,
    ServiceEvent,
};

use crate::support::{Bed, Cluster, Manager, component, host, named, on_both, requests};
use ActionStatus::{BadRequest, Failed, Succeeded};

const EXPIRES_AFTER_MS: u64 = 10_000;
const ACTIVE: ComponentId = ComponentId(1);
const STANDBY: ComponentId = ComponentId(2);

/// Component 2 is the standby of component 1; component 3 has no standby.
fn components() -> Vec<ComponentSpec> {
    let grouped = |id| component(id, 1).apart_from("group", FaultDomain::Host);
    vec![ComponentSpec { takes_over: vec![STANDBY], ..grouped(1) }, grouped(2), component(3, 1)]
}

fn bed<M: Manager>(hosts: usize, slots: i64) -> Bed<M> {
    let mut bed = Cluster::<M>::of(hosts, slots).start(components(), None);
    bed.run_until_idle();
    bed
}

/// The standby moves elsewhere, and component 1 takes its place.
fn handing_over(id: u64, heir: u64) -> ContainerAction {
    let heir = HandOver { id: ActionId(heir), component: ACTIVE, or_elsewhere: false };
    ContainerAction {
        hands_over_to: Some(heir),
        expires_after_ms: EXPIRES_AFTER_MS,
        ..ContainerAction::new(ActionId(id), STANDBY, ActionKind::MoveElsewhere)
    }
}

/// Component 1 takes the place of the standby, which ends.
fn taking_place<M: Manager>(bed: &Bed<M>, id: u64) -> ContainerAction {
    let kind = ActionKind::TakePlaceOf(bed.only(STANDBY.0).container);
    ContainerAction { expires_after_ms: EXPIRES_AFTER_MS, ..ContainerAction::new(ActionId(id), ACTIVE, kind) }
}

/// The last words of actions, by number.
fn last_words<M: Manager>(bed: &mut Bed<M>) -> Vec<(u64, ActionStatus, String)> {
    let said = bed.service.take_answers().into_iter().filter(|answer| answer.status.is_terminal());
    said.map(|answer| (answer.action.0, answer.status, answer.message)).collect()
}

on_both!(only_its_own_standby_makes_way);
fn only_its_own_standby_makes_way<M: Manager>() {
    let mut bed = bed::<M>(4, 2);
    let before = [1, 2, 3].map(|id| bed.only(id).container);
    let heir = |component| Some(HandOver { id: ActionId(9), component, or_elsewhere: false });
    let other = ActionKind::TakePlaceOf(bed.only(3).container);
    let asked = [
        (handing_over(1, 1), "in use by another action"),
        (
            ContainerAction { hands_over_to: heir(ComponentId(3)), ..handing_over(1, 9) },
            "not stand by for component 3",
        ),
        (ContainerAction { component: ComponentId(3), ..handing_over(1, 9) }, "not stand by for component 1"),
        (ContainerAction { kind: ActionKind::StopAndRestart, ..handing_over(1, 9) }, "stays where it is"),
        (ContainerAction { kind: other, ..taking_place(&bed, 1) }, "that container is not a standby"),
    ];
    for (action, part) in asked {
        bed.service.submit(action, bed.now_ms);
        let words = last_words(&mut bed);
        assert!(matches!(&words[..], [(1, BadRequest, why)] if why.contains(part)), "{part}: {words:?}");
    }
    bed.service.submit(handing_over(1, 2), bed.now_ms);
    bed.service.submit(handing_over(3, 1), bed.now_ms);
    let words = last_words(&mut bed);
    assert!(
        matches!(&words[..], [(3, BadRequest, why)] if why.contains("in use by another action")),
        "{words:?}"
    );
    assert_eq!([1, 2, 3].map(|id| bed.only(id).container), before);
}

on_both!(a_place_is_taken_in_another_size);
fn a_place_is_taken_in_another_size<M: Manager>() {
    let mut bed = bed::<M>(5, 3);
    let place = bed.only(2).host;
    let free = |bed: &mut Bed<M>, host: &str| {
        bed.run_until_idle();
        let nodes = apportion_placement::ClusterClient::nodes(&bed.service.client().manager);
        nodes.into_iter().find(|node| *node.host == *host).map(|node| node.free.amounts()[0])
    };
    let before = free(&mut bed, &place);
    let change = ComponentChange { size: Some(Resources::new(&[2])), version: Some("v2".into()) };
    let action = ContainerAction { change, ..taking_place(&bed, 1) };
    bed.service.submit(action, bed.now_ms);
    let calls = bed.run_until_idle();
    assert!(requests(&calls)[1..].iter().all(|request| named(request) != [&*place]), "{calls:?}");
    assert_eq!((bed.only(1).host, bed.only(1).version), (place.clone(), "v2".to_owned()));
    assert_eq!(free(&mut bed, &place), before.map(|before| before - 1));
    let words = last_words(&mut bed);
    assert!(matches!(&words[..], [(1, Succeeded, _)]), "{words:?}");
    assert_ne!(bed.only(2).host, place, "the standby is still one, and comes elsewhere");
}

on_both!(a_container_of_another_action_takes_no_place);
/// The standby still moves elsewhere.
fn a_container_of_another_action_takes_no_place<M: Manager>() {
    let mut bed = bed::<M>(4, 1);
    let (active, standby, full) = (bed.only(1), bed.only(2), bed.only(3).host);
    let kind = ActionKind::MoveTo(full.as_str().into());
    let waits =
        ContainerAction { expires_after_ms: 60_000, ..ContainerAction::new(ActionId(1), ACTIVE, kind) };
    bed.service.submit(waits, bed.now_ms);
    bed.run_until_idle();
    bed.service.submit(handing_over(2, 3), bed.now_ms);
    bed.run_until_idle();
    let words = last_words(&mut bed);
    assert!(
        matches!(&words[..], [(3, Failed, why), (2, Succeeded, _)] if why.contains("another action")),
        "{words:?}"
    );
    assert_eq!((bed.only(1), bed.only(2).host == standby.host), (active, false));
}

/// Three containers on five hosts, where the test grants each request.
fn by_hand() -> Bed<FakeCluster> {
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 5, 1).start(components(), None);
    for number in 0..3 {
        let next = bed.manager().waiting().next().map(|waits| waits.id);
        let granted = next.map(|next| bed.manager().grant(next, &host(number)));
        assert!(granted.is_some_and(|granted| granted.is_ok()));
        bed.run_until_idle();
    }
    bed
}

/// The number of hosts in each request of component 1.
fn asked(bed: &Bed<FakeCluster>) -> Vec<usize> {
    let waits = bed.service.status(bed.now_ms).outstanding.into_iter();
    let name = &bed.only(1).component;
    waits.filter(|waits| waits.component == *name).map(|waits| waits.hosts.len()).collect()
}

/// The next component of the group waits until the first one is placed.
#[test]
fn a_request_lists_all_hosts_that_may_be_used_now() {
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 2, 1).start(components(), None);
    bed.run_until_idle();
    let lists = |bed: &Bed<FakeCluster>| {
        let waits = bed.service.status(bed.now_ms).outstanding.into_iter();
        waits.map(|waits| waits.hosts).filter(|hosts| !hosts.is_empty()).collect::<Vec<_>>()
    };
    let named = |numbers: &[usize]| vec![numbers.iter().map(|number| host(*number)).collect::<Vec<_>>()];
    assert_eq!(lists(&bed), named(&[0, 1]));
    bed.manager().add_node(&host(2), Resources::new(&[1]));
    bed.run_until_idle();
    assert_eq!(lists(&bed), named(&[0, 1, 2]), "one host more");
    bed.service.handle(ServiceEvent::Exclude([host(0).into()].into()), bed.now_ms);
    bed.run_until_idle();
    assert_eq!(lists(&bed), named(&[1, 2]), "one host less");
}

/// A container that may go elsewhere waits for half of its time limit.
#[test]
fn a_container_without_the_place_goes_elsewhere_in_time() {
    let mut bed = by_hand();
    let active = bed.only(1);
    bed.service.submit(ContainerAction { or_elsewhere: true, ..taking_place(&bed, 1) }, bed.now_ms);
    bed.run_until_idle();
    bed.at(EXPIRES_AFTER_MS / 2 + 1);
    assert_eq!(asked(&bed), [1]);
    bed.at(EXPIRES_AFTER_MS / 2 + 2);
    assert_eq!(asked(&bed), [4], "all but its own host");
    assert_eq!((bed.only(1), last_words(&mut bed).len()), (active, 0));
}

/// The status says whose place the container waits for. After the time limit it goes elsewhere, if it may.
#[test]
fn a_container_whose_standbys_end_is_lost_goes_elsewhere() {
    for or_elsewhere in [true, false] {
        let mut bed = by_hand();
        let active = bed.only(1);
        bed.manager().inject(Fault::LoseCallback);
        bed.service.submit(ContainerAction { or_elsewhere, ..taking_place(&bed, 1) }, bed.now_ms);
        let waits = bed.service.status(bed.now_ms).outstanding;
        let its: Vec<_> = waits.iter().filter(|waits| waits.component == active.component).collect();
        assert!(matches!(its[..], [its] if its.cause == OutstandingCause::AboutToBeServed), "{waits:?}");
        assert!(its[0].explanation.contains("takes the place of a container"), "{}", its[0].explanation);
        bed.at(EXPIRES_AFTER_MS * 2);
        assert_eq!(asked(&bed), [1], "the end of the standby was not reported");
        bed.at(60_002);
        bed.run_until_idle();
        let words = last_words(&mut bed);
        match or_elsewhere {
            true => assert_eq!((asked(&bed), words), (vec![3], vec![])),
            false => assert!(matches!(&words[..], [(1, Failed, why)] if why == "its standby did not stop")),
        }
        assert_eq!(bed.only(1), active);
    }
}

/// The container that takes a place waits for its standby's action to end.
#[test]
fn an_action_that_waits_for_another_one_does_not_count() {
    let mut bed = by_hand();
    let running = |bed: &Bed<FakeCluster>| [ACTIVE, STANDBY].map(|id| bed.service.state().actions_on(id));
    assert_eq!(running(&bed), [0, 0]);
    bed.service.submit(handing_over(1, 2), bed.now_ms);
    assert_eq!(running(&bed), [0, 1]);
    bed.run_until_idle();
    let mut seen = vec![running(&bed)];
    for number in [3, 1] {
        let next = bed.manager().waiting().next().map(|waits| waits.id);
        let granted = next.map(|next| bed.manager().grant(next, &host(number)));
        assert!(granted.is_some_and(|granted| granted.is_ok()), "{number}");
        bed.tick();
        seen.push(running(&bed));
        bed.run_until_idle();
        seen.push(running(&bed));
    }
    assert_eq!(seen, [[0, 1], [0, 1], [1, 0], [1, 0], [0, 0]]);
    assert_eq!(bed.service.state().action_count(), 0);
}

/// The request is made again for the same host, which has not been tried yet.
#[test]
fn a_refused_request_takes_no_place_of_a_standby() {
    let mut bed = bed::<FakeCluster>(3, 2);
    bed.at(100_000);
    let (active, standby) = (bed.only(1), bed.only(2));
    bed.manager().inject(Fault::RefuseRequest);
    bed.end(active.container, 1);
    bed.run_until_idle();
    assert_eq!((bed.status(1).live, bed.only(2)), (0, standby.clone()));
    bed.at(bed.now_ms + 5_001);
    bed.run_until_idle();
    assert_eq!((bed.only(1).host, bed.only(2)), (active.host, standby));
}

#[test]
fn a_standby_whose_host_is_excluded_does_not_make_way() {
    let mut bed = bed::<FakeCluster>(4, 2);
    let (active, standby) = (bed.only(1), bed.only(2));
    bed.service.handle(ServiceEvent::Exclude([standby.host.as_str().into()].into()), bed.now_ms);
    bed.end(active.container, ContainerExit::ABORTED);
    bed.run_until_idle();
    assert_eq!((bed.only(2), bed.status(1).live), (standby, 1));
}

/// A new size cancels the request for the standby's host. The next one waits until the standby has gone.
#[test]
fn a_failover_outlasts_a_change_of_its_component() {
    let mut bed = Cluster::<FakeCluster>::of(3, 2).start(components(), None);
    bed.run_until_idle();
    let (container, standby) = (bed.only(ACTIVE.0).container, bed.only(STANDBY.0).host);
    bed.end(container, ContainerExit::ABORTED);
    let calls = bed.change(|components| components[0].size = Resources::new(&[2]));
    assert_eq!(requests(&calls), Vec::<&ContainerRequest>::new());
    bed.run_until_idle();
    assert_eq!(bed.only(ACTIVE.0).host, standby);
}
