use std::collections::BTreeMap;
use std::sync::Arc;

use super::directives::{ContainerStart, NodeDirectives};
use super::table::{NodeTable, Progress};
use super::*;
use crate::config::{EngineConfig, QueueConfig};
use crate::ids::{ApplicationId, AskId, ContainerId, SlotId};
use crate::{
    ApplicationSpec, AskSpec, Engine, ExecutionType, ManualClock, Mode, NodeSpec, ResourceTypes, Resources,
};

fn container(index: u32) -> ContainerId {
    ContainerId::new(index, 0)
}

/// The answer to a node that has reached a version.
fn answer(table: &mut NodeTable, version: u64) -> NodeDirectives {
    let starts = table.starts_since(version).into_iter().map(|(container, ask)| ContainerStart {
        container,
        application: ApplicationId::new(0, 0),
        ask,
        allocation_request_id: 0,
        size: Resources::new(&[1]),
        execution_type: ExecutionType::Guaranteed,
    });
    let starts = starts.collect();
    table.directives(version, starts)
}

/// A node that runs container 1 and has confirmed that.
fn with_running() -> (NodeTable, u64) {
    let mut table = NodeTable::new(1);
    table.set(container(1), Progress::Starting(AskId::new(0, 0)), false, 2);
    let version = answer(&mut table, 0).version;
    assert!(answer(&mut table, version).is_empty());
    (table, version)
}

/// The node runs the container and has not been told of the stop.
#[test]
fn a_container_that_ends_before_its_stop_is_told_is_stopped() {
    let (mut table, version) = with_running();
    table.stop(container(1), 3);
    table.end(container(1), 4);
    assert_eq!(answer(&mut table, version).stop, [container(1)]);
}

#[test]
fn a_stop_that_was_confirmed_is_not_repeated() {
    let (mut table, version) = with_running();
    table.stop(container(1), 3);
    let told = answer(&mut table, version);
    assert_eq!(told.stop, [container(1)]);
    assert!(answer(&mut table, told.version).is_empty());
}

/// The answer with the stop may have been lost.
#[test]
fn a_stop_that_was_not_confirmed_is_repeated_after_the_end() {
    let (mut table, version) = with_running();
    table.stop(container(1), 3);
    assert_eq!(answer(&mut table, version).stop, [container(1)]);
    table.end(container(1), 4);
    let repeated = answer(&mut table, version);
    assert_eq!(repeated.stop, [container(1)]);
    assert!(answer(&mut table, repeated.version).is_empty());
    assert!(table.entries.is_empty());
}

#[test]
fn a_stop_that_was_confirmed_is_forgotten_with_the_end() {
    let (mut table, version) = with_running();
    table.stop(container(1), 3);
    let stopping = answer(&mut table, version).version;
    assert!(answer(&mut table, stopping).is_empty());
    table.end(container(1), 4);
    assert!(table.entries.is_empty());
    assert!(table.has_asked, "the node's versions stay valid");
}

/// A node that was told only to stop a container may run it, so the end does not take the stop back.
#[test]
fn a_node_that_was_told_to_stop_knows_the_container() {
    let mut table = NodeTable::new(1);
    table.stop(container(1), 2);
    assert_eq!(answer(&mut table, 0).stop, [container(1)]);
    table.end(container(1), 3);
    assert_eq!(answer(&mut table, 0).stop, [container(1)]);
}

/// Adopted containers are named until the node confirms them, and only where they are new.
#[test]
fn adopted_containers_are_named_until_the_node_confirms_them() {
    let (mut table, version) = with_running();
    let adopted = BTreeMap::from([(container(7), container(8))]);
    table.set(container(2), Progress::Starting(AskId::new(0, 0)), false, 3);
    let before = answer(&mut table, version).version;
    table.adopt(adopted.clone(), 4);
    let first = answer(&mut table, before);
    assert_eq!((&first.adopted, &answer(&mut table, before).adopted), (&adopted, &adopted));
    assert!(answer(&mut table, first.version).is_empty());
    assert!(answer(&mut table, 0).adopted.is_empty(), "a node that begins anew has confirmed them before");
}

