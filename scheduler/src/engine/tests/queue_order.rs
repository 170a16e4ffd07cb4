//! The order of queues, and headroom that is blocked for the earlier one.

use super::{Bench, config, leaf, memory};
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::config::{
    ApplicationOrdering, EngineConfig, HolderLimit, Maximum, ParallelLimits, Percent, QueueConfig,
    QueueOrdering, Reconfiguration,
};
use crate::explain::Blocker;
use crate::ids::{ApplicationId, PartitionId};
use crate::request::ResourceAllocationCommitRequest;
use crate::state::State;

/// Two leaves; the one with the more urgent application comes first.
fn by_demand(memory: i64) -> (Bench, [ApplicationId; 2]) {
    let root = QueueConfig::root([leaf("a"), leaf("b")]).with_child_ordering(QueueOrdering::DemandPriority);
    let bench = Bench::serial(EngineConfig { root, ..config([leaf("a")]) });
    bench.node("n1", memory);
    let applications = ["root.a", "root.b"].map(|leaf| bench.application(leaf));
    (bench, applications)
}

/// Fairness first, then priority: YuniKorn's `sortQueuesByFairnessAndPriority`.
#[test]
fn of_equal_shares_the_more_urgent_comes_first_where_the_parent_says_so() {
    let root =
        QueueConfig::root([leaf("a"), leaf("b")]).with_child_ordering(QueueOrdering::UtilizationThenDemand);
    let bench = Bench::serial(EngineConfig { root, ..config([leaf("a")]) });
    let node = bench.node("n1", 3);
    let applications = ["root.a", "root.b"].map(|queue| {
        let priority = if queue == "root.b" { 5 } else { 0 };
        let spec = ApplicationSpec::new("application", queue, "user").with_priority(priority);
        bench.engine.handle().submit_application(spec, &bench.events).unwrap()
    });
    let asks = applications.map(|application| bench.ask(application, 1, 3));
    bench.commit();
    let outstanding = || asks.map(|ask| bench.engine.read(|view| view.ask(ask).unwrap().outstanding()));
    let served = [[3, 2], [2, 2], [2, 1]];
    assert_eq!([(); 3].map(|()| (bench.pass_on(node), outstanding())), served.map(|left| (1, left)));
}

/// Between equals that were never served, the place in the configuration decides, not the age of the queue.
#[test]
fn a_queue_that_is_put_before_another_comes_first() {
    let bench = Bench::serial(config([leaf("b")]));
    bench.node("n1", 1);
    let wanted = Reconfiguration::from(&config([leaf("a"), leaf("b")]));
    let _answer = bench.engine.handle().reconfigure(wanted).unwrap();
    bench.commit();
    let [b, a] = ["root.b", "root.a"].map(|leaf| bench.application(leaf));
    let [_, first] = [b, a].map(|application| bench.ask(application, 1, 1));
    bench.expect_running(1);
    assert!(bench.engine.read(|view| view.ask(first).is_none()));
}

/// One request serves both applications, but not as a tie: the application that it lists first is served first
/// again.
#[test]
fn applications_that_one_request_serves_take_turns() {
    let bench = Bench::serial(config([leaf("a").with_ordering(ApplicationOrdering::Fair)]));
    let node = bench.node("n1", 2);
    let applications = [(); 2].map(|()| bench.application("root.a"));
    let [first, second] = applications.map(|application| bench.ask(application, 1, 9));
    let mut request = ResourceAllocationCommitRequest::allocate(second, node);
    request.allocate.extend(ResourceAllocationCommitRequest::allocate(first, node).allocate);
    let answer = bench.engine.handle().commit(request).unwrap();
    bench.commit();
    assert!(answer.try_take().unwrap().is_accepted());
    let end_both = || {
        let running: Vec<_> = bench.engine.read(|view| view.containers().map(|(id, _)| id).collect());
        running.into_iter().for_each(|id| bench.engine.handle().complete_container(id).unwrap());
        bench.commit();
    };
    end_both();
    let outstanding =
        || [first, second].map(|ask| bench.engine.read(|view| view.ask(ask).unwrap().outstanding()));
    assert_eq!(outstanding(), [8, 8]);
    assert_eq!((bench.pass_on(node), outstanding()), (1, [8, 7]));
    assert_eq!((bench.pass_on(node), outstanding()), (1, [7, 7]));
    bench.expect_running(2);
}

/// Both queues use nothing, so without its application's priority the second queue would come second.
#[test]
fn the_queue_with_the_more_urgent_application_comes_first() {
    let (bench, [a, b]) = by_demand(1);
    bench.engine.handle().set_application_priority(b, 5).unwrap();
    let [_, urgent] = [a, b].map(|application| bench.ask(application, 1, 1));
    bench.expect_running(1);
    assert!(bench.engine.read(|view| view.ask(urgent).is_none()));
}

