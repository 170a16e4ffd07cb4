//! Gangs that gather room in a full cluster.

use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Maximum, Percent, QueueConfig, QueueUpdate};
use apportion::engine::SubmittedGang;
use apportion::explain::Blocker;
use apportion::gang::{GangSpec, GangStyle};
use apportion::replay::Replay;
use apportion::view::GangView;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskSpec, ContainerId, Engine, GangId, ManualClock, Mode,
    NodeSpec, PartitionId, ResourceTypes, TagLimit,
};

use crate::{Cluster, amount, ask, has_started, placed, plain};

/// A cluster of `nodes` full nodes of `units` containers each, with a long line of ordinary asks. Returns the
/// containers.
fn full(cluster: &Cluster, nodes: usize, units: i64) -> (ApplicationId, Vec<ContainerId>) {
    cluster.nodes(nodes, units);
    let other = cluster.application();
    cluster.handle.submit_ask(other, ask(1, 1_000)).unwrap();
    cluster.run();
    let running = placed(&cluster.events()).into_iter().map(|(container, _)| container).collect();
    (other, running)
}

fn view(cluster: &Cluster, gang: GangId) -> Option<GangView> {
    cluster.engine.read(|view| view.gang(gang))
}

fn held(cluster: &Cluster, gang: GangId) -> u64 {
    view(cluster, gang).map_or(0, |gang| gang.held())
}

/// Ends containers one by one, oldest first, until the gang starts. Returns how many that took.
fn end_until_start(cluster: &Cluster, gang: &SubmittedGang, mut running: Vec<ContainerId>) -> Option<usize> {
    let mut ended = 0;
    while !running.is_empty() {
        cluster.complete([running.remove(0)]);
        ended += 1;
        let events = cluster.events();
        if has_started(&events, gang.gang) {
            return Some(ended);
        }
        running.extend(placed(&events).into_iter().map(|(container, _)| container));
        if ended > 500 {
            break;
        }
    }
    None
}

#[test]
fn a_gang_gathers_room_that_ordinary_asks_want() {
    for cluster in Cluster::of_each_mode() {
        let (_, running) = full(&cluster, 5, 2);
        let job = cluster.application();
        let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 6)));
        cluster.run();
        assert!(view(&cluster, gang.gang).unwrap().is_gathering);
        assert_eq!(end_until_start(&cluster, &gang, running), Some(6), "each room that became free was held");
        assert_eq!(cluster.running(job), 6);
        assert!(cluster.engine.read(|view| view.nodes().all(|node| node.held().is_zero())));
    }
}

/// Few racks are a preference: the gang needs both, and holds room on both.
#[test]
fn a_gang_on_few_racks_gathers_on_all_that_it_needs() {
    for cluster in Cluster::of_each_mode() {
        for number in 0..4 {
            cluster.node(number, 2, &format!("rack{}", number / 2));
        }
        let other = cluster.application();
        cluster.handle.submit_ask(other, ask(1, 1_000)).unwrap();
        cluster.run();
        let running: Vec<_> = placed(&cluster.events()).into_iter().map(|(container, _)| container).collect();
        let job = cluster.application();
        let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 6)).on_nearest_racks());
        cluster.run();
        let ended = end_until_start(&cluster, &gang, running).expect("it starts");
        assert!(ended <= 8, "each container ended at most once: {ended}");
        assert_eq!(cluster.running(job), 6);
    }
}

#[test]
fn members_larger_than_what_becomes_free_gather_it_in_parts() {
    for cluster in Cluster::of_each_mode() {
        let (_, running) = full(&cluster, 4, 4);
        let job = cluster.application();
        let gang = GangSpec::new(job).with_role("small", ask(1, 2)).with_role("large", ask(3, 2));
        let gang = cluster.submit(gang);
        cluster.run();
        let ended = end_until_start(&cluster, &gang, running).expect("it starts");
        assert!(ended <= 16, "each container ended at most once: {ended}");
        assert_eq!(cluster.running(job), 4);
    }
}

