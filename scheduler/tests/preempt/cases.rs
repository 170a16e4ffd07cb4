//! Scenarios with other sizes, masters and reasons.

use apportion::config::{HolderLimit, Percent};
use apportion::gang::GangSpec;
use apportion::preempt::{PreemptionPolicy, PreemptionRule, UnhelpedReason};
use apportion::{ApplicationSpec, AskSpec, EndCause, PartitionId, Resources};

use crate::{Cluster, at_once, by_queue, queue, reasons, victims};

/// Four applications with a master and `others` more containers each, oldest first.
fn with_masters(cluster: &Cluster, size: i64, others: u32) -> Vec<apportion::ApplicationId> {
    let size = Resources::new(&[size]);
    let submit = |_| {
        let spec = ApplicationSpec::new("job", "root.a", "user").with_master(size, PartitionId::DEFAULT);
        let application = cluster.submit(spec);
        cluster.engine.handle().submit_ask(application, AskSpec::new(size, 1).as_master()).unwrap();
        cluster.engine.run_until_quiet();
        cluster.ask(application, &[size[0]], others);
        cluster.run();
        application
    };
    (0..4).map(submit).collect()
}

#[test]
fn scenario_64_masters_are_taken_last() {
    // A's guarantee, B's guarantee, size, other containers, pending containers, victims of the newest application
    // first.
    for (a, b, size, others, pending, expected) in
        [(50, 50, 1, 24, 50, [24, 24, 2, 0]), (10, 90, 5, 4, 18, [5, 5, 4, 4])]
    {
        let cluster = Cluster::new([queue("a", &[a], None), queue("b", &[b], None)]);
        cluster.nodes(100 / size as usize, &[size]);
        let applications = with_masters(&cluster, size, others);
        cluster.demand("root.b", &[size], pending);
        let plan = cluster.plan(&at_once());
        let counts = victims(&plan, |victim| victim.application);
        let taken: Vec<usize> =
            applications.iter().rev().map(|one| counts.get(one).copied().unwrap_or(0)).collect();
        assert_eq!(taken, expected, "{plan}");
        cluster.execute(&plan);
    }
}

/// A exceeds its guarantee of 50 vcores by 50, and B is owed as many, so five containers of 10 end. The
/// scenario says four in YARN. The rules of section 2.11 give five: 100 used minus 50 fair, with 10 in each container.
#[test]
fn scenario_65_the_dominant_type_is_taken() {
    let cluster = Cluster::new([queue("a", &[50, 50], None), queue("b", &[50, 50], None)]);
    cluster.nodes(10, &[10, 10]);
    cluster.demand("root.a", &[1, 10], 10);
    cluster.run();
    cluster.demand("root.b", &[1, 10], 10);
    let plan = cluster.plan(&at_once());
    assert_eq!(by_queue(&plan), [("a".to_owned(), 5)].into(), "{plan}\n{:#?}", plan.partitions);
    cluster.execute(&plan);
}

#[test]
fn scenario_68_two_types_and_a_tiny_ask() {
    let full = || {
        let cluster = Cluster::new([queue("a", &[50, 100], None), queue("b", &[50, 100], None)]);
        cluster.nodes(10, &[10, 20]);
        cluster.demand("root.a", &[2, 4], 20);
        cluster.demand("root.b", &[2, 4], 30);
        cluster.run();
        cluster
    };
    let cluster = full();
    cluster.demand("root.a", &[2, 4], 15);
    let plan = cluster.plan(&at_once());
    assert_eq!(by_queue(&plan), [("b".to_owned(), 5)].into(), "{plan}\n{:#?}", plan.partitions);
    cluster.execute(&plan);

    let cluster = full();
    cluster.demand("root.a", &[2, 4], 1);
    let slowly = PreemptionPolicy { natural_termination: Percent::whole(20), ..at_once() };
    let plan = cluster.plan(&slowly);
    assert_eq!(by_queue(&plan), [("b".to_owned(), 1)].into(), "{plan}");
}

