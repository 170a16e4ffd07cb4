//! Gangs that make no sense, and gangs that could never start.

use apportion::config::{Capacity, EngineConfig, Maximum, Percent, QueueConfig};
use apportion::engine::SubmitError;
use apportion::event::GangRefusal;
use apportion::event::{EventKind, Refusal};
use apportion::gang::{GangSpec, GangStyle, GangTopology, InvalidGang};
use apportion::log::{LogError, LogReader};
use apportion::replay::Replay;
use apportion::{ApplicationEnd, ApplicationSpec, AskId, Change, Mode, ResourceTypes};

use crate::{Cluster, ask, placed};

#[test]
fn a_description_that_makes_no_sense_is_an_error() {
    let cluster = Cluster::serial();
    cluster.nodes(1, 8);
    let job = cluster.application();
    cluster.run();
    let before = cluster.engine.digest();
    let gang = || GangSpec::new(job);
    let name = || "worker".to_owned();
    let unnamed = |number, name: &str, is_placeholder| InvalidGang::RoleName {
        number,
        name: name.to_owned(),
        is_placeholder,
    };
    let cases = [
        (gang(), InvalidGang::NoRole),
        (
            gang().with_role_of_at_least("worker", ask(1, 2), 3),
            InvalidGang::MinimumAboveCount { role: name(), minimum: 3, count: 2 },
        ),
        (gang().with_role_of_at_least("worker", ask(1, 2), 0), InvalidGang::NoMinimum),
        (gang().with_role("worker", ask(1, 2)).with_timeout_ms(0, GangStyle::Soft), InvalidGang::ZeroTimeout),
        (
            gang().with_role("worker", ask(1, 2)).with_role("worker", ask(1, 1)),
            InvalidGang::DuplicateRole { name: name() },
        ),
        (gang().with_role("", ask(1, 2)), unnamed(1, "", false)),
        (gang().with_role("master", ask(1, 1)).with_placeholders("", ask(1, 2), 2), unnamed(2, "", true)),
        (gang().with_role("a\nb", ask(1, 2)), unnamed(1, "a\nb", false)),
        (gang().with_role("worker", ask(1, 100_001)), InvalidGang::TooManyMembers { members: 100_001 }),
    ];
    for (spec, expected) in cases {
        let error = cluster.handle.submit_gang(spec).unwrap_err();
        assert_eq!(error, SubmitError::Gang(expected));
        assert!(error.to_string().len() > 20, "{error}");
    }
    let error = cluster
        .handle
        .submit_gang(gang().with_role("master", ask(1, 1)).with_role("worker", ask(1, 0)))
        .unwrap_err();
    assert_eq!(error, SubmitError::NothingAsked);
    cluster.run();
    assert_eq!(cluster.engine.digest(), before);
    let works = cluster.submit(gang().with_role("worker", ask(1, 2)));
    cluster.run();
    works.ticket.try_take().unwrap().unwrap();
    assert_eq!(cluster.running(job), 2);
}

#[test]
fn errors_count_in_the_singular_and_in_the_plural() {
    let job = Cluster::serial().application();
    let text = |spec: GangSpec| spec.check().unwrap_err().to_string();
    assert_eq!(
        text(GangSpec::new(job).with_role_of_at_least("worker", ask(1, 1), 2)),
        "role `worker` asks for 1 member, but at least 2 must start together"
    );
    assert_eq!(
        text(GangSpec::new(job).with_role("master", ask(1, 1)).with_placeholders("", ask(1, 1), 1)),
        "role 2 of the gang, a task group, is named \"\"; a name has at least one character and no control characters"
    );
}

