//! Panics at every step, stalls and lost batches lose nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::hand::{Hand, busy};
use super::{Bench, config, leaf, memory};
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::NodeOrderKind;
use crate::engine::serial::SerialDriver;
use crate::engine::start::Origin;
use crate::engine::{Driver, Engine, Mode, Proposer, Step};
use crate::ids::{PartitionId, QueueId, SetId};
use crate::place::Leases;
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::Resources;
use crate::sync::{Mutex, fault};

#[test]
fn a_proposer_may_panic_at_any_step() {
    let mut steps = 0;
    loop {
        let (mut hand, containers) = busy();
        fault::ask_for_panic(steps);
        let proposer = &mut hand.parts.proposers[1];
        let pass = catch_unwind(AssertUnwindSafe(|| {
            let batch = proposer.propose().expect("a set is wanted");
            proposer.send(batch).expect("the committer lives");
        }));
        let has_come_through = fault::withdraw();
        assert_eq!(pass.is_ok(), has_come_through, "step {steps}");
        // The first step looks at the signal only. Later ones may have shown a set as out for a moment.
        let is_told = hand.parts.committer.step() == Step::Worked;
        assert_eq!(is_told, steps > 0, "step {steps}: the committer looks again");
        hand.expect_idle(containers);
        if has_come_through {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "a pass takes more than {steps} steps");
}

/// Two of the steps run under the slot's lock: the lease is taken and counted, or neither.
#[test]
fn a_panic_while_a_lease_is_taken_leaves_it_in_the_pool() {
    for step in 0..4 {
        let (leases, set) = (Leases::new(1, NodeOrderKind::Spread), SetId::new(PartitionId::DEFAULT, 0));
        fault::ask_for_panic(step);
        assert!(catch_unwind(AssertUnwindSafe(|| leases.try_take(set))).is_err());
        assert!(leases.all_in_pool());
        assert!(leases.try_take(set).is_some());
    }
}

/// Picks outside the proposer's own set, while another proposer and the committer work. This is not a model, because a
/// checker's locks do not survive a panic.
#[test]
fn a_panic_at_any_step_stops_no_other_thread() {
    const STEPS: u64 = 12;
    for step in (0..STEPS).cycle().take(50 * STEPS as usize) {
        let mut config = config([leaf("a")]);
        (config.limits.single_set_nodes, config.limits.set_nodes) = (2, 1);
        let bench = Bench::new(config, Mode::Parallel { proposers: 1 });
        bench.node("n1", 8);
        let host = bench.node("n2", 8);
        bench.engine.run_until_quiet();
        let application = bench.application("root.a");
        let mut proposer = Proposer::new(&bench.shared, 0);
        let other = std::thread::spawn(move || {
            fault::ask_for_panic(step);
            let work = || proposer.propose().map(|batch| proposer.send(batch).is_ok());
            let has_panicked = catch_unwind(AssertUnwindSafe(work)).is_err();
            assert_ne!(has_panicked, fault::withdraw(), "step {step}");
        });
        let ask = AskSpec::new(memory(1), 2).on_hosts([host]).strictly_local();
        bench.engine.handle().submit_ask(application, ask).unwrap();
        other.join().unwrap();
        bench.engine.run_until_quiet();
        // A proposer that looked before may take a lease once more, for nothing.
        bench.engine.shutdown();
        bench.expect_untouched(2);
    }
}

/// The supervised loop restarts and counts the panics.
#[test]
fn panics_are_counted_and_the_work_goes_on() {
    let (mut hand, containers) = busy();
    let proposer = hand.parts.proposers.pop().unwrap();
    let proposing = std::thread::spawn(move || {
        fault::ask_for_panics(7, 60);
        // The first panic comes in the first pass.
        fault::ask_for_panic(10);
        proposer.run();
    });
    hand.commit_beside(proposing);
    assert!(hand.engine.stats().proposer_panics > 0);
    assert_eq!(hand.engine.health().proposers_given_up, 0);
    hand.expect_idle(containers);
}

/// In background mode the thread that proposes also commits, so a panic must end the pass alone.
#[test]
fn a_pass_that_panics_at_any_step_is_tried_again() {
    let mut steps = 0;
    loop {
        let (mut hand, containers) = busy();
        fault::ask_for_panic(steps);
        let mut batch = hand.parts.proposers[0].propose_or_recover();
        let has_come_through = fault::withdraw();
        assert_eq!(batch.is_some(), has_come_through, "step {steps}");
        assert_eq!(hand.engine.stats().proposer_panics, u64::from(!has_come_through), "step {steps}");
        if !has_come_through {
            assert_eq!(hand.parts.committer.step(), Step::Worked, "the panic left a message");
            batch = hand.parts.proposers[0].propose_or_recover();
        }
        hand.parts.proposers[0].send(batch.expect("the second try finds a set")).unwrap();
        hand.expect_idle(containers);
        if has_come_through {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "a pass takes more than {steps} steps");
}

#[test]
fn a_background_engine_whose_passes_only_panic_commits_and_keeps_nobody_waiting() {
    let clock = Arc::new(ManualClock::new());
    let mut driver =
        SerialDriver::new(Origin::new(config([leaf("a")])).unwrap(), Some(8), clock, None).unwrap();
    let engine = Engine { shared: Arc::clone(&driver.shared), driver: Mutex::new(Driver::Elsewhere) };
    let handle = engine.handle();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !driver.proposer.has_given_up() {
                fault::ask_for_panic(0);
                assert!(driver.proposer.propose_or_recover().is_none());
            }
        });
    });
    let background = std::thread::spawn(move || driver.run());
    handle.add_node(NodeSpec::new("n", memory(1))).unwrap();
    let events = handle.event_stream(8);
    let application =
        handle.submit_application(ApplicationSpec::new("application", "root.a", "user"), &events);
    handle.submit_ask(application.unwrap(), AskSpec::new(memory(1), 1)).unwrap();
    engine.run_until_quiet();
    let health = engine.health();
    assert_eq!((health.proposer_panics, health.proposers_given_up), (100, 1));
    assert!(health.is_running && health.sets_wanted == 1 && health.messages_waiting == 0, "{health:?}");
    engine.shutdown();
    background.join().unwrap();
}

