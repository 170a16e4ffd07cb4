//! Changes and snapshots that no engine writes, and orders that a snapshot must keep.

use std::io;
use std::sync::Arc;

use super::*;
use crate::config::{Capacity, EngineConfig, OpportunisticPolicy, Percent, QueueConfig, QueueUpdate};
use crate::gang::GangSpec;
use crate::ids::{ApplicationId, AskId, GangId, NodeId, PartitionId, QueueId, RackId, SlotId};
use crate::log::{LogSink, LoggedGroup};
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::{ResourceTypes, Resources};
use crate::{ApplicationSpec, AskSpec, NodeSpec, RunningContainer};

fn application() -> ApplicationId {
    ApplicationId::new(0, 0)
}

fn amount(units: i64) -> Resources {
    Resources::new(&[units, units])
}

fn ask(number: u32) -> AskId {
    AskId::new(number, 0)
}

fn node(number: u32) -> NodeId {
    NodeId::new(number, 0)
}

/// An engine that queues opportunistic containers, with an application and nodes of these sizes.
fn replay(nodes: &[i64]) -> Replay {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.reservations.nodes = Percent::whole(100);
    config.opportunistic = Some(OpportunisticPolicy { queue_length_max: 1 });
    let mut replay = Replay::of(State::new(&Arc::new(config)), Identifiers::default());
    replay.step(Change::RackNamed { rack: RackId(0), name: "rack".into() }).unwrap();
    for (number, size) in (0..).zip(nodes) {
        let spec = Box::new(NodeSpec::new(format!("n{number}"), amount(*size)));
        replay.step(Change::NodeAdded { node: node(number), rack: RackId(0), spec }).unwrap();
    }
    let spec = Box::new(ApplicationSpec::new("job", "root.default", "ann"));
    replay.step(Change::ApplicationSubmitted { application: application(), spec }).unwrap();
    replay
}

fn submit(ask: AskId, spec: AskSpec) -> Change {
    Change::AskSubmitted { application: application(), ask, spec }
}

fn recover(ask: AskId, node: NodeId) -> Change {
    let container = Box::new(RunningContainer::new(application(), amount(1)));
    Change::ContainerRecovered { ask, node, container }
}

/// No node holds it, so it is pending.
#[test]
fn no_ask_gets_the_identifier_of_a_pending_opportunistic_ask() {
    let mut replay = replay(&[1]);
    replay.step(submit(ask(0), AskSpec::new(amount(5), 1).opportunistic())).unwrap();
    let gang = GangSpec::new(application()).with_role("worker", AskSpec::new(amount(1), 1));
    for id in [ask(0), ask(0).successor()] {
        for change in [
            submit(id, AskSpec::new(amount(1), 1)),
            submit(id, AskSpec::new(amount(1), 1).opportunistic()),
            recover(id, node(0)),
            Change::GangSubmitted { asks: vec![id], spec: Box::new(gang.clone()) },
        ] {
            let said = format!("{change:?}");
            let error = replay.step(change).expect_err(&said).to_string();
            assert!(error.contains("the identifier is taken"), "{said}: {error}");
        }
    }
    replay.step(submit(ask(1), AskSpec::new(amount(1), 1))).unwrap();
}

#[test]
fn the_ask_of_a_recovered_container_has_ended() {
    let mut replay = replay(&[1]);
    assert!(!replay.view().is_ask_over(ask(3)));
    replay.step(recover(ask(3), node(0))).unwrap();
    assert!(replay.view().is_ask_over(ask(3)));
    assert!(!replay.view().is_ask_over(ask(2)), "it was not given out");
    replay.step(submit(ask(3).successor(), AskSpec::new(amount(1), 1))).unwrap();
}

/// A later reservation gets the slot of an ended one, before that of the earlier reservation.
#[test]
fn a_snapshot_keeps_the_order_of_reservations() {
    let mut replay = replay(&[4, 4, 4]);
    replay.step(submit(ask(0), AskSpec::new(amount(4), 1))).unwrap();
    replay.step(submit(ask(1), AskSpec::new(amount(4), 2))).unwrap();
    let reserve =
        |ask, node| Change::Committed { request: ResourceAllocationCommitRequest::reserve(ask, node) };
    replay.step(reserve(ask(0), node(0))).unwrap();
    replay.step(reserve(ask(1), node(1))).unwrap();
    replay.step(Change::AskCancelled { ask: ask(0), units: 1 }).unwrap();
    replay.step(reserve(ask(1), node(2))).unwrap();
    let of_ask = |replay: &Replay| replay.state.facts.asks.at(ask(1)).reservations().to_vec();
    let listed = |replay: &Replay| {
        let shape = replay.state.facts.asks.at(ask(1)).shape;
        replay.state.backlog.reservations_for(shape).to_vec()
    };
    let slots: Vec<_> = of_ask(&replay).iter().map(|id| id.index()).collect();
    assert_eq!(slots, [1, 0]);
    assert_eq!(listed(&replay), of_ask(&replay));
    let mut bytes = Vec::new();
    replay.write_snapshot(&mut bytes).unwrap();
    let again = Replay::read(&bytes[..], None).unwrap();
    assert_eq!(listed(&again), of_ask(&again), "the earlier reservation stays first");
}

