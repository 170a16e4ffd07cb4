//! Images that contradict themselves. Each of them would end the engine, or give a slot that is in use to another
//! value.

use super::*;
use crate::clock::ManualClock;
use crate::config::{Capacity, OpportunisticPolicy, Percent, QueueConfig};
use crate::engine::{Engine, Mode};
use crate::facts::{
    DisruptionBudget, DisruptionLimit, HeldRoom, PreemptionCost, PreemptionNotice, PreemptionRule,
    WaitingGang,
};
use crate::gang::GangSpec;
use crate::ids::{GangId, LeafUserId, RackId};
use crate::resource::ResourceTypes;
use crate::{ApplicationSpec, AskSpec, NodeSpec};

/// No container, node or anything else has it.
fn unknown<I: SlotId>() -> I {
    I::new(77, 0)
}

/// An image with one application in `root.a`, five containers and a reservation. It has a gang that runs and one that
/// waits, an opportunistic container and an opportunistic ask.
fn image() -> (FactsImage, LaterFacts) {
    let leaf = QueueConfig::leaf("a", Capacity::Percent(Percent::whole(100)));
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf]));
    config.reservations.delay_ms = Some(0);
    config.opportunistic = Some(OpportunisticPolicy::default());
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    for name in ["n0", "n1", "n2"] {
        handle.add_node(NodeSpec::new(name, Resources::new(&[8, 8]))).unwrap();
    }
    let application = ApplicationSpec::new("a", "root.a", "ann");
    let application = handle.submit_application(application, &handle.event_stream(100)).unwrap();
    let gang = |size| {
        let members = AskSpec::new(Resources::new(&[size, 1]), 1);
        GangSpec::new(application).with_role("worker", members).without_gathering()
    };
    let ask = |size, count| AskSpec::new(Resources::new(&[size, 1]), count);
    handle.submit_ask(application, ask(5, 3)).unwrap();
    engine.run_until_quiet();
    handle.submit_gang(gang(1)).unwrap();
    handle.submit_gang(gang(7)).unwrap();
    for ask in [ask(1, 1).opportunistic(), ask(50, 1).opportunistic(), ask(6, 1)] {
        engine.run_until_quiet();
        handle.submit_ask(application, ask).unwrap();
    }
    engine.run_until_quiet();
    let facts = &engine.shared_state().facts;
    assert_eq!((facts.containers.len(), facts.reservations.len()), (5, 1));
    assert_eq!((facts.gangs.len(), facts.disruption.started.len()), (1, 1));
    assert_eq!((facts.node_queues.asks.len(), facts.node_queues.nodes.len()), (1, 1));
    let bytes = postcard::to_stdvec(&facts.image()).unwrap();
    (postcard::from_bytes(&bytes).unwrap(), facts.later())
}

type Damage = fn(&mut FactsImage, &mut LaterFacts);

fn expect_refused(damages: &[(&str, Damage)]) {
    let (sound, later) = image();
    assert!(sound.is_coherent(&later));
    for (damage, apply) in damages {
        let (mut image, mut later) = image();
        apply(&mut image, &mut later);
        assert!(!image.is_coherent(&later), "{damage}");
    }
}

fn first<T>(slots: &mut [Slot<T>]) -> &mut T {
    slots.iter_mut().find_map(|slot| slot.value.as_mut()).unwrap()
}

fn config(image: &mut FactsImage) -> &mut EngineConfig {
    Arc::make_mut(&mut image.config)
}

