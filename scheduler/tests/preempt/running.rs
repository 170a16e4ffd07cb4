//! Random load on an engine that makes rounds: steps of committer, proposers and callers in random order, on one
//! thread.

#![allow(clippy::disallowed_types, reason = "the log outlives its engine, as a file does")]

use std::collections::BTreeMap;
use std::sync::Arc;

use apportion::config::{EngineConfig, PreemptionRounds, QueueConfig};
use apportion::engine::{Parts, Step};
use apportion::event::EventKind;
use apportion::gang::GangSpec;
use apportion::log::LogReader;
use apportion::preempt::{DisruptionBudget, DisruptionLimit, PreemptionCost};
use apportion::replay::Replay;
use apportion::request::ResourceAllocationCommitRequest;
use apportion::{
    ApplicationId, AskId, AskSpec, Change, Clock, ContainerId, EndCause, Engine, ManualClock, NodeSpec,
    ResourceTypes, Resources,
};
use proptest::prelude::*;

use crate::Cluster;
use crate::property::{Case, case};
use crate::rounds::Log;

const INTERVAL_MS: u64 = 100;

/// One step of the random load.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// The committer commits a group.
    Step,
    /// A proposer proposes, and computes a round if one is wanted.
    Propose(usize),
    /// A container finishes.
    Complete(usize),
    /// A job of the case comes once more.
    Submit(usize),
    /// A gang of so many containers of size 1 comes.
    SubmitGang(usize, u32),
    /// The clock moves on.
    Wait(u64),
    /// An application gets a budget: so many of its containers have to be available.
    SetBudget(usize, u32),
    /// A container gets a cost.
    SetCost(usize, PreemptionCost),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => Just(Op::Step),
        4 => (0..2usize).prop_map(Op::Propose),
        2 => any::<usize>().prop_map(Op::Complete),
        1 => any::<usize>().prop_map(Op::Submit),
        1 => (any::<usize>(), 1..6u32).prop_map(|(which, members)| Op::SubmitGang(which, members)),
        2 => (1..3 * INTERVAL_MS).prop_map(Op::Wait),
        1 => (any::<usize>(), 0..12u32).prop_map(|(which, least)| Op::SetBudget(which, least)),
        1 => (any::<usize>(), cost()).prop_map(|(which, cost)| Op::SetCost(which, cost)),
    ]
}

fn cost() -> impl Strategy<Value = PreemptionCost> {
    prop_oneof![2 => (0..5u32).prop_map(PreemptionCost::Units), 1 => Just(PreemptionCost::Never)]
}

struct Load {
    cluster: Cluster,
    parts: Parts,
    clock: Arc<ManualClock>,
    log: Log,
    preempted: usize,
}

