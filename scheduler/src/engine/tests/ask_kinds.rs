//! Asks of registered kinds, and the numbers that callers give to asks.

use std::sync::Arc;

use proptest::prelude::*;

use super::hand::Hand;
use super::{config, leaf, memory};
use crate::change::{ApplicationSpec, AskOfKind, AskSpec, NodeSpec, RunningContainer};
use crate::clock::ManualClock;
use crate::config::PartitionAccess;
use crate::engine::{Engine, Handle, Mode, SubmitError};
use crate::event::{EventKind, Refusal, Subject};
use crate::facts::{ApplicationEnd, Blacklist, TagLimit};
use crate::ids::{ApplicationId, AskKindId, NodeId, PartitionId, SlotId};
use crate::log::SharedLog;
use crate::replay::Replay;

/// More than fit into one message.
const MANY: u64 = 200;

fn one(application: ApplicationId, kind: AskKindId) -> AskOfKind {
    AskOfKind { application, kind, count: 1, allocation_request_id: 0 }
}

fn with_node() -> (Hand, ApplicationId, AskKindId) {
    let hand = Hand::new(config([leaf("a")]));
    hand.node("n1", 1_000);
    let application = hand.application();
    let kind = hand.engine.handle().register_ask_kind(AskSpec::new(memory(1), 1)).unwrap();
    (hand, application, kind)
}

/// Kinds of every sort that the log encodes: by hand, and by postcard.
fn specs(node: NodeId) -> Vec<AskSpec> {
    let plain = AskSpec::new(memory(2), 1);
    let apart = TagLimit::per_node("web", 3);
    vec![
        plain.clone(),
        plain.clone().with_priority(7),
        plain.clone().on_hosts([node]),
        plain.with_tag("web").with_tag_limit(apart),
    ]
}

/// The log of an engine that got these asks one by one, or by kinds.
fn log_of(submit: impl Fn(&Handle, ApplicationId, Vec<AskSpec>)) -> Vec<u8> {
    let log = SharedLog::new();
    let clock = Arc::new(ManualClock::new());
    let engine =
        Engine::start(config([leaf("a")]), Mode::Serial, clock, Some(Box::new(log.clone()))).unwrap();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1_000));
    let node = handle.add_node(NodeSpec::new("n1", memory(99))).unwrap();
    let application = handle.submit_application(ApplicationSpec::new("job", "root.a", "user"), &events);
    submit(&handle, application.unwrap(), specs(node));
    engine.run_until_quiet();
    assert_eq!(engine.read(|view| view.container_count()), 9, "two were capped");
    assert!(engine.audit().violations.is_empty());
    log.bytes()
}

#[test]
fn asks_of_kinds_are_logged_and_placed_as_if_described() {
    let each = [(1, 0), (3, 5), (2, u64::MAX), (5, 128)];
    let by_kind = log_of(|handle, application, specs| {
        let kinds = specs.into_iter().map(|spec| handle.register_ask_kind(spec).unwrap());
        let asks = kinds.zip(each).map(|(kind, (count, allocation_request_id))| AskOfKind {
            application,
            kind,
            count,
            allocation_request_id,
        });
        handle.submit_asks_of_kinds(asks).unwrap();
    });
    let described = log_of(|handle, application, specs| {
        let asks = specs.into_iter().zip(each).map(|(spec, (count, allocation_request_id))| AskSpec {
            count,
            allocation_request_id,
            ..spec
        });
        handle.submit_asks(asks.map(|spec| (application, spec))).unwrap();
    });
    assert!(by_kind == described, "the bytes are equal");
}

/// Three applications: in a leaf of the default partition, in a leaf of a partition that lends its nodes, and with a
/// blacklist.
struct Askers {
    hand: Hand,
    applications: [ApplicationId; 3],
}

impl Askers {
    fn new() -> Self {
        let all = |name| leaf(name).with_access(PartitionAccess::All);
        let mut config = config([all("a"), all("b").with_default_partition("x")]);
        (config.partitions, config.non_exclusive_partitions) = (vec!["x".to_owned()], vec!["x".to_owned()]);
        let hand = Hand::new(config);
        let handle = hand.engine.handle();
        hand.node("n1", 6);
        handle.add_node(NodeSpec::new("n2", memory(6)).in_partition(PartitionId(1))).unwrap();
        let applications = ["root.a", "root.b", "root.a"].map(|queue| hand.application_in(queue));
        handle
            .update_blacklist(applications[2], Blacklist::new().with_hosts(["n3"]), Blacklist::new())
            .unwrap();
        Self { hand, applications }
    }

    fn place(&mut self) {
        self.hand.run_until_idle();
    }

    /// Ends all containers, so that their shapes go.
    fn end_all(&mut self) {
        let running = self.hand.engine.read(|view| view.containers().map(|(id, _)| id).collect::<Vec<_>>());
        self.hand.engine.handle().complete_containers(running).unwrap();
        self.hand.run_until_idle();
    }
}

