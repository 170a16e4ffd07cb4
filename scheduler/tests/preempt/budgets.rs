//! Disruption budgets: how many containers of an application preemption may take at a time.

use DisruptionLimit::{MaxUnavailable, MinAvailable};
use apportion::config::{
    Capacity, EngineConfig, Maximum, OpportunisticPolicy, PartitionAccess, PartitionCapacity, Percent,
    PreemptionRounds, QueueConfig,
};
use apportion::engine::SubmitError;
use apportion::event::{EventKind, Refusal, Subject};
use apportion::explain::{PreemptionOutlook, Standing};
use apportion::gang::GangSpec;
use apportion::preempt::{DisruptionBudget, DisruptionLimit, UnhelpedReason, WithinQueuePolicy};
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskSpec, ContainerId, EndCause, Mode, NodeId, NodeSpec,
    ResourceTypes, Resources,
};

use crate::rounds::{INTERVAL_MS, Running, WAIT_MS, modes, rounds};
use crate::{Cluster, at_once, queue, reasons, victims};

const ONE: &[i64] = &[1];

/// Two queues with half of the cluster each, of which the first has all: four web containers and then four others.
fn full() -> (Cluster, ApplicationId) {
    let cluster = Cluster::new([queue("a", &[4], None), queue("b", &[4], None)]);
    cluster.nodes(8, ONE);
    let application = cluster.application("root.a");
    cluster.ask(application, ONE, 4);
    cluster.run();
    cluster.ask_for(application, AskSpec::new(Resources::new(ONE), 4).with_tag("web"));
    cluster.run();
    (cluster, application)
}

impl Cluster {
    fn set_budgets(&self, application: ApplicationId, budgets: &[DisruptionBudget]) {
        self.engine.handle().set_disruption_budgets(application, budgets.to_vec()).unwrap();
        self.run();
    }
}

fn of_web(desired: u32, limit: DisruptionLimit) -> DisruptionBudget {
    DisruptionBudget::new(desired, limit).of_tag("web")
}

/// A task group of so many placeholders.
fn placeholders(application: ApplicationId, count: u32) -> GangSpec {
    let one = AskSpec::new(Resources::new(ONE), count);
    GangSpec::new(application).with_placeholders("worker", one, count)
}

/// The newest containers are the web ones. Without a budget all of them would be taken.
#[test]
fn a_plan_takes_no_more_than_the_budgets_leave() {
    let all = |limit| DisruptionBudget::new(8, limit);
    for (budgets, web, others) in [
        (vec![], 4, 0),
        (vec![of_web(4, MinAvailable(3))], 1, 3),
        (vec![of_web(4, MaxUnavailable(1))], 1, 3),
        (vec![of_web(4, MaxUnavailable(0))], 0, 4),
        (vec![of_web(9, MinAvailable(9))], 0, 4),
        (vec![all(MinAvailable(6))], 2, 0),
        (vec![all(MaxUnavailable(3)), of_web(4, MinAvailable(2))], 2, 1),
        (vec![DisruptionBudget::new(9, MinAvailable(9)).of_tag("db")], 4, 0),
    ] {
        let (cluster, application) = full();
        cluster.set_budgets(application, &budgets);
        let containers = cluster.containers(application);
        cluster.demand("root.b", ONE, 4);
        let plan = cluster.plan(&at_once());
        let is_web = |one: &apportion::preempt::Victim| containers[4..].contains(&one.container);
        let counts = victims(&plan, is_web);
        let taken = [true, false].map(|is_web| counts.get(&is_web).copied().unwrap_or(0));
        assert_eq!(taken, [web, others], "{budgets:?}: {plan}");
        cluster.execute(&plan);
    }
}

#[test]
fn an_ask_that_only_budgets_leave_unhelped_has_that_reason() {
    let (cluster, application) = full();
    cluster.set_budgets(application, &[DisruptionBudget::new(8, MinAvailable(7))]);
    cluster.demand("root.b", ONE, 3);
    let plan = cluster.plan(&at_once());
    assert_eq!((plan.preemptions.len(), reasons(&plan)), (1, vec![UnhelpedReason::DisruptionBudget]));
    assert_eq!(plan.unhelped[0].units, 2, "{plan}");
    let text = plan.to_string();
    assert!(
        text.ends_with(
            "Disruption budgets or minima of gangs keep the containers that would leave enough room."
        ),
        "{text}"
    );
    cluster.set_budgets(application, &[]);
    assert_eq!(cluster.plan(&at_once()).preemptions.len(), 3, "no budget is left");
}

