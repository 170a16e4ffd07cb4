//! The end of a turn between a search for gangs and the committer, stepped by hand.

mod rounds;

use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Maximum, Percent, QueueConfig};
use apportion::engine::{Parts, Step};
use apportion::event::{Event, EventKind};
use apportion::gang::GangSpec;
use apportion::{
    ApplicationId, ApplicationSpec, ContainerId, Engine, EventStream, GangId, Handle, ManualClock, Mode,
    NodeId, NodeSpec, PartitionId, ProposalBatch,
};

use apportion::view::View;

use crate::{Cluster, amount, ask, plain};

const LIMIT_MS: u64 = 100;

struct Stepped {
    engine: Engine,
    handle: Handle,
    parts: Parts,
    clock: Arc<ManualClock>,
    now_ms: u64,
    events: EventStream,
    /// An application whose asks take all room that no gang holds.
    other: ApplicationId,
}

impl Stepped {
    /// Full nodes of one unit, in the default partition or in `q`. Ordinary asks wait for more.
    fn full(mut config: EngineConfig, nodes: &[bool]) -> Self {
        config.gather_limit_ms = Some(LIMIT_MS);
        config.partitions = vec!["q".into()];
        let clock = Arc::new(ManualClock::new());
        let (engine, parts) = Engine::assemble(config, 2, Arc::clone(&clock) as _, None).unwrap();
        let (handle, events) = (engine.handle(), engine.handle().event_stream(1 << 10));
        let q = handle.partition("q").unwrap();
        for (number, is_in_q) in nodes.iter().enumerate() {
            let node = NodeSpec::new(format!("n{number}"), amount(1));
            handle.add_node(if *is_in_q { node.in_partition(q) } else { node }).unwrap();
        }
        let of_other = ApplicationSpec::new("other", "root.default", "ann");
        let other = handle.submit_application(of_other, &events).unwrap();
        let mut stepped = Self { engine, handle, parts, clock, now_ms: 0, events, other };
        for partition in [PartitionId::DEFAULT, q] {
            stepped.handle.submit_ask(other, ask(1, 100).in_partition(partition)).unwrap();
        }
        stepped.run();
        stepped
    }

    fn gang(&mut self, queue: &str, members: u32, partition: PartitionId) -> GangId {
        let spec = ApplicationSpec::new("job", queue, "ann");
        let job = self.handle.submit_application(spec, &self.events).unwrap();
        let gang = self.submit(job, members, partition);
        self.run();
        gang
    }

    fn application(&self, priority: u32) -> ApplicationId {
        let spec = ApplicationSpec::new("job", "root.default", "ann").with_priority(priority);
        self.handle.submit_application(spec, &self.events).unwrap()
    }

    fn submit(&self, job: ApplicationId, members: u32, partition: PartitionId) -> GangId {
        let spec = GangSpec::new(job).with_role("worker", ask(1, members).in_partition(partition));
        self.handle.submit_gang(spec).unwrap().gang
    }

    fn commit(&mut self) {
        while self.parts.committer.step() == Step::Worked {}
    }

    fn search(&mut self) -> Option<Box<ProposalBatch>> {
        self.parts.proposers[0].propose()
    }

    fn search_after_limit(&mut self) -> Box<ProposalBatch> {
        self.pass(LIMIT_MS);
        self.search().expect("a search is wanted")
    }

    fn decide(&mut self, batch: Box<ProposalBatch>) {
        self.parts.proposers[0].send(batch).unwrap();
        self.commit();
    }

    fn run(&mut self) {
        self.commit();
        while let Some(batch) = self.search() {
            self.decide(batch);
        }
        let report = self.engine.audit();
        assert!(report.is_clean(), "{report}");
    }

    fn end_on(&mut self, node: u32) {
        let node = self.handle.node(&format!("n{node}")).unwrap();
        let container: ContainerId = self.engine.read(|view| view.node(node).unwrap().containers()[0]);
        self.handle.complete_container(container).unwrap();
        self.commit();
    }

