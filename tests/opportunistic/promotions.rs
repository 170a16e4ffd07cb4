//! Promotions that wait for room.

use apportion::config::{Capacity, Maximum, Percent, QueueConfig};
use apportion::event::{EventKind, Refusal};
use apportion::request::RejectReason;
use apportion::{ContainerId, ExecutionType, Mode};

use crate::cluster::preempted;
use crate::{Cluster, ask, config, opportunistic, queued};

fn promoted(events: &[EventKind]) -> Vec<ContainerId> {
    let promoted = |event: &EventKind| match *event {
        EventKind::ExecutionTypeChanged { container, execution_type: ExecutionType::Guaranteed } => {
            Some(container)
        }
        _ => None,
    };
    events.iter().filter_map(promoted).collect()
}

impl Cluster {
    fn request(&self, container: ContainerId) -> Result<(), Refusal> {
        let ticket = self.handle.request_promotion(container).unwrap();
        self.run();
        ticket.wait().unwrap().map(|_| ())
    }

    fn guaranteed(&self) -> ContainerId {
        let is_guaranteed = |(id, one): (ContainerId, apportion::view::ContainerView)| {
            (one.execution_type == ExecutionType::Guaranteed).then_some(id)
        };
        self.engine.read(|view| view.containers().find_map(is_guaranteed).unwrap())
    }
}

#[test]
fn they_are_carried_out_in_their_order_when_room_appears() {
    for mode in Cluster::modes() {
        let cluster = Cluster::new(config(5), mode);
        let (node, job) = (cluster.node("a", 4), cluster.application());
        cluster.ask(job, ask(4, 1));
        let guaranteed = cluster.guaranteed();
        cluster.ask(job, opportunistic(2, 3));
        let (waiting, _) = cluster.at(node);
        for container in [waiting[1], waiting[0], waiting[2]] {
            assert_eq!(cluster.request(container), Ok(()));
        }
        drop(cluster.events());
        cluster.complete(guaranteed);
        assert_eq!(promoted(&cluster.events()), waiting[..2].iter().rev().copied().collect::<Vec<_>>());
        assert_eq!(cluster.at(node), (waiting[2..].to_vec(), vec![]));
        cluster.complete(waiting[0]);
        assert_eq!(promoted(&cluster.events()), waiting[2..]);
        assert_eq!(cluster.engine.read(|view| view.node(node).unwrap().allocated()[0]), 4);
    }
}

/// The container starts in the free room, and ends for the ask. It is not promoted before.
#[test]
fn ordinary_asks_come_first() {
    for mode in Cluster::modes() {
        let cluster = Cluster::new(config(5), mode);
        let (node, job) = (cluster.node("a", 2), cluster.application());
        cluster.ask(job, ask(2, 1));
        let guaranteed = cluster.guaranteed();
        cluster.ask(job, opportunistic(2, 1));
        let container = cluster.at(node).0[0];
        assert_eq!(cluster.request(container), Ok(()));
        cluster.ask(job, ask(2, 1));
        drop(cluster.events());
        cluster.complete(guaranteed);
        let events = cluster.events();
        assert_eq!((promoted(&events), preempted(&events)), (vec![], vec![container]), "{events:?}");
        assert_ne!(cluster.guaranteed(), guaranteed);
    }
}

/// An ask that no node could serve now does not hold a promotion up.
#[test]
fn asks_that_find_no_room_hold_nothing_up() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 4), cluster.application());
    cluster.ask(job, ask(4, 1));
    cluster.ask(job, ask(4, 1));
    cluster.ask(job, opportunistic(1, 1));
    let container = cluster.at(node).0[0];
    assert_eq!(cluster.request(container), Ok(()));
    cluster.node("b", 3);
    assert_eq!(cluster.at(node).0, [container], "it is promoted on its own node only");
    cluster.resize(node, 5);
    assert_eq!(
        cluster.engine.read(|view| view.container(container).unwrap().execution_type),
        ExecutionType::Guaranteed
    );
}