impl Load {
    fn start(case: &Case, wait_ms: u64) -> Self {
        let mut config =
            EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(case.queues()));
        config.reservations.delay_ms = case.reserves.then_some(0);
        config.preemption = Some(PreemptionRounds {
            policy: case.policy(),
            interval_ms: INTERVAL_MS,
            max_wait_before_kill_ms: wait_ms,
            observe_only: false,
        });
        let (clock, log) = (Arc::new(ManualClock::new()), Log::default());
        let (engine, parts) =
            Engine::assemble(config, 2, Arc::clone(&clock) as _, Some(Box::new(log.clone()))).unwrap();
        let events = engine.handle().event_stream(1 << 16);
        Self { cluster: Cluster { engine, events }, parts, clock, log, preempted: 0 }
    }

    fn act(&mut self, case: &Case, op: Op) {
        match op {
            Op::Step => drop(self.parts.committer.step()),
            Op::Propose(which) => {
                let proposer = &mut self.parts.proposers[which];
                if let Some(batch) = proposer.propose() {
                    proposer.send(batch).unwrap();
                }
            }
            Op::Complete(which) => {
                if let Some(container) = self.container(which) {
                    self.cluster.engine.handle().complete_container(container).unwrap();
                }
            }
            Op::Submit(which) => self.cluster.submit_job(&case.jobs[which % case.jobs.len()], &[]),
            Op::SubmitGang(which, members) => {
                let all: Vec<ApplicationId> =
                    self.cluster.engine.read(|view| view.applications().map(|(id, _)| id).collect());
                if let Some(application) = all.get(which % all.len().max(1)) {
                    let one = AskSpec::new(Resources::new(&[1, 1]), members);
                    let ask = AskSpec { allocation_request_id: 101, ..one };
                    let gang = GangSpec::new(*application).with_role("worker", ask);
                    self.cluster.engine.handle().submit_gang(gang).unwrap();
                }
            }
            Op::Wait(ms) => {
                self.clock.set(self.clock.now_ms() + ms);
                self.cluster.engine.handle().tick().unwrap();
            }
            Op::SetBudget(which, least) => {
                let all: Vec<ApplicationId> = self
                    .cluster
                    .engine
                    .read(|view| view.containers().map(|(_, one)| one.application).collect());
                if let Some(application) = all.get(which % all.len().max(1)) {
                    let budget = DisruptionBudget::new(12, DisruptionLimit::MinAvailable(least));
                    let handle = self.cluster.engine.handle();
                    handle.set_disruption_budgets(*application, vec![budget]).unwrap();
                }
            }
            Op::SetCost(which, cost) => {
                if let Some(container) = self.container(which) {
                    self.cluster.engine.handle().set_preemption_cost(container, cost).unwrap();
                }
            }
        }
        self.ask_again();
    }

    fn container(&self, which: usize) -> Option<ContainerId> {
        let running: Vec<ContainerId> =
            self.cluster.engine.read(|view| view.containers().map(|(id, _)| id).collect());
        running.get(which % running.len().max(1)).copied()
    }

    /// The application of a victim asks for its container again, as an application master does.
    fn ask_again(&mut self) {
        while let Some(event) = self.cluster.events.try_next().unwrap() {
            if let EventKind::ContainerEnded { cause: EndCause::Preempted, allocation_request_id, .. } =
                event.kind
            {
                let size = [allocation_request_id as i64 / 100, allocation_request_id as i64 % 100];
                self.cluster.ask_with_size(event.application, size);
                self.preempted += 1;
            }
        }
    }

    /// The last changes of the log.
    fn last_changes(&self, count: usize) -> Vec<Change> {
        let log = self.log.bytes();
        let mut reader = LogReader::new(log.as_slice()).unwrap();
        let mut changes = Vec::new();
        while let Some(change) = reader.next_change().unwrap() {
            changes.push(change);
        }
        changes.split_off(changes.len().saturating_sub(count))
    }

    /// Steps until nothing is left to do at this time.
    fn run_until_quiet(&mut self) {
        for _ in 0..10_000 {
            let has_stepped = self.parts.committer.step() == Step::Worked;
            let mut has_proposed = false;
            for proposer in &mut self.parts.proposers {
                if let Some(batch) = proposer.propose() {
                    proposer.send(batch).unwrap();
                    has_proposed = true;
                }
            }
            self.ask_again();
            if !has_stepped && !has_proposed && self.parts.committer.step() == Step::Idle {
                return;
            }
        }
        panic!("the engine finds no rest: {:#?}", self.last_changes(40));
    }

    /// With constant demand, rounds come to an end: leaves do not take from each other in circles.
    fn expect_end(&mut self) {
        let mut still = 0;
        for _ in 0..400 {
            let before = self.preempted;
            self.clock.set(self.clock.now_ms() + INTERVAL_MS);
            self.cluster.engine.handle().tick().unwrap();
            self.run_until_quiet();
            still = if self.preempted == before { still + 1 } else { 0 };
            if still == 10 {
                return;
            }
        }
        panic!("four hundred rounds have no end");
    }
}

/// Follows the log. Each commit that preempts starts a container, meets all disruption budgets, and takes no queue
/// below its guarantee that is not above the beneficiary.
fn check_log(log: &[u8]) -> Replay {
    let mut reader = LogReader::new(log).unwrap();
    let mut replay = Replay::begin(&mut reader).unwrap();
    while let Some(change) = reader.next_change().unwrap() {
        let before = match &change {
            Change::Committed { request } if !request.release.is_empty() => {
                check_beneficiary(&mut replay, request);
                check_budgets(&mut replay, &request.release);
                let queues = queues(&mut replay, &request.release);
                Some((queues, request.allocate[0].ask))
            }
            _ => None,
        };
        let is_within = |replay: &mut Replay, ask, queue: &String| {
            let view = replay.view();
            let application = view.ask(ask).map(|ask| ask.application());
            application
                .and_then(|id| view.application(id))
                .is_some_and(|one| with_parents(one.queue()).contains(queue))
        };
        let within: Vec<String> = before
            .iter()
            .flat_map(|(queues, ask)| {
                queues.keys().filter(|queue| is_within(&mut replay, *ask, queue)).cloned().collect::<Vec<_>>()
            })
            .collect();
        replay.step(change).unwrap();
        for (queue, (used, guaranteed, lost)) in before.iter().flat_map(|(queues, _)| queues) {
            let stays = |index: usize| used[index] - lost[index] >= guaranteed[index];
            let may_lose = (0..2).any(|index| lost[index] > 0 && stays(index))
                && (0..2).all(|index| lost[index] <= 0 || stays(index) || used[index] < guaranteed[index]);
            assert!(may_lose || within.contains(queue), "{queue}: {used:?} - {lost:?} < {guaranteed:?}");
        }
    }
    replay
}

