//! Loom models of the shipped engine: every interleaving of a few steps, up to a bound of preemptions.
//!
//! `cargo loom` runs them (`LOOM_MAX_PREEMPTIONS`, 2 if not set). Each model's bug is what it would catch if the
//! code were changed that way; `tests/mutants/` holds such changes.

use std::sync::Arc;

use loom::thread;

use super::proposer::propose;
use super::shared::Message;
use super::{Driver, Engine, Mode};
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::commit::{CommitOutcome, ResourceAllocationCommitRequest};
use crate::config::{EngineConfig, QueueConfig};
use crate::event::EventKind;
use crate::ids::{ApplicationId, AskId, NodeId, PartitionId, SetId};
use crate::place::{Leases, NodeOrderKind};
use crate::propose::Scratch;
use crate::resource::{ResourceTypes, Resources};
use crate::sync::{AtomicU64, InFlightUnits, Ordering, Signal};

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.max_branches = 100_000;
    builder.check(body);
}

/// A serial engine with nodes of one memory each, and an ask for `count` containers of one.
fn engine(nodes: usize, count: u32) -> (Arc<Engine>, Vec<NodeId>, ApplicationId, AskId) {
    let mut config = EngineConfig::new(ResourceTypes::new(["memory"]).unwrap(), QueueConfig::single_leaf());
    config.reservations.delay_ms = None;
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let one = Resources::new(&[1]);
    let nodes = (0..nodes).map(|n| handle.add_node(NodeSpec::new(format!("n{n}"), one)).unwrap()).collect();
    let events = handle.event_stream(16);
    let spec = ApplicationSpec::new("application", "root.default", "user");
    let application = handle.submit_application(spec, &events).unwrap();
    let ask = handle.submit_ask(application, AskSpec::new(one, count)).unwrap();
    let engine = Arc::new(engine);
    commit(&engine);
    (engine, nodes, application, ask)
}

/// Commits what has arrived, proposing nothing.
fn commit(engine: &Engine) {
    let Driver::Serial(driver) = &mut *engine.driver.lock() else { unreachable!("a serial engine") };
    driver.commit_waiting();
}

fn containers(engine: &Engine) -> usize {
    engine.read(|view| view.container_count())
}

fn expect_sound(engine: &Engine) {
    let report = engine.audit();
    assert!(report.is_clean(), "{report}");
}

/// I13. The bug: a sleeper that looks at the count when it falls asleep instead of before it looks for work.
#[test]
fn a_raise_between_look_and_sleep_wakes() {
    model(|| {
        let (signal, work) = (Arc::new(Signal::default()), Arc::new(AtomicU64::new(0)));
        let (their_signal, their_work) = (Arc::clone(&signal), Arc::clone(&work));
        let sleeper = thread::spawn(move || {
            while let Some(seen) = their_signal.observe() {
                if their_work.load(Ordering::Acquire) == 1 {
                    return;
                }
                their_signal.wait(seen);
            }
        });
        work.store(1, Ordering::Release);
        signal.raise(1);
        sleeper.join().unwrap();
    });
}

/// I13. The bug: a close that does not wake.
#[test]
fn a_close_ends_every_sleep() {
    model(|| {
        let signal = Arc::new(Signal::default());
        let theirs = Arc::clone(&signal);
        let sleeper = thread::spawn(move || {
            while let Some(seen) = theirs.observe() {
                theirs.wait(seen);
            }
        });
        signal.close();
        sleeper.join().unwrap();
    });
}

/// The bug: a lease that is looked at and taken in two steps.
#[test]
fn a_lease_is_held_by_one() {
    model(|| {
        let leases = Arc::new(Leases::new(1, NodeOrderKind::Spread));
        let held = Arc::new(AtomicU64::new(0));
        let work = |leases: Arc<Leases>, held: Arc<AtomicU64>| {
            move || {
                if let Some(set) = leases.try_take(SetId::new(PartitionId::DEFAULT, 0)) {
                    assert_eq!(held.fetch_add(1, Ordering::Relaxed), 0, "two hold one lease");
                    held.fetch_sub(1, Ordering::Relaxed);
                    leases.give_back(set);
                }
            }
        };
        let other = thread::spawn(work(Arc::clone(&leases), Arc::clone(&held)));
        work(Arc::clone(&leases), held)();
        other.join().unwrap();
        assert!(leases.all_home());
    });
}

/// I4. The bug: a bound that is looked at before the addition and not with it.
#[test]
fn units_in_flight_never_exceed_what_is_outstanding() {
    model(|| {
        let units = Arc::new(InFlightUnits::default());
        let theirs = Arc::clone(&units);
        let other = thread::spawn(move || usize::from(theirs.try_add(1)));
        let own = usize::from(units.try_add(1));
        assert_eq!(own + other.join().unwrap(), 1);
        assert_eq!(units.load(), 1);
    });
}

/// I1, I8. Two proposals from one view, for the last room. The bug: accept believes what the proposer saw.
#[test]
fn of_two_proposals_for_one_room_one_is_accepted() {
    model(|| {
        // The second node lets the queue have room for both.
        let (engine, nodes, _, ask) = engine(2, 2);
        let propose = |engine: &Engine| {
            let request = ResourceAllocationCommitRequest::allocate(ask, nodes[0]);
            engine.handle().commit(request).unwrap()
        };
        let (theirs, node) = (Arc::clone(&engine), nodes[0]);
        let other = thread::spawn(move || {
            theirs.handle().commit(ResourceAllocationCommitRequest::allocate(ask, node)).unwrap()
        });
        let own = propose(&engine);
        commit(&engine);
        let other = other.join().unwrap();
        commit(&engine);
        let outcomes = [own.try_take().unwrap(), other.try_take().unwrap()];
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_accepted()).count(), 1, "{outcomes:?}");
        assert_eq!(containers(&engine), 1);
        expect_sound(&engine);
    });
}

