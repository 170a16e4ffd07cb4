//! Calls about unknown objects, and empty containers.

use super::{Bench, config, leaf, memory};
use crate::change::{AskSpec, NodeSpec};
use crate::engine::{Handle, SubmitError};
use crate::event::{EventKind, Refusal, Refused, Subject};
use crate::facts::{ApplicationEnd, Blacklist, NodeAttributes, NodeState};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, PartitionId};
use crate::resource::{DeviceNeed, ResourceTypes, Resources};

/// Identifiers of removed objects. A successor has taken each slot.
struct Gone {
    bench: Bench,
    node: NodeId,
    application: ApplicationId,
    ask: AskId,
    container: ContainerId,
}

fn gone() -> Gone {
    let bench = Bench::serial(config([leaf("a"), leaf("b")]));
    let handle = bench.engine.handle();
    let (node, application) = (bench.node("n1", 4), bench.application("root.a"));
    let ask = bench.ask(application, 1, 1);
    bench.engine.run_until_quiet();
    let container = bench.engine.read(|view| view.containers().next().unwrap().0);
    handle.complete_container(container).unwrap();
    handle.end_application(application, ApplicationEnd::Finished).unwrap();
    drop(handle.remove_node(node).unwrap());
    bench.engine.run_until_quiet();
    bench.node("n1", 4);
    bench.ask(bench.application("root.a"), 1, 1);
    bench.engine.run_until_quiet();
    assert!(handle.take_refusals().list.is_empty() && bench.engine.health().refused.is_empty());
    Gone { bench, node, application, ask, container }
}

impl Gone {
    /// Returns the refusals of `call`, and checks that the state is unchanged.
    fn refusals(&self, call: impl FnOnce(&Handle) -> Result<(), SubmitError>) -> Vec<(Subject, Refusal)> {
        let Self { bench, .. } = self;
        let (handle, other) = (bench.engine.handle(), bench.engine.handle());
        let before = bench.engine.canonical_bytes();
        call(&handle).unwrap();
        bench.engine.run_until_quiet();
        assert!(bench.engine.canonical_bytes() == before, "a refused call changes nothing");
        assert!(other.take_refusals().list.is_empty(), "another handle made the call");
        let refusals = handle.clone().take_refusals();
        assert_eq!((refusals.missed, handle.take_refusals().list), (0, Vec::new()), "each is told once");
        refusals.list.into_iter().map(|Refused { subject, refusal, .. }| (subject, refusal)).collect()
    }
}

#[test]
fn a_call_about_a_thing_that_is_gone_is_refused_to_the_caller() {
    let gone = gone();
    let Gone { node, application, ask, container, .. } = gone;
    type Call<'c> = Box<dyn Fn(&Handle) -> Result<(), SubmitError> + 'c>;
    let nothing = Blacklist::new;
    let of_container: [Call<'_>; 2] = [
        Box::new(|handle| handle.complete_container(container)),
        Box::new(|handle| handle.release_container(container)),
    ];
    for call in of_container {
        assert_eq!(gone.refusals(call), [(Subject::Container(container), Refusal::UnknownContainer)]);
    }
    let many = gone.refusals(|handle| handle.complete_containers([container, container]));
    assert_eq!(many, [(Subject::Container(container), Refusal::UnknownContainer); 2]);
    let cancelled = gone.refusals(|handle| handle.cancel_ask(ask, 1));
    assert_eq!(cancelled, [(Subject::Ask(ask), Refusal::UnknownAsk)]);
    let of_application: [Call<'_>; 3] = [
        Box::new(|handle| handle.end_application(application, ApplicationEnd::Killed)),
        Box::new(|handle| handle.set_application_priority(application, 1)),
        Box::new(|handle| handle.update_blacklist(application, nothing(), nothing())),
    ];
    for call in of_application {
        assert_eq!(gone.refusals(call), [(Subject::Application(application), Refusal::ApplicationEnded)]);
    }
    let of_node: [Call<'_>; 4] = [
        Box::new(|handle| handle.drain_node(node)),
        Box::new(|handle| handle.activate_node(node)),
        Box::new(|handle| handle.update_node(node, memory(1), NodeAttributes::new())),
        Box::new(|handle| handle.set_node_partition(node, PartitionId::DEFAULT)),
    ];
    for call in of_node {
        assert_eq!(gone.refusals(call), [(Subject::Node(node), Refusal::UnknownNode)]);
    }
    let counted =
        [("application_ended", 3), ("unknown_ask", 1), ("unknown_container", 4), ("unknown_node", 4)];
    assert_eq!(gone.bench.engine.health().refused, counted.into());
}