/// A container that is being stopped is unavailable. So is one that has ended and is not replaced.
#[test]
fn what_is_unavailable_already_counts() {
    for (end, is_spare) in [(None, true), (Some(true), false), (Some(false), false)] {
        let (cluster, application) = full();
        cluster.set_budgets(application, &[of_web(4, MinAvailable(3))]);
        let containers = cluster.containers(application);
        let handle = cluster.engine.handle();
        match end {
            None => {}
            Some(true) => drop(handle.stop_container(containers[7]).unwrap()),
            Some(false) => handle.complete_container(containers[7]).unwrap(),
        }
        let node = cluster.engine.read(|view| view.container(containers[5]).unwrap().node);
        let local = AskSpec::new(Resources::new(ONE), 1).on_hosts([node]).strictly_local();
        let local = cluster.ask_for(cluster.application("root.b"), local);
        cluster.demand("root.b", ONE, 3);
        let plan = cluster.plan(&at_once());
        let is_helped = plan.preemptions.iter().any(|one| one.ask == local);
        assert_eq!(is_helped, is_spare, "{end:?}: {plan}");
        let reason = plan.unhelped.iter().find(|one| one.ask == local).map(|one| one.reason);
        assert_eq!(reason, (!is_spare).then_some(UnhelpedReason::DisruptionBudget), "{end:?}: {plan}");
    }
}

/// Of three containers one may be taken, and all five placeholders, which are not available.
#[test]
fn placeholders_are_not_protected() {
    let cluster = Cluster::new([queue("a", &[2], None), queue("b", &[6], None)]);
    cluster.nodes(8, ONE);
    let application = cluster.demand("root.a", ONE, 3);
    cluster.run();
    let real = cluster.containers(application);
    cluster.engine.handle().submit_gang(placeholders(application, 5)).unwrap();
    cluster.set_budgets(application, &[DisruptionBudget::new(3, MinAvailable(2))]);
    cluster.demand("root.b", ONE, 6);
    let plan = cluster.plan(&at_once());
    let counts = victims(&plan, |victim| real.contains(&victim.container));
    assert_eq!((counts.get(&false), counts.get(&true)), (Some(&5), Some(&1)), "{plan}");
    cluster.execute(&plan);
}

/// An application of two partitions has one budget, and both partitions owe the other queue something.
#[test]
fn a_budget_covers_all_partitions() {
    let own = PartitionCapacity {
        capacity: Some(Capacity::Absolute(Resources::new(&[2]))),
        maximum: Some(Maximum::Percent(Percent::ALL)),
    };
    let queue = |name| queue(name, &[2], None).with_access(PartitionAccess::All).with_partition("x", own);
    let root = QueueConfig::root([queue("a"), queue("b")]);
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
    config.partitions = vec!["x".to_owned()];
    let cluster = Cluster::with_config(config);
    let x = cluster.engine.handle().partition("x").unwrap();
    cluster.nodes(1, &[4]);
    let node = NodeSpec::new("x", Resources::new(&[4])).in_partition(x);
    cluster.engine.handle().add_node(node).unwrap();
    let one = || AskSpec::new(Resources::new(ONE), 4);
    let [a, b] = ["root.a", "root.b"].map(|queue| {
        let application = cluster.application(queue);
        cluster.ask_for(application, one());
        cluster.ask_for(application, one().in_partition(x));
        cluster.run();
        application
    });
    assert_eq!((cluster.running(a), cluster.running(b)), (8, 0));
    assert_eq!(cluster.plan(&at_once()).preemptions.len(), 4, "two in each partition");
    cluster.set_budgets(a, &[DisruptionBudget::new(8, MaxUnavailable(3))]);
    assert_eq!(cluster.plan(&at_once()).preemptions.len(), 3);
}

#[test]
fn a_budget_holds_within_a_queue() {
    let cluster = Cluster::new([queue("a", &[8], None)]);
    cluster.nodes(8, ONE);
    let low = cluster.demand("root.a", ONE, 8);
    cluster.run();
    cluster.set_budgets(low, &[DisruptionBudget::new(8, MaxUnavailable(1))]);
    let high = cluster.submit(ApplicationSpec::new("high", "root.a", "user").with_priority(5));
    cluster.ask(high, ONE, 3);
    let within = WithinQueuePolicy { max_part: Percent::ALL, ..Default::default() };
    let policy = apportion::preempt::PreemptionPolicy { within_queue: Some(within), ..at_once() };
    let plan = cluster.plan(&policy);
    assert_eq!(plan.preemptions.len(), 1, "{plan}");
    cluster.set_budgets(low, &[]);
    assert_eq!(cluster.plan(&policy).preemptions.len(), 3);
}