/// `spec/peers.md`, section 5, case 15: the small victim would not be enough, and the large one is.
#[test]
fn case_15_a_victim_that_is_not_needed_stays() {
    let cluster = Cluster::new([queue("a", &[0], None), queue("b", &[2_100], None)]);
    cluster.nodes(1, &[2_100]);
    let large = cluster.demand("root.a", &[1_500], 1);
    cluster.demand("root.a", &[600], 1);
    cluster.run();
    let beneficiary = cluster.demand("root.b", &[1_000], 1);
    let plan = cluster.plan(&at_once());
    assert_eq!(victims(&plan, |victim| victim.application), [(large, 1)].into(), "{plan}");
    assert_eq!(plan.preemptions[0].rule, PreemptionRule::Guarantee);
    cluster.execute(&plan);
    assert_eq!((cluster.running(large), cluster.running(beneficiary)), (0, 1));
}

/// Case 13: without the victim the request is rejected; with it both happen at once.
#[test]
fn case_13_the_victim_ends_as_preempted_in_the_same_change() {
    let cluster = Cluster::new([queue("a", &[0, 0], None), queue("b", &[4_192, 2_000], None)]);
    cluster.nodes(1, &[4_192, 2_000]);
    let loser = cluster.demand("root.a", &[4_000, 1_500], 1);
    cluster.run();
    cluster.demand("root.b", &[3_200, 1_500], 1);
    cluster.engine.run_until_quiet();
    while cluster.events.try_next().unwrap().is_some() {}
    let plan = cluster.plan(&at_once());
    let mut alone = plan.preemptions[0].request();
    alone.release.clear();
    let ticket = cluster.engine.handle().commit(alone).unwrap();
    cluster.engine.run_until_quiet();
    assert!(!ticket.try_take().unwrap().is_accepted());
    cluster.execute(&plan);
    let causes: Vec<_> = std::iter::from_fn(|| cluster.events.try_next().unwrap())
        .filter_map(|event| match event.kind {
            apportion::event::EventKind::ContainerEnded { cause, .. } => Some(cause),
            _ => None,
        })
        .collect();
    assert_eq!((causes, cluster.running(loser)), (vec![EndCause::Preempted], 0));
}

#[test]
fn an_ask_that_gets_nothing_has_a_reason() {
    let reason = |policy: &PreemptionPolicy, a: i64, b: i64, size: i64, node: i64| {
        let cluster = Cluster::new([queue("a", &[a], None), queue("b", &[b], None)]);
        cluster.nodes((100 / node) as usize, &[node]);
        cluster.demand("root.a", &[1], 100);
        cluster.run();
        cluster.demand("root.b", &[size], 1);
        let plan = cluster.plan(policy);
        assert!(plan.preemptions.is_empty(), "{plan}");
        reasons(&plan)
    };
    let exempt = PreemptionPolicy { exempt: ["root.a".to_owned()].into(), ..at_once() };
    assert_eq!(reason(&exempt, 50, 50, 1, 10), [UnhelpedReason::Exempt]);
    assert_eq!(reason(&at_once(), 95, 5, 1, 10), [UnhelpedReason::DeadZone]);
    assert_eq!(reason(&at_once(), 50, 50, 20, 10), [UnhelpedReason::NoNode]);
    assert_eq!(reason(&at_once(), 96, 4, 5, 10), [UnhelpedReason::LessThanOneContainer]);
}

#[test]
fn a_round_takes_no_more_than_its_cap() {
    let cluster = Cluster::new([queue("a", &[50], None), queue("b", &[50], None)]);
    cluster.nodes(100, &[1]);
    cluster.demand("root.a", &[1], 100);
    cluster.run();
    cluster.demand("root.b", &[1], 50);
    let plan = cluster.plan(&PreemptionPolicy::default());
    // A tenth of the partition is the cap, of which a fifth is taken.
    assert_eq!(by_queue(&plan), [("a".to_owned(), 2)].into(), "{plan}");
    assert_eq!(reasons(&plan), [UnhelpedReason::RoundSpent]);
    assert_eq!(plan.unhelped[0].units, 48);
    let text = plan.to_string();
    assert!(
        text.starts_with(
            "2 containers would start in place of 2 containers; 1 ask gets less than its queue is owed."
        ),
        "{text}"
    );
}

