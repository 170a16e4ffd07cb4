//! Tests that the audit finds a damage to each invariant that it checks.

use std::sync::Arc;

use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::{EngineConfig, HolderLimit, ParallelLimits, QueueConfig};
use crate::engine::{Engine, Mode};
use crate::facts::{ApplicationEnd, EndCause, PlaceholderGang, Stopping};
use crate::gang::GangSpec;
use crate::ids::{AskId, ContainerId, NodeId, PartitionId, QueueId, ReservationId};
use crate::resource::{DeviceNeed, ResourceTypes, Resources};
use crate::state::State;

const NODES: [&str; 3] = ["n0", "n1", "n2"];

/// A state with three nodes of 8 and one device each. Containers: 4, 3 with half a device, and 5 twice. Asks: one of 2
/// that waits for a host, one of 6 with a reservation, and one of 9 that no node can hold.
fn state() -> State {
    let types = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let most = std::array::from_fn(|i| (i == 0).then_some(100));
    let limit = HolderLimit { users: vec!["*".to_owned()], maximum: most, ..HolderLimit::default() };
    let parallel = ParallelLimits { per_user: Some(9), ..ParallelLimits::default() };
    let mut config =
        EngineConfig::new(types, QueueConfig::single_leaf().with_limits([limit]).with_parallel(parallel));
    config.reservations.delay_ms = Some(0);
    config.node_order = crate::config::NodeOrderKind::First;
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(1 << 10);
    let add = |name| handle.add_node(NodeSpec::new(name, Resources::new(&[8])).with_devices(1)).unwrap();
    let nodes = NODES.map(add);
    let application = ApplicationSpec::new("application", "root.default", "user");
    let application = handle.submit_application(application, &events).unwrap();
    let half = DeviceNeed { count: 1, milli: 500 };
    for ask in [
        AskSpec::new(Resources::new(&[4]), 1).with_tag("web"),
        AskSpec::new(Resources::new(&[3]), 1).with_devices(half),
        AskSpec::new(Resources::new(&[5]), 2),
        AskSpec::new(Resources::new(&[2]), 1).on_hosts([nodes[0]]).strictly_local(),
        AskSpec::new(Resources::new(&[6]), 1),
        AskSpec::new(Resources::new(&[9]), 1),
    ] {
        handle.submit_ask(application, ask).unwrap();
        engine.run_until_quiet();
    }
    let state = engine.shared_state();
    assert_eq!(violations(&state), [""; 0]);
    assert_eq!(state.facts.reservations.len(), 1, "one ask holds a reservation");
    state
}

fn violations(state: &State) -> Vec<String> {
    let found = state.audit().violations;
    let mut names: Vec<_> = found.iter().map(|violation| violation.invariant.to_string()).collect();
    names.dedup();
    names
}

/// Damages a sound state, and asserts that the audit names the invariant.
fn expect(invariant: &str, damage: impl FnOnce(&mut State)) {
    let mut state = state();
    damage(&mut state);
    let found = violations(&state);
    assert!(found.iter().any(|name| name == invariant), "{invariant} is broken, the audit found {found:?}");
}

fn first_node(state: &State) -> NodeId {
    state.facts.nodes.iter().next().unwrap().0
}

fn first_container(state: &State) -> ContainerId {
    state.facts.containers.iter().next().unwrap().0
}

fn reservation(state: &State) -> ReservationId {
    state.facts.reservations.iter().next().unwrap().0
}

fn last_ask(state: &State) -> AskId {
    state.facts.asks.iter().last().unwrap().0
}

#[test]
fn i2_inactive_applications_are_counted() {
    expect("I2", |state| {
        let application = state.facts.applications.iter().next().unwrap().0;
        state.facts.applications.at_mut(application).is_active = false;
    });
    expect("I2", |state| state.facts.tree.users[0].masters[0] = Resources::new(&[1]));
}

#[test]
fn i2_active_applications_are_counted_by_user() {
    expect("I2", |state| state.facts.tree.queues[0].active_by_user.clear());
}

#[test]
fn i1_room_of_a_node() {
    expect("I1", |state| {
        let node = first_node(state);
        state.facts.nodes.at_mut(node).room.free += Resources::new(&[1]);
    });
}

