//! Random asks, ends, nodes and promotions, checked change by change against the model.

use std::collections::BTreeSet;

use apportion::config::EngineConfig;
use apportion::event::EventKind;
use apportion::{ApplicationEnd, ApplicationId, AskId, ContainerId, Mode, NodeAttributes, NodeId, NodeSpec};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::model::follow;
use crate::{Cluster, amount, ask, config, opportunistic};

const QUEUE_LENGTH_MAX: u32 = 2;

#[derive(Clone, Debug)]
enum Call {
    Node(i64),
    Resize(Index, i64),
    Lose(Index),
    Drain(Index, bool),
    Ask { job: Index, units: i64, count: u32, is_opportunistic: bool },
    Cancel(Index),
    Complete(Index),
    Demote(Index),
    Promote(Index, bool),
    Stop(Index),
    End(Index),
    Run,
}

fn call() -> impl Strategy<Value = Call> {
    let index = any::<Index>;
    let ask = (index(), 1..4i64, 1..6u32, any::<bool>());
    prop_oneof![
        1 => (1..6i64).prop_map(Call::Node),
        1 => (index(), 1..6i64).prop_map(|(node, units)| Call::Resize(node, units)),
        1 => index().prop_map(Call::Lose),
        1 => (index(), any::<bool>()).prop_map(|(node, is_drained)| Call::Drain(node, is_drained)),
        8 => ask.prop_map(|(job, units, count, is_opportunistic)| Call::Ask { job, units, count, is_opportunistic }),
        1 => index().prop_map(Call::Cancel),
        8 => index().prop_map(Call::Complete),
        1 => index().prop_map(Call::Demote),
        2 => (index(), any::<bool>()).prop_map(|(container, waits)| Call::Promote(container, waits)),
        1 => index().prop_map(Call::Stop),
        1 => index().prop_map(Call::End),
        6 => Just(Call::Run),
    ]
}

/// A cluster and everything that its callers know.
struct Play {
    cluster: Cluster,
    nodes: Vec<NodeId>,
    jobs: Vec<ApplicationId>,
    asks: Vec<AskId>,
    alive: BTreeSet<ContainerId>,
    added: usize,
}

impl Play {
    fn new(mode: Mode, config: EngineConfig) -> Self {
        let cluster = Cluster::new(config, mode);
        let jobs = (0..3).map(|_| cluster.application()).collect();
        let mut play =
            Self { cluster, nodes: Vec::new(), jobs, asks: Vec::new(), alive: BTreeSet::new(), added: 0 };
        (0..3).for_each(|_| play.add_node(4));
        play
    }

    fn add_node(&mut self, units: i64) {
        self.added += 1;
        let spec = NodeSpec::new(format!("n{}", self.added), amount(units));
        self.nodes.push(self.cluster.handle.add_node(spec).unwrap());
    }

    fn call(&mut self, call: &Call) {
        let handle = self.cluster.handle.clone();
        match call {
            Call::Node(units) => self.add_node(*units),
            Call::Resize(node, units) => {
                let node = *node.get(&self.nodes);
                handle.update_node(node, amount(*units), NodeAttributes::new()).unwrap();
            }
            Call::Lose(node) if self.nodes.len() > 1 => {
                let node = self.nodes.swap_remove(node.index(self.nodes.len()));
                drop(handle.remove_node(node).unwrap());
            }
            Call::Drain(node, true) => handle.drain_node(*node.get(&self.nodes)).unwrap(),
            Call::Drain(node, false) => handle.activate_node(*node.get(&self.nodes)).unwrap(),
            Call::Ask { job, units, count, is_opportunistic } => {
                let spec =
                    if *is_opportunistic { opportunistic(*units, *count) } else { ask(*units, *count) };
                self.asks.push(handle.submit_ask(*job.get(&self.jobs), spec).unwrap());
            }
            Call::Cancel(ask) if !self.asks.is_empty() => handle.cancel_ask(*ask.get(&self.asks), 1).unwrap(),
            Call::Lose(_) | Call::Cancel(_) => {}
            Call::Complete(place) => {
                if let Some(container) = self.pick(place) {
                    handle.complete_container(container).unwrap();
                }
            }
            Call::Demote(place) => {
                self.pick(place).into_iter().for_each(|id| drop(handle.demote_container(id).unwrap()));
            }
            Call::Promote(place, true) => {
                self.pick(place).into_iter().for_each(|id| drop(handle.request_promotion(id).unwrap()));
            }
            Call::Promote(place, false) => {
                self.pick(place).into_iter().for_each(|id| drop(handle.promote_container(id).unwrap()));
            }
            Call::Stop(place) => {
                self.pick(place).into_iter().for_each(|id| drop(handle.stop_container(id).unwrap()));
            }
            Call::End(job) => {
                let place = job.index(self.jobs.len());
                handle.end_application(self.jobs[place], ApplicationEnd::Finished).unwrap();
                self.jobs[place] = self.cluster.application();
            }
            Call::Run => self.run(),
        }
    }

