//! The support question "my service hangs with outstanding requests": the status names the cause and the remedy.

use apportion::Resources;
use apportion_placement::{
    ComponentSpec, FakeCluster, Fault, HistoryEntry, HistoryFile, OutstandingCause, OutstandingStatus,
    PlacementPolicy, Service, ServiceEvent, ServiceSettings,
};

use crate::support::{Bed, Cluster, Manager, component, host, on_both};

fn waiting<M: Manager>(bed: &mut Bed<M>) -> Vec<OutstandingStatus> {
    bed.run_until_idle();
    let status = bed.service.status(bed.now_ms);
    for waits in &status.outstanding {
        assert!(!waits.explanation.is_empty() && !waits.remedy.is_empty(), "{waits:?}");
    }
    status.outstanding
}

fn causes<M: Manager>(bed: &mut Bed<M>) -> Vec<OutstandingCause> {
    waiting(bed).into_iter().map(|waits| waits.cause).collect()
}

on_both!(more_than_the_cluster_has);
fn more_than_the_cluster_has<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![component(0, 6)], None);
    assert_eq!(causes(&mut bed), [OutstandingCause::ClusterTooSmall; 2]);
}

on_both!(nodes_with_another_label_do_not_count);
fn nodes_with_another_label_do_not_count<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![component(0, 6)], None);
    bed.manager().add_node("labelled", "", "gpu", 9);
    assert_eq!(causes(&mut bed), [OutstandingCause::ClusterTooSmall; 2]);
}

on_both!(no_room_beside_other_containers);
fn no_room_beside_other_containers<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![component(0, 4)], None);
    bed.run_until_idle();
    // It wants just as much as there is.
    bed.change(|components| components.push(component(1, 4)));
    assert_eq!(causes(&mut bed), [OutstandingCause::NoRoom; 4]);
}

on_both!(the_only_host_that_will_do_is_down);
fn the_only_host_that_will_do_is_down<M: Manager>() {
    let strict = component(0, 1).with_policy(PlacementPolicy::Strict);
    let mut bed = Cluster::<M>::of(1, 2).start(vec![strict], None);
    bed.run_until_idle();
    bed.manager().add_node("other", "", "", 2);
    bed.manager().lose_node(&host(0));
    let waits = waiting(&mut bed);
    assert_eq!(waits.len(), 1);
    assert_eq!(waits[0].cause, OutstandingCause::StrictHostDown);
    assert!(waits[0].remedy.contains(&host(0)), "{:?}", waits[0]);
}

on_both!(too_few_hosts_to_keep_apart_on);
fn too_few_hosts_to_keep_apart_on<M: Manager>() {
    let apart = component(0, 3).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<M>::of(2, 2).start(vec![apart], None);
    assert_eq!(causes(&mut bed), [OutstandingCause::AntiAffinity]);
}

on_both!(no_node_is_large_enough);
fn no_node_is_large_enough<M: Manager>() {
    let large = ComponentSpec { size: Resources::new(&[3]), ..component(0, 1) };
    let mut bed = Cluster::<M>::of(4, 2).start(vec![large], None);
    assert_eq!(causes(&mut bed), [OutstandingCause::TooLarge]);
}

on_both!(no_node_has_the_label);
fn no_node_has_the_label<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![component(0, 1).with_label("gpu")], None);
    let waits = waiting(&mut bed);
    assert_eq!(waits[0].cause, OutstandingCause::NoSuchLabel);
    assert!(waits[0].remedy.contains("`gpu`"), "{:?}", waits[0]);
}

on_both!(the_host_it_was_on_is_full);
fn the_host_it_was_on_is_full<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1).start(vec![component(0, 1)], None);
    bed.run_until_idle();
    bed.flex(0, 0);
    bed.run_until_idle();
    bed.change(|components| components.push(component(1, 1)));
    bed.run_until_idle();
    bed.manager().add_node("other", "", "", 2);
    bed.flex(0, 1);
    let waits = waiting(&mut bed);
    assert_eq!((waits[0].cause, waits[0].widens_at_ms), (OutstandingCause::WaitsForHost, Some(30_001)));
    assert!(waits[0].remedy.contains(&host(0)), "{:?}", waits[0]);
}

on_both!(the_host_it_was_on_is_too_small);
/// Another host is large enough, and the request is widened to it.
fn the_host_it_was_on_is_too_small<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1).start(vec![component(0, 1)], None);
    bed.run_until_idle();
    bed.flex(0, 0);
    bed.run_until_idle();
    bed.manager().add_node("other", "", "", 2);
    bed.change(|components| components[0] = ComponentSpec { size: Resources::new(&[2]), ..component(0, 1) });
    let waits = waiting(&mut bed);
    assert_eq!((waits.len(), waits[0].cause), (1, OutstandingCause::WaitsForHost), "{waits:?}");
    assert!(waits[0].remedy.contains(&host(0)), "{:?}", waits[0]);
}

/// The queue is full although the nodes have room. The fake has no queues.
#[test]
fn the_queue_is_at_its_limit() {
    use crate::support::EngineCluster;
    let mut bed = Cluster::<EngineCluster>::of(2, 10).start(vec![component(0, 30)], None);
    bed.manager().limit_queue(5);
    bed.run_until_idle();
    bed.flex(0, 0);
    bed.run_until_idle();
    bed.flex(0, 8);
    assert_eq!(causes(&mut bed), [OutstandingCause::Queue; 3]);
}