/// Headroom is blocked for the queue with the more urgent application, until the other queue's application becomes
/// more urgent.
#[test]
fn a_queue_that_becomes_more_urgent_gets_the_blocked_headroom() {
    let (bench, [a, b]) = by_demand(10);
    bench.ask(b, 8, 1);
    bench.expect_running(1);
    bench.engine.handle().set_application_priority(a, 5).unwrap();
    bench.ask(a, 4, 1);
    bench.ask(b, 2, 1);
    bench.expect_running(1);
    bench.engine.handle().set_application_priority(b, 9).unwrap();
    bench.expect_running(2);
}

/// Headroom is blocked for the first queue until its user's limit blocks it instead. Then the blocked lanes and
/// later ones get it.
#[test]
fn headroom_is_not_blocked_for_a_queue_that_another_limit_blocks_since() {
    let limit = HolderLimit {
        users: vec!["u1".to_owned()],
        maximum: std::array::from_fn(|index| (index == 0).then_some(6)),
        ..HolderLimit::default()
    };
    for is_blocked_before in [true, false] {
        let both = leaf("p").with_children([leaf("a"), leaf("b")]).with_maximum(Maximum::absolute(&[10]));
        let root = QueueConfig::root([both, leaf("c")]).with_limits([limit.clone()]);
        let bench = Bench::serial(EngineConfig { root, ..config([leaf("a")]) });
        bench.node("n1", 100);
        let [a, c] = ["root.p.a", "root.c"].map(|leaf| bench.application_of(leaf, "u1"));
        let b = bench.application_of("root.p.b", "u2");
        bench.ask(b, 8, 1);
        bench.expect_running(1);
        bench.ask(a, 4, 1);
        bench.expect_running(1);
        if is_blocked_before {
            bench.ask(b, 2, 1);
            bench.expect_running(1);
        }
        bench.ask(c, 3, 1);
        bench.expect_running(if is_blocked_before { 3 } else { 2 });
        if !is_blocked_before {
            bench.ask(b, 2, 1);
            bench.expect_running(3);
        }
    }
}

/// The first queue's ask turns out to wait for its host, so headroom in the queue above would not help it.
#[test]
fn headroom_is_not_blocked_for_an_ask_that_waits_for_a_host() {
    let both = leaf("p").with_children([leaf("a"), leaf("b")]).with_maximum(Maximum::absolute(&[10]));
    let bench = Bench::serial(config([both, leaf("c")]));
    let hosts = [bench.node("n1", 4), bench.node("n2", 100)];
    let on_first = || AskSpec::new(memory(4), 1).on_hosts([hosts[0]]).strictly_local();
    let submit = |leaf| bench.engine.handle().submit_ask(bench.application(leaf), on_first()).unwrap();
    submit("root.c");
    bench.expect_running(1);
    let b = bench.application("root.p.b");
    bench.ask(b, 8, 1);
    bench.expect_running(2);
    let first = submit("root.p.a");
    bench.ask(b, 2, 1);
    bench.expect_running(2);
    let mut state = bench.shared.state.write();
    let State { backlog, facts, .. } = &mut *state;
    backlog.let_wait(facts, first, facts.asks.at(first));
    state.version += 1;
    state.wake_without_headroom();
    drop(state);
    bench.expect_running(3);
}

/// A leaf may not use more than the queues above it, so an ask that could never fit is blocked there.
#[test]
fn headroom_is_not_blocked_for_an_ask_that_no_queue_above_could_hold() {
    let both = leaf("p").with_children([leaf("a"), leaf("b")]).with_maximum(Maximum::absolute(&[3]));
    let bench = Bench::serial(config([both]));
    bench.node("n1", 10);
    bench.ask(bench.application("root.p.a"), 4, 1);
    bench.ask(bench.application("root.p.b"), 2, 1);
    bench.expect_running(1);
}

/// The limit of the queue above blocks the first queue's ask, but no node could ever hold it.
#[test]
fn headroom_is_not_blocked_for_an_ask_that_no_node_could_hold() {
    let bench = Bench::serial(config([leaf("a"), leaf("b")]));
    ["n1", "n2"].iter().for_each(|name| _ = bench.node(name, 8));
    let b = bench.application("root.b");
    bench.ask(b, 1, 8);
    bench.expect_running(8);
    bench.ask(bench.application("root.a"), 9, 1);
    bench.ask(b, 1, 8);
    bench.expect_running(16);
}