    fn pick(&self, place: &Index) -> Option<ContainerId> {
        let alive: Vec<_> = self.alive.iter().copied().collect();
        (!alive.is_empty()).then(|| *place.get(&alive))
    }

    fn run(&mut self) {
        self.cluster.run();
        for event in self.cluster.events() {
            match event {
                EventKind::Allocated { container, .. }
                | EventKind::OpportunisticAllocated { container, .. } => {
                    self.alive.insert(container);
                }
                EventKind::ContainerEnded { container, .. } => drop(self.alive.remove(&container)),
                _ => {}
            }
        }
    }

    /// Every container ends or runs when others end, until nothing is left.
    fn run_out(&mut self) {
        self.nodes.iter().for_each(|node| self.cluster.handle.activate_node(*node).unwrap());
        self.run();
        while !self.alive.is_empty() {
            let running: Vec<_> = self.cluster.engine.read(|view| {
                view.containers().filter(|(_, one)| !one.is_waiting).map(|(id, _)| id).collect()
            });
            assert!(!running.is_empty(), "containers wait, and none runs");
            self.cluster.handle.complete_containers(running).unwrap();
            self.run();
        }
        let left: Vec<_> = self.cluster.engine.read(|view| {
            let largest = view.nodes().map(|node| node.capacity()[0]).max().unwrap_or(0);
            view.asks().filter(|ask| ask.size()[0] <= largest).map(|ask| ask.id()).collect()
        });
        assert!(left.is_empty(), "{left:?} could be served");
    }
}

fn check(mode: Mode, calls: &[Call]) {
    let mut play = Play::new(mode, config(QUEUE_LENGTH_MAX));
    calls.iter().for_each(|call| play.call(call));
    play.run_out();
    let (mut replay, _) = follow(&play.cluster.log.bytes(), QUEUE_LENGTH_MAX as usize);
    assert_eq!(replay.digest(), play.cluster.engine.digest());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_serial_engine_follows_the_model(calls in prop::collection::vec(call(), 1..60)) {
        check(Mode::Serial, &calls);
    }

    #[test]
    fn proposers_follow_the_model(proposers in 1..=4usize, calls in prop::collection::vec(call(), 1..40)) {
        check(Mode::Parallel { proposers }, &calls);
        check(Mode::Background, &calls);
    }

    /// Guaranteed containers go to the same nodes, in the same order, as without any opportunistic ask.
    #[test]
    fn guaranteed_containers_do_not_notice_opportunistic_ones(
        asks in prop::collection::vec((1..4i64, 1..6u32, any::<bool>()), 1..40),
        ends in prop::collection::vec(any::<Index>(), 0..40),
    ) {
        let placed = [true, false].map(|has_opportunistic| {
            let cluster = Cluster::serial(QUEUE_LENGTH_MAX);
            for number in 0..4 {
                cluster.node(&format!("n{number}"), 5);
            }
            let job = cluster.application();
            let mut running: Vec<ContainerId> = Vec::new();
            for (number, (units, count, is_opportunistic)) in asks.iter().enumerate() {
                let spec = ask(*units, *count).with_allocation_request(number as u64);
                match is_opportunistic {
                    false => drop(cluster.ask(job, spec)),
                    true if has_opportunistic => drop(cluster.ask(job, spec.opportunistic())),
                    true => {}
                }
                for event in cluster.events() {
                    if let EventKind::Allocated { container, .. } = event {
                        running.push(container);
                    }
                }
                if let Some(end) = ends.get(number) && !running.is_empty() {
                    cluster.complete(running.remove(end.index(running.len())));
                }
            }
            follow(&cluster.log.bytes(), QUEUE_LENGTH_MAX as usize).1.placed
        });
        prop_assert_eq!(&placed[0], &placed[1]);
    }
}
