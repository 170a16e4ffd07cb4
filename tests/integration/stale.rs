//! Calls with unknown identifiers: of removed objects, of objects whose slot is in use again, and never given out.
//!
//! For each method of a handle that takes an identifier, `rows` says how the caller is told. No such call changes
//! the state or reaches the object in the slot.

mod answers;
mod gang_rows;
mod rows;
mod victims;
mod world;

use std::collections::BTreeSet;

use apportion::event::Refusal;
use apportion::{AskSpec, Engine, Mode, NodeSpec, Resources, RunningContainer};

use answers::Answer;
use rows::{ELSEWHERE, Row, rows};
use world::{Unknown, World};

const API: &str = include_str!("../../scheduler/public-api.txt");
const REFERENCE: &str = include_str!("../../scheduler/doc/handle.md");

/// The types in signatures that are identifiers or hold identifiers.
const WITH_IDENTIFIERS: [&str; 18] = [
    "NodeId",
    "ApplicationId",
    "AskId",
    "ContainerId",
    "ReservationId",
    "QueueId",
    "RackId",
    "AskKindId",
    "GangId",
    "GangSpec",
    "PartitionId",
    "ApplicationSpec",
    "AskSpec",
    "AskOfKind",
    "BulkCall",
    "NodeSpec",
    "NodeReport",
    "ResourceAllocationCommitRequest",
];

/// Each method of a handle, with the text of its parameters.
fn methods() -> Vec<(&'static str, &'static str)> {
    let signatures = API.lines().filter_map(|line| line.strip_prefix("pub fn apportion::Handle::"));
    let methods = signatures.map(|signature| {
        let start = signature.find("(&self").expect("a method");
        let mut depth = 0;
        let end = signature[start..].find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        let name = signature[..start].split('<').next().expect("a name");
        (name, &signature[start..start + end.expect("balanced parentheses")])
    });
    methods.collect()
}

/// Whether the parameters hold identifiers.
fn takes_identifiers(parameters: &str) -> bool {
    let mut words = parameters.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| WITH_IDENTIFIERS.contains(&word))
}

#[test]
fn each_method_that_takes_an_identifier_is_checked() {
    let checked: BTreeSet<&str> = rows().iter().map(|row| row.method).chain(ELSEWHERE).collect();
    let all = methods();
    assert!(all.len() > 40, "{all:?}");
    let missing: Vec<_> = all
        .iter()
        .filter(|(name, parameters)| takes_identifiers(parameters) && !checked.contains(name))
        .collect();
    assert!(missing.is_empty(), "in no row: {missing:?}");
    let known: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
    let gone: Vec<_> = checked.difference(&known).collect();
    assert!(gone.is_empty(), "no methods of a handle: {gone:?}");
}

#[test]
fn the_reference_lists_each_method_once() {
    for (name, _) in methods() {
        assert_eq!(REFERENCE.matches(&format!("[`{name}`]")).count(), 1, "{name} in the table of subjects");
    }
}

#[test]
fn a_call_with_an_unknown_identifier_changes_nothing() {
    for mode in [Mode::Serial, Mode::Background] {
        for unknown in Unknown::ALL {
            let world = World::new(mode, unknown);
            rows().iter().for_each(|row| check(&world, row, &format!("{mode}, {unknown:?}: {}", row.name())));
            world.check_log();
        }
    }
}

fn check(world: &World, row: &Row, context: &str) {
    let before = world.engine.digest();
    let answer = (row.call)(world);
    assert_eq!(answer, (row.expected)(world), "{context}");
    assert_eq!(world.engine.digest(), before, "{context}: the state has changed");
    let audit = world.engine.audit();
    assert!(audit.is_clean(), "{context}: {audit}");
    let told = world.take_told();
    match answer {
        // The application is known, so its stream tells of the refused ask.
        Answer::AskRefused(Refusal::UnknownRack) | Answer::GroupAskRefused(Refusal::UnknownRack) => {
            assert_eq!(told, ["live: ask_refused"], "{context}");
        }
        Answer::AskRefused(_) | Answer::GroupAskRefused(_) if world.unknown == Unknown::Gone => {
            assert_eq!(told, ["former: ask_refused"], "{context}");
        }
        Answer::GangRefused(Refusal::UnknownRack) => assert_eq!(told, ["live: gang_refused"], "{context}"),
        Answer::GangRefused(_) if world.unknown == Unknown::Gone => {
            assert_eq!(told, ["former: gang_refused"], "{context}");
        }
        _ => assert_eq!(told, [""; 0], "{context}"),
    }
}