/// The application's slot and its stream have a new owner, who gets no event.
#[test]
fn an_ask_for_an_ended_application_is_refused_to_the_caller() {
    let gone = gone();
    let (bench, handle) = (&gone.bench, gone.bench.engine.handle());
    let late = handle.submit_ask(gone.application, AskSpec::new(memory(1), 1)).unwrap();
    let asks = [gone.application; 2].map(|application| (application, AskSpec::new(memory(1), 1)));
    let many = handle.submit_asks(asks).unwrap();
    bench.engine.run_until_quiet();
    let expected = [late, many[0], many[1]].map(|ask| (Subject::Ask(ask), Refusal::ApplicationEnded));
    let told = handle.take_refusals().list;
    assert_eq!(told.iter().map(|one| (one.subject, one.refusal)).collect::<Vec<_>>(), expected);
    assert_eq!(
        told[0].to_string(),
        format!("{late}: the application has ended, or this engine never had it")
    );
}

#[test]
fn a_call_with_a_ticket_is_refused_there_and_nowhere_else() {
    let gone = gone();
    let handle = gone.bench.engine.handle();
    let removed = handle.remove_node(gone.node).unwrap();
    let moved = handle.move_application(gone.application, "root.b").unwrap();
    let resized = handle.resize_container(gone.container, memory(1)).unwrap();
    let promoted = handle.promote_container(gone.container).unwrap();
    gone.bench.engine.run_until_quiet();
    assert_eq!(removed.try_take(), Some(Err(Refusal::UnknownNode)));
    assert_eq!(moved.try_take(), Some(Err(Refusal::ApplicationEnded)));
    assert_eq!(resized.try_take(), Some(Err(Refusal::UnknownContainer)));
    assert_eq!(promoted.try_take(), Some(Err(Refusal::UnknownContainer)));
    assert!(handle.take_refusals().list.is_empty());
    let counted = [("application_ended", 1), ("unknown_container", 2), ("unknown_node", 1)];
    assert_eq!(gone.bench.engine.health().refused, counted.into());
}

/// Heartbeats of known nodes count.
#[test]
fn of_many_heartbeats_those_of_removed_nodes_are_refused() {
    let gone = gone();
    let (engine, handle) = (&gone.bench.engine, gone.bench.engine.handle());
    let here = handle.node("n1").unwrap();
    handle.heartbeat(&[gone.node, here, gone.node]).unwrap();
    engine.run_until_quiet();
    let told = handle.take_refusals().list;
    assert_eq!(told.iter().map(|one| one.subject).collect::<Vec<_>>(), [Subject::Node(gone.node); 2]);
}

#[test]
fn an_unknown_partition_is_refused_with_the_known_numbers() {
    let mut config = config([leaf("a")]);
    config.partitions = vec!["gpu".into()];
    let bench = Bench::serial(config);
    let (handle, node) = (bench.engine.handle(), bench.node("n1", 1));
    let text = handle.set_node_partition(node, PartitionId(2)).unwrap_err().to_string();
    assert!(
        text.starts_with("partition-2 is unknown; the partitions of this engine are partition-0 to "),
        "{text}"
    );
    assert!(text.contains("to partition-1, and `Handle::partition`"), "{text}");
    assert_eq!(handle.set_node_partition(node, PartitionId(1)), Ok(()));
}

/// A caller that never takes refusals costs a bounded amount of memory.
#[test]
fn the_newest_refusals_are_kept_and_the_others_counted() {
    let gone = gone();
    let handle = gone.bench.engine.handle();
    handle.complete_containers(vec![gone.container; 5_000]).unwrap();
    handle.cancel_ask(gone.ask, 1).unwrap();
    gone.bench.engine.run_until_quiet();
    let refusals = handle.take_refusals();
    assert_eq!((refusals.list.len(), refusals.missed), (4_096, 905));
    assert_eq!(refusals.list.last().unwrap().subject, Subject::Ask(gone.ask));
}

