//! Gangs that a limit or a tag keeps from starting.

use apportion::config::{
    Capacity, EngineConfig, Factor, HolderLimit, Maximum, Percent, QueueConfig, Semantics,
};
use apportion::explain::Blocker;
use apportion::gang::GangSpec;
use apportion::{ApplicationId, ApplicationSpec, Mode, PartitionId, TagLimit};

use crate::{Cluster, amount, ask, has_started, placed, plain};

/// A user may use half of the cluster. A gang of more holds nothing, and does not stand in the way of a later one.
#[test]
fn a_gang_above_its_users_limit_holds_nothing() {
    let mut config = plain();
    let half = |name: &str| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)));
    config.root = QueueConfig::root([half("a"), half("b").with_user_limit_factor(None)]);
    let cluster = Cluster::new(config, Mode::Serial);
    cluster.nodes(4, 5);
    let of = |queue: &str| {
        cluster.handle.submit_application(ApplicationSpec::new("job", queue, "ann"), &cluster.events).unwrap()
    };
    cluster.handle.submit_ask(of("root.b"), ask(1, 1_000)).unwrap();
    cluster.run();
    let running: Vec<_> = placed(&cluster.events()).into_iter().map(|(container, _)| container).collect();
    let above = cluster.submit(GangSpec::new(of("root.a")).with_role("worker", ask(1, 15)));
    let within = cluster.submit(GangSpec::new(of("root.a")).with_role("worker", ask(1, 8)));
    cluster.run();
    let why = cluster.engine.read(|view| view.explain(above.asks[0]));
    let text = "User ann would exceed the user limit of root.a: 0 MiB used, limit 10 MiB";
    assert!(why.to_string().contains(text), "{why}");
    assert!(why.to_string().contains("The limit is "), "{why}");
    let view = |gang| cluster.engine.read(|view| view.gang(gang)).unwrap();
    assert_eq!((view(above.gang).is_gathering, view(within.gang).is_gathering), (false, true));
    cluster.complete(running[..8].iter().copied());
    assert!(has_started(&cluster.events(), within.gang), "{:?}", view(above.gang));
    assert_eq!(view(above.gang).held(), 0);
}

/// The leaf, its user and the root may use all of the cluster, which is full.
#[test]
fn a_gang_that_lacks_only_room_is_at_no_limit() {
    let cluster = Cluster::serial();
    cluster.nodes(1, 4);
    cluster.handle.submit_ask(cluster.application(), ask(1, 2)).unwrap();
    cluster.run();
    let gang = cluster.submit(GangSpec::new(cluster.application()).with_role("worker", ask(1, 3)));
    cluster.run();
    let why = cluster.engine.read(|view| view.explain(gang.asks[0]));
    let Some(Blocker::Gang(wait)) = &why.pending().unwrap().blocker else { panic!("{why:?}") };
    assert_eq!((wait.found, wait.is_limited, &wait.limit), (2, false, &None));
    let text = format!(
        "It is role worker of {}, which starts with 3 members at once; 2 of 3 would find a node now. The gang \
         gathers: room is held for 2 of 3 members.",
        gang.gang
    );
    assert!(why.to_string().contains(&text), "{why}");
    assert!(!why.to_string().contains("limit"), "{why}");
}

/// Once all room is held, a container elsewhere on the rack has the gang's tag, so the start fails. After that
/// container has ended, the gang gathers again, although no node has changed.
#[test]
fn a_gang_gathers_again_once_the_tag_that_stopped_it_is_gone() {
    let cluster = Cluster::serial();
    let nodes = cluster.nodes(3, 1);
    let here = |count| ask(1, count).on_hosts([nodes[0], nodes[1]]).strictly_local();
    cluster.handle.submit_ask(cluster.application(), here(1_000)).unwrap();
    cluster.run();
    let tagged = here(2).with_tag("w").with_tag_limit(TagLimit::per_rack("w", 2));
    let gang = cluster.submit(GangSpec::new(cluster.application()).with_role("worker", tagged));
    cluster.run();
    let urgent = ask(1, 1).on_hosts([nodes[2]]).strictly_local().with_tag("w");
    cluster.handle.submit_ask(cluster.application(), urgent).unwrap();
    cluster.run();
    let on = |place: usize| cluster.engine.read(|view| view.node(nodes[place]).unwrap().containers()[0]);
    let view = || cluster.engine.read(|view| view.gang(gang.gang));
    cluster.complete([on(0)]);
    cluster.complete([on(1)]);
    assert!(!has_started(&cluster.events(), gang.gang), "three on the rack");
    cluster.complete([on(2)]);
    for place in [0, 1, 0, 1] {
        if view().is_some() {
            cluster.complete([on(place)]);
        }
    }
    assert!(has_started(&cluster.events(), gang.gang), "{:?}", view());
}

fn half(name: &str) -> QueueConfig {
    QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)))
}

fn in_leaf(cluster: &Cluster, queue: &str) -> ApplicationId {
    let spec = ApplicationSpec::new("job", queue, "ann");
    cluster.handle.submit_application(spec, &cluster.events).unwrap()
}