#[test]
fn queues_and_users_refer_to_what_is_there() {
    expect_refused(&[
        ("an impossible configuration", |image, _| config(image).gather_limit_ms = Some(0)),
        ("a partition without sums", |image, _| config(image).partitions.push("q".into())),
        ("no queue", |image, _| image.queues.clear()),
        ("a root with a parent", |image, _| image.queues[0].parent = Some(QueueId(1))),
        ("an unknown queue above", |image, _| image.queues[1].chain.push(QueueId(2))),
        ("an unknown parent", |image, _| image.queues[1].parent = Some(QueueId(2))),
        ("an unknown queue below", |image, _| image.queues[1].children.push(QueueId(2))),
        ("an unknown user", |image, _| {
            image.queues[1].users.insert("bob".into(), LeafUserId(1));
        }),
        ("no quota", |image, _| image.queues[1].quota.clear()),
        ("no sum of masters in a queue", |image, _| image.queues[1].masters.clear()),
        ("more inactive applications of a queue than all", |image, _| image.queues[1].inactive = 2),
        ("a user in an unknown queue", |image, _| image.users[0].leaf = QueueId(2)),
        ("a user without a sum", |image, _| image.users[0].used.clear()),
        ("a user without a sum of masters", |image, _| image.users[0].masters.clear()),
        ("more inactive applications of a user than all", |image, _| image.users[0].inactive = 2),
        ("an application in a parent queue", |image, _| {
            assert!(image.queues[0].parent.is_none());
            first(&mut image.applications).leaf = QueueId(0);
        }),
        ("an application of an unknown user", |image, _| {
            first(&mut image.applications).user = LeafUserId(1);
        }),
    ]);
}

#[test]
fn values_in_tables_refer_to_what_is_there() {
    expect_refused(&[
        ("a node in an unknown partition", |image, _| first(&mut image.nodes).partition = PartitionId(1)),
        ("a node in an unknown rack", |image, _| first(&mut image.nodes).rack = RackId(7)),
        ("an unknown container on a node", |image, _| first(&mut image.nodes).containers.push(unknown())),
        ("an unknown reservation of a node", |image, _| {
            first(&mut image.nodes).reservation = Some(unknown());
        }),
        ("a negative capacity", |image, _| first(&mut image.nodes).capacity = Resources::new(&[-1])),
        ("an ask of no application", |image, _| first(&mut image.asks).application = unknown()),
        ("an ask with more units than it has", |image, _| {
            first(&mut image.asks).extras_mut().cancelled = u32::MAX;
        }),
        ("an ask with an unknown reservation", |image, _| {
            first(&mut image.asks).extras_mut().reservations.push(unknown());
        }),
        ("a container of no application", |image, _| first(&mut image.containers).application = unknown()),
        ("a container on no node", |image, _| first(&mut image.containers).node = unknown()),
        ("a reservation for no ask", |image, _| first(&mut image.reservations).ask = unknown()),
        ("a reservation on no node", |image, _| first(&mut image.reservations).node = unknown()),
        ("a container's slot is vacant", |image, _| {
            image.container_ids = IdPool::of(5, vec![ContainerId::new(0, 1)]);
        }),
        ("a reservation's slot is vacant", |image, _| {
            image.reservation_ids = IdPool::of(1, vec![ReservationId::new(0, 1)]);
        }),
        ("an ask without a shape", |image, _| {
            image.lists.shapes_of_asks.pop();
        }),
        ("a container without a shape", |image, _| {
            image.lists.shapes_of_containers.pop();
        }),
        ("a list of containers too many", |image, _| image.lists.containers_of_applications.push(vec![])),
        ("an ask with an unknown shape", |image, _| image.lists.shapes_of_asks[0] = unknown_shape()),
        ("a container with an unknown shape", |image, _| {
            image.lists.shapes_of_containers[0] = unknown_shape();
        }),
        ("an unknown container of an application", |image, _| {
            image.lists.containers_of_applications[0].push(unknown());
        }),
    ]);
}

fn queue_of(later: &mut LaterFacts) -> &mut Vec<ContainerId> {
    &mut later.node_queues.nodes.values_mut().next().unwrap().running
}

fn opportunistic_ask(later: &mut LaterFacts) -> &mut OpportunisticAsk {
    later.node_queues.asks.values_mut().next().unwrap()
}

