//! Gangs for which others lose containers: room for the whole minimum, or nothing.

use apportion::config::{
    Capacity, EngineConfig, Maximum, PartitionAccess, PartitionCapacity, Percent, QueueConfig,
};
use apportion::event::EventKind;
use apportion::explain::{PreemptionOutlook, Standing};
use apportion::gang::GangSpec;
use apportion::preempt::{PreemptionCost, PreemptionPlan, PreemptionPolicy, PreemptionRule, UnhelpedReason};
use apportion::{ApplicationId, AskSpec, NodeSpec, PartitionId, ResourceTypes, Resources};

use crate::rounds::{INTERVAL_MS, Running, WAIT_MS, modes, rounds};
use crate::{Cluster, at_once, by_queue, queue, reasons};

const ONE: &[i64] = &[1, 1];

/// A gang of an application of its own in this queue, with so many workers of this size.
fn gang(cluster: &Cluster, queue: &str, roles: &[(u32, &[i64])]) -> ApplicationId {
    let application = cluster.application(queue);
    let role = |gang: GangSpec, (place, (count, size)): (usize, &(u32, &[i64]))| {
        gang.with_role(format!("role-{place}"), AskSpec::new(Resources::new(size), *count))
    };
    let spec = roles.iter().enumerate().fold(GangSpec::new(application), role);
    cluster.engine.handle().submit_gang(spec).unwrap();
    application
}

/// Ten nodes of size 10, full of containers of size 1 in a queue without a guarantee.
fn full(guaranteed: i64) -> Cluster {
    let cluster = Cluster::new([queue("a", &[guaranteed, guaranteed], None), queue("b", &[0, 0], None)]);
    cluster.nodes(10, &[10, 10]);
    cluster.demand("root.b", ONE, 100);
    cluster.run();
    cluster
}

fn gangs(plan: &PreemptionPlan) -> Vec<(usize, usize)> {
    plan.gangs.iter().map(|gang| (gang.members.len(), gang.victims.len())).collect()
}

/// The default policy takes a fifth of what is owed, and no more than a tenth of the cluster. A gang gets all.
#[test]
fn a_round_takes_all_that_a_gang_needs() {
    let cluster = full(40);
    let a = gang(&cluster, "root.a", &[(1, &[4, 4]), (20, ONE)]);
    cluster.demand("root.a", ONE, 16);
    let plan = cluster.plan(&PreemptionPolicy::default());
    assert_eq!(gangs(&plan), [(21, 24)], "{plan}");
    assert_eq!(plan.gangs[0].rule, PreemptionRule::Guarantee);
    assert!(plan.preemptions.is_empty(), "the round has taken enough: {plan}");
    cluster.execute(&plan);
    cluster.run();
    assert_eq!(cluster.running(a), 21);
    assert!(plan.to_string().contains("21 containers of gang-"), "{plan}");
}

/// What the gang has gathered needs no victims, and is not charged twice.
#[test]
fn a_gang_uses_the_room_that_it_holds() {
    let cluster = full(30);
    let a = gang(&cluster, "root.a", &[(1, &[4, 4]), (20, ONE)]);
    cluster.run();
    let some: Vec<_> = cluster.engine.read(|view| view.containers().map(|(id, _)| id).step_by(11).collect());
    for id in &some[..7] {
        cluster.engine.handle().complete_container(*id).unwrap();
    }
    let plan = cluster.plan(&PreemptionPolicy::default());
    let held: i64 = cluster.engine.read(|view| view.nodes().map(|node| node.held()[0]).sum());
    assert_eq!((held, gangs(&plan)), (7, vec![(21, 17)]), "{plan}");
    cluster.execute(&plan);
    assert_eq!(cluster.running(a), 21);
}

#[test]
fn a_gang_that_is_owed_too_little_gets_nothing() {
    let cluster = full(20);
    gang(&cluster, "root.a", &[(21, ONE)]);
    let plan = cluster.plan(&at_once());
    assert_eq!((gangs(&plan), reasons(&plan)), (vec![], vec![UnhelpedReason::LessThanMinimum]), "{plan}");
    assert_eq!(plan.unhelped[0].units, 21);
    let smaller = gang(&cluster, "root.a", &[(20, ONE)]);
    let plan = cluster.plan(&at_once());
    assert_eq!(gangs(&plan), [(20, 20)], "the larger gang does not stand in the way: {plan}");
    cluster.execute(&plan);
    assert_eq!(cluster.running(smaller), 20);
}