/// The maximum of the leaf would admit the gang.
#[test]
fn a_gang_above_the_amount_for_its_user_holds_nothing() {
    let mut config = plain();
    let mut limit = HolderLimit { users: vec!["ann".into()], maximum: [None; 8], ..HolderLimit::default() };
    limit.maximum[0] = Some(4);
    let limited = half("a").with_user_limit_factor(None).with_limits([limit]);
    config.root = QueueConfig::root([limited, half("b").with_user_limit_factor(None)]);
    let cluster = Cluster::new(config, Mode::Serial);
    cluster.nodes(2, 4);
    let gang = |members| {
        cluster.submit(GangSpec::new(in_leaf(&cluster, "root.a")).with_role("worker", ask(1, members)))
    };
    let above = gang(6);
    cluster.run();
    let view = |gang| cluster.engine.read(|view| view.gang(gang)).unwrap();
    assert_eq!((view(above.gang).is_gathering, view(above.gang).held()), (false, 0));
    cluster.handle.submit_ask(in_leaf(&cluster, "root.b"), ask(1, 8)).unwrap();
    cluster.run();
    let within = gang(4);
    cluster.run();
    assert!(view(within.gang).is_gathering, "it is not behind the other one");
}

/// The master runs as long as the application, and the leaf admits the gang only without it.
#[test]
fn a_gang_that_does_not_fit_beside_its_master_holds_nothing() {
    let mut config = plain();
    let small = half("a").with_user_limit_factor(None).with_maximum(Maximum::Percent(Percent::whole(50)));
    config.root = QueueConfig::root([small, half("b")]);
    let cluster = Cluster::new(config, Mode::Serial);
    cluster.nodes(4, 4);
    let spec = ApplicationSpec::new("job", "root.a", "ann").with_master(amount(1), PartitionId::DEFAULT);
    let job = cluster.handle.submit_application(spec, &cluster.events).unwrap();
    cluster.handle.submit_ask(job, ask(1, 1)).unwrap();
    cluster.run();
    let master = placed(&cluster.events())[0].0;
    let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 8)));
    cluster.run();
    let view = cluster.engine.read(|view| view.gang(gang.gang)).unwrap();
    assert_eq!((view.is_gathering, view.held()), (false, 0));
    cluster.complete([master]);
    assert!(has_started(&cluster.events(), gang.gang));
}

/// In YARN's mode a user at its limit may have one more container. So this gang of 5 may start, and gathers.
#[test]
fn a_gang_one_container_above_the_limit_of_yarn_gathers() {
    let wide = half("b").with_user_limit_factor(None);
    let root = QueueConfig::root([half("a").with_user_limit_factor(Some(Factor::ONE)), wide]);
    let mut config = EngineConfig { root, semantics: Semantics::YarnCompatible, ..plain() };
    config.reservations.delay_ms = None;
    let cluster = Cluster::new(config, Mode::Serial);
    cluster.nodes(2, 4);
    cluster.handle.submit_ask(in_leaf(&cluster, "root.b"), ask(1, 1_000)).unwrap();
    cluster.run();
    let running: Vec<_> = placed(&cluster.events()).into_iter().map(|(container, _)| container).collect();
    let gang = cluster.submit(GangSpec::new(in_leaf(&cluster, "root.a")).with_role("worker", ask(1, 5)));
    cluster.run();
    assert!(cluster.engine.read(|view| view.gang(gang.gang)).unwrap().is_gathering);
    cluster.complete(running);
    assert!(has_started(&cluster.events(), gang.gang));
}

/// The leaf may use 4 of 8. The gang holds two of its three members' room there.
#[test]
fn the_room_that_a_gang_holds_does_not_count_twice_against_a_limit() {
    let mut config = plain();
    let small = half("a").with_user_limit_factor(None).with_maximum(Maximum::Percent(Percent::whole(50)));
    config.root = QueueConfig::root([small, half("b").with_user_limit_factor(None)]);
    let cluster = Cluster::new(config, Mode::Serial);
    cluster.nodes(2, 4);
    cluster.handle.submit_ask(in_leaf(&cluster, "root.b"), ask(1, 6)).unwrap();
    cluster.run();
    let gang = cluster.submit(GangSpec::new(in_leaf(&cluster, "root.a")).with_role("worker", ask(1, 3)));
    cluster.run();
    let why = cluster.engine.read(|view| view.explain(gang.asks[0]));
    let Some(Blocker::Gang(wait)) = &why.pending().unwrap().blocker else { panic!("{why:?}") };
    assert_eq!((wait.held, wait.is_limited, &wait.limit), (2, false, &None));
}

/// Two users are active, so the share of one is half of what the gang would use by its last member, and one more.
#[test]
fn a_gang_is_told_the_share_of_its_user() {
    let mut config = plain();
    let shared = half("a").with_user_limit_factor(None).with_user_limit_minimum(Percent::whole(50));
    config.root = QueueConfig::root([shared, half("b").with_user_limit_factor(None)]);
    let cluster = Cluster::new(config, Mode::Serial);
    cluster.nodes(4, 4);
    cluster.handle.submit_ask(in_leaf(&cluster, "root.b"), ask(1, 16)).unwrap();
    cluster.run();
    let bob = ApplicationSpec::new("job", "root.a", "bob");
    let bob = cluster.handle.submit_application(bob, &cluster.events).unwrap();
    cluster.handle.submit_ask(bob, ask(1, 1)).unwrap();
    let gang = cluster.submit(GangSpec::new(in_leaf(&cluster, "root.a")).with_role("worker", ask(1, 9)));
    cluster.run();
    let why = cluster.engine.read(|view| view.explain(gang.asks[0]));
    let text = "User ann would exceed the user limit of root.a: 0 MiB used, limit 5 MiB";
    assert!(why.to_string().contains(text), "{why}");
}