/// A batch that fills a group leaves room for a message before the next one, however many sets are wanted.
#[test]
fn full_batches_do_not_keep_messages_waiting() {
    let mut config = config([leaf("a")]);
    (config.limits.batch_requests, config.limits.group_requests) = (1, 1);
    let driver =
        SerialDriver::new(Origin::new(config).unwrap(), Some(1 << 10), Arc::new(ManualClock::new()), None)
            .unwrap();
    let engine = Engine { shared: Arc::clone(&driver.shared), driver: Mutex::new(Driver::Elsewhere) };
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1 << 10));
    handle.add_node(NodeSpec::new("n1", memory(1_000))).unwrap();
    let application = ApplicationSpec::new("application", "root.a", "user");
    let application = handle.submit_application(application, &events).unwrap();
    let ask = handle.submit_ask(application, AskSpec::new(memory(1), 500)).unwrap();
    handle.cancel_ask(ask, 400).unwrap();
    let background = std::thread::spawn(move || driver.run());
    engine.run_until_quiet();
    assert_eq!(engine.read(|view| view.container_count()), 100, "the cancellation came in time");
    engine.shutdown();
    background.join().unwrap();
}

/// Only panics in a row count: a proposer that sends batches in between never gives up.
#[test]
fn a_proposer_that_panics_now_and_then_goes_on_for_ever() {
    let mut config = config([leaf("a")]);
    config.limits.batch_requests = 1;
    let mut hand = Hand::new(config);
    hand.node("n", 1_000);
    let application = hand.application();
    hand.ask(application, AskSpec::new(memory(1), 1_000));
    hand.commit();
    let proposer = hand.parts.proposers.pop().unwrap();
    let proposing = std::thread::spawn(move || {
        fault::ask_for_panics(7, 40);
        proposer.run();
    });
    hand.commit_beside(proposing);
    let health = hand.engine.health();
    assert!(health.proposer_panics > 100, "{health:?}");
    assert_eq!(health.proposers_given_up, 0);
    hand.expect_idle(1_000);
}

/// A proposer that panics each time is not restarted for ever, and `Health` shows it.
#[test]
fn a_proposer_that_only_panics_gives_up() {
    let (mut hand, containers) = busy();
    let proposer = hand.parts.proposers.pop().unwrap();
    std::thread::spawn(move || {
        fault::ask_for_panics(1, 1);
        proposer.run();
    })
    .join()
    .unwrap();
    let health = hand.engine.health();
    assert_eq!((health.proposer_panics, health.proposers_given_up), (100, 1));
    assert!(health.is_running && health.has_work(), "{health:?}");
    hand.expect_idle(containers);
}

/// A batch in the inbox is still decided when its proposer has ended.
#[test]
fn a_batch_is_waited_for_when_its_proposer_is_gone() {
    let (mut hand, _) = busy();
    let batch = hand.parts.proposers[0].propose().expect("a set is wanted");
    assert!(!batch.requests().is_empty());
    hand.parts.proposers[0].send(batch).unwrap();
    hand.parts.proposers.clear();
    let shared = &hand.engine.shared;
    assert!(!shared.is_stalled(&shared.progress()), "its batch is on its way");
    let committer = std::thread::spawn(move || {
        hand.commit();
        hand
    });
    let hand = committer.join().unwrap();
    hand.engine.run_until_quiet();
    assert!(hand.engine.read(|view| view.container_count()) > 1, "in addition to the earlier container");
}