#[test]
fn a_queue_limit_holds_back() {
    let leaf = |name, most| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)))
            .with_user_limit_factor(None)
            .with_maximum(Maximum::Percent(Percent::whole(most)))
    };
    let mut config = config(5);
    config.root = QueueConfig::root([leaf("a", 50), leaf("b", 100)]);
    let cluster = Cluster::new(config, Mode::Serial);
    let (node, job) = (cluster.node("a", 4), cluster.application_in("root.a"));
    cluster.ask(job, ask(2, 1));
    cluster.ask(job, opportunistic(2, 1));
    let (container, guaranteed) = (cluster.at(node).1[0], cluster.guaranteed());
    let ticket = cluster.handle.promote_container(container).unwrap();
    cluster.run();
    assert_eq!(ticket.wait().unwrap(), Err(Refusal::CannotGrow(RejectReason::QueueLimit)));
    assert_eq!(cluster.request(container), Ok(()));
    assert_eq!(cluster.at(node).1, [container]);
    cluster.complete(guaranteed);
    assert_eq!(promoted(&cluster.events()), [container]);
}

#[test]
fn unknown_guaranteed_and_stopping_containers_are_refused() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 4), cluster.application());
    cluster.ask(job, ask(4, 1));
    let guaranteed = cluster.guaranteed();
    assert_eq!(cluster.request(guaranteed), Err(Refusal::SameExecutionType));
    drop(cluster.handle.demote_container(guaranteed).unwrap());
    drop(cluster.handle.stop_container(guaranteed).unwrap());
    assert_eq!(cluster.request(guaranteed), Err(Refusal::ContainerStopping));
    cluster.complete(guaranteed);
    assert_eq!(cluster.request(guaranteed), Err(Refusal::UnknownContainer));
    assert_eq!(cluster.at(node), (vec![], vec![]));
}

/// A request ends with its container, and a promoted container is safe.
#[test]
fn a_promoted_container_no_longer_ends_for_others() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 4), cluster.application());
    cluster.ask(job, opportunistic(2, 2));
    let (_, running) = cluster.at(node);
    assert_eq!(cluster.request(running[1]), Ok(()));
    cluster.ask(job, ask(2, 1));
    assert_eq!(preempted(&cluster.events()), running[..1]);
    assert_eq!(cluster.request(running[0]), Err(Refusal::UnknownContainer));
}

/// Engines without queues of opportunistic containers promote demoted containers, too.
#[test]
fn a_demoted_container_is_promoted_without_a_policy() {
    let mut config = config(5);
    config.opportunistic = None;
    let cluster = Cluster::new(config, Mode::Serial);
    let job = cluster.application();
    cluster.node("a", 4);
    cluster.ask(job, ask(4, 1));
    let demoted = cluster.guaranteed();
    drop(cluster.handle.demote_container(demoted).unwrap());
    cluster.ask(job, ask(4, 1));
    let other = cluster.guaranteed();
    assert_eq!(cluster.request(demoted), Ok(()));
    drop(cluster.events());
    cluster.complete(other);
    assert_eq!(promoted(&cluster.events()), [demoted]);
}

#[test]
fn a_request_survives_a_recovery() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 4), cluster.application());
    cluster.ask(job, ask(4, 1));
    let guaranteed = cluster.guaranteed();
    cluster.ask(job, opportunistic(2, 1));
    let container = queued(&cluster.events())[0].0;
    assert_eq!(cluster.request(container), Ok(()));
    let engine = crate::recovery::recovered(&cluster.log.bytes(), Mode::Serial);
    engine.handle().complete_container(guaranteed).unwrap();
    engine.run_until_quiet();
    let seen = engine.read(|view| view.container(container).unwrap());
    assert_eq!((seen.execution_type, seen.node, seen.is_waiting), (ExecutionType::Guaranteed, node, false));
}
