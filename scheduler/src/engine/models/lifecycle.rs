//! The end of an engine, and the whole engine at work.

use std::sync::Arc;

use loom::thread;

use super::{Bound, Cluster, Workers, allocate, answer, model, model_within, plain, work_off};
use crate::clock::ManualClock;
use crate::config::{Maximum, QueueUpdate};
use crate::engine::serial::SerialDriver;
use crate::engine::start::Origin;
use crate::engine::{Driver, Engine};
use crate::request::CommitOutcome;
use crate::sync::Mutex;

/// I14. A request against the closing of the gate. The bug: a gate that is tested and counted in two steps.
#[test]
fn what_was_taken_before_the_shutdown_is_answered() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        let handle = cluster.handle.clone();
        let other = thread::spawn(move || handle.commit(allocate(ask, node)).ok());
        let shared = &cluster.engine.shared;
        let last = shared.close_gate().expect("it was open");
        let ticket = other.join().unwrap();
        assert_eq!(shared.sent(), last, "the gate counts exactly what went through");
        cluster.commit();
        if let Some(ticket) = ticket {
            let outcome = answer(&ticket);
            assert!(matches!(outcome, CommitOutcome::Accepted(_)), "{outcome:?}");
        }
        assert_eq!(shared.progress().processed, last);
    });
}

/// I14. A serial engine is shut down while another thread submits a request. The bug: a shutdown that reads the
/// inbox before a request that passed the gate arrives, so that the caller waits for ever.
#[test]
fn a_serial_engine_ends_after_everything_that_was_taken() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        let handle = cluster.handle.clone();
        let other = thread::spawn(move || handle.commit(allocate(ask, node)).ok());
        cluster.engine.shutdown();
        if let Some(ticket) = other.join().unwrap() {
            answer(&ticket);
        }
        assert!(!cluster.engine.is_running());
        cluster.expect_sound();
    });
}

/// I14. A queue's new limits against the shutdown, with the committer on its own thread. The bug: a committer that
/// ends one message too early, or that is not woken to end.
#[test]
fn a_committer_answers_a_queue_update_before_it_ends() {
    model(Bound::Four, || {
        let (cluster, Workers { committer, .. }) = Cluster::assembled(plain(), 1, 1);
        let committing = thread::spawn(move || committer.run());
        let queue = cluster.handle.queue("root.default").unwrap();
        let update = QueueUpdate { maximum: Some(Maximum::absolute(&[0])), ..QueueUpdate::default() };
        let ticket = cluster.handle.update_queue(queue, update).unwrap();
        cluster.engine.shutdown();
        assert!(ticket.wait().expect("it was taken").is_ok());
        committing.join().unwrap();
        assert!(cluster.engine.shared.progress().ended);
    });
}

/// I13, I14. The one thread of background mode against a caller. The bug: a thread that sleeps although a set is
/// wanted, or that does not report that it has nothing left to do.
#[test]
fn a_background_engine_places_an_ask_and_ends() {
    model(Bound::Four, || {
        let driver =
            SerialDriver::new(Origin::new(plain()).unwrap(), Some(8), Arc::new(ManualClock::new()), None)
                .unwrap();
        let engine = Engine { shared: Arc::clone(&driver.shared), driver: Mutex::new(Driver::Elsewhere) };
        let cluster = Cluster::new(engine, "root.default", 1);
        let background = thread::spawn(move || driver.run());
        cluster.ask(1);
        cluster.engine.run_until_quiet();
        assert_eq!(cluster.engine.read(|view| view.container_count()), 1);
        cluster.engine.shutdown();
        background.join().unwrap();
        assert!(cluster.engine.shared.progress().ended);
    });
}