/// A new incarnation gives its containers other names, so the renames of the former one mean nothing to it.
#[test]
fn a_new_incarnation_is_not_told_what_the_former_adopted() {
    let (mut table, _) = with_running();
    table.adopt(BTreeMap::from([(container(7), container(8))]), 3);
    table.report(&[container(1)].into(), 4);
    let full = answer(&mut table, 0);
    assert!(full.adopted.is_empty() && full.is_complete);
    assert_eq!(full.keep, [container(1)].into());
}

/// The node confirms a version, although it was told of a later one since: that answer was lost.
#[test]
fn a_start_behind_the_confirmed_version_is_repeated() {
    let mut table = NodeTable::new(1);
    let ask = AskId::new(0, 0);
    table.set(container(1), Progress::Starting(ask), false, 2);
    let first = answer(&mut table, 0).version;
    table.set(container(2), Progress::Starting(ask), false, 3);
    assert_eq!(answer(&mut table, 0).start.len(), 2);
    assert_eq!(table.starts_since(first), [(container(2), ask)]);
}

/// A start that could not be described is not part of the answer, so the node does not confirm it.
#[test]
fn a_start_that_was_not_told_is_not_confirmed() {
    let mut table = NodeTable::new(1);
    table.set(container(1), Progress::Starting(AskId::new(0, 0)), false, 2);
    let version = table.directives(0, Vec::new()).version;
    assert!(table.starts_since(version).is_empty());
    let full = answer(&mut table, 0);
    assert_eq!((full.start.len(), full.keep.len()), (1, 0));
}

/// A node knows the containers that it reported, although it was told of none.
#[test]
fn a_node_knows_what_it_reported() {
    let ask = AskId::new(0, 0);
    let mut table = NodeTable::new(1);
    table.set(container(1), Progress::Starting(ask), false, 2);
    table.set(container(2), Progress::Starting(ask), false, 3);
    assert!(table.complete(container(1)));
    assert_eq!(table.report(&[container(2)].into(), 4), [container(1)].into());
    table.end(container(2), 5);
    assert_eq!(answer(&mut table, 0).stop, [container(2)]);
}

/// A new incarnation has confirmed no stop of the former one, and does not stop what it does not run.
#[test]
fn a_new_incarnation_stops_what_it_runs() {
    let (mut table, version) = with_running();
    table.stop(container(1), 3);
    assert_eq!(answer(&mut table, version).stop, [container(1)]);
    table.report(&[container(1)].into(), 4);
    table.end(container(1), 5);
    assert_eq!(answer(&mut table, 0).stop, [container(1)]);
    table.report(&[].into(), 6);
    assert!(table.entries.is_empty());
}

/// Versions before the first one are of another tracker.
#[test]
fn a_version_before_the_first_gets_the_full_picture() {
    let mut table = NodeTable::new(5);
    table.set(container(1), Progress::Running, true, 6);
    assert!(answer(&mut table, 4).is_complete);
    assert!(!answer(&mut table, 6).is_complete);
}

#[test]
fn a_node_that_is_forgotten_leaves_nothing() {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let node = handle.add_node(NodeSpec::new("a", Resources::new(&[100, 10]))).unwrap();
    let spec = ApplicationSpec::new("job", "root.default", "ann");
    let job = handle.submit_application(spec, &handle.event_stream(100)).unwrap();
    handle.submit_ask(job, AskSpec::new(Resources::new(&[10, 1]), 3)).unwrap();
    engine.run_until_quiet();
    let mut tracker = DirectiveTracker::new(handle);
    assert_eq!(tracker.sizes(), (1, 3));
    tracker.forget_node(node);
    assert_eq!(tracker.sizes(), (0, 0));
}