/// On every node a container is exempt. So the second role finds no node, and what the trial took for the first is
/// there for others.
#[test]
fn a_trial_without_success_leaves_nothing_behind() {
    let cluster = Cluster::new([queue("a", &[60, 60], None), queue("b", &[0, 0], None)]);
    cluster.nodes(10, &[10, 10]);
    let exempt = cluster.application("root.b");
    let ask = AskSpec::new(Resources::new(ONE), 10)
        .with_tag("exempt")
        .with_tag_limit(apportion::TagLimit::per_node("exempt", 1));
    cluster.ask_for(exempt, ask);
    cluster.run();
    cluster.demand("root.b", ONE, 90);
    cluster.run();
    let policy = PreemptionPolicy {
        exempt_tags: ["exempt".to_owned()].into(),
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        ..PreemptionPolicy::default()
    };
    cluster.demand("root.a", ONE, 30);
    let without = cluster.plan(&policy);
    gang(&cluster, "root.a", &[(20, ONE), (1, &[10, 10])]);
    let with = cluster.plan(&policy);
    assert_eq!((gangs(&with), reasons(&with)), (vec![], vec![UnhelpedReason::NoVictims]), "{with}");
    assert_eq!(with.preemptions, without.preemptions);
    assert_eq!(by_queue(&with), [("b".to_owned(), 30)].into());
}

/// On one rack the containers of another queue are exempt. On the other one there is enough for the gang.
#[test]
fn a_gang_on_one_rack_gets_room_on_one_rack() {
    let cluster = Cluster::new([queue("a", &[40, 40], None), queue("b", &[0, 0], None)]);
    let handle = cluster.engine.handle();
    for number in 0..6 {
        let node = NodeSpec::new(format!("n{number}"), Resources::new(&[10, 10]));
        handle.add_node(node.on_rack(format!("rack-{}", number / 2))).unwrap();
    }
    cluster.demand("root.b", ONE, 60);
    cluster.run();
    let application = cluster.application("root.a");
    let workers = AskSpec::new(Resources::new(&[4, 4]), 4);
    handle.submit_gang(GangSpec::new(application).with_role("worker", workers).on_one_rack()).unwrap();
    let plan = cluster.plan(&PreemptionPolicy::default());
    assert_eq!(gangs(&plan), [(4, 16)], "{plan}");
    let racks: std::collections::BTreeSet<String> = cluster.engine.read(|view| {
        let rack = |node| view.node(node).unwrap().rack().to_owned();
        plan.gangs[0].members.iter().map(|member| rack(member.node)).collect()
    });
    assert_eq!(racks.len(), 1, "{racks:?}");
    cluster.execute(&plan);
    assert_eq!(cluster.running(application), 4);
}

/// Victims are announced, and end together when their time has come.
#[test]
fn a_gang_starts_when_its_victims_have_had_their_time() {
    for mode in modes() {
        let (cluster, others) = Running::full(mode, rounds());
        let handle = cluster.engine.handle();
        let a = cluster.demand("root.a", 0);
        let workers = AskSpec::new(Resources::new(&[1]), 12);
        let submitted = handle.submit_gang(GangSpec::new(a).with_role("worker", workers)).unwrap();
        cluster.run_to(2 * INTERVAL_MS);
        assert_eq!(cluster.events(), [12, 0, 0], "{mode:?}");
        let explanation = cluster.engine.explain(submitted.asks[0]);
        let Standing::Pending(why) = &explanation.standing else { panic!("{explanation:?}") };
        assert!(matches!(why.preemption, Some(PreemptionOutlook::Announced { victims: 12, .. })), "{why:?}");
        assert_eq!(cluster.running(a), 0);
        let mut is_started = false;
        cluster.run_to(WAIT_MS + 3 * INTERVAL_MS);
        while let Some(event) = cluster.events.try_next().unwrap() {
            is_started |= event.kind == EventKind::GangStarted { gang: submitted.gang };
        }
        assert!(is_started, "{mode:?}");
        assert_eq!(cluster.running(a), 12, "{mode:?}");
        let left: usize = others.iter().map(|other| cluster.running(*other)).sum();
        assert_eq!(left, 88, "{mode:?}");
        cluster.expect_replay_equal();
    }
}

/// Two empty partitions of four units on two nodes each. Queues `a` and `b` have these guarantees in the default one
/// and in `x`.
fn with_partition(guarantees: [(i64, i64); 2]) -> (Cluster, PartitionId) {
    let queue = |(name, (here, there)): (&str, (i64, i64))| {
        let own = PartitionCapacity {
            capacity: Some(Capacity::Absolute(Resources::new(&[there, there]))),
            maximum: Some(Maximum::Percent(Percent::ALL)),
        };
        queue(name, &[here, here], None).with_access(PartitionAccess::All).with_partition("x", own)
    };
    let root = QueueConfig::root(["a", "b"].into_iter().zip(guarantees).map(queue));
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
    config.partitions = vec!["x".to_owned()];
    let cluster = Cluster::with_config(config);
    let x = cluster.engine.handle().partition("x").unwrap();
    cluster.nodes(2, &[2, 2]);
    for name in ["x0", "x1"] {
        let node = NodeSpec::new(name, Resources::new(&[2, 2])).in_partition(x);
        cluster.engine.handle().add_node(node).unwrap();
    }
    (cluster, x)
}

/// Two full partitions of four units. Queue `a` is owed half of the default one, and this much of the other one.
fn two_partitions(guaranteed: i64) -> (Cluster, PartitionId) {
    let (cluster, x) = with_partition([(2, guaranteed), (2, 4 - guaranteed)]);
    let others = cluster.demand("root.b", ONE, 4);
    cluster.ask_for(others, AskSpec::new(Resources::new(ONE), 4).in_partition(x));
    cluster.run();
    assert_eq!(cluster.running(others), 8);
    (cluster, x)
}