/// I14. A shutdown that finds the inbox full. The bug: a committer that never learns of the end because the message
/// found no room.
#[test]
fn a_committer_with_a_full_inbox_ends() {
    model(Bound::Four, || {
        let mut config = plain();
        config.limits.inbox = 4;
        let (cluster, Workers { committer, .. }) = Cluster::assembled(config, 1, 1);
        (0..4).for_each(|_| cluster.handle.tick().unwrap());
        let committing = thread::spawn(move || committer.run());
        cluster.engine.shutdown();
        committing.join().unwrap();
        assert!(cluster.engine.shared.progress().ended);
        assert_eq!(cluster.engine.shared.progress().processed, cluster.engine.shared.sent());
    });
}

/// I9, I14. A batch is on its way when the engine is shut down. The bug: a lease or units that never come back.
#[test]
fn a_batch_on_its_way_at_the_shutdown_is_decided_or_given_back() {
    model(Bound::Four, || {
        let (cluster, mut workers) = Cluster::assembled(plain(), 1, 1);
        cluster.ask(1);
        work_off(&mut workers.committer);
        let batch = workers.pass();
        let Workers { committer, proposers } = workers;
        let committing = thread::spawn(move || committer.run());
        cluster.engine.shutdown();
        let is_sent = proposers[0].send(batch).is_ok();
        committing.join().unwrap();
        assert!(is_sent || cluster.containers() == 0);
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}

/// I14. The committer ends without a shutdown, as when the embedder's log sink panics. The bug: a caller that waits
/// for ever for an answer or for quiet.
#[test]
fn nobody_waits_for_a_committer_that_is_gone() {
    model(Bound::None, || {
        let (cluster, Workers { committer, .. }) = Cluster::assembled(plain(), 1, 1);
        let (handle, engine) = (cluster.handle.clone(), Arc::clone(&cluster.engine));
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        let other = thread::spawn(move || {
            if let Ok(ticket) = handle.commit(allocate(ask, node)) {
                assert!(ticket.wait().is_none());
            }
            engine.run_until_quiet();
        });
        drop(committer);
        other.join().unwrap();
        assert!(!cluster.engine.is_running());
    });
}

/// I14. A caller makes a stream while the engine ends. The bug: a stream that comes too late to be closed with the
/// others, and whose reader waits for ever.
#[test]
fn a_stream_that_comes_when_the_engine_ends_is_closed() {
    model(Bound::None, || {
        let (cluster, Workers { committer, .. }) = Cluster::assembled(plain(), 1, 0);
        let handle = cluster.handle.clone();
        let other = thread::spawn(move || handle.event_stream(1).wait_next());
        drop(committer);
        assert_eq!(other.join().unwrap(), Ok(None));
    });
}

/// I13, I14. The whole engine: the committer and a proposer run, an ask comes, and the engine is shut down. The
/// bug: a part that is not woken for its work or for the end. Smaller models check each wake with two preemptions; here
/// two take a fifth of the time of all models.
#[test]
fn the_parts_place_an_ask_and_end() {
    model_within(1, Bound::Three, || {
        let (cluster, Workers { committer, mut proposers }) = Cluster::assembled(plain(), 1, 1);
        let proposer = proposers.remove(0);
        let committing = thread::spawn(move || committer.run());
        let proposing = thread::spawn(move || proposer.run());
        let ask = cluster.ask(1);
        cluster.engine.run_until_quiet();
        assert_eq!((cluster.containers(), cluster.is_pending(ask)), (1, false));
        cluster.engine.shutdown();
        committing.join().unwrap();
        proposing.join().unwrap();
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}

/// I14. The same, but the shutdown does not wait for the ask. The bug: a part that ends only when no work is left.
#[test]
fn the_parts_end_in_the_middle_of_their_work() {
    model(Bound::Three, || {
        let (cluster, Workers { committer, mut proposers }) = Cluster::assembled(plain(), 1, 1);
        let proposer = proposers.remove(0);
        let ask = cluster.ask(1);
        let committing = thread::spawn(move || committer.run());
        let proposing = thread::spawn(move || proposer.run());
        cluster.engine.shutdown();
        committing.join().unwrap();
        proposing.join().unwrap();
        assert_eq!(cluster.is_pending(ask), cluster.containers() == 0, "placed or pending");
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}