/// I5, I10. A proposal against the removal of its node. The bug: a container on a node that is gone.
#[test]
fn a_proposal_against_the_removal_of_its_node() {
    model(|| {
        let (engine, nodes, application, ask) = engine(1, 1);
        let (theirs, node) = (Arc::clone(&engine), nodes[0]);
        let other = thread::spawn(move || theirs.handle().remove_node(node).unwrap());
        let ticket =
            engine.handle().commit(ResourceAllocationCommitRequest::allocate(ask, nodes[0])).unwrap();
        commit(&engine);
        other.join().unwrap();
        commit(&engine);
        let outcome = ticket.try_take().expect("an answer");
        assert_eq!(containers(&engine), 0, "its node is gone, whichever came first");
        let is_pending = engine.read(|view| view.ask(ask).is_some());
        assert_eq!(
            is_pending,
            !outcome.is_accepted(),
            "an accepted container was lost with the node: {outcome:?}"
        );
        assert!(engine.read(|view| view.application(application).is_some()));
        expect_sound(&engine);
    });
}

/// I9. A batch that its thread drops while the committer works. The bug: a drop that forgets units, amounts or
/// the lease.
#[test]
fn a_batch_dropped_while_the_committer_works_gives_everything_back() {
    model(|| {
        let (engine, _, _, ask) = engine(1, 1);
        let theirs = Arc::clone(&engine.shared);
        let set = engine.shared.leases.try_take(SetId::new(PartitionId::DEFAULT, 0)).unwrap();
        let other = thread::spawn(move || {
            let batch = propose(&theirs, set, &mut Scratch::default());
            drop(batch);
        });
        engine.handle().cancel_ask(ask, 1).unwrap();
        commit(&engine);
        other.join().unwrap();
        engine.run_until_quiet();
        assert_eq!(containers(&engine), 0);
        assert!(engine.shared.leases.all_home());
        expect_sound(&engine);
    });
}

/// I4, I9. A batch on its way against the cancellation of its ask. The bug: units taken back from the successor.
#[test]
fn a_cancellation_against_units_in_flight() {
    model(|| {
        let (engine, _, application, ask) = engine(1, 1);
        let theirs = Arc::clone(&engine.shared);
        let set = engine.shared.leases.try_take(SetId::new(PartitionId::DEFAULT, 0)).unwrap();
        let other = thread::spawn(move || {
            let batch = propose(&theirs, set, &mut Scratch::default());
            assert!(theirs.outbox.send(Message::Batch(batch)).is_ok());
        });
        engine.handle().cancel_ask(ask, 1).unwrap();
        engine.handle().submit_ask(application, AskSpec::new(Resources::new(&[1]), 1)).unwrap();
        commit(&engine);
        other.join().unwrap();
        engine.run_until_quiet();
        assert_eq!(containers(&engine), 1, "one of the two asks");
        expect_sound(&engine);
    });
}

/// I14. The bug: a gate that is looked at and counted in two steps.
#[test]
fn what_was_taken_before_the_shutdown_is_answered() {
    model(|| {
        let (engine, nodes, _, ask) = engine(1, 1);
        let (theirs, node) = (Arc::clone(&engine), nodes[0]);
        let other = thread::spawn(move || {
            theirs.handle().commit(ResourceAllocationCommitRequest::allocate(ask, node)).ok()
        });
        let last = engine.shared.close_gate().expect("it was open");
        let ticket = other.join().unwrap();
        assert_eq!(engine.shared.sent(), last, "the gate counts exactly what went through");
        commit(&engine);
        if let Some(ticket) = ticket {
            let outcome = ticket.try_take().expect("an answer");
            assert!(matches!(outcome, CommitOutcome::Accepted(_)), "{outcome:?}");
        }
        assert_eq!(engine.shared.progress().processed, last);
    });
}

/// I10. A reader that resynchronises while the committer publishes. The bug: a container that is told twice, or
/// never.
#[test]
fn a_resynchronisation_against_publication() {
    model(|| {
        let (engine, _, _, ask) = engine(1, 1);
        let handle = engine.handle();
        let events = handle.event_stream(4);
        let spec = ApplicationSpec::new("reader", "root.default", "other");
        let application = handle.submit_application(spec, &events).unwrap();
        handle.cancel_ask(ask, 1).unwrap();
        handle.submit_ask(application, AskSpec::new(Resources::new(&[1]), 1)).unwrap();
        let theirs = Arc::clone(&engine);
        let other = thread::spawn(move || theirs.run_until_quiet());
        let (_, running) = handle.resync(&events, &[application]);
        let found: usize = running.iter().map(|(_, containers)| containers.len()).sum();
        other.join().unwrap();
        let mut told = 0;
        while let Ok(Some(event)) = events.try_next() {
            told += usize::from(matches!(event.kind, EventKind::Allocated { .. }));
        }
        assert_eq!(found + told, 1, "found {found}, told {told}");
    });
}