/// Each user wants less than the limit of their group, but both want more.
#[test]
fn a_plan_starts_no_more_than_the_limit_of_a_group_admits() {
    let limit = HolderLimit {
        groups: vec!["staff".to_owned()],
        maximum: std::array::from_fn(|index| (index == 0).then_some(5)),
        ..HolderLimit::default()
    };
    let cluster = Cluster::new([queue("a", &[50], None), queue("b", &[50], None).with_limits([limit])]);
    cluster.nodes(100, &[1]);
    cluster.demand("root.a", &[1], 100);
    cluster.run();
    let applications = ["ann", "bob"].map(|user| {
        let application = cluster.submit(ApplicationSpec {
            groups: vec!["staff".to_owned()],
            ..ApplicationSpec::new("application", "root.b", user)
        });
        cluster.ask(application, &[1], 3);
        application
    });
    let plan = cluster.plan(&at_once());
    assert_eq!(by_queue(&plan), [("a".to_owned(), 5)].into(), "{plan}");
    assert_eq!(reasons(&plan), [UnhelpedReason::Limit]);
    cluster.execute(&plan);
    assert_eq!(applications.map(|application| cluster.running(application)), [3, 2]);
}

/// The room of containers that are being stopped counts as coming, so nothing more is taken.
#[test]
fn what_is_being_stopped_is_not_taken_again() {
    let cluster = Cluster::new([queue("a", &[50], None), queue("b", &[50], None)]);
    cluster.nodes(100, &[1]);
    cluster.demand("root.a", &[1], 100);
    cluster.run();
    cluster.demand("root.b", &[1], 10);
    cluster.run();
    let plan = cluster.plan(&at_once());
    assert_eq!(plan.preemptions.len(), 10);
    for victim in plan.preemptions.iter().flat_map(|preemption| &preemption.victims) {
        cluster.engine.handle().stop_container(victim.container).unwrap();
    }
    cluster.run();
    let again = cluster.plan(&at_once());
    assert!(again.preemptions.is_empty() && again.unhelped.is_empty(), "{again}");
}

/// The parent is at its maximum, so only victims below it help.
#[test]
fn victims_are_below_the_queue_that_is_full() {
    let parent =
        queue("p", &[40], Some(&[40])).with_children([queue("c", &[20], None), queue("d", &[20], None)]);
    let cluster = Cluster::new([parent, queue("o", &[20], None)]);
    cluster.nodes(10, &[10]);
    cluster.demand("root.p.c", &[1], 40);
    cluster.demand("root.o", &[1], 50);
    cluster.run();
    cluster.demand("root.p.d", &[1], 10);
    cluster.run();
    let plan = cluster.plan(&at_once());
    assert_eq!(by_queue(&plan), [("p.c".to_owned(), 10)].into(), "{plan}\n{:#?}", plan.partitions);
    cluster.execute(&plan);
}

/// What a gang wants above its minimum has to wait: preemption starts the minimum.
#[test]
fn a_gang_takes_its_minimum() {
    let cluster = Cluster::new([queue("a", &[50], None), queue("b", &[50], None)]);
    cluster.nodes(10, &[10]);
    cluster.demand("root.a", &[1], 100);
    cluster.run();
    let application = cluster.application("root.b");
    let workers = AskSpec::new(Resources::new(&[1]), 30);
    let gang = GangSpec::new(application).with_role_of_at_least("worker", workers, 20);
    cluster.engine.handle().submit_gang(gang).unwrap();
    let plan = cluster.plan(&at_once());
    let amounts: Vec<_> =
        plan.partitions[0].queues.iter().map(|queue| (&queue.pending, &queue.to_take)).collect();
    let none = apportion::resource::Amounts::default();
    let twenty = &plan.partitions[0].queues[0].pending;
    assert_eq!(twenty.iter().collect::<Vec<_>>(), [("memory_mib", 20)]);
    assert_eq!(amounts, [(twenty, &none), (&none, twenty), (twenty, &none)]);
    assert_eq!((plan.gangs[0].members.len(), plan.gangs[0].victims.len()), (20, 20), "{plan}");
}