    /// Lets time pass for the committer alone.
    fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        self.clock.set(self.now_ms);
        self.handle.tick().unwrap();
        self.commit();
    }

    fn gathering_gangs(&self) -> Vec<GangId> {
        self.engine.read(|view| view.gangs().filter(|gang| gang.is_gathering).map(|gang| gang.id).collect())
    }

    fn is_waiting(&self, gang: GangId) -> bool {
        self.engine.read(|view| view.gang(gang).is_some())
    }

    fn running(&self) -> usize {
        self.engine.read(|view| view.application(self.other).unwrap().containers().count())
    }

    fn ended_turns(&self) -> Vec<GangId> {
        let mut events: Vec<Event> = Vec::new();
        self.events.drain_into(&mut events).unwrap();
        let ended = |event: Event| match event.kind {
            EventKind::GangTurnEnded { gang, .. } => Some(gang),
            _ => None,
        };
        events.into_iter().filter_map(ended).collect()
    }
}

/// Three nodes. The first gang wants all of them and holds two; the second one wants two.
fn held_by_the_first() -> (Stepped, [GangId; 2]) {
    held_by_the_first_of(2)
}

/// The second gang wants this many.
fn held_by_the_first_of(members: u32) -> (Stepped, [GangId; 2]) {
    let mut stepped = Stepped::full(plain(), &[false; 3]);
    let first = stepped.gang("root.default", 3, PartitionId::DEFAULT);
    let second = stepped.gang("root.default", members, PartitionId::DEFAULT);
    stepped.end_on(0);
    stepped.end_on(1);
    stepped.run();
    assert_eq!((stepped.gathering_gangs(), stepped.running()), (vec![first], 1));
    (stepped, [first, second])
}

/// The committer searches no nodes for other gangs by itself.
#[test]
fn a_search_ends_a_turn_and_the_next_gang_has_the_room_in_the_same_group() {
    let (mut stepped, [first, second]) = held_by_the_first();
    stepped.pass(LIMIT_MS);
    assert_eq!((stepped.gathering_gangs(), stepped.ended_turns()), (vec![first], vec![]));
    let search = stepped.search().expect("a search is wanted");
    stepped.decide(search);
    assert_eq!(stepped.ended_turns(), [first]);
    assert!(!stepped.is_waiting(second), "it has started");
    stepped.run();
    assert_eq!(stepped.running(), 1, "ordinary asks got nothing");
}

/// The committer lets the first gang gather again only behind them.
#[test]
fn all_gangs_that_can_start_in_the_room_of_an_ended_turn_start_at_once() {
    let mut stepped = Stepped::full(plain(), &[false; 4]);
    let first = stepped.gang("root.default", 4, PartitionId::DEFAULT);
    let [second, third, fourth] =
        [1, 1, 2].map(|members| stepped.gang("root.default", members, PartitionId::DEFAULT));
    for node in 0..3 {
        stepped.end_on(node);
    }
    stepped.run();
    let search = stepped.search_after_limit();
    stepped.decide(search);
    assert_eq!(stepped.ended_turns(), [first]);
    assert!(!stepped.is_waiting(second) && !stepped.is_waiting(third), "both have started");
    assert_eq!(stepped.gathering_gangs(), [fourth]);
    assert_eq!(stepped.running(), 1, "ordinary asks got nothing");
}

#[test]
fn a_turn_ends_for_the_next_gang_if_the_first_is_cancelled_after_the_search() {
    let (mut stepped, [first, second]) = held_by_the_first();
    let third = stepped.gang("root.default", 2, PartitionId::DEFAULT);
    let search = stepped.search_after_limit();
    stepped.handle.cancel_gang(second).unwrap();
    stepped.commit();
    stepped.decide(search);
    stepped.run();
    assert_eq!(stepped.ended_turns(), [first]);
    assert!(!stepped.is_waiting(third), "it has started");
}

#[test]
fn no_turn_ends_for_a_gang_that_is_cancelled_after_the_search() {
    let (mut stepped, [first, second]) = held_by_the_first();
    let search = stepped.search_after_limit();
    stepped.handle.cancel_gang(second).unwrap();
    stepped.commit();
    stepped.decide(search);
    stepped.run();
    assert_eq!((stepped.gathering_gangs(), stepped.ended_turns()), (vec![first], vec![]));
}