#[test]
fn members_that_keep_apart_have_places_on_different_nodes() {
    let cluster = Cluster::serial();
    let (_, running) = full(&cluster, 3, 2);
    let job = cluster.application();
    let apart = ask(1, 3).with_tag("w").with_tag_limit(TagLimit::per_node("w", 1));
    let gang = cluster.submit(GangSpec::new(job).with_role("worker", apart));
    cluster.run();
    let ended = end_until_start(&cluster, &gang, running).expect("it starts");
    assert!(ended <= 6, "each container ended at most once: {ended}");
}

#[test]
fn a_member_that_keeps_apart_gets_no_second_place_on_its_node() {
    for cluster in Cluster::of_each_mode() {
        let (other, running) = full(&cluster, 2, 2);
        let apart = ask(1, 2).with_tag("w").with_tag_limit(TagLimit::per_node("w", 1));
        let gang = cluster.submit(GangSpec::new(cluster.application()).with_role("worker", apart));
        cluster.run();
        let node_of = |id: &ContainerId| cluster.engine.read(|view| view.container(*id).unwrap().node);
        let first = node_of(&running[0]);
        let (there, elsewhere): (Vec<_>, Vec<_>) = running.iter().partition(|id| node_of(id) == first);
        cluster.complete(there);
        assert_eq!((held(&cluster, gang.gang), cluster.running(other)), (1, 3));
        cluster.complete(elsewhere[..1].to_vec());
        assert!(has_started(&cluster.events(), gang.gang));
    }
}

/// Large asks reserve nodes one after the other, for ever.
#[test]
fn a_gang_starts_among_asks_that_reserve_nodes() {
    let parallel = (1..=4).map(|proposers| Mode::Parallel { proposers });
    for mode in [Mode::Serial, Mode::Background].into_iter().chain(parallel) {
        let mut config = plain();
        config.reservations.delay_ms = Some(0);
        let cluster = Cluster::new(config, mode);
        cluster.nodes(3, 4);
        let other = cluster.application();
        cluster.handle.submit_ask(other, ask(1, 12)).unwrap();
        cluster.run();
        let running: Vec<_> = placed(&cluster.events()).into_iter().map(|(container, _)| container).collect();
        cluster.handle.submit_ask(other, ask(4, 1_000)).unwrap();
        cluster.run();
        let gang = cluster.submit(GangSpec::new(cluster.application()).with_role("worker", ask(3, 3)));
        cluster.run();
        assert!(end_until_start(&cluster, &gang, running).is_some());
    }
}

#[test]
fn without_gathering_ordinary_asks_take_all() {
    let cluster = Cluster::serial();
    let (_, running) = full(&cluster, 3, 2);
    let job = cluster.application();
    let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 4)).without_gathering());
    cluster.run();
    assert_eq!(end_until_start(&cluster, &gang, running), None);
    assert!(!view(&cluster, gang.gang).unwrap().gathers);
}

#[test]
fn two_gangs_above_half_start_one_after_the_other() {
    for cluster in Cluster::of_each_mode() {
        let (other, running) = full(&cluster, 5, 2);
        let jobs = [cluster.application(), cluster.application()];
        let [first, second] =
            jobs.map(|job| cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 7))));
        cluster.run();
        let is_gathering = |gang: &SubmittedGang| view(&cluster, gang.gang).unwrap().is_gathering;
        assert_eq!((is_gathering(&first), is_gathering(&second)), (true, false));
        assert_eq!(end_until_start(&cluster, &first, running), Some(7));
        cluster.run();
        assert!(is_gathering(&second));
        let running = cluster.engine.read(|view| view.containers().map(|(id, _)| id).collect());
        assert_eq!(end_until_start(&cluster, &second, running), Some(7));
        cluster.handle.end_application(other, ApplicationEnd::Finished).unwrap();
        cluster.run();
    }
}