#[test]
fn a_refused_request_is_not_explained_by_its_label() {
    let mut manager = FakeCluster::new();
    manager.add_node("a", Resources::new(&[4]));
    manager.inject(Fault::RefuseRequest);
    let mut service = Service::start(vec![component(0, 1)], ServiceSettings::default(), manager, None, 1);
    service.tick(1);
    let status = service.status(1);
    assert_eq!(status.outstanding.len(), 1);
    assert_ne!(status.outstanding[0].cause, OutstandingCause::NoSuchLabel, "{:?}", status.outstanding[0]);
}

/// The host is known from the history. Only before its first report is it said not to have registered.
#[test]
fn a_refused_request_for_a_host_is_explained_by_its_refusal_once_the_host_is_reported() {
    let entry = HistoryEntry { host: "a".into(), role: 0, is_active: true, last_used_ms: 1 };
    let history = HistoryFile { saved_ms: 1_000, roles: 1, mapping: [].into(), entries: vec![entry] };
    for (is_reported, expected) in [(false, "has not registered"), (true, "injected fault")] {
        let mut manager = FakeCluster::new();
        if is_reported {
            manager.add_node("a", Resources::new(&[4]));
            manager.inject(Fault::RefuseRequest);
        }
        let (specs, settings) = (vec![component(0, 1)], ServiceSettings::default());
        let mut service = Service::start(specs, settings, manager, Some(&history), 1);
        service.tick(1);
        let outstanding = service.status(1).outstanding;
        assert!(outstanding[0].explanation.contains(expected), "{}", outstanding[0].explanation);
    }
}

#[test]
fn missing_one_by_one_instances_are_explained() {
    let apart = component(0, 3).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<FakeCluster>::of(2, 2).one_by_one().start(vec![apart], None);
    bed.run_until_idle();
    let status = bed.service.status(bed.now_ms);
    assert_eq!(bed.status(0).live, 2);
    let causes: Vec<_> = status.outstanding.iter().map(|waits| waits.cause).collect();
    assert_eq!(causes, [OutstandingCause::AntiAffinity]);
}

on_both!(a_host_that_the_service_shuns_is_named);
/// Too many failures happened there. Another node would not be the remedy.
fn a_host_that_the_service_shuns_is_named<M: Manager>() {
    let fragile = ComponentSpec {
        node_failure_threshold: Some(0),
        container_failure_threshold: None,
        ..component(0, 1)
    };
    // The component may not go to the other node, so all of its hosts are avoided.
    let mut bed = Cluster::<M>::of(1, 8).with_node("labelled", "", "gpu", 8).start(vec![fragile], None);
    bed.run_until_idle();
    let container = bed.only(0).container;
    bed.at(100_000);
    bed.end(container, 1);
    let waits = waiting(&mut bed);
    assert_eq!((waits.len(), waits[0].cause), (1, OutstandingCause::Shunned), "{waits:?}");
    assert!(waits[0].explanation.contains(&host(0)), "{:?}", waits[0]);
    assert!(waits[0].remedy.contains("failure window"), "{:?}", waits[0]);
}

on_both!(a_host_that_is_kept_free_is_named);
/// It is also named beside hosts without room, for every cause.
fn a_host_that_is_kept_free_is_named<M: Manager>() {
    for policy in [PlacementPolicy::Normal, PlacementPolicy::Strict, PlacementPolicy::AntiAffinity] {
        let mut bed = Cluster::<M>::of(1, 8).start(vec![component(0, 1).with_policy(policy)], None);
        bed.run_until_idle();
        let kept_free = ServiceEvent::Exclude([host(0).into()].into());
        bed.service.handle(kept_free, bed.now_ms);
        bed.flex(0, 0);
        bed.run_until_idle();
        bed.flex(0, 1);
        let waits = waiting(&mut bed);
        assert_eq!((waits.len(), waits[0].cause), (1, OutstandingCause::Shunned), "{policy:?}: {waits:?}");
        assert!(waits[0].explanation.contains(&host(0)), "{:?}", waits[0]);
        assert!(waits[0].remedy.contains("readmit"), "{:?}", waits[0]);
        bed.manager().add_node("full", "", "", 1);
        bed.change(|components| components.push(ComponentSpec { escalate_after_ms: 0, ..component(1, 9) }));
        let waits = waiting(&mut bed);
        let named = waits.iter().filter(|waits| waits.explanation.contains(&host(0))).count();
        assert_eq!(named, waits.len(), "{policy:?}: {waits:?}");
    }
}

on_both!(a_host_out_of_reach_is_not_named);
/// The request waits for its host, then for its rack. An excluded host elsewhere would not serve it.
fn a_host_out_of_reach_is_not_named<M: Manager>() {
    let mut bed = Cluster::<M>::of(0, 0).with_node("full", "near", "", 1).start(vec![component(0, 1)], None);
    bed.run_until_idle();
    bed.flex(0, 0);
    bed.run_until_idle();
    bed.change(|components| components.push(component(1, 1)));
    bed.run_until_idle();
    for (name, rack) in [("beside", "near"), ("distant", "far")] {
        bed.manager().add_node(name, rack, "", 2);
    }
    bed.service.handle(ServiceEvent::Exclude(["beside".into(), "distant".into()].into()), bed.now_ms);
    bed.flex(0, 1);
    let mut named = Vec::new();
    for widens_ms in [0, 30_002, 60_004] {
        bed.at(bed.now_ms.max(widens_ms));
        let waits = waiting(&mut bed);
        assert_eq!(waits.len(), 1, "{waits:?}");
        named.push(["beside", "distant"].map(|name| waits[0].explanation.contains(name)));
    }
    assert_eq!(named, [[false, false], [true, false], [true, true]]);
}
