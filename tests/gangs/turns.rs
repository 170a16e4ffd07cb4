//! Gangs that wait for containers without an end, and the gangs behind them.

use apportion::config::EngineConfig;
use apportion::event::EventKind;
use apportion::explain::Blocker;
use apportion::gang::GangSpec;
use apportion::view::GangView;
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Blacklist, ContainerId, GangId, Mode, NodeId, NodeSpec,
    PartitionId,
};

use crate::property::check_log;
use crate::{Cluster, amount, ask, has_started, placed, plain};

pub(crate) const LIMIT_MS: u64 = 100;

fn config() -> EngineConfig {
    EngineConfig { partitions: vec!["q".into()], gather_limit_ms: Some(LIMIT_MS), ..plain() }
}

/// A cluster in which some containers never end, and ordinary asks take every other room that becomes free.
pub(crate) struct Busy {
    pub(crate) cluster: Cluster,
    pub(crate) endless: Vec<ContainerId>,
    now_ms: u64,
}

impl Busy {
    /// Nodes with their units, the units that a container without an end uses, and the partition.
    pub(crate) fn new(mode: Mode, nodes: &[(i64, i64, bool)]) -> Self {
        let cluster = Cluster::new(config(), mode);
        let q = cluster.handle.partition("q").unwrap();
        let in_q = |ask: AskSpec, is_in: bool| if is_in { ask.in_partition(q) } else { ask };
        let other = cluster.application();
        for (number, &(units, used, is_in_q)) in nodes.iter().enumerate() {
            let partition = if is_in_q { q } else { PartitionId::DEFAULT };
            let spec = NodeSpec::new(format!("n{number}"), amount(units)).in_partition(partition);
            let node = cluster.handle.add_node(spec).unwrap();
            if used > 0 {
                let here = ask(used, 1).on_hosts([node]).strictly_local();
                cluster.handle.submit_ask(other, in_q(here, is_in_q)).unwrap();
            }
        }
        cluster.run();
        let endless = placed(&cluster.events()).into_iter().map(|(id, _)| id).collect();
        for is_in_q in [false, true] {
            cluster.handle.submit_ask(other, in_q(ask(1, 100_000), is_in_q)).unwrap();
        }
        cluster.run();
        Self { cluster, endless, now_ms: 0 }
    }

    pub(crate) fn gang(&self, job: ApplicationId, roles: &[(i64, u32, bool)]) -> GangId {
        let q = self.cluster.handle.partition("q").unwrap();
        let mut spec = GangSpec::new(job);
        for (number, &(units, count, is_in_q)) in roles.iter().enumerate() {
            let partition = if is_in_q { q } else { PartitionId::DEFAULT };
            spec = spec.with_role(format!("role {number}"), ask(units, count).in_partition(partition));
        }
        self.cluster.submit(spec).gang
    }

    pub(crate) fn view(&self, gang: GangId) -> Option<GangView> {
        self.cluster.engine.read(|view| view.gang(gang))
    }

    pub(crate) fn gathering_gangs(&self) -> Vec<GangId> {
        let gathering = |gang: &GangView| gang.is_gathering;
        self.cluster.engine.read(|view| view.gangs().filter(gathering).map(|gang| gang.id).collect())
    }

    pub(crate) fn end_all(&self) -> Vec<EventKind> {
        let running: Vec<ContainerId> =
            self.cluster.engine.read(|view| view.containers().map(|(id, _)| id).collect());
        self.cluster.complete(running.into_iter().filter(|id| !self.endless.contains(id)));
        self.cluster.events()
    }

    /// The application may use no node, or all.
    pub(crate) fn shun_all(&self, job: ApplicationId, shuns: bool) {
        let all = Blacklist::new().with_hosts((0..10).map(|number| format!("n{number}")));
        let (added, removed) = if shuns { (all, Blacklist::new()) } else { (Blacklist::new(), all) };
        self.cluster.handle.update_blacklist(job, added, removed).unwrap();
        self.cluster.run();
    }

    pub(crate) fn pass(&mut self, ms: u64) -> Vec<EventKind> {
        self.now_ms += ms;
        self.cluster.at(self.now_ms);
        self.cluster.events()
    }
}

fn urgent(cluster: &Cluster) -> ApplicationId {
    let spec = ApplicationSpec::new("urgent", "root.default", "ann").with_priority(9);
    cluster.handle.submit_application(spec, &cluster.events).unwrap()
}

