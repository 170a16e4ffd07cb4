use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::backlog::LaneWalk;
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::{ApplicationOrdering, Capacity, EngineConfig, Percent, QueueConfig};
use crate::engine::{Engine, Mode};
use crate::facts::{LocalityPreference, NodeState, PartitionShare};
use crate::ids::{AskId, LaneId, PartitionId, QueueId};
use crate::request::RejectReason;
use crate::resource::{ResourceTypes, Resources};

/// A state with pending asks: FIFO and fair leaves, a user with two applications, asks for one container or several,
/// some with hosts.
fn pending(asks: &[(usize, i64, u32, bool)]) -> State {
    let leaf = |name, ordering| {
        let leaf = QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)));
        leaf.with_ordering(ordering).with_user_limit_factor(None)
    };
    let leaves = [leaf("fifo", ApplicationOrdering::Fifo), leaf("fair", ApplicationOrdering::Fair)];
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(leaves));
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let node = |name| handle.add_node(NodeSpec::new(name, Resources::new(&[100, 100]))).unwrap();
    let nodes = [node("a"), node("b")];
    let events = handle.event_stream(1 << 10);
    let submit = |number: usize| {
        let (queue, user) = (["root.fifo", "root.fair"][number % 2], ["x", "y"][number / 4]);
        handle.submit_application(ApplicationSpec::new("application", queue, user), &events).unwrap()
    };
    let applications: Vec<_> = (0..8).map(submit).collect();
    // Each application runs something, so that shares differ.
    for (number, application) in applications.iter().enumerate() {
        handle.submit_ask(*application, AskSpec::new(Resources::new(&[number as i64 + 1, 1]), 1)).unwrap();
    }
    engine.run_until_quiet();
    nodes.into_iter().for_each(|node| handle.drain_node(node).unwrap());
    for &(application, size, count, names_host) in asks {
        let mut spec = AskSpec::new(Resources::new(&[size, 1]), count);
        if names_host {
            spec.preference = LocalityPreference {
                hosts: [nodes[0]].into_iter().collect(),
                relax_locality: true,
                ..LocalityPreference::default()
            };
        }
        handle.submit_ask(applications[application], spec).unwrap();
    }
    engine.run_until_quiet();
    let mut state = engine.shared_state();
    let (mut effects, mut log, mut stats) = outputs();
    let mut committer =
        Committer { state: &mut state, effects: &mut effects, log: &mut log, stats: &mut stats };
    for node in nodes {
        committer.apply(Change::NodeStateSet { node, state: NodeState::Active });
    }
    committer.state.recompute_limits();
    state
}

fn outputs() -> (Effects, LogBuffer, EngineStats) {
    (Effects::default(), LogBuffer::off(), EngineStats::default())
}

/// Everything after a pass's request, decided as plain or in general.
fn decided(mut state: State, request: &ResourceAllocationCommitRequest, is_without_gangs: bool) -> String {
    let (mut effects, mut log, mut stats) = outputs();
    let mut committer =
        Committer { state: &mut state, effects: &mut effects, log: &mut log, stats: &mut stats };
    let checks = BatchChecks { is_without_gangs, ..BatchChecks::default() };
    assert!(committer.commit_proposed(request, &checks), "there is room for all");
    format!("{:?} {effects:?} {stats:?} {}", served_order(&state), without_heaps(&state))
}

/// The runnable lanes of each queue in their order.
fn served_order(state: &State) -> Vec<Vec<LaneId>> {
    let queues = (0..state.facts.tree.queues.len() as u32).map(QueueId);
    let walked = |queue| {
        let lanes = state.backlog.runnable_lanes(queue, PartitionShare::own(PartitionId::DEFAULT));
        let mut walk = LaneWalk::default();
        walk.start(lanes);
        std::iter::from_fn(|| walk.next_up_to(None, lanes)).collect()
    };
    queues.map(walked).collect()
}

/// The whole state, but the heaps of runnable lanes with the positions in them: equal heaps may be laid out differently.
fn without_heaps(state: &State) -> String {
    let text = format!("{state:?}");
    let (before, heaps) = text.split_once("runnable: RunnableLanes").expect("the backlog has the heaps");
    let (_, after) = heaps.split_once("waits: Waits").expect("the waits come after the heaps");
    format!("{before}{after}")
}

proptest! {
    /// A plain request in one step changes the same as in general: the facts, everything derived, events and counts.
    #[test]
    fn one_step_equals_the_general_path(
        asks in proptest::collection::vec((0..8usize, 1..4i64, 1..3u32, any::<bool>()), 1..12),
        served in 0..12usize,
        node in 0..2usize,
        was_rejected: bool,
    ) {
        let mut state = pending(&asks);
        let pending: Vec<AskId> = state.facts.asks.iter().map(|(id, _)| id).collect();
        let ask = pending[served % pending.len()];
        let node = state.facts.nodes.iter().nth(node).expect("there are two").0;
        let request = ResourceAllocationCommitRequest::allocate(ask, node);
        prop_assert_eq!(
            accept_plain(&state.facts, request.as_single().unwrap(), false),
            state.facts.asks.at(ask).asked.get() == 1
        );
        prop_assert!(state.in_flight.of_ask(ask).try_add(1));
        if was_rejected {
            state.backlog.starved.record_rejected(ask);
            state.backlog.notes.record_rejected(ask, RejectReason::NodeFull, 0);
        }
        let (as_plain, in_general) = (decided(state.clone(), &request, true), decided(state, &request, false));
        prop_assert!(as_plain == in_general, "{}\n{}", as_plain, in_general);
    }
}
