//! Random gangs, asks, completions and losses, checked change by change.

use std::collections::{BTreeMap, BTreeSet};

use apportion::config::EngineConfig;
use apportion::event::EventKind;
use apportion::gang::{GangSpec, GangTopology};
use apportion::log::LogReader;
use apportion::replay::Replay;
use apportion::resource::DeviceNeed;
use apportion::{
    ApplicationEnd, ApplicationId, AskId, AskSpec, Blacklist, Change, ContainerId, EndCause, GangId, Mode,
    NodeId, NodeSpec, ResourceTypes,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::random_gang::{Gang, Gangs};
use crate::recorded::assert_decides_as_recorded;
use crate::{Cluster, amount, ask, has_started, placed, plain};

#[derive(Clone, Debug)]
enum Call {
    Node {
        units: i64,
        rack: bool,
    },
    Lose(Index),
    Drain(Index, bool),
    Gang(Index, Gang),
    Ask {
        job: Index,
        units: i64,
        count: u32,
    },
    /// For real containers of a task group.
    Real {
        job: Index,
        role: bool,
        units: i64,
        count: u32,
    },
    Complete(Vec<Index>),
    CancelGang(Index),
    CancelAsk(Index, u32),
    Shun(Index, Index),
    End(Index),
    Advance(u64),
    Run,
}

fn gang() -> impl Strategy<Value = Gang> {
    Gangs { roles: 1..3, parts: [0.5, 0.75], timeout_ms: 1..40, placeholder_timeout_ms: 1..60 }.any()
}

fn call() -> impl Strategy<Value = Call> {
    let index = any::<Index>;
    prop_oneof![
        2 => (1..5i64, any::<bool>()).prop_map(|(units, rack)| Call::Node { units, rack }),
        1 => index().prop_map(Call::Lose),
        1 => (index(), any::<bool>()).prop_map(|(node, is_drained)| Call::Drain(node, is_drained)),
        6 => (index(), gang()).prop_map(|(job, gang)| Call::Gang(job, gang)),
        3 => (index(), 1..3i64, 1..5u32).prop_map(|(job, units, count)| Call::Ask { job, units, count }),
        4 => (index(), any::<bool>(), 1..3i64, 1..4u32)
            .prop_map(|(job, role, units, count)| Call::Real { job, role, units, count }),
        6 => prop::collection::vec(index(), 1..5).prop_map(Call::Complete),
        1 => index().prop_map(Call::CancelGang),
        1 => (index(), 1..3u32).prop_map(|(ask, units)| Call::CancelAsk(ask, units)),
        1 => (index(), index()).prop_map(|(job, node)| Call::Shun(job, node)),
        1 => index().prop_map(Call::End),
        2 => (1..20u64).prop_map(Call::Advance),
        6 => Just(Call::Run),
    ]
}

/// A cluster and everything that its callers know.
struct Play {
    cluster: Cluster,
    nodes: Vec<NodeId>,
    jobs: Vec<ApplicationId>,
    asks: Vec<AskId>,
    gangs: Vec<GangId>,
    running: BTreeSet<ContainerId>,
    added: usize,
    now_ms: u64,
    /// What a container of two units needs of each of two devices. None: nodes have no devices.
    device_milli: Option<u16>,
}

impl Play {
    fn new(mode: Mode, device_milli: Option<u16>) -> Self {
        let types = ResourceTypes::new(["memory", "vcores", "gpu"]).unwrap().with_devices("gpu").unwrap();
        let resources = if device_milli.is_some() { types } else { plain().resources };
        let cluster = Cluster::new(EngineConfig { resources, ..plain() }, mode);
        let jobs = (0..3).map(|_| cluster.application()).collect();
        let (nodes, asks, gangs, running) = (Vec::new(), Vec::new(), Vec::new(), BTreeSet::new());
        let mut play = Self { cluster, nodes, jobs, asks, gangs, running, added: 0, now_ms: 0, device_milli };
        (0..3).for_each(|number| play.add_node(3, number % 2 == 0));
        play
    }

    /// A node has a device for each unit.
    fn add_node(&mut self, units: i64, is_on_a: bool) {
        let name = format!("n{}", self.added);
        let node = NodeSpec::new(name, amount(units)).on_rack(if is_on_a { "a" } else { "b" });
        let devices = if self.device_milli.is_some() { units as u8 } else { 0 };
        self.nodes.push(self.cluster.handle.add_node(node.with_devices(devices)).unwrap());
        self.added += 1;
    }

    fn spec(&self, units: i64, count: u32) -> AskSpec {
        let spec = ask(units, count);
        match self.device_milli {
            None => spec,
            Some(milli) => spec.with_devices(match units {
                1 => DeviceNeed { count: 1, milli: 1_000 - milli / 2 },
                units => DeviceNeed { count: units as u8, milli },
            }),
        }
    }

    fn submit(&mut self, job: ApplicationId, gang: &Gang) {
        let spec = gang.spec(job, |units, count| self.spec(units, count));
        let submitted = self.cluster.submit(spec);
        self.gangs.push(submitted.gang);
        self.asks.extend(submitted.asks);
    }

    fn call(&mut self, call: &Call) {
        let handle = &self.cluster.handle;
        match call {
            Call::Node { units, rack } => {
                self.add_node(*units, *rack);
            }
            Call::Lose(node) if self.nodes.len() > 1 => {
                let node = self.nodes.swap_remove(node.index(self.nodes.len()));
                drop(handle.remove_node(node).unwrap());
            }
            Call::Drain(node, true) => handle.drain_node(*node.get(&self.nodes)).unwrap(),
            Call::Drain(node, false) => handle.activate_node(*node.get(&self.nodes)).unwrap(),
            Call::Gang(job, gang) => self.submit(*job.get(&self.jobs), gang),
            Call::Ask { job, units, count } => {
                self.asks.push(handle.submit_ask(*job.get(&self.jobs), self.spec(*units, *count)).unwrap());
            }
            Call::Real { job, role, units, count } => {
                let group = if *role { "role 1" } else { "role 0" };
                let spec = self.spec(*units, *count);
                let submitted = handle.submit_ask_of_group(*job.get(&self.jobs), group, spec).unwrap();
                self.asks.push(submitted.ask);
            }
            Call::Complete(places) => self.complete(places),
            Call::CancelGang(gang) if !self.gangs.is_empty() => {
                handle.cancel_gang(*gang.get(&self.gangs)).unwrap();
            }
            Call::CancelAsk(ask, units) if !self.asks.is_empty() => {
                handle.cancel_ask(*ask.get(&self.asks), *units).unwrap();
            }
            Call::Lose(_) | Call::CancelGang(_) | Call::CancelAsk(..) => {}
            Call::Shun(job, node) => {
                let shunned = Blacklist::new().with_hosts([format!("n{}", node.index(self.added))]);
                handle.update_blacklist(*job.get(&self.jobs), shunned, Blacklist::new()).unwrap();
            }
            Call::End(job) => {
                let place = job.index(self.jobs.len());
                handle.end_application(self.jobs[place], ApplicationEnd::Finished).unwrap();
                self.jobs[place] = self.cluster.application();
            }
            Call::Advance(ms) => {
                self.now_ms += ms;
                self.cluster.clock.set(self.now_ms);
                handle.tick().unwrap();
            }
            Call::Run => self.run(),
        }
    }

    fn complete(&mut self, places: &[Index]) {
        for place in places {
            let running: Vec<_> = self.running.iter().copied().collect();
            if let Some(container) = (!running.is_empty()).then(|| *place.get(&running)) {
                self.running.remove(&container);
                self.cluster.handle.complete_container(container).unwrap();
            }
        }
    }

    /// Ends all that runs until nothing is placed any more.
    fn finish(&mut self) {
        for _ in 0..100 {
            self.run();
            if self.running.is_empty() {
                break;
            }
            for container in std::mem::take(&mut self.running) {
                self.cluster.handle.complete_container(container).unwrap();
            }
        }
        assert!(self.running.is_empty(), "containers start again and again");
        self.cluster.engine.read(|view| {
            let gathering: Vec<_> = view.gangs().filter(|gang| gang.is_gathering).collect();
            assert!(gathering.is_empty(), "nothing runs, and {gathering:?}");
        });
    }

    fn run(&mut self) {
        self.cluster.run();
        for event in self.cluster.events() {
            match event {
                EventKind::Allocated { container, .. } => drop(self.running.insert(container)),
                EventKind::ContainerEnded { container, .. } => drop(self.running.remove(&container)),
                _ => {}
            }
        }
    }
}

/// The waiting gangs as a reader of the log knows them: topology, and the minimum of each ask.
pub(crate) type Waiting = BTreeMap<GangId, (GangTopology, BTreeMap<AskId, u32>)>;

/// Follows the log. One change starts a waiting gang, with at least the minimum of each role.
pub(crate) fn check_log(log: &[u8]) -> Replay {
    let mut reader = LogReader::new(log).unwrap();
    let mut replay = Replay::begin(&mut reader).unwrap();
    let (mut waiting, mut events, mut running) = (Waiting::new(), Vec::new(), Running::new());
    while let Some(change) = reader.next_change().unwrap() {
        record_gang(&mut waiting, &change);
        replay.step_with_events(change.clone(), &mut events).unwrap();
        let kinds: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
        check_change(&mut replay, &mut waiting, &change, &kinds);
        check_replacements(&mut replay, &mut running, &kinds);
        let report = replay.audit();
        assert!(report.is_clean(), "after {change:?}: {report}");
    }
    replay
}

/// A submitted gang waits.
pub(crate) fn record_gang(waiting: &mut Waiting, change: &Change) {
    if let Change::GangSubmitted { asks, spec } = change {
        let minima = asks.iter().zip(&spec.roles).map(|(ask, role)| (*ask, role.minimum)).collect();
        let gang = asks[0].to_string().replace("ask", "gang").parse().unwrap();
        waiting.insert(gang, (spec.topology, minima));
    }
}

/// The node and the size of each container. The size is unknown if the same change starts and ends the container.
pub(crate) type Running = BTreeMap<ContainerId, (NodeId, Option<i64>)>;

/// A replaced placeholder ends right before its successor starts, which is on its node and no larger.
pub(crate) fn check_replacements(replay: &mut Replay, running: &mut Running, events: &[EventKind]) {
    let mut size = |container| replay.view().container(container).map(|known| known.size[0]);
    for (place, event) in events.iter().enumerate() {
        match *event {
            EventKind::Allocated { container, node, .. } => {
                running.insert(container, (node, size(container)));
            }
            EventKind::ContainerEnded { container, cause: EndCause::Replaced, .. } => {
                let (node, held) = running.remove(&container).unwrap();
                let Some(EventKind::Allocated { container, node: taken, .. }) = events.get(place + 1) else {
                    panic!("{container} has no successor: {events:?}")
                };
                let fits = held.is_none_or(|held| size(*container).is_none_or(|size| size <= held));
                assert!(*taken == node && fits, "{events:?}");
            }
            EventKind::ContainerEnded { container, .. } => drop(running.remove(&container)),
            _ => {}
        }
    }
}

pub(crate) fn check_change(
    replay: &mut Replay,
    waiting: &mut Waiting,
    change: &Change,
    events: &[EventKind],
) {
    let (mut members, mut racks) =
        (BTreeMap::<AskId, u32>::new(), BTreeMap::<AskId, BTreeSet<String>>::new());
    for event in events {
        if let EventKind::Allocated { ask, node, .. } = *event {
            *members.entry(ask).or_default() += 1;
            let rack = replay.view().node(node).unwrap().rack().to_owned();
            racks.entry(ask).or_default().insert(rack);
        }
    }
    for (gang, (topology, minima)) in &*waiting {
        let placed: u32 = minima.keys().filter_map(|ask| members.get(ask)).sum();
        assert_eq!(placed > 0, has_started(events, *gang), "{gang} at {change:?}");
        if placed > 0 {
            let is_whole = minima.iter().all(|(ask, least)| members.get(ask).unwrap_or(&0) >= least);
            assert!(is_whole, "{gang} at {change:?}");
            let racks: BTreeSet<_> = minima.keys().filter_map(|ask| racks.get(ask)).flatten().collect();
            assert!(*topology != GangTopology::SameRack || racks.len() == 1, "{gang} at {change:?}");
        }
    }
    for event in events {
        match event {
            EventKind::GangStarted { gang } | EventKind::GangEnded { gang, .. } => {
                assert!(waiting.remove(gang).is_some(), "{gang} ends twice");
            }
            // A role without a minimum.
            EventKind::AskCancelled { ask, .. } if replay.view().is_ask_over(*ask) => {
                waiting.values_mut().for_each(|(_, minima)| minima.retain(|known, _| known != ask));
            }
            _ => {}
        }
    }
}

pub(crate) fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        3 => Just(Mode::Serial),
        1 => Just(Mode::Background),
        3 => (1..5usize).prop_map(|proposers| Mode::Parallel { proposers }),
    ]
}