/// The first gang holds half of a node whose other half never becomes free.
#[test]
fn a_gang_beside_an_endless_container_gives_its_turn_to_the_next() {
    for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }] {
        let mut busy = Busy::new(mode, &[(2, 1, false), (1, 0, false), (1, 0, false)]);
        let stuck = busy.gang(busy.cluster.application(), &[(2, 1, false)]);
        busy.cluster.run();
        let next = busy.gang(busy.cluster.application(), &[(1, 2, false)]);
        busy.cluster.run();
        let node = |number: u32| busy.cluster.handle.node(&format!("n{number}")).unwrap();
        let on =
            |node: NodeId| busy.cluster.engine.read(|view| view.node(node).unwrap().containers().to_vec());
        let ends = |container: ContainerId| busy.cluster.complete([container]);
        // The part of the stuck gang grows once.
        on(node(0)).into_iter().filter(|id| !busy.endless.contains(id)).for_each(ends);
        assert_eq!(busy.gathering_gangs(), [stuck]);
        let view = busy.view(stuck).unwrap();
        assert_eq!((view.turn_until_ms, view.turns), (Some(LIMIT_MS), 0));
        ends(on(node(1))[0]);
        ends(on(node(2))[0]);
        busy.cluster.events();
        let why = busy.cluster.engine.read(|view| view.explain(view.gang(next).unwrap().roles[0].ask));
        assert!(why.to_string().contains(&format!("Room is held for {stuck}.")), "{why}");
        assert_eq!(busy.pass(LIMIT_MS - 1), []);
        assert_eq!(busy.pass(1)[0], EventKind::GangTurnEnded { gang: stuck, turns: 1 });
        let node = |number: u32| busy.cluster.handle.node(&format!("n{number}")).unwrap();
        let on =
            |node: NodeId| busy.cluster.engine.read(|view| view.node(node).unwrap().containers().to_vec());
        let held = busy.view(next).map(|view| view.held());
        assert_eq!(
            (busy.gathering_gangs(), held),
            (vec![next], Some(1)),
            "it has the room that the first one held"
        );
        let why = busy.cluster.engine.read(|view| view.explain(view.gang(stuck).unwrap().roles[0].ask));
        assert!(why.to_string().contains("It gave room back once"), "{why}");
        let Some(Blocker::Gang(wait)) = &why.pending().unwrap().blocker else { panic!("{why}") };
        assert_eq!((wait.turns, wait.behind), (1, Some(next)));
        busy.cluster.complete([on(node(1))[0]]);
        assert!(has_started(&busy.cluster.events(), next));
        // Its turn comes round again, and it starts once the container has ended.
        assert_eq!(busy.gathering_gangs(), [stuck]);
        busy.cluster.complete(on(node(0)));
        busy.end_all();
        assert!(busy.view(stuck).is_none());
        drop(check_log(&busy.cluster.log.bytes()));
    }
}

/// The urgent gang comes in the group in which the only place of the other one grows.
#[test]
fn a_place_that_grows_begins_no_new_turn() {
    let busy = Busy::new(Mode::Serial, &[(3, 1, false)]);
    let on = |node: u32| {
        let node = busy.cluster.handle.node(&format!("n{node}")).unwrap();
        busy.cluster.engine.read(|view| view.node(node).unwrap().containers().to_vec())
    };
    let stuck = busy.gang(busy.cluster.application(), &[(3, 1, false)]);
    busy.cluster.run();
    let running: Vec<_> = on(0).into_iter().filter(|id| !busy.endless.contains(id)).collect();
    busy.cluster.complete([running[0]]);
    assert_eq!(busy.gathering_gangs(), [stuck]);
    let urgent = busy.gang(urgent(&busy.cluster), &[(2, 1, false)]);
    busy.cluster.complete([running[1]]);
    assert!(busy.view(urgent).is_none(), "it has started");
}

/// The time of its turn is over long before the other node, with its containers, may be used again.
#[test]
fn a_gang_alone_moves_to_a_node_that_comes_later() {
    let mut busy = Busy::new(Mode::Serial, &[(2, 1, false), (2, 0, false)]);
    let other = busy.cluster.handle.node("n1").unwrap();
    busy.cluster.handle.drain_node(other).unwrap();
    let gang = busy.gang(busy.cluster.application(), &[(2, 1, false)]);
    busy.cluster.run();
    busy.pass(2 * LIMIT_MS);
    busy.cluster.handle.activate_node(other).unwrap();
    busy.cluster.run();
    assert!(busy.pass(4 * LIMIT_MS).contains(&EventKind::GangTurnEnded { gang, turns: 1 }));
    busy.end_all();
    assert!(busy.view(gang).is_none(), "it starts on the other node");
}

/// The only node of the first gang changes more often than the limit. Each time the gang gives its room back, and
/// holds it again at once.
#[test]
fn a_node_that_changes_prolongs_no_turn() {
    let mut busy = Busy::new(Mode::Serial, &[(4, 3, false), (1, 0, false), (1, 0, false)]);
    let stuck = busy.gang(busy.cluster.application(), &[(4, 1, false)]);
    busy.cluster.run();
    let next = busy.gang(busy.cluster.application(), &[(1, 2, false)]);
    busy.cluster.run();
    assert_eq!(busy.gathering_gangs(), [stuck]);
    let node = busy.cluster.handle.node("n0").unwrap();
    for _ in 0..2 {
        busy.pass(LIMIT_MS / 2);
        busy.cluster.handle.update_node(node, amount(4), Default::default()).unwrap();
        busy.cluster.run();
    }
    assert_eq!(busy.gathering_gangs(), [next]);
}