/// A change that does not fit names the mistake.
#[test]
fn each_mistake_of_a_change_is_named() {
    let mut replay = replay(&[4]);
    let (far, unknown) = (RackId(1 << 30), PartitionId(9));
    let spec = || NodeSpec::new("later", amount(1));
    let add = |rack, spec: NodeSpec| Change::NodeAdded { node: node(1), rack, spec: Box::new(spec) };
    let update = Box::new(QueueUpdate {
        capacity: Some(Capacity::Percent(Percent::whole(50))),
        ..QueueUpdate::default()
    });
    for (change, problem) in [
        (add(far, spec()), "the rack is not from this engine"),
        (add(RackId(0), spec().in_partition(unknown)), "no such partition"),
        (Change::NodePartitionSet { node: node(0), partition: unknown }, "no such partition"),
        (submit(ask(0), AskSpec::new(amount(1), 1).in_partition(unknown)), "no such partition"),
        (
            submit(ask(0), AskSpec::new(amount(1), 1).on_racks([RackId(1)])),
            "the rack is not from this engine",
        ),
        (submit(ask(0), AskSpec::new(amount(1), 0)), "a count is zero"),
        (Change::RackNamed { rack: far, name: "far".into() }, "the rack is not from this engine"),
        (Change::QueueUpdated { queue: QueueId(0), update }, "invalid: queue `root`: the root's capacity"),
        (Change::QueueExpired { queue: QueueId(1) }, "only an auto-created queue"),
    ] {
        let said = format!("{change:?}");
        let error = replay.step(change).expect_err(&said).to_string();
        assert!(error.contains(problem), "{said}: {error}");
    }
}

/// It is not unknown: it waits, and holds no room.
#[test]
fn a_waiting_gang_without_held_room_has_nothing_to_give_back() {
    let mut replay = replay(&[4]);
    let spec = GangSpec::new(application()).with_role("worker", AskSpec::new(amount(4), 1));
    replay.step(Change::GangSubmitted { asks: vec![ask(0)], spec: Box::new(spec) }).unwrap();
    let (known, unknown) = (GangId::with_first(ask(0)), GangId::with_first(ask(1)));
    let partition = PartitionId::DEFAULT;
    for (gang, problem) in [(known, "the gang holds no room there"), (unknown, "this engine never had it")] {
        for change in [
            Change::RoomGivenBack { gang, partition },
            Change::GangTurnEnded { gang },
            Change::PlaceholdersTimedOut { gang },
        ] {
            let said = format!("{change:?}");
            let error = replay.step(change).expect_err(&said).to_string();
            assert!(error.contains(problem), "{said}: {error}");
        }
    }
    let held = Change::RoomHeld { ask: ask(0), node: node(7) };
    let error = replay.step(held).unwrap_err().to_string();
    assert!(error.contains("may hold no room on the node"), "{error}");
}

/// The first node added behind it would get the identifier of another one.
#[test]
fn a_snapshot_whose_pools_contradict_its_state_is_refused() {
    let mut replay = replay(&[1]);
    replay.identifiers = Identifiers::default();
    let mut bytes = Vec::new();
    replay.write_snapshot(&mut bytes).unwrap();
    assert!(matches!(Replay::read(&bytes[..], None), Err(LogError::Snapshot)));
}

/// A sink that takes everything.
struct Sink {
    is_required: bool,
}

impl LogSink for Sink {
    fn start(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn append(&mut self, _: &LoggedGroup<'_>) -> io::Result<()> {
        Ok(())
    }

    fn is_required(&self) -> bool {
        self.is_required
    }
}

#[test]
fn a_followed_log_is_required_if_its_sink_is() {
    for is_required in [false, true] {
        let (log, _follower) = Follower::beside(Box::new(Sink { is_required }));
        assert_eq!(log.is_required(), is_required);
    }
}