/// The queue above may use 10. It uses 3, and 2 more are in flight, for the first queue or for the second one. The
/// first queue comes first and waits for 6.
#[test]
fn amounts_in_flight_count_in_the_explanation_of_blocked_headroom() {
    let reached = [([0, 3], 0), ([2, 1], 1)].map(|(uses, proposed)| {
        let both = leaf("p").with_children([leaf("a"), leaf("b")]).with_maximum(Maximum::absolute(&[10]));
        let bench = Bench::serial(config([both]));
        bench.node("n1", 100);
        let applications = ["root.p.a", "root.p.b"].map(|leaf| bench.application(leaf));
        for (application, size) in applications.into_iter().zip(uses).filter(|(_, size)| *size > 0) {
            bench.ask(application, size, 1);
        }
        bench.engine.run_until_quiet();
        bench.ask(applications[proposed], 2, 1);
        bench.commit();
        let in_flight = bench.pass(0);
        assert_eq!(in_flight.requests().len(), 1);
        bench.ask(applications[0], 6, 1);
        let later = bench.ask(applications[1], 1, 1);
        bench.commit();
        let explanation = bench.engine.explain(later);
        let blocker = explanation.pending().and_then(|why| why.blocker.as_ref());
        let Some(Blocker::BlockedHeadroom { blocked_for, reached }) = blocker else { return None };
        assert_eq!((&**blocked_for, &*reached.queue), ("root.p.a", "root.p"));
        let amounts = [&reached.used, &reached.in_flight, &reached.limit, &reached.missing];
        Some(amounts.map(|amounts| amounts.get("memory_mib")))
    });
    assert_eq!(reached, [Some([3, 2, 5, 1]); 2]);
}

/// The queue above may use 10 and uses 3. The first queue's ask for 8 is over its maximum, and would block the headroom
/// for the second queue's ask, if it could start.
#[test]
fn headroom_is_explained_as_blocked_only_for_asks_that_could_start() {
    for (is_active, partition, is_blocked) in [(true, 0, true), (false, 0, false), (true, 1, false)] {
        let one = ParallelLimits { total: Some(1), ..ParallelLimits::default() };
        let children = [leaf("a").with_parallel(one), leaf("b")];
        let both = leaf("p").with_children(children).with_maximum(Maximum::absolute(&[10]));
        let mut config = config([both]);
        config.partitions = vec!["x".to_owned()];
        let bench = Bench::serial(config);
        bench.node("n1", 100);
        let other = PartitionId(1);
        let second = NodeSpec::new("n2", memory(100)).in_partition(other);
        bench.engine.handle().add_node(second).unwrap();
        let [a, waits] = [(); 2].map(|()| bench.application("root.p.a"));
        let b = bench.application("root.p.b");
        bench.ask(b, 3, 1);
        bench.engine.run_until_quiet();
        let spec = AskSpec::new(memory(8), 1).in_partition(PartitionId(partition));
        let of = if is_active { a } else { waits };
        bench.engine.handle().submit_ask(of, spec).unwrap();
        assert_eq!(bench.is_headroom_blocked(b), is_blocked, "{is_active}, {partition}");
    }
}

/// The queue above may use 10. It uses 5, and 4 are reserved for the first queue. The rest is for more units.
#[test]
fn units_with_reservations_block_no_headroom_in_the_explanation() {
    for (units, is_blocked) in [(1, false), (2, true)] {
        let both = leaf("p").with_children([leaf("a"), leaf("b")]).with_maximum(Maximum::absolute(&[10]));
        let mut config = config([both]);
        (config.reservations.delay_ms, config.reservations.nodes) = (Some(0), Percent::ALL);
        let bench = Bench::serial(config);
        bench.node("n1", 8);
        let [a, b] = ["root.p.a", "root.p.b"].map(|leaf| bench.application(leaf));
        bench.ask(b, 5, 1);
        bench.engine.run_until_quiet();
        bench.add_idle_room();
        let first = bench.ask(a, 4, units);
        bench.engine.run_until_quiet();
        let state = bench.shared.state.read();
        assert_eq!(state.facts.asks.at(first).reservations().len(), 1);
        drop(state);
        assert_eq!(bench.is_headroom_blocked(b), is_blocked, "{units}");
    }
}

impl Bench {
    /// Whether one more container of 1 waits for blocked headroom, by its explanation.
    fn is_headroom_blocked(&self, application: ApplicationId) -> bool {
        let ask = self.ask(application, 1, 1);
        self.commit();
        let explanation = self.engine.explain(ask);
        let why = explanation.pending().unwrap();
        matches!(why.blocker, Some(Blocker::BlockedHeadroom { .. }))
    }
}