/// The first gang waits with its task group, then runs with it.
#[test]
fn a_task_group_in_use_is_named_with_the_gang_that_uses_it() {
    let cluster = Cluster::serial();
    cluster.nodes(1, 3);
    let blocker = cluster.application();
    cluster.handle.submit_ask(blocker, ask(1, 1)).unwrap();
    cluster.run();
    let running = placed(&cluster.events());
    let job = cluster.application();
    let gang = || {
        GangSpec::new(job).with_placeholders("server", ask(1, 1), 1).with_placeholders("worker", ask(1, 2), 2)
    };
    let first = cluster.submit(gang()).gang;
    cluster.run();
    let refused = |name: &str| {
        let again = cluster.submit(GangSpec::new(job).with_placeholders(name, ask(1, 1), 1));
        cluster.run();
        let refusal = again.ticket.try_take().unwrap().unwrap_err();
        assert_eq!(refusal.refusal(), Refusal::TaskGroupInUse);
        refusal.to_string()
    };
    let text = |how: &str| {
        format!(
            "task group `worker` is in use by {first} of the application, which {how}; use another name, or wait \
             until those placeholders are replaced or released"
        )
    };
    assert_eq!(refused("worker"), text("waits to start with 3 placeholders"));
    cluster.complete(running.iter().map(|(container, _)| *container));
    assert_eq!(refused("worker"), text("has 3 placeholders left"));
    for (group, count) in [("server", 1), ("worker", 1)] {
        cluster.handle.submit_ask_of_group(job, group, ask(1, count)).unwrap();
    }
    cluster.run();
    assert_eq!(refused("worker"), text("has 1 placeholder left"));
}

#[test]
fn a_gang_above_a_maximum_is_refused_with_the_numbers() {
    let small = QueueConfig::leaf("small", Capacity::Percent(Percent::whole(50)))
        .with_maximum(Maximum::Percent(Percent::whole(50)))
        .with_user_limit_factor(None);
    let large =
        QueueConfig::leaf("large", Capacity::Percent(Percent::whole(50))).with_user_limit_factor(None);
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([small, large]));
    let cluster = Cluster::new(config, Mode::Serial);
    cluster.nodes(4, 2);
    let [small, large] = ["root.small", "root.large"].map(|queue| {
        let spec = ApplicationSpec::new("job", queue, "ann");
        cluster.handle.submit_application(spec, &cluster.events).unwrap()
    });
    let gang =
        cluster.submit(GangSpec::new(small).with_role("master", ask(1, 1)).with_role("worker", ask(1, 4)));
    cluster.run();
    let refusal = gang.ticket.try_take().unwrap().unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the gang's minimum needs 5 MiB, 0.005 vcores at once, and queue `root.small` has a maximum of \
         4 MiB, 0.004 vcores"
    );
    let event = EventKind::GangRefused { gang: gang.gang, refusal: Refusal::GangAboveMaximum };
    assert_eq!(cluster.events(), [event]);
    let gang = cluster.submit(GangSpec::new(large).with_role("worker", ask(1, 5)));
    cluster.run();
    gang.ticket.try_take().unwrap().unwrap();
    assert_eq!(cluster.running(large), 5);
}

#[test]
fn a_gang_above_the_cluster_is_refused_with_the_numbers() {
    let cluster = Cluster::serial();
    for number in 0..4 {
        cluster.node(number, 3, ["a", "b"][number % 2]);
    }
    let job = cluster.application();
    let refusal = |spec| {
        let gang = cluster.submit(spec);
        cluster.run();
        gang.ticket.try_take().unwrap().unwrap_err()
    };
    let (role, gang) = ("worker".to_owned(), || GangSpec::new(job));
    let above = |minimum, possible, topology| GangRefusal::AboveCluster {
        role: role.clone(),
        minimum,
        possible,
        topology,
    };
    // Nodes of three units hold one container of two.
    assert_eq!(refusal(gang().with_role("worker", ask(2, 5))), above(5, 4, GangTopology::Anywhere));
    let on_rack = gang().with_role("worker", ask(2, 3)).on_one_rack();
    assert_eq!(refusal(on_rack), above(3, 2, GangTopology::SameRack));
    let together = gang().with_role("master", ask(1, 7)).with_role("worker", ask(2, 3));
    let GangRefusal::AboveCapacity { topology: GangTopology::Anywhere, .. } = refusal(together) else {
        panic!("the root queue is not a limit: the nodes are")
    };
    let together = gang().with_role("master", ask(1, 4)).with_role("worker", ask(2, 2)).on_one_rack();
    let GangRefusal::AboveCapacity { topology: GangTopology::SameRack, .. } = refusal(together) else {
        panic!("one rack has six units")
    };
    // The asks left nothing.
    assert_eq!(cluster.engine.read(|view| view.asks().count()), 0);
    let fits = cluster.submit(gang().with_role("worker", ask(2, 4)));
    cluster.run();
    fits.ticket.try_take().unwrap().unwrap();
    assert_eq!(cluster.running(job), 4);
}