#[test]
fn queues_at_nodes_refer_to_what_is_there() {
    expect_refused(&[
        ("an unknown container in a queue", |_, later| queue_of(later).push(unknown())),
        ("a container in a queue twice", |_, later| {
            let queue = queue_of(later);
            queue.push(queue[0]);
        }),
        ("a guaranteed container in a queue", |image, _| image.opportunistic.clear()),
        ("a container of another node in a queue", |image, later| {
            let (node, queue) = later.node_queues.nodes.pop_first().unwrap();
            let other = image.nodes.iter().zip(0..).map(|(slot, index)| NodeId::new(index, slot.generation));
            later.node_queues.nodes.insert(other.into_iter().find(|other| *other != node).unwrap(), queue);
        }),
        ("an ask of no application", |_, later| opportunistic_ask(later).application = unknown()),
        ("an ask without outstanding units", |_, later| opportunistic_ask(later).allocated = 1),
        ("an ask with all of its units cancelled", |_, later| opportunistic_ask(later).cancelled = 1),
        ("an ask in an unknown partition", |_, later| {
            opportunistic_ask(later).shape.partition = PartitionId(1);
        }),
        ("an ask that is an ordinary ask, too", |image, later| {
            let index = image.asks.iter().position(|slot| slot.value.is_some()).unwrap();
            let ask = opportunistic_ask(later).clone();
            later.node_queues.asks.insert(AskId::new(index as u32, image.asks[index].generation), ask);
        }),
        ("the promotion of an unknown container", |_, later| later.node_queues.promotions.push(unknown())),
        ("queues that the configuration does not have", |image, later| {
            config(image).opportunistic = None;
            later.node_queues.asks.clear();
        }),
        ("opportunistic asks that the configuration does not have", |image, later| {
            config(image).opportunistic = None;
            later.node_queues.nodes.clear();
        }),
    ]);
}

fn gang(later: &mut LaterFacts) -> (GangId, &mut WaitingGang) {
    later.gangs.iter_mut().next().map(|(id, gang)| (*id, gang)).unwrap()
}

/// Room that the waiting gang holds in this partition.
fn hold(later: &mut LaterFacts, partition: PartitionId) -> &mut HeldRoom {
    let id = gang(later).0;
    later.held_rooms.entry(partition).or_insert_with(|| HeldRoom::new(id))
}

#[test]
fn gangs_refer_to_what_is_there() {
    expect_refused(&[
        ("a gang without roles", |_, later| gang(later).1.roles.clear()),
        ("a gang with an unknown ask", |_, later| gang(later).1.roles[0].ask = unknown()),
        ("a gang of another application", |_, later| gang(later).1.application = unknown()),
        ("an ask that is held twice", |_, later| {
            let roles = &mut gang(later).1.roles;
            roles.push(roles[0].clone());
        }),
        ("room in an unknown partition", |_, later| {
            hold(later, PartitionId(1));
        }),
        ("room on an unknown node", |_, later| {
            hold(later, PartitionId::DEFAULT).nodes.insert(unknown(), Vec::new());
        }),
        ("room for an unknown ask", |_, later| {
            hold(later, PartitionId::DEFAULT).counts.insert(unknown(), Default::default());
        }),
        ("room of an unknown gang", |_, later| {
            let ask = gang(later).1.roles[0].ask;
            let held = hold(later, PartitionId::DEFAULT);
            held.gang = unknown();
            held.counts.insert(ask, Default::default());
        }),
        ("a started gang without members", |_, later| {
            let mut started = later.disruption.started.values_mut().flat_map(|gang| &mut gang.roles);
            started.next().unwrap().members.clear();
        }),
        ("a started gang with an unknown member", |_, later| {
            let mut started = later.disruption.started.values_mut().flat_map(|gang| &mut gang.roles);
            started.next().unwrap().members.insert(unknown());
        }),
    ]);
}

#[test]
fn preemption_refers_to_what_is_there() {
    expect_refused(&[
        ("the announcement of an unknown victim", |_, later| {
            let notice = PreemptionNotice { ask: unknown(), rule: PreemptionRule::Guarantee, kill_ms: 0 };
            later.notices.insert(unknown(), notice);
        }),
        ("the cost of an unknown container", |_, later| {
            later.disruption.costs.insert(unknown(), PreemptionCost::Never);
        }),
        ("a budget of no application", |_, later| {
            let budget = DisruptionBudget::new(1, DisruptionLimit::MinAvailable(1));
            later.disruption.budgets.insert(unknown(), vec![budget]);
        }),
        ("a list of no budgets", |_, later| {
            later.disruption.budgets.insert(ApplicationId::new(0, 0), Vec::new());
        }),
        ("a budget that is never met", |_, later| {
            let budget = DisruptionBudget::new(1, DisruptionLimit::MinAvailable(2));
            later.disruption.budgets.insert(ApplicationId::new(0, 0), vec![budget]);
        }),
    ]);
}