/// The second gang may gather only once its nodes are open, long after the limit has passed.
#[test]
fn a_gang_that_becomes_able_to_gather_waits_for_one_limit_at_most() {
    let mut busy = Busy::new(Mode::Serial, &[(2, 1, false), (1, 0, false), (1, 0, false)]);
    let nodes = ["n1", "n2"].map(|name| busy.cluster.handle.node(name).unwrap());
    let stuck = busy.gang(busy.cluster.application(), &[(2, 1, false)]);
    let next = busy.gang(busy.cluster.application(), &[(1, 3, false)]);
    busy.cluster.run();
    nodes.iter().for_each(|node| busy.cluster.handle.drain_node(*node).unwrap());
    (0..100).for_each(|_| drop(busy.pass(LIMIT_MS)));
    assert_eq!(busy.gathering_gangs(), [stuck]);
    nodes.iter().for_each(|node| busy.cluster.handle.activate_node(*node).unwrap());
    busy.cluster.run();
    busy.pass(LIMIT_MS);
    assert_eq!(busy.gathering_gangs(), [next]);
}

/// A gang alone keeps what it holds. The next gang gets its turn at once if the time is over when it comes.
#[test]
fn a_turn_ends_only_if_that_helps_a_gang() {
    let mut busy = Busy::new(Mode::Serial, &[(2, 1, false), (1, 0, false)]);
    let stuck = busy.gang(busy.cluster.application(), &[(2, 1, false)]);
    busy.end_all();
    assert_eq!(busy.pass(50 * LIMIT_MS), []);
    assert_eq!(busy.gathering_gangs(), [stuck]);
    // It could not start at any time.
    let mut impossible = GangSpec::new(busy.cluster.application()).with_role("worker", ask(1, 2));
    impossible = impossible.without_gathering();
    busy.cluster.submit(impossible);
    assert_eq!(busy.pass(0), []);
    let next = busy.gang(busy.cluster.application(), &[(1, 2, false)]);
    assert!(busy.pass(0).contains(&EventKind::GangTurnEnded { gang: stuck, turns: 1 }));
    assert_eq!(busy.gathering_gangs(), [next]);
}

/// The timer of an overdue turn is not due again and again.
#[test]
fn the_clock_may_stand_at_its_end() {
    let busy = Busy::new(Mode::Serial, &[(1, 0, false), (1, 1, false)]);
    let gang = busy.gang(busy.cluster.application(), &[(1, 2, false)]);
    busy.cluster.run();
    busy.end_all();
    assert_eq!(busy.gathering_gangs(), [gang]);
    busy.cluster.at(u64::MAX);
    assert_eq!(busy.gathering_gangs(), [gang]);
}

/// Gangs that never start have turns one after the other. The limit doubles once they have tried all nodes. A new
/// gang is behind those of its priority, and before those of lower priority.
#[test]
fn turns_go_round() {
    let mut busy = Busy::new(Mode::Serial, &[(2, 1, false), (2, 1, false)]);
    let job = busy.cluster.application();
    let [a, b] = [(); 2].map(|()| busy.gang(job, &[(2, 2, false)]));
    busy.cluster.run();
    let mut gathering_after = |ms: u64| {
        busy.pass(ms);
        busy.gathering_gangs()
    };
    assert_eq!(gathering_after(0), [a]);
    for gang in [b, a, b, a] {
        assert_eq!(gathering_after(LIMIT_MS), [gang]);
    }
    assert_eq!(gathering_after(2 * LIMIT_MS - 1), [a]);
    assert_eq!(gathering_after(1), [b]);
    let c = busy.gang(job, &[(2, 2, false)]);
    let in_order =
        |busy: &Busy| busy.cluster.engine.read(|view| view.gangs().map(|gang| gang.id).collect::<Vec<_>>());
    busy.cluster.run();
    assert_eq!(in_order(&busy), [b, a, c]);
    let first = busy.gang(urgent(&busy.cluster), &[(2, 2, false)]);
    busy.cluster.run();
    assert_eq!((in_order(&busy), busy.gathering_gangs()), (vec![first, b, a, c], vec![first]));
    busy.pass(LIMIT_MS);
    assert_eq!((in_order(&busy), busy.gathering_gangs()), (vec![b, a, c, first], vec![b]));
    drop(check_log(&busy.cluster.log.bytes()));
}