#[test]
fn a_gang_above_each_rack_is_refused_with_the_numbers_of_the_nearest() {
    let cluster = Cluster::serial();
    for (number, rack) in ["a", "b", "b", "c"].into_iter().enumerate() {
        cluster.node(number, 3, rack);
    }
    let gang = GangSpec::new(cluster.application()).with_role("worker", ask(2, 3)).on_one_rack();
    let gang = cluster.submit(gang);
    cluster.run();
    let refusal = gang.ticket.try_take().unwrap().unwrap_err();
    assert!(matches!(refusal, GangRefusal::AboveCluster { possible: 2, .. }), "{refusal:?}");
}

/// A rack with room for each role alone is nearer than one without, and the largest of them is the nearest.
#[test]
fn a_rack_with_room_for_each_role_alone_is_the_nearest() {
    let cluster = Cluster::serial();
    let nodes = [("a", 3), ("b", 3), ("b", 3), ("c", 4), ("c", 3), ("d", 3), ("d", 3)];
    for (number, (rack, units)) in nodes.into_iter().enumerate() {
        cluster.node(number, units, rack);
    }
    let gang = GangSpec::new(cluster.application()).with_role("master", ask(1, 4));
    let gang = cluster.submit(gang.with_role("worker", ask(2, 2)).on_one_rack());
    cluster.run();
    let refusal = gang.ticket.try_take().unwrap().unwrap_err();
    assert!(refusal.to_string().contains("7 MiB"), "{refusal}");
}

#[test]
fn a_gang_of_an_application_that_is_gone_is_refused() {
    let cluster = Cluster::serial();
    cluster.nodes(1, 4);
    let job = cluster.application();
    cluster.handle.end_application(job, ApplicationEnd::Finished).unwrap();
    let gang = cluster.submit(GangSpec::new(job).with_role("worker", ask(1, 2)));
    cluster.run();
    let refused = gang.ticket.try_take().unwrap().unwrap_err();
    assert_eq!(refused, GangRefusal::Refused(Refusal::ApplicationEnded));
}

/// Each role alone may be pending, but not all of them together: sums over leaves would overflow.
#[test]
fn roles_that_are_too_many_together_are_refused() {
    let cluster = Cluster::serial();
    cluster.nodes(1, 1 << 30);
    let application = cluster.application();
    let role = |gang: GangSpec, name: &str| gang.with_role_of_at_least(name, ask(1 << 19, 1 << 30), 1);
    let alone = cluster.submit(role(GangSpec::new(application), "a"));
    cluster.run();
    assert!(alone.ticket.try_take().unwrap().is_ok());
    cluster.handle.cancel_gang(alone.gang).unwrap();
    cluster.run();
    let all = ["a", "b", "c", "d"].into_iter().fold(GangSpec::new(application), role);
    let refused = cluster.submit(all);
    cluster.run();
    assert!(refused.ticket.try_take().unwrap().is_err());
}

/// A log that was changed by hand may describe any gang.
#[test]
fn a_log_with_a_gang_that_makes_no_sense_is_refused() {
    let cluster = Cluster::serial();
    cluster.nodes(2, 4);
    let gang = GangSpec::new(cluster.application()).with_role("a", ask(1, 1)).with_role("b", ask(1, 1));
    cluster.submit(gang);
    cluster.run();
    let log = cluster.log.bytes();
    let mut reader = LogReader::new(&log[..]).unwrap();
    let mut replay = Replay::begin(&mut reader).unwrap();
    let (asks, spec) = loop {
        match reader.next_change().unwrap().unwrap() {
            Change::GangSubmitted { asks, spec } => break (asks, spec),
            change => {
                replay.step(change).unwrap();
            }
        }
    };
    let damage: [fn(&mut Vec<AskId>, &mut GangSpec); 5] = [
        |asks, _| asks.truncate(1),
        |asks, _| asks[1] = asks[0],
        |_, spec| spec.roles[1].minimum = 2,
        |_, spec| spec.roles[1].name = spec.roles[0].name.clone(),
        |asks, spec| {
            asks.clear();
            spec.roles.clear();
        },
    ];
    for (number, damage) in damage.into_iter().enumerate() {
        let (mut asks, mut spec) = (asks.clone(), spec.clone());
        damage(&mut asks, &mut spec);
        let error = replay.step(Change::GangSubmitted { asks, spec }).unwrap_err();
        assert!(matches!(error, LogError::Inconsistent { .. }), "damage {number}: {error}");
    }
    replay.step(Change::GangSubmitted { asks, spec }).unwrap();
}