fn device_milli() -> impl Strategy<Value = Option<u16>> {
    prop::option::of(prop::sample::select(vec![300, 500, 600, 1_000u16]))
}

#[test]
fn gangs_are_decided_as_recorded() {
    let loads = (device_milli(), prop::collection::vec(call(), 1..60));
    assert_decides_as_recorded("gangs", loads, 200, |(device_milli, calls)| {
        let mut play = Play::new(Mode::Serial, *device_milli);
        calls.iter().for_each(|call| play.call(call));
        play.finish();
        play.cluster.log.bytes()
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// In every mode, at each position of the log, each gang has either nothing or at least its minimum, and the audit
    /// is clean. The replay ends as the live engine. Whenever the engine is quiet, no waiting gang could start, and
    /// none waits for room that a later gang holds; the audit looks for that. Once all that runs has ended, every
    /// possible gang has started.
    #[test]
    fn gangs_start_as_a_whole_or_not_at_all(
        mode in mode(),
        device_milli in device_milli(),
        calls in prop::collection::vec(call(), 1..60),
    ) {
        let mut play = Play::new(mode, device_milli);
        calls.iter().for_each(|call| play.call(call));
        play.finish();
        let mut replay = check_log(&play.cluster.log.bytes());
        prop_assert_eq!(replay.digest(), play.cluster.engine.digest());
        // An engine that goes on from a snapshot of here agrees.
        let mut snapshot = Vec::new();
        replay.write_snapshot(&mut snapshot).unwrap();
        let mut again = Replay::read(&snapshot[..], None).unwrap();
        let report = again.audit();
        prop_assert!(report.is_clean(), "{}", report);
        prop_assert_eq!(again.digest(), play.cluster.engine.digest());
    }

    /// Two gangs, each above half of the cluster, with ordinary asks between. Both run, one after the other.
    #[test]
    fn two_large_gangs_never_block_each_other(
        nodes in 2..6usize,
        units in 1..4i64,
        more in 1..4i64,
        mode in mode(),
        singles in 0..4u32,
    ) {
        let cluster = Cluster::new(plain(), mode);
        cluster.nodes(nodes, units);
        let all = nodes as i64 * units;
        let members = (all / 2 + more).min(all) as u32;
        let jobs = [cluster.application(), cluster.application()];
        if singles > 0 {
            cluster.handle.submit_ask(jobs[0], ask(1, singles)).unwrap();
        }
        let gangs = jobs.map(|job| cluster.submit(GangSpec::new(job).with_role("worker", ask(1, members))));
        let mut started = [false; 2];
        for _ in 0..8 {
            cluster.run();
            let events = cluster.events();
            for (started, gang) in started.iter_mut().zip(&gangs) {
                *started |= has_started(&events, gang.gang);
            }
            cluster.complete(placed(&events).into_iter().map(|(container, _)| container));
        }
        prop_assert_eq!(started, [true; 2]);
    }
}