#[test]
fn i1_room_of_a_device() {
    expect("I1", |state| {
        let with_device = |node: &&crate::facts::Node| node.room.devices.free_milli() == [500];
        let node = state.facts.nodes.iter().map(|(_, node)| node).find(with_device).unwrap().name.clone();
        let id = state.facts.nodes.iter().find(|(_, other)| other.name == node).unwrap().0;
        state.facts.nodes.at_mut(id).room.devices = crate::resource::Devices::new(1);
    });
}

#[test]
fn i1_capacity_of_a_partition() {
    expect("I1", |state| state.facts.tree.partitions[0].capacity += Resources::new(&[1]));
}

#[test]
fn i2_what_a_queue_uses() {
    expect("I2", |state| state.facts.tree.queues[0].quota[0].used += Resources::new(&[1]));
    expect("I2", |state| state.facts.tree.queues[1].quota[0].reserved += Resources::new(&[1]));
}

#[test]
fn i2_use_of_users_and_groups_with_limits() {
    expect("I2", |state| state.facts.tree.limit_usages.all[0].used[0] += Resources::new(&[1]));
    expect("I2", |state| state.facts.tree.limit_usages.all[0].active += 1);
    expect("I2", |state| state.facts.tree.users[0].limit_usages.clear());
    // Only its limit differs from the configuration.
    expect("I2", |state| state.facts.tree.limit_usages.all[0].parallel = Some(9));
}

#[test]
fn i2_use_of_a_user_and_an_application() {
    expect("I2", |state| state.facts.tree.users[0].used[0] += Resources::new(&[1]));
    expect("I2", |state| {
        let id = state.facts.applications.iter().next().unwrap().0;
        state.facts.applications.at_mut(id).used += Resources::new(&[1]);
    });
}

#[test]
fn i4_outstanding_units_of_an_ask() {
    expect("I4", |state| {
        let ask = last_ask(state);
        state.facts.asks.at_mut(ask).extras_mut().cancelled += 1;
    });
    expect("I4", |state| state.facts.tree.queues[1].quota[0].pending += Resources::new(&[1]));
}

#[test]
fn i5_a_container_is_listed_by_its_node() {
    expect("I5", |state| {
        let container = first_container(state);
        let node = state.facts.containers.at(container).node;
        state.facts.nodes.at_mut(node).containers.retain(|listed| *listed != container);
    });
}

#[test]
fn i5_a_container_that_is_being_stopped_is_there() {
    expect("I5", |state| {
        let stopping = Stopping { cause: EndCause::Released, until_ms: 1 };
        state.facts.stopping.insert(ContainerId::from_number(4_711), stopping);
    });
}

#[test]
fn i5_an_application_that_is_ending_waits_for_its_containers() {
    expect("I5", |state| {
        let application = state.facts.containers.at(first_container(state)).application;
        state.facts.applications.at_mut(application).ending = Some(ApplicationEnd::Killed);
    });
}

#[test]
fn i6_a_reservation_is_known_to_its_node_and_its_ask() {
    expect("I6", |state| {
        let node = state.facts.reservations.at(reservation(state)).node;
        state.facts.nodes.at_mut(node).reservation = None;
    });
    expect("I6", |state| {
        let ask = state.facts.reservations.at(reservation(state)).ask;
        state.facts.asks.at_mut(ask).extras_mut().reservations.clear();
    });
}

#[test]
fn i9_nothing_stays_in_flight() {
    let state = state();
    let mut report = state.audit();
    state.audit_nothing_in_flight(&mut report);
    assert!(report.is_clean());
    state.in_flight.queues.add(QueueId::ROOT, PartitionId::DEFAULT, &Resources::new(&[1]));
    state.audit_nothing_in_flight(&mut report);
    assert_eq!(report.violations[0].invariant, "I9");
}

#[test]
fn i10_every_ask_is_in_the_backlog() {
    expect("I10", |state| {
        let ask = last_ask(state);
        state.backlog.remove_ask(ask, state.facts.asks.at(ask));
    });
}

#[test]
fn i12_the_backlog_equals_a_rebuilt_one() {
    expect("I12", |state| {
        let id = reservation(state);
        let shape = state.facts.asks.at(state.facts.reservations.at(id).ask).shape;
        state.backlog.remove_reservation(id, shape);
    });
    expect("I12", |state| {
        let set = crate::ids::SetId::new(PartitionId::DEFAULT, 0);
        state.backlog.add_ready_reservation(set);
    });
}