/// An ordinary ask has reserved the other node that is large enough. The gang would have to wait for that one, too.
#[test]
fn no_turn_ends_for_a_move_to_a_reserved_node() {
    let mut config = EngineConfig { gather_limit_ms: Some(LIMIT_MS), ..plain() };
    config.reservations.delay_ms = Some(0);
    let cluster = Cluster::new(config, Mode::Serial);
    let nodes = cluster.nodes(2, 2);
    cluster.nodes(3, 1);
    let other = cluster.application();
    for node in &nodes {
        cluster.handle.submit_ask(other, ask(1, 1).on_hosts([*node]).strictly_local()).unwrap();
    }
    cluster.run();
    cluster.handle.submit_ask(other, ask(2, 1)).unwrap();
    cluster.run();
    let is_reserved = |view: &View<'_>, node: &NodeId| view.node(*node).unwrap().is_reserved();
    let reserved = cluster.engine.read(|view| nodes.iter().filter(|node| is_reserved(view, node)).count());
    assert_eq!(reserved, 1);
    let gang = cluster.submit(GangSpec::new(cluster.application()).with_role("worker", ask(2, 1))).gang;
    cluster.run();
    cluster.at(LIMIT_MS);
    assert!(!cluster.events().iter().any(|event| matches!(event, EventKind::GangTurnEnded { .. })));
    assert!(cluster.engine.read(|view| view.gang(gang).unwrap().is_gathering));
}

#[test]
fn a_turn_does_not_end_if_the_room_grows_after_the_search() {
    let mut stepped = Stepped::full(plain(), &[false; 3]);
    let first = stepped.gang("root.default", 3, PartitionId::DEFAULT);
    let second = stepped.gang("root.default", 1, PartitionId::DEFAULT);
    stepped.end_on(0);
    stepped.run();
    let search = stepped.search_after_limit();
    stepped.end_on(1);
    stepped.decide(search);
    assert_eq!((stepped.gathering_gangs(), stepped.ended_turns()), (vec![first], vec![]));
    stepped.pass(LIMIT_MS - 1);
    stepped.run();
    assert!(stepped.is_waiting(second));
    stepped.pass(1);
    stepped.run();
    assert_eq!(stepped.ended_turns(), [first]);
    assert!(!stepped.is_waiting(second), "it has started");
}

/// The room grows after the time is over and before the search. The search is there for the other gang, too.
#[test]
fn a_turn_that_has_grown_stops_no_search() {
    let mut stepped = Stepped::full(plain(), &[false, false, false, true]);
    let q = stepped.handle.partition("q").unwrap();
    let first = stepped.gang("root.default", 3, PartitionId::DEFAULT);
    stepped.gang("root.default", 1, PartitionId::DEFAULT);
    stepped.end_on(0);
    stepped.run();
    stepped.pass(LIMIT_MS);
    stepped.end_on(1);
    let in_q = stepped.gang("root.default", 1, q);
    assert_eq!(stepped.gathering_gangs(), [first, in_q]);
}

/// The other gang wants only a partition in which it gathers itself.
#[test]
fn a_turn_does_not_end_for_a_gang_that_gains_nothing() {
    let mut stepped = Stepped::full(plain(), &[false, false, true, true]);
    let q = stepped.handle.partition("q").unwrap();
    stepped.gang("root.default", 2, q);
    let spec = ApplicationSpec::new("job", "root.default", "ann");
    let job = stepped.handle.submit_application(spec, &stepped.events).unwrap();
    let here = ask(1, 2).in_partition(PartitionId::DEFAULT);
    let spec = GangSpec::new(job).with_role("here", here).with_role("there", ask(1, 1).in_partition(q));
    let both = stepped.handle.submit_gang(spec).unwrap().gang;
    stepped.end_on(0);
    stepped.run();
    stepped.pass(LIMIT_MS / 2);
    stepped.end_on(2);
    stepped.run();
    assert!(stepped.gathering_gangs().contains(&both));
    stepped.pass(LIMIT_MS / 2);
    stepped.run();
    assert_eq!(stepped.ended_turns(), []);
}