#[test]
fn an_earlier_gang_takes_over_what_a_later_one_holds() {
    for cluster in Cluster::of_each_mode() {
        let (_, running) = full(&cluster, 5, 2);
        let job = cluster.application();
        let later = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 7)));
        cluster.run();
        cluster.complete(running[..4].to_vec());
        assert_eq!(held(&cluster, later.gang), 4);
        let urgent = ApplicationSpec::new("urgent", "root.default", "ann").with_priority(9);
        let urgent = cluster.handle.submit_application(urgent, &cluster.events).unwrap();
        let gang = cluster.submit(GangSpec::new(urgent).with_role("worker", ask(1, 6)));
        cluster.run();
        assert_eq!((held(&cluster, gang.gang), held(&cluster, later.gang)), (4, 0));
        cluster.complete(running[4..6].to_vec());
        assert_eq!((cluster.running(urgent), cluster.running(job)), (6, 0));
        assert!(view(&cluster, later.gang).unwrap().is_gathering);
        // A raised priority counts, too.
        cluster.complete(running[6..8].to_vec());
        assert_eq!(held(&cluster, later.gang), 2);
        let patient = cluster.application();
        let gang = cluster.submit(GangSpec::new(patient).with_role("worker", ask(1, 6)));
        cluster.run();
        assert_eq!((held(&cluster, gang.gang), held(&cluster, later.gang)), (0, 2));
        cluster.handle.set_application_priority(patient, 5).unwrap();
        cluster.run();
        assert_eq!((held(&cluster, gang.gang), held(&cluster, later.gang)), (2, 0));
    }
}

#[test]
fn a_lost_node_gives_back_what_was_held_on_it() {
    for cluster in Cluster::of_each_mode() {
        let (_, running) = full(&cluster, 5, 2);
        let job = cluster.application();
        let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 6)));
        cluster.run();
        cluster.complete(running[..3].to_vec());
        assert_eq!(held(&cluster, gang.gang), 3);
        let node = cluster.engine.read(|view| view.nodes().find(|node| !node.held().is_zero()).unwrap().id());
        drop(cluster.handle.remove_node(node).unwrap());
        cluster.run();
        assert!(held(&cluster, gang.gang) < 3);
        let node = cluster.engine.read(|view| view.nodes().find(|node| !node.held().is_zero()).unwrap().id());
        cluster.handle.drain_node(node).unwrap();
        cluster.run();
        assert!(cluster.engine.read(|view| view.node(node).unwrap().held().is_zero()));
        cluster.events();
        let running = cluster.engine.read(|view| view.containers().map(|(id, _)| id).collect());
        assert!(end_until_start(&cluster, &gang, running).is_some());
        assert_eq!(cluster.running(job), 6);
    }
}

#[test]
fn a_gang_gives_all_back_that_becomes_impossible() {
    let cluster = Cluster::serial();
    let (other, running) = full(&cluster, 3, 2);
    let job = cluster.application();
    let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 6)));
    cluster.run();
    cluster.complete(running[..1].to_vec());
    assert_eq!(held(&cluster, gang.gang), 1);
    let node = cluster.engine.read(|view| view.nodes().last().unwrap().id());
    drop(cluster.handle.remove_node(node).unwrap());
    cluster.run();
    assert!(!view(&cluster, gang.gang).unwrap().is_gathering);
    assert_eq!(cluster.running(other), 4, "ordinary asks have the room");
    cluster.nodes(1, 2);
    assert!(view(&cluster, gang.gang).unwrap().is_gathering);
}