#[test]
fn budgets_that_make_no_sense_change_nothing() {
    let (cluster, application) = full();
    let handle = cluster.engine.handle();
    cluster.set_budgets(application, &[of_web(4, MinAvailable(3))]);
    let error = handle.set_disruption_budgets(application, vec![of_web(4, MinAvailable(5))]).unwrap_err();
    let text = "the budget of tag `web` needs 5 available containers of 4 desired; it can never be met, because the \
                minimum is above the desired number";
    assert_eq!(error.to_string(), text);
    assert!(matches!(error, SubmitError::Budget(_)));
    cluster.run();
    let budgets = |id| cluster.engine.read(|view| view.disruption_budgets(id).to_vec());
    assert_eq!(budgets(application), [of_web(4, MinAvailable(3))]);
    handle.end_application(application, ApplicationEnd::Killed).unwrap();
    cluster.run();
    assert_eq!(budgets(application), []);
    handle.set_disruption_budgets(application, vec![of_web(4, MinAvailable(3))]).unwrap();
    cluster.run();
    let refused: Vec<_> = handle.take_refusals().list.iter().map(|one| (one.subject, one.refusal)).collect();
    assert_eq!(refused, [(Subject::Application(application), Refusal::ApplicationEnded)]);
}

/// A service wants four and may miss one. Announced victims count, and the next one is announced only after the
/// replacement runs.
#[test]
fn rounds_take_the_next_one_after_the_replacement_runs() {
    for mode in modes() {
        let (cluster, [_, c]) = Running::full(mode, rounds());
        let handle = cluster.engine.handle();
        let budget = DisruptionBudget::new(40, MaxUnavailable(1));
        handle.set_disruption_budgets(c, vec![budget]).unwrap();
        let a = cluster.demand("root.a", 0);
        let ask = handle.submit_ask(a, AskSpec::new(Resources::new(ONE), 10)).unwrap();
        cluster.run_to(INTERVAL_MS);
        assert_eq!(cluster.events(), [1, 0, 0], "{mode:?}");
        cluster.run_to(WAIT_MS);
        assert_eq!(cluster.events(), [0, 0, 0], "{mode:?}");
        cluster.run_to(2 * INTERVAL_MS + WAIT_MS);
        assert_eq!((cluster.events(), cluster.running(a)), ([0, 0, 1], 1), "{mode:?}");
        cluster.run_to(4 * WAIT_MS);
        assert_eq!((cluster.events(), cluster.running(a)), ([0, 0, 0], 1), "{mode:?}: nothing is replaced");
        handle.cancel_ask(ask, 7).unwrap();
        handle.submit_ask(c, AskSpec::new(Resources::new(ONE), 1)).unwrap();
        handle.add_node(NodeSpec::new("new", Resources::new(&[3, 10]))).unwrap();
        cluster.run_to(4 * WAIT_MS + 2 * INTERVAL_MS);
        assert_eq!((cluster.running(a), cluster.running(c)), (3, 40), "{mode:?}: the replacement runs");
        handle.submit_ask(a, AskSpec::new(Resources::new(ONE), 7)).unwrap();
        cluster.run_to(4 * WAIT_MS + 4 * INTERVAL_MS);
        assert_eq!(cluster.events(), [1, 0, 0], "{mode:?}");
        cluster.expect_replay_equal();
    }
}

/// All containers of both losers are protected, but the placeholders of one are not.
#[test]
fn rounds_take_placeholders() {
    for mode in modes() {
        let at_once = PreemptionRounds { max_wait_before_kill_ms: 0, ..rounds() };
        let (cluster, [b, c]) = Running::full(mode, at_once);
        let handle = cluster.engine.handle();
        let of_c: Vec<ContainerId> = cluster.engine.read(|view| {
            view.application(c).unwrap().containers().map(|one| one.container).take(10).collect()
        });
        for container in of_c {
            handle.complete_container(container).unwrap();
        }
        handle.submit_gang(placeholders(c, 10)).unwrap();
        for (application, desired) in [(b, 60), (c, 30)] {
            let budget = DisruptionBudget::new(desired, MaxUnavailable(0));
            handle.set_disruption_budgets(application, vec![budget]).unwrap();
        }
        cluster.run_until_quiet();
        let a = cluster.demand("root.a", 10);
        cluster.run_to(INTERVAL_MS);
        let running = [a, b, c].map(|application| cluster.running(application));
        assert_eq!(running, [10, 60, 30], "{mode:?}");
        cluster.expect_replay_equal();
    }
}