/// A member of 2 on a node with one unit free and one that stays, or on one with containers that end one by one. The
/// first looks better, so a gang alone would wait there for ever.
#[test]
fn a_member_leaves_a_node_on_which_its_room_does_not_grow() {
    for prefers_it in [false, true] {
        leaves_a_node(prefers_it);
    }
}

fn leaves_a_node(prefers_it: bool) {
    let mut busy = Busy::new(Mode::Serial, &[(2, 1, false), (2, 0, false)]);
    let on = |busy: &Busy, number: u32| {
        let node = busy.cluster.handle.node(&format!("n{number}")).unwrap();
        busy.cluster.engine.read(|view| view.node(node).unwrap().containers().to_vec())
    };
    let running = on(&busy, 0);
    busy.endless = running[..1].to_vec();
    busy.cluster.complete(running[1..].iter().copied());
    let first_node = busy.cluster.handle.node("n0").unwrap();
    let member = if prefers_it { ask(2, 1).on_hosts([first_node]) } else { ask(2, 1) };
    let spec = GangSpec::new(busy.cluster.application()).with_role("worker", member);
    let gang = busy.cluster.submit(spec).gang;
    busy.cluster.run();
    let first = on(&busy, 1);
    busy.cluster.complete([first[0]]);
    busy.cluster.complete([on(&busy, 1)[0]]);
    assert!(busy.view(gang).is_some(), "ordinary asks are quicker on a node without a place");
    assert!(busy.pass(LIMIT_MS).contains(&EventKind::GangTurnEnded { gang, turns: 1 }));
    busy.cluster.complete([on(&busy, 1)[0]]);
    busy.cluster.complete([on(&busy, 1)[0]]);
    assert!(busy.view(gang).is_none(), "it starts");
}

/// The first gang waits for two turns in two partitions. The gangs that hold room there never start.
#[test]
fn a_gang_that_waits_for_two_turns_gets_both() {
    let mut busy = Busy::new(Mode::Serial, &[(1, 0, false), (1, 1, false), (1, 0, true), (1, 1, true)]);
    let [job, other] = [(); 2].map(|()| busy.cluster.application());
    let first = busy.gang(job, &[(1, 1, false), (1, 1, true)]);
    busy.cluster.run();
    busy.shun_all(job, true);
    let in_both = [false, true].map(|is_in_q| busy.gang(other, &[(1, 2, is_in_q)]));
    busy.cluster.run();
    busy.end_all();
    assert_eq!(busy.gathering_gangs(), in_both);
    assert!(busy.view(first).is_some());
    busy.shun_all(job, false);
    assert_eq!(busy.gathering_gangs(), in_both, "their turns have begun");
    busy.pass(LIMIT_MS);
    busy.pass(LIMIT_MS);
    assert!(busy.view(first).is_none(), "it has started");
}

/// The only node of the second gang is reserved, so it holds nothing. The third one has the turn meanwhile.
#[test]
fn a_gang_whose_node_is_reserved_leaves_the_turn_to_the_next() {
    let mut config = config();
    config.reservations.delay_ms = Some(0);
    config.reservations.nodes = apportion::config::Percent::ALL;
    let cluster = Cluster::new(config, Mode::Serial);
    let [x, y, z] = [2, 1, 1].map(|units| cluster.nodes(1, units)[0]);
    // A node that the blacklist excludes. It raises the limits.
    cluster.nodes(1, 4);
    let job = cluster.application();
    cluster.handle.update_blacklist(job, Blacklist::new().with_hosts(["n3"]), Blacklist::new()).unwrap();
    let on = |node: NodeId| ask(1, 1).on_hosts([node]).strictly_local();
    for ask in [on(x), on(z), ask(2, 1)] {
        cluster.handle.submit_ask(job, ask).unwrap();
        cluster.run();
    }
    assert!(cluster.engine.read(|view| view.node(x).unwrap().is_reserved()));
    let either = ask(1, 2).on_hosts([y, z]).strictly_local();
    let first = cluster.submit(GangSpec::new(job).with_role("worker", either)).gang;
    cluster.run();
    let gathering_gangs = || -> Vec<GangId> {
        let gathering = |gang: &GangView| gang.is_gathering;
        cluster.engine.read(|view| view.gangs().filter(gathering).map(|gang| gang.id).collect())
    };
    assert_eq!(gathering_gangs(), [first]);
    let second = cluster.submit(GangSpec::new(job).with_role("worker", ask(2, 1))).gang;
    let third = cluster.submit(GangSpec::new(job).with_role("worker", on(y))).gang;
    cluster.run();
    (1..=40).for_each(|number| cluster.at(number * LIMIT_MS));
    let waits = |gang: GangId| cluster.engine.read(|view| view.gang(gang).is_some());
    assert_eq!([first, second, third].map(waits), [true, true, false]);
}