#[test]
fn i12_tags_are_counted_where_their_containers_are() {
    expect("I12", |state| {
        let container = state.facts.containers.at(first_container(state)).clone();
        let tags = state.facts.shapes.at(container.shape).tags().to_vec();
        assert_eq!(tags.len(), 1, "the first container has a tag");
        let node = state.facts.nodes.at(container.node);
        state.facts.tags.add(&tags, node, container.application, 1);
    });
}

/// The asks for placeholders follow from the gangs. Here they name an ask whose gang has lost its task group.
#[test]
fn i12_the_asks_for_placeholders_are_those_of_gangs() {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(1);
    let application = ApplicationSpec::new("application", "root.default", "user");
    let application = handle.submit_application(application, &events).unwrap();
    handle.add_node(NodeSpec::new("n0", Resources::new(&[1, 1]))).unwrap();
    let worker = AskSpec::new(Resources::new(&[1, 1]), 1);
    handle.submit_ask(application, worker.clone()).unwrap();
    engine.run_until_quiet();
    handle.submit_gang(GangSpec::new(application).with_placeholders("worker", worker, 1)).unwrap();
    engine.run_until_quiet();
    let mut state = engine.shared_state();
    assert_eq!(violations(&state), [""; 0]);
    let (id, gang) = state.facts.placeholders.gangs().next().unwrap();
    let bare = PlaceholderGang { groups: Vec::new(), ..gang.clone() };
    state.facts.transition_name_groups(id, bare);
    assert_eq!(violations(&state), ["I12"]);
}

#[test]
fn i13_no_pending_ask_fits_free_room() {
    expect("I13", |state| {
        let (id, _) = state.facts.nodes.iter().next().unwrap();
        state.facts.nodes.at_mut(id).room.free = Resources::new(&[8]);
    });
}

/// The reservation has an age limit.
#[test]
fn i13_timers_that_the_facts_call_for_are_set() {
    expect("I13", |state| state.timers = crate::timers::Timers::default());
}

/// The digest covers every fact. Otherwise an engine and the replay of its log could differ unnoticed (I11).
#[test]
fn the_digest_covers_every_fact() {
    type Damage = fn(&mut State);
    let damages: [(&str, Damage); 15] = [
        ("time", |state| state.facts.now_ms += 1),
        ("changes", |state| state.facts.changes += 1),
        ("partitions", |state| state.facts.tree.partitions[0].reserved_nodes += 1),
        ("racks", |state| state.facts.racks.push("rack".into())),
        ("nodes", |state| {
            let id = first_node(state);
            state.facts.nodes.at_mut(id).last_heartbeat_ms += 1;
        }),
        ("queues", |state| state.facts.tree.queues[1].quota[0].pending += Resources::new(&[1])),
        ("users", |state| state.facts.tree.users[0].used[0] += Resources::new(&[1])),
        ("applications", |state| {
            let id = state.facts.applications.iter().next().unwrap().0;
            state.facts.applications.at_mut(id).priority += 1;
        }),
        ("applications submitted", |state| state.facts.applications_submitted += 1),
        ("asks", |state| {
            let id = last_ask(state);
            state.facts.asks.at_mut(id).extras_mut().cancelled += 1;
        }),
        ("asks submitted", |state| state.facts.asks_submitted += 1),
        ("containers", |state| {
            let (id, ask) = (first_container(state), last_ask(state));
            state.facts.containers.at_mut(id).ask = ask;
        }),
        ("stops", |state| {
            let stopping = Stopping { cause: EndCause::Released, until_ms: 1 };
            state.facts.stopping.insert(first_container(state), stopping);
        }),
        ("ends", |state| {
            let application = state.facts.containers.at(first_container(state)).application;
            state.facts.applications.at_mut(application).ending = Some(ApplicationEnd::Killed);
        }),
        ("reservations", |state| {
            let id = reservation(state);
            state.facts.reservations.at_mut(id).created_ms += 1;
        }),
    ];
    let sound = state();
    for (fact, damage) in damages {
        let mut damaged = sound.clone();
        damage(&mut damaged);
        assert_ne!(damaged.digest(), sound.digest(), "{fact}");
    }
}