/// Victims end for one container, or for one gang that starts with its whole minimum.
fn check_beneficiary(replay: &mut Replay, request: &ResourceAllocationCommitRequest) {
    let asks: Vec<AskId> = request.allocate.iter().map(|proposal| proposal.ask).collect();
    let view = replay.view();
    let outstanding = asks.first().and_then(|ask| view.ask(*ask)).map_or(0, |ask| ask.outstanding());
    assert!(asks.len() == 1 || asks.iter().all(|ask| *ask == asks[0]), "one role in these tests");
    assert!(asks.len() == 1 || asks.len() == outstanding as usize, "{} of {outstanding}", asks.len());
}

/// Each budget of an application that loses a victim is met without the victims, and each victim may be one.
fn check_budgets(replay: &mut Replay, victims: &[ContainerId]) {
    let view = replay.view();
    let known = |id: &ContainerId| view.container(*id).unwrap();
    assert!(victims.iter().all(|id| known(id).preemption_cost != PreemptionCost::Never));
    for application in victims.iter().map(|id| known(id).application) {
        let available = view.containers().filter(|(id, one)| {
            one.application == application && one.stopping.is_none() && !victims.contains(id)
        });
        let available = available.count() as u32;
        for budget in view.disruption_budgets(application) {
            let lost = victims.iter().filter(|id| known(id).stopping.is_none()).count();
            assert!(lost == 0 || available >= budget.least(), "{available} of {application}: {budget}");
        }
    }
}

/// The leaf and all queues above it but the root.
fn with_parents(leaf: &str) -> Vec<String> {
    let ends = leaf.match_indices('.').map(|(at, _)| at).skip(1).chain([leaf.len()]);
    ends.map(|end| leaf[..end].to_owned()).collect()
}

/// The use by running containers, the guarantee, and what these victims take, of each queue that has victims.
fn queues(
    replay: &mut Replay,
    victims: &[ContainerId],
) -> BTreeMap<String, (Resources, Resources, Resources)> {
    let view = replay.view();
    let chain = |id: ApplicationId| with_parents(view.application(id).unwrap().queue());
    let mut queues = BTreeMap::new();
    for queue in victims.iter().flat_map(|victim| chain(view.container(*victim).unwrap().application)) {
        let partition = view.partition_ids().next().unwrap();
        let guaranteed = view.queue(&queue).unwrap().quota(partition).guaranteed;
        queues.entry(queue).or_insert((Resources::ZERO, guaranteed, Resources::ZERO));
    }
    for (id, container) in view.containers() {
        for queue in chain(container.application) {
            let Some((used, _, lost)) = queues.get_mut(&queue) else { continue };
            if container.stopping.is_none() {
                *used += container.size;
            }
            if victims.contains(&id) {
                *lost += container.size;
            }
        }
    }
    queues
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn rounds_under_random_load_keep_guarantees_and_end(
        case in case(),
        wait_ms in prop_oneof![Just(0), Just(5 * INTERVAL_MS)],
        ops in prop::collection::vec(op(), 0..200),
    ) {
        let mut load = Load::start(&case, wait_ms);
        for (number, capacity) in case.nodes.iter().enumerate() {
            let node = NodeSpec::new(format!("n{number}"), Resources::new(capacity));
            load.cluster.engine.handle().add_node(node).unwrap();
        }
        case.jobs.iter().for_each(|job| load.cluster.submit_job(job, &[]));
        for op in ops {
            load.act(&case, op);
        }
        load.run_until_quiet();
        load.expect_end();
        let report = load.cluster.engine.audit();
        prop_assert!(report.is_clean(), "{report}");
        let log = load.log.bytes();
        let mut replay = check_log(&log);
        prop_assert_eq!(replay.digest(), load.cluster.engine.digest());
        prop_assert!(replay.audit().is_clean());
    }
}