/// An explanation says so, too.
#[test]
fn an_explanation_names_budgets() {
    let (cluster, applications) = Running::full(apportion::Mode::Serial, rounds());
    for application in applications {
        let budget = DisruptionBudget::new(60, MaxUnavailable(0));
        cluster.engine.handle().set_disruption_budgets(application, vec![budget]).unwrap();
    }
    let a = cluster.demand("root.a", 0);
    let ask = cluster.engine.handle().submit_ask(a, AskSpec::new(Resources::new(ONE), 1)).unwrap();
    cluster.run_to(INTERVAL_MS);
    let Standing::Pending(why) = cluster.engine.explain(ask).standing else { panic!("it waits") };
    let reason = UnhelpedReason::DisruptionBudget;
    assert_eq!(why.preemption, Some(PreemptionOutlook::Unhelped { at_ms: INTERVAL_MS, reason }));
    let mut ended = 0;
    while let Some(event) = cluster.events.try_next().unwrap() {
        ended +=
            usize::from(matches!(event.kind, EventKind::ContainerEnded { cause: EndCause::Preempted, .. }));
    }
    assert_eq!(ended, 0);
}

/// The large ask takes a victim, and the room of an opportunistic container that makes way. Both are unavailable to the
/// step behind it.
#[test]
fn opportunistic_containers_that_make_way_count() {
    for mode in modes() {
        let (cluster, [_, c], (demoted, node)) = Running::with_budget_of_c(mode, 40);
        let handle = cluster.engine.handle();
        handle.demote_container(demoted).unwrap();
        cluster.run_until_quiet();
        assert_eq!(cluster.running_after_large_ask(2, node, c), (2, 37), "{mode:?}");
    }
}

/// Victim and opportunistic container leave more room than the large ask needs. In it a container from the node's queue
/// starts, and one more is queued. So as many containers are known as if none had made way.
#[test]
fn opportunistic_containers_that_make_way_count_although_others_are_queued() {
    for mode in modes() {
        let (cluster, [b, c], (_, node)) = Running::with_budget_of_c(mode, 38);
        let handle = cluster.engine.handle();
        let here =
            |size, count| AskSpec::new(Resources::new(&[size]), count).on_hosts([node]).strictly_local();
        for container in cluster.containers_on(c, node).into_iter().take(4) {
            handle.complete_container(container).unwrap();
        }
        handle.submit_ask(c, here(2, 1)).unwrap();
        handle.submit_ask(c, here(2, 1).opportunistic()).unwrap();
        cluster.run_until_quiet();
        let queue_length = OpportunisticPolicy::default().queue_length_max;
        handle.submit_ask(b, here(1, queue_length + 1).opportunistic()).unwrap();
        cluster.run_until_quiet();
        assert_eq!(cluster.running(c), 38);
        assert_eq!(cluster.running_after_large_ask(3, node, c), (2, 35), "{mode:?}");
    }
}

impl Running {
    /// C has this number of replicas, of which three may be unavailable. Also returns a container of it and its node,
    /// on which it has three others.
    fn with_budget_of_c(mode: Mode, replicas: u32) -> (Self, [ApplicationId; 2], (ContainerId, NodeId)) {
        let at_once = PreemptionRounds { max_wait_before_kill_ms: 0, ..rounds() };
        let (cluster, [b, c]) = Self::full(mode, at_once);
        let budget = DisruptionBudget::new(replicas, MaxUnavailable(3));
        cluster.engine.handle().set_disruption_budgets(c, vec![budget]).unwrap();
        let nodes: Vec<NodeId> = cluster.engine.read(|view| view.nodes().map(|node| node.id()).collect());
        let node = nodes.into_iter().find(|node| cluster.containers_on(c, *node).len() >= 4).unwrap();
        let first = cluster.containers_on(c, node)[0];
        (cluster, [b, c], (first, node))
    }

    fn containers_on(&self, application: ApplicationId, node: NodeId) -> Vec<ContainerId> {
        self.engine.read(|view| {
            let containers = view.application(application).unwrap().containers();
            containers.filter(|one| one.node == node).map(|one| one.container).collect()
        })
    }

    /// A wants a container of this size on the node, and then four of one unit on another node of `c`. Returns the
    /// number of running containers of A and C.
    fn running_after_large_ask(&self, size: i64, node: NodeId, c: ApplicationId) -> (usize, usize) {
        let handle = self.engine.handle();
        let of_c = self.engine.read(|view| {
            let containers = view.application(c).unwrap().containers();
            containers.map(|one| one.node).collect::<Vec<_>>()
        });
        let other = of_c.into_iter().find(|other| *other != node).unwrap();
        let a = self.demand("root.a", 0);
        for (size, count, on) in [(size, 1, node), (1, 4, other)] {
            let local = AskSpec::new(Resources::new(&[size]), count).on_hosts([on]).strictly_local();
            handle.submit_ask(a, local.with_priority(9 - size as u32)).unwrap();
        }
        self.run_to(4 * INTERVAL_MS);
        self.expect_replay_equal();
        (self.running(a), self.running(c))
    }
}