/// A panic between the verdicts and the return of the amounts leaves such a batch behind.
#[test]
fn amounts_of_a_batch_without_requests_are_given_back() {
    let (mut hand, _) = busy();
    let mut batch = hand.parts.proposers[0].propose().expect("a set is wanted");
    batch.proposals.requests.clear();
    let in_flight = |hand: &Hand| {
        let state = hand.engine.shared.state.read();
        state.in_flight.queues.load(QueueId::ROOT, PartitionId::DEFAULT)
    };
    assert_ne!(in_flight(&hand), Resources::ZERO);
    drop(batch);
    assert_eq!(in_flight(&hand), Resources::ZERO);
}

/// As when the embedder's own loop ends early.
#[test]
fn an_engine_whose_proposers_are_dropped_keeps_nobody_waiting() {
    let (mut hand, _) = busy();
    let is_stalled = |hand: &Hand| hand.engine.shared.is_stalled(&hand.engine.shared.progress());
    hand.parts.proposers.pop();
    assert!(!is_stalled(&hand), "one is left");
    hand.parts.proposers.clear();
    assert!(is_stalled(&hand));
    hand.engine.run_until_quiet();
    assert!(hand.engine.health().has_work(), "{:?}", hand.engine.health());
}

/// `run_until_quiet` does not wait for proposers that have given up.
#[test]
fn an_engine_whose_proposers_have_all_given_up_keeps_nobody_waiting() {
    let (mut hand, _) = busy();
    let proposers = std::mem::take(&mut hand.parts.proposers);
    let Hand { engine, .. } = &hand;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| engine.run_until_quiet());
        for proposer in proposers {
            scope.spawn(|| {
                fault::ask_for_panics(1, 4);
                proposer.run();
            });
        }
        waiting.join().unwrap();
    });
    engine.run_until_quiet();
    assert!(engine.health().has_work(), "{:?}", engine.health());
}

/// Batches may come late, out of order, or not at all.
#[test]
fn batches_may_be_held_up_and_lost() {
    let (mut hand, containers) = busy();
    let mut batches = Vec::new();
    while let Some(batch) = hand.parts.proposers[0].propose() {
        batches.push(batch);
    }
    assert!(batches.len() > 2 && hand.engine.health().sets_checked_out == batches.len() as u64);
    let lost = batches.remove(0);
    while let Some(late) = batches.pop() {
        hand.parts.proposers[1].send(late).unwrap();
        hand.commit();
    }
    drop(lost);
    hand.expect_idle(containers);
}

/// A committer that stands still blocks callers, and loses none of their messages.
#[test]
fn a_stalled_committer_holds_callers_back() {
    let mut config = config([leaf("a")]);
    config.limits.inbox = 3;
    let mut hand = Hand::new(config);
    hand.node("n", 100);
    let application = hand.application();
    hand.commit();
    let handle = hand.engine.handle();
    let caller = std::thread::spawn(move || {
        for _ in 0..100 {
            handle.submit_ask(application, AskSpec::new(memory(1), 1)).unwrap();
        }
    });
    while hand.engine.health().messages_waiting < 3 {
        std::thread::yield_now();
    }
    // The fourth call blocks as long as the committer does not run.
    assert!(!caller.is_finished());
    assert!(hand.engine.health().messages_waiting <= 4, "{:?}", hand.engine.health());
    while !caller.is_finished() {
        hand.commit();
    }
    caller.join().unwrap();
    hand.expect_idle(100);
}

/// A watchdog sees when the engine last made progress.
#[test]
fn health_says_when_something_last_happened() {
    let (clock, config) = (ManualClock::new(), config([leaf("a")]));
    let (engine, mut parts) = Engine::assemble(config, 1, Arc::new(clock.clone()), None).unwrap();
    let handle = engine.handle();
    let times = |engine: &Engine| (engine.health().last_group_ms, engine.health().last_commit_ms);
    clock.set(5);
    handle.tick().unwrap();
    parts.committer.step();
    assert_eq!(times(&engine), (5, 0), "a group, and nothing accepted");
    let events = handle.event_stream(10);
    let spec = ApplicationSpec::new("application", "root.a", "user");
    let application = handle.submit_application(spec, &events).unwrap();
    let ask = handle.submit_ask(application, AskSpec::new(memory(1), 1)).unwrap();
    let node = handle.add_node(NodeSpec::new("n", memory(1))).unwrap();
    clock.set(7);
    let ticket = handle.commit(ResourceAllocationCommitRequest::allocate(ask, node)).unwrap();
    parts.committer.step();
    assert!(ticket.try_take().unwrap().is_accepted());
    assert_eq!(times(&engine), (7, 7));
}