proptest! {
    /// The shape of an ask depends on its application, too, but the committer remembers one shape for each kind.
    #[test]
    fn asks_of_kinds_have_the_shapes_that_they_describe(
        steps in prop::collection::vec((0..3_usize, 0..6_usize, prop::bool::weighted(0.3)), 1..30),
    ) {
        let (mut by_kind, mut described) = (Askers::new(), Askers::new());
        let plain = |size| AskSpec::new(memory(size), 1);
        let host = NodeId::new(0, 0);
        let specs = [
            plain(1),
            plain(2),
            plain(1).as_master(),
            plain(1).on_hosts([host]),
            plain(1).in_partition(PartitionId(1)),
            plain(2).with_tag("web"),
        ];
        let kinds = specs.clone().map(|spec| by_kind.hand.engine.handle().register_ask_kind(spec).unwrap());
        for (application, kind, all_end) in steps {
            let ask = one(by_kind.applications[application], kinds[kind]);
            by_kind.hand.engine.handle().submit_asks_of_kinds([ask]).unwrap();
            described.hand.ask(described.applications[application], specs[kind].clone());
            by_kind.place();
            described.place();
            prop_assert_eq!(by_kind.hand.engine.digest(), described.hand.engine.digest());
            if all_end {
                by_kind.end_all();
                described.end_all();
            }
        }
        prop_assert!(by_kind.hand.engine.audit().violations.is_empty());
    }
}

/// Callers of a recovered engine register their kinds again and attach again.
#[test]
fn calls_that_are_repeated_after_a_crash_end_no_group() {
    let in_groups_of_three = |attaches: bool, registers: bool| {
        let mut config = config([leaf("a")]);
        config.limits.group_requests = 3;
        let (log, clock) = (SharedLog::new(), Arc::new(ManualClock::new()));
        let engine = Engine::start(config, Mode::Serial, clock, Some(Box::new(log.clone()))).unwrap();
        let (handle, events) = (engine.handle(), engine.handle().event_stream(1_000));
        let spec = ApplicationSpec::new("job", "root.a", "user");
        let application = handle.submit_application(spec, &events).unwrap();
        let register = || handle.register_ask_kind(AskSpec::new(memory(1), 1)).unwrap();
        let kind = if registers { None } else { Some(register()) };
        engine.run_until_quiet();
        for _ in 0..4 {
            handle.submit_asks_of_kinds([one(application, kind.unwrap_or_else(register))]).unwrap();
            if attaches {
                drop(handle.attach(application, &events).unwrap());
            }
        }
        engine.run_until_quiet();
        (log.bytes(), engine.stats().groups)
    };
    let without = in_groups_of_three(false, false);
    assert_eq!(in_groups_of_three(false, true), without);
    assert_eq!(in_groups_of_three(true, false), without);
}

/// Other threads may send as fast as the committer receives, so an empty inbox is not a bound.
#[test]
fn messages_without_weight_end_a_group_some_time() {
    let engine =
        Engine::start(config([leaf("a")]), Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(100));
    let spec = ApplicationSpec::new("job", "root.a", "user");
    let application = handle.submit_application(spec, &events).unwrap();
    engine.run_until_quiet();
    let groups_of = |calls: usize| {
        let before = engine.stats().groups;
        (0..calls).for_each(|_| drop(handle.attach(application, &events).unwrap()));
        engine.run_until_quiet();
        engine.stats().groups - before
    };
    assert_eq!(groups_of(3_000) - groups_of(1), 2);
}

#[test]
fn equal_kinds_have_one_number_for_every_count_and_request() {
    let (hand, ..) = with_node();
    let handle = hand.engine.handle();
    let register = |amount, count, request| {
        let spec = AskSpec::new(memory(amount), count).with_allocation_request(request);
        handle.register_ask_kind(spec).unwrap()
    };
    let (small, large) = (register(1, 1, 0), register(2, 1, 0));
    assert_ne!(small, large);
    assert_eq!((register(1, 5, 7), register(2, 9, 8)), (small, large));
}

/// The caller finds its tasks by its own numbers, in the order of submission.
#[test]
fn events_and_views_carry_the_number_of_the_caller() {
    let (mut hand, application, kind) = with_node();
    let handle = hand.engine.handle();
    let numbers = (0..MANY).map(|number| number * 7);
    let asks =
        numbers.clone().map(|number| AskOfKind { allocation_request_id: number, ..one(application, kind) });
    assert_eq!(handle.submit_asks_of_kinds(asks).unwrap().len(), MANY as usize);
    hand.run_until_idle();
    let placed: Vec<_> = std::iter::from_fn(|| hand.events.try_next().unwrap())
        .filter_map(|event| match event.kind {
            EventKind::Allocated { container, allocation_request_id, .. } => {
                Some((container, allocation_request_id))
            }
            _ => None,
        })
        .collect();
    assert!(placed.iter().map(|(_, number)| *number).eq(numbers));
    let (container, number) = placed[9];
    let seen = hand.engine.read(|view| view.container(container)).unwrap();
    let application = hand.engine.read(|view| view.application(application).unwrap().containers().nth(9));
    assert_eq!((seen.allocation_request_id, application.unwrap().allocation_request_id), (number, number));
    handle.complete_container(container).unwrap();
    hand.commit();
    let ended = hand.events.try_next().unwrap().unwrap().kind;
    assert!(
        matches!(ended, EventKind::ContainerEnded { allocation_request_id, .. } if allocation_request_id == number)
    );
}