#[test]
fn every_end_gives_all_back() {
    type End = fn(&Cluster, ApplicationId, GangId);
    let ends: [End; 4] = [
        |cluster, _, _| cluster.at(1_000),
        |cluster, _, gang| cluster.handle.cancel_gang(gang).unwrap(),
        |cluster, job, _| cluster.handle.end_application(job, ApplicationEnd::Killed).unwrap(),
        |cluster, _, gang| {
            let ask = view(cluster, gang).unwrap().roles[0].ask;
            cluster.handle.cancel_ask(ask, 1).unwrap();
        },
    ];
    for end in ends {
        let cluster = Cluster::serial();
        let (other, running) = full(&cluster, 3, 2);
        let job = cluster.application();
        let gang = GangSpec::new(job).with_role("worker", ask(1, 5)).with_timeout_ms(1_000, GangStyle::Hard);
        let gang = cluster.submit(gang);
        cluster.run();
        cluster.complete(running[..3].to_vec());
        assert_eq!((held(&cluster, gang.gang), cluster.running(other)), (3, 3));
        let why = cluster.engine.read(|view| view.explain(gang.asks[0]));
        let Some(Blocker::Gang(wait)) = &why.pending().unwrap().blocker else { panic!("{why:?}") };
        assert_eq!((wait.is_gathering, wait.held, wait.found), (true, 3, 3));
        assert!(why.to_string().contains("The gang gathers: room is held for 3 of 5 members."), "{why}");
        end(&cluster, job, gang.gang);
        cluster.run();
        assert_eq!(cluster.running(other), 6);
        assert!(cluster.engine.read(|view| view.gangs().next().is_none()));
    }
}

#[test]
fn a_gang_that_becomes_ordinary_asks_gives_all_back() {
    let cluster = Cluster::serial();
    let (_, running) = full(&cluster, 3, 2);
    let job = cluster.application();
    let gang = GangSpec::new(job).with_role("worker", ask(1, 5)).with_timeout_ms(1_000, GangStyle::Soft);
    cluster.submit(gang);
    cluster.run();
    cluster.complete(running[..3].to_vec());
    cluster.at(1_000);
    assert_eq!(cluster.engine.read(|view| view.container_count()), 6);
    assert!(cluster.engine.read(|view| view.nodes().all(|node| node.held().is_zero())));
}

#[test]
fn a_gang_on_one_rack_gathers_on_one_rack() {
    for cluster in Cluster::of_each_mode() {
        for number in 0..6 {
            cluster.node(number, 2, ["a", "b"][number % 2]);
        }
        let (_, running) = full(&cluster, 0, 0);
        let job = cluster.application();
        let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 5)).on_one_rack());
        cluster.run();
        assert!(end_until_start(&cluster, &gang, running).is_some());
        let racks: std::collections::BTreeSet<_> = cluster.engine.read(|view| {
            let application = view.application(job).unwrap();
            application.containers().map(|known| view.node(known.node).unwrap().rack().to_owned()).collect()
        });
        assert_eq!((racks.len(), cluster.running(job)), (1, 5));
    }
}

/// Gang A asks for P, then Q; gang B for Q, then P. Each needs more than half of both.
#[test]
fn gangs_that_want_two_partitions_in_another_order_both_start() {
    let parallel = (1..=4).map(|proposers| Mode::Parallel { proposers });
    for mode in [Mode::Serial, Mode::Background].into_iter().chain(parallel) {
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        config.reservations.delay_ms = None;
        config.partitions = vec!["p".into(), "q".into()];
        let cluster = Cluster::new(config, mode);
        let [p, q] = ["p", "q"].map(|name| cluster.handle.partition(name).unwrap());
        for number in 0..8 {
            let spec = NodeSpec::new(format!("n{number}"), amount(1));
            cluster.handle.add_node(spec.in_partition([p, q][number % 2])).unwrap();
        }
        let other = cluster.application();
        let of = |partition: PartitionId, count| AskSpec::new(amount(1), count).in_partition(partition);
        for partition in [p, q] {
            cluster.handle.submit_ask(other, of(partition, 500)).unwrap();
        }
        cluster.run();
        let mut running: Vec<_> = placed(&cluster.events());
        let gangs = [[p, q], [q, p]].map(|[first, second]| {
            let job = cluster.application();
            cluster.submit(GangSpec::new(job).with_role("one", of(first, 3)).with_role("two", of(second, 3)))
        });
        cluster.run();
        let mut started = Vec::new();
        for _ in 0..40 {
            let (container, _) = running.remove(0);
            cluster.complete([container]);
            let events = cluster.events();
            running.extend(placed(&events));
            started.extend(gangs.iter().map(|gang| gang.gang).filter(|gang| has_started(&events, *gang)));
        }
        assert_eq!(started, [gangs[0].gang, gangs[1].gang]);
    }
}