#[test]
fn a_node_may_be_added_again_right_after_it_was_removed() {
    let bench = Bench::serial(config([leaf("a")]));
    let handle = bench.engine.handle();
    let old = bench.node("n1", 4);
    // This also works while the node's registration is still in the inbox.
    let first = handle.remove_node(old).unwrap();
    assert_eq!(handle.node("n1"), None);
    let middle = handle.add_node(NodeSpec::new("n1", memory(6))).unwrap();
    bench.engine.run_until_quiet();
    assert!(matches!(first.try_take(), Some(Ok(_))));
    let second = handle.remove_node(middle).unwrap();
    // A second removal of the same node leaves the name to its successor.
    let new = handle.add_node(NodeSpec::new("n1", memory(8))).unwrap();
    let third = handle.remove_node(middle).unwrap();
    assert_eq!(
        handle.add_node(NodeSpec::new("n1", memory(9))),
        Err(SubmitError::DuplicateNode { name: "n1".into() })
    );
    bench.engine.run_until_quiet();
    assert!(matches!(second.try_take(), Some(Ok(_))));
    assert_eq!(third.try_take(), Some(Err(Refusal::UnknownNode)));
    assert_eq!((handle.node("n1"), bench.engine.read(|view| view.node_count())), (Some(new), 1));
    let there = bench.engine.read(|view| view.node(new).map(|node| (node.capacity()[0], node.state())));
    assert_eq!(there, Some((8, NodeState::Active)));
}

#[test]
fn an_empty_container_is_refused() {
    let bench = Bench::serial(config([leaf("a")]));
    let (handle, application) = (bench.engine.handle(), bench.application("root.a"));
    let nothing = || AskSpec::new(Resources::ZERO, 1);
    assert_eq!(handle.submit_ask(application, nothing()), Err(SubmitError::EmptyContainer));
    let many = [AskSpec::new(memory(1), 1), nothing()].map(|spec| (application, spec));
    assert_eq!(handle.submit_asks(many), Err(SubmitError::EmptyContainer));
    bench.node("n1", 4);
    bench.ask(application, 1, 1);
    bench.engine.run_until_quiet();
    let container = bench.engine.read(|view| view.containers().next().unwrap().0);
    let shrunk = handle.resize_container(container, Resources::ZERO).unwrap();
    bench.engine.run_until_quiet();
    assert_eq!(shrunk.try_take(), Some(Err(Refusal::EmptyContainer)));
}

#[test]
fn an_empty_container_runs_where_the_configuration_allows_it() {
    let mut config = config([leaf("a")]);
    config.allocation.allow_empty = true;
    let bench = Bench::serial(config);
    bench.node("n1", 4);
    let ask = bench.ask(bench.application("root.a"), 0, 2);
    bench.engine.run_until_quiet();
    let placed = std::iter::from_fn(|| bench.events.try_next().unwrap());
    let is_placed = |kind: &EventKind| matches!(kind, EventKind::Allocated { ask: of, .. } if *of == ask);
    assert_eq!(placed.filter(|event| is_placed(&event.kind)).count(), 2);
    assert!(bench.engine.audit().is_clean());
}

/// Rounding up to the minimum makes a container non-empty, and so does a device.
#[test]
fn a_container_that_is_rounded_up_or_has_a_device_is_not_empty() {
    let mut rounded = config([leaf("a")]);
    rounded.allocation.minimum = memory(2);
    let mut with_devices = config([leaf("a")]);
    with_devices.resources =
        ResourceTypes::new(["memory_mib", "gpu_milli"]).unwrap().with_devices("gpu_milli").unwrap();
    let need = DeviceNeed { count: 1, milli: 500 };
    for (config, spec) in [
        (rounded, AskSpec::new(Resources::ZERO, 1)),
        (with_devices, AskSpec::new(Resources::ZERO, 1).with_devices(need)),
    ] {
        let bench = Bench::serial(config);
        assert!(bench.engine.handle().submit_ask(bench.application("root.a"), spec).is_ok());
    }
}