/// A container that its node reports, and an ask that waits while its master restarts.
#[test]
fn the_number_of_the_caller_outlives_a_restart() {
    let (mut hand, application, _) = with_node();
    let handle = hand.engine.handle();
    let found = RunningContainer::new(application, memory(1)).with_allocation_request(3);
    handle.recover_node(NodeSpec::new("n2", memory(9)), vec![found]).unwrap();
    handle.submit_ask(application, AskSpec::new(memory(9_999), 1).with_allocation_request(4)).unwrap();
    let attached = handle.attach(application, &hand.events).unwrap();
    hand.commit();
    let told = std::iter::from_fn(|| hand.events.try_next().unwrap()).find_map(|event| match event.kind {
        EventKind::ContainerRecovered { allocation_request_id, .. } => Some(allocation_request_id),
        _ => None,
    });
    let attached = attached.wait().unwrap().unwrap();
    let of = (attached.containers[0].allocation_request_id, attached.asks[0].allocation_request_id);
    assert_eq!((told, of), (Some(3), (3, 4)));
}

#[test]
fn a_refused_ask_leaves_the_others() {
    let (mut hand, application, kind) = with_node();
    let gone = hand.application();
    let handle = hand.engine.handle();
    handle.end_application(gone, ApplicationEnd::Finished).unwrap();
    let asks = [application, gone, application].map(|application| one(application, kind));
    let asks = handle.submit_asks_of_kinds(asks).unwrap();
    hand.run_until_idle();
    assert_eq!(hand.engine.read(|view| view.container_count()), 2);
    let refusals = handle.take_refusals().list;
    let refusals: Vec<_> = refusals.iter().map(|one| (one.subject, one.refusal)).collect();
    assert_eq!(refusals, [(Subject::Ask(asks[1]), Refusal::ApplicationEnded)]);
}

#[test]
fn an_impossible_ask_keeps_all_from_being_submitted() {
    let (mut hand, application, kind) = with_node();
    let handle = hand.engine.handle();
    let good = one(application, kind);
    let none = handle.submit_asks_of_kinds([good, AskOfKind { count: 0, ..good }]);
    assert_eq!(none, Err(SubmitError::NothingAsked));
    let stranger = AskOfKind { kind: AskKindId(kind.0 + 1), ..good };
    let unknown = handle.submit_asks_of_kinds([good, stranger]).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "no kind-1 is registered; `register_ask_kind` returns the kinds of this engine"
    );
    hand.run_until_idle();
    assert_eq!(hand.engine.read(|view| view.container_count()), 0);
}

#[test]
fn an_impossible_kind_is_not_registered() {
    let (hand, ..) = with_node();
    let handle = hand.engine.handle();
    let kind = |amount| handle.register_ask_kind(AskSpec::new(memory(amount), 1));
    assert_eq!(kind(0), Err(SubmitError::EmptyContainer));
    assert_eq!(kind(2), Ok(AskKindId(1)));
}

#[test]
fn an_engine_that_is_shut_down_takes_none() {
    let (hand, application, kind) = with_node();
    let handle = hand.engine.handle();
    hand.engine.shutdown();
    assert_eq!(handle.register_ask_kind(AskSpec::new(memory(2), 1)), Err(SubmitError::Closed));
    assert_eq!(handle.submit_asks_of_kinds([one(application, kind)]), Err(SubmitError::Closed));
}

/// The numbers are part of the state that a replay makes.
#[test]
fn a_replay_knows_the_numbers() {
    let log = log_of(|handle, application, specs| {
        let kinds = specs.into_iter().map(|spec| handle.register_ask_kind(spec).unwrap());
        let asks = kinds.zip([1, 3, 2, 5]).zip(10..).map(|((kind, count), number)| AskOfKind {
            count,
            allocation_request_id: number,
            ..one(application, kind)
        });
        handle.submit_asks_of_kinds(asks).unwrap();
    });
    let mut replay = Replay::read(&log[..], None).unwrap();
    let mut numbers: Vec<_> =
        replay.view().containers().map(|(_, container)| container.allocation_request_id).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [10, 11, 11, 11, 12, 12, 13, 13, 13]);
}