/// The node registers; its containers of unknown applications are refused one by one.
#[test]
fn a_container_of_an_unknown_application_is_not_recovered() {
    for mode in [Mode::Serial, Mode::Background] {
        for unknown in Unknown::ALL {
            let world = World::new(mode, unknown);
            let size = Resources::new(&[10, 1]);
            let running = [world.unknown_ids.application, world.live.application];
            let running = running.map(|application| RunningContainer::new(application, size)).to_vec();
            let spec = NodeSpec::new("recovered", Resources::new(&[100, 100]));
            let recovery = world.handle.recover_node(spec, running).unwrap();
            world.engine.run_until_quiet();
            let containers = recovery.containers.try_take().unwrap();
            assert_eq!(containers[0], Err(Refusal::ApplicationEnded), "{mode}, {unknown:?}");
            assert!(containers[1].is_ok());
            assert!(world.handle.take_refusals().list.is_empty());
            assert_eq!(world.take_told(), ["live: container_recovered"]);
            assert_eq!(containers_on(&world.engine, "recovered"), 1);
            world.check_log();
        }
    }
}

fn containers_on(engine: &Engine, name: &str) -> usize {
    engine.read(|view| view.nodes().find(|node| node.name() == name).unwrap().containers().len())
}

/// An ask may name a host before the host is registered, so the engine takes an ask for any host. The node in the slot
/// of a former host is not that host.
#[test]
fn an_unknown_host_never_has_room() {
    for mode in [Mode::Serial, Mode::Background] {
        for unknown in Unknown::ALL {
            let world = World::new(mode, unknown);
            let size = Resources::new(&[10, 1]);
            let spec = AskSpec::new(size, 1).on_hosts([world.unknown_ids.node]);
            let bound =
                world.handle.submit_ask(world.live.application, spec.clone().strictly_local()).unwrap();
            let kind = world.handle.register_ask_kind(spec).unwrap();
            world.ask_of_kind(world.live.application, kind).unwrap();
            world.engine.run_until_quiet();
            assert_eq!(world.engine.read(|view| view.ask(bound).unwrap().outstanding()), 1);
            assert_eq!(
                world.take_told(),
                ["live: allocated"],
                "{mode}, {unknown:?}: the other may go anywhere"
            );
            assert!(world.handle.take_refusals().list.is_empty());
            world.check_log();
        }
    }
}

/// A queue that comes back is the same queue, and a queue of another path never gets its identifier.
#[test]
fn a_queue_keeps_its_identifier() {
    let world = World::new(Mode::Serial, Unknown::Taken);
    let former = world.unknown_ids.queue;
    assert_ne!(world.handle.queue("root.other").unwrap(), former);
    world.lay_out(&["default", "other", "former"]);
    assert_eq!(world.handle.queue("root.former").unwrap(), former);
    let ticket = world.handle.update_queue(former, apportion::config::QueueUpdate::default()).unwrap();
    world.engine.run_until_quiet();
    assert!(ticket.try_take().unwrap().is_ok());
}

/// A refused heartbeat is not a change of the log; beside a known node, an unknown one does no harm.
#[test]
fn a_heartbeat_counts_for_the_known_nodes() {
    let world = World::new(Mode::Serial, Unknown::Taken);
    let before = world.engine.read(|view| view.seq());
    world.handle.heartbeat(&[world.unknown_ids.node, world.live.node]).unwrap();
    world.engine.run_until_quiet();
    assert_eq!(world.engine.read(|view| view.seq().0), before.0 + 1);
    let refused = world.handle.take_refusals().list;
    assert_eq!(refused.iter().map(|one| one.refusal).collect::<Vec<_>>(), [Refusal::UnknownNode]);
    assert_eq!(world.engine.stats().refused.values().sum::<u64>(), 1);
    world.check_log();
}