#[test]
fn held_room_survives_a_crash_and_a_snapshot() {
    let cluster = Cluster::serial();
    let (_, running) = full(&cluster, 3, 2);
    let job = cluster.application();
    let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(2, 2)));
    cluster.run();
    cluster.complete(running[..2].to_vec());
    let log = cluster.log.bytes();
    let mut replay = Replay::read(&log[..], None).unwrap();
    let mut snapshot = Vec::new();
    replay.write_snapshot(&mut snapshot).unwrap();
    for (bytes, mode) in
        [(&log, Mode::Serial), (&snapshot, Mode::Serial), (&log, Mode::Parallel { proposers: 2 })]
    {
        let (engine, _) = Engine::recover(&bytes[..], mode, Arc::new(ManualClock::new()), None).unwrap();
        assert_eq!(engine.digest(), cluster.engine.digest());
        let handle = engine.handle();
        engine.run_until_quiet();
        assert!(engine.audit().is_clean(), "{}", engine.audit());
        let views = |engine: &Engine| engine.read(|view| view.gang(gang.gang));
        assert_eq!(views(&engine), views(&cluster.engine));
        for container in &running[2..] {
            handle.complete_container(*container).unwrap();
            engine.run_until_quiet();
        }
        assert!(engine.audit().is_clean(), "{}", engine.audit());
        assert!(engine.read(|view| view.is_ask_over(gang.asks[0])));
    }
}

/// Leaf `small` may use a half, and uses it. Leaf `large` uses the other half, and may use all. Ordinary asks wait in
/// both.
#[test]
fn a_gang_that_a_limit_stops_does_not_gather() {
    let half = |name: &str| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50))).with_user_limit_factor(None)
    };
    let small = half("small").with_maximum(Maximum::Percent(Percent::whole(50)));
    let root = QueueConfig::root([small, half("large")]);
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
    config.reservations.delay_ms = None;
    let cluster = Cluster::new(config, Mode::Serial);
    cluster.nodes(4, 2);
    let [first, second] = ["root.small", "root.large"].map(|queue| {
        let submit = || {
            let spec = ApplicationSpec::new("job", queue, "ann");
            cluster.handle.submit_application(spec, &cluster.events).unwrap()
        };
        cluster.handle.submit_ask(submit(), ask(1, 100)).unwrap();
        submit()
    });
    cluster.run();
    let of_small = cluster.engine.read(|view| {
        let is_of_small = |id| view.application(id).unwrap().queue() == "root.small";
        view.containers()
            .filter(|(_, known)| is_of_small(known.application))
            .map(|(id, _)| id)
            .collect::<Vec<_>>()
    });
    assert_eq!(of_small.len(), 4);
    let small = cluster.submit(GangSpec::new(first).with_role("worker", ask(1, 3)));
    let large = cluster.submit(GangSpec::new(second).with_role("worker", ask(1, 6)));
    cluster.run();
    let gathering =
        || [&small, &large].map(|gang| view(&cluster, gang.gang).is_some_and(|gang| gang.is_gathering));
    assert_eq!(gathering(), [false, true]);
    // Its limit has headroom now. It waits for the turn of the other gang, which keeps what it has gathered.
    for (held_after, container) in (1..4).zip(&of_small) {
        cluster.complete([*container]);
        assert_eq!((gathering(), held(&cluster, large.gang)), ([false, true], held_after));
    }
    // The maximum of its leaf falls below its minimum, so it gives all back, and the first one starts.
    let queue = cluster.handle.queue("root.large").unwrap();
    let maximum = Some(Maximum::absolute(&[5, 5]));
    drop(cluster.handle.update_queue(queue, QueueUpdate { maximum, ..QueueUpdate::default() }).unwrap());
    cluster.run();
    assert_eq!(gathering(), [false, false]);
    assert!(cluster.engine.read(|view| view.nodes().all(|node| node.held().is_zero())));
}