#[test]
fn a_gang_in_several_partitions_gets_room_in_all_or_in_none() {
    for (guaranteed, is_helped) in [(2, true), (1, false)] {
        let (cluster, x) = two_partitions(guaranteed);
        let application = cluster.application("root.a");
        let two = || AskSpec::new(Resources::new(ONE), 2);
        let spec = GangSpec::new(application).with_role("here", two()).with_role("x", two().in_partition(x));
        cluster.engine.handle().submit_gang(spec).unwrap();
        let plan = cluster.plan(&PreemptionPolicy::default());
        let (expected, why) = match is_helped {
            true => (vec![(4, 4)], vec![]),
            false => (vec![], vec![UnhelpedReason::LessThanMinimum]),
        };
        assert_eq!((gangs(&plan), reasons(&plan)), (expected, why), "{plan}");
        cluster.execute(&plan);
        cluster.run();
        assert_eq!(cluster.running(application), if is_helped { 4 } else { 0 });
    }
}

/// In the second partition no container may be taken. So the plan takes nothing in the first one for the gang, and
/// another gang gets that.
#[test]
fn a_gang_that_fails_in_one_partition_takes_nothing_in_the_others() {
    let (cluster, x) = two_partitions(2);
    let handle = cluster.engine.handle();
    for node in ["x0", "x1"].map(|name| handle.node(name).unwrap()) {
        for container in cluster.engine.read(|view| view.node(node).unwrap().containers().to_vec()) {
            handle.set_preemption_cost(container, PreemptionCost::Never).unwrap();
        }
    }
    let application = cluster.application("root.a");
    let two = || AskSpec::new(Resources::new(ONE), 2);
    let spec = GangSpec::new(application).with_role("here", two()).with_role("x", two().in_partition(x));
    handle.submit_gang(spec).unwrap();
    let second = gang(&cluster, "root.a", &[(2, ONE)]);
    let plan = cluster.plan(&PreemptionPolicy::default());
    assert_eq!((gangs(&plan), plan.gangs[0].application), (vec![(2, 2)], second), "{plan}");
    assert_eq!(plan.unhelped.len(), 1, "{plan}");
}

/// The member in the default partition needs no victim: half of that partition is
/// free. The queue is owed the room of the other one.
#[test]
fn a_gang_with_free_room_in_one_partition_gets_room_in_the_other() {
    let (cluster, x) = with_partition([(0, 2), (4, 2)]);
    let others = cluster.application("root.b");
    cluster.ask_for(others, AskSpec::new(Resources::new(ONE), 4).in_partition(x));
    cluster.run();
    let application = cluster.application("root.a");
    let one = || AskSpec::new(Resources::new(ONE), 1);
    let spec = GangSpec::new(application).with_role("master", one()).with_role("x", one().in_partition(x));
    cluster.engine.handle().submit_gang(spec).unwrap();
    let plan = cluster.plan(&at_once());
    assert_eq!((gangs(&plan), reasons(&plan)), (vec![(2, 1)], vec![]), "{plan}");
}

/// Queue `b` exceeds its guarantee in `x`, but is owed room in the default partition. Its gang's member in `x` needs no
/// victim. A member of `a` of the same size gets the room of one of `b`'s containers in `x`.
#[test]
fn a_queue_may_lose_a_container_in_the_partition_where_its_gang_starts_a_member() {
    let (cluster, x) = with_partition([(2, 4), (2, 1)]);
    let [a, b] = ["root.a", "root.b"].map(|queue| cluster.application(queue));
    let one = || AskSpec::new(Resources::new(ONE), 1);
    cluster.ask(a, ONE, 4);
    // Room that takes no containers keeps the maximum of the root out of the way.
    let idle = NodeSpec::new("idle", Resources::new(ONE)).in_partition(x);
    let handle = cluster.engine.handle();
    handle.drain_node(handle.add_node(idle).unwrap()).unwrap();
    let x0 = cluster.engine.handle().node("x0").unwrap();
    let on_x0 = AskSpec::new(Resources::new(ONE), 2).on_hosts([x0]).strictly_local();
    cluster.ask_for(b, on_x0.in_partition(x));
    cluster.run();
    let submit = |gang| cluster.engine.handle().submit_gang(gang).unwrap().gang;
    let of_b = submit(GangSpec::new(b).with_role("here", one()).with_role("x", one().in_partition(x)));
    cluster.run();
    // The first one takes the free room. All four count as demand, so `b` exceeds its fair amount by one container.
    let [_, second, ..] = [(); 4].map(|()| submit(GangSpec::new(a).with_role("x", one().in_partition(x))));
    let plan = cluster.plan(&at_once());
    assert_eq!(gangs(&plan), [(2, 1), (1, 1)], "{plan}");
    assert_eq!(plan.gangs.iter().map(|gang| gang.gang).collect::<Vec<_>>(), [of_b, second], "{plan}");
    assert_eq!(reasons(&plan), [UnhelpedReason::RoundSpent; 2]);
}