#[test]
fn a_search_that_is_lost_is_repeated() {
    let (mut stepped, [first, second]) = held_by_the_first();
    stepped.pass(LIMIT_MS);
    drop(stepped.search());
    stepped.run();
    assert_eq!(stepped.ended_turns(), [first]);
    assert!(!stepped.is_waiting(second), "it has started");
}

#[test]
fn two_turns_that_are_over_at_one_moment_end_both() {
    let mut stepped = Stepped::full(plain(), &[false, false, true, true]);
    let partitions = [PartitionId::DEFAULT, stepped.handle.partition("q").unwrap()];
    let mut gangs = partitions.map(|partition| stepped.gang("root.default", 2, partition));
    let next = partitions.map(|partition| stepped.gang("root.default", 1, partition));
    stepped.end_on(0);
    stepped.end_on(2);
    stepped.run();
    stepped.pass(LIMIT_MS);
    stepped.run();
    let mut ended = stepped.ended_turns();
    ended.sort_unstable();
    gangs.sort_unstable();
    assert_eq!(ended, gangs);
    assert!(!next.into_iter().any(|gang| stepped.is_waiting(gang)), "both have started");
}

/// The gang that comes first in order may not use more of its queue. The one behind it gets the room.
#[test]
fn a_gang_at_its_limit_leaves_the_room_to_the_next() {
    let half = |name: &str| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)));
    let narrow = half("narrow").with_maximum(Maximum::absolute(&[1, 1]));
    let wide = half("default").with_user_limit_factor(None);
    let config = EngineConfig { root: QueueConfig::root([narrow, wide]), ..plain() };
    let mut stepped = Stepped::full(config, &[false; 4]);
    let of_narrow = ApplicationSpec::new("user", "root.narrow", "ann");
    let user = stepped.handle.submit_application(of_narrow, &stepped.events).unwrap();
    stepped.handle.submit_ask(user, ask(1, 1)).unwrap();
    stepped.end_on(3);
    stepped.run();
    let first = stepped.gang("root.default", 4, PartitionId::DEFAULT);
    let stopped = stepped.gang("root.narrow", 1, PartitionId::DEFAULT);
    let last = stepped.gang("root.default", 2, PartitionId::DEFAULT);
    stepped.end_on(0);
    stepped.end_on(1);
    stepped.run();
    assert_eq!(stepped.gathering_gangs(), [first]);
    let search = stepped.search_after_limit();
    stepped.decide(search);
    assert_eq!(stepped.ended_turns(), [first]);
    assert!(stepped.is_waiting(stopped) && !stepped.is_waiting(last));
}

/// The second gang comes after the search has found that no gang needs the room, and before the committer is told.
#[test]
fn a_gang_that_comes_after_a_search_is_seen_by_the_next() {
    let mut stepped = Stepped::full(plain(), &[false; 3]);
    let first = stepped.gang("root.default", 3, PartitionId::DEFAULT);
    stepped.end_on(0);
    stepped.end_on(1);
    stepped.run();
    assert_eq!(stepped.gathering_gangs(), [first]);
    let search = stepped.search_after_limit();
    let job = stepped.application(0);
    let second = stepped.submit(job, 2, PartitionId::DEFAULT);
    stepped.commit();
    stepped.decide(search);
    stepped.run();
    assert_eq!(stepped.ended_turns(), [first]);
    assert!(!stepped.is_waiting(second), "it has started");
}

/// The room would do for the urgent gang, but not for the second one.
#[test]
fn an_urgent_gang_that_comes_after_a_search_waits_for_no_turn() {
    let (mut stepped, [first, second]) = held_by_the_first_of(3);
    let search = stepped.search_after_limit();
    let job = stepped.application(9);
    let urgent = stepped.submit(job, 2, PartitionId::DEFAULT);
    stepped.commit();
    stepped.decide(search);
    stepped.run();
    assert!(!stepped.is_waiting(urgent), "it has started");
    assert!(stepped.is_waiting(first) && stepped.is_waiting(second));
    assert_eq!(stepped.running(), 1, "ordinary asks got nothing");
}
