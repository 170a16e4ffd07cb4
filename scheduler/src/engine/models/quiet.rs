//! The promises of `run_until_quiet`.

use std::sync::Arc;

use loom::thread;

use super::{Bound, Cluster, Workers, model, one, plain, propose_once, several_sets, work_off};
use crate::change::NodeSpec;
use crate::config::NodeOrderKind;
use crate::ids::PartitionId;
use crate::place::Leases;
use crate::propose::{ProposalBatch, Work};
use crate::sync::{AtomicU64, Ordering};

/// I13. A caller waits for quiet while the committer works. The bug: quiet that is reported before everything sent
/// before the call is processed, or a report that does not wake.
#[test]
fn what_was_sent_before_the_wait_is_dealt_with() {
    model(Bound::Four, || {
        let (cluster, Workers { committer, .. }) = Cluster::assembled(plain(), 1, 0);
        let committing = thread::spawn(move || committer.run());
        cluster.handle.add_node(NodeSpec::new("n0", one())).unwrap();
        cluster.engine.run_until_quiet();
        assert_eq!(cluster.engine.read(|view| view.node_count()), 1);
        cluster.engine.shutdown();
        committing.join().unwrap();
    });
}

/// I13. A caller waits for quiet while another thread sends. The bug: a wait that an earlier quiet ends, before the
/// caller's own messages are processed.
#[test]
fn a_wait_for_quiet_against_a_submission() {
    model(Bound::None, || {
        let (cluster, mut workers) = Cluster::assembled(plain(), 1, 0);
        let (engine, handle) = (Arc::clone(&cluster.engine), cluster.handle.clone());
        let sent = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&sent);
        let waiting = thread::spawn(move || {
            let before = seen.load(Ordering::Acquire);
            engine.run_until_quiet();
            assert!(engine.read(|view| view.node_count()) as u64 >= before);
        });
        handle.add_node(NodeSpec::new("n0", one())).unwrap();
        sent.store(1, Ordering::Release);
        workers.run_until_idle();
        waiting.join().unwrap();
    });
}

/// I13. A batch that held the only unit is dropped while the committer reports. Before, the other set's pass had
/// found all units in flight, so no set was worth a pass. The bug: a report that reads the wanted sets before it
/// checks that all leases are pooled, and misses units that the batch gave back.
#[test]
fn a_batch_that_is_dropped_is_no_quiet() {
    model(Bound::None, || {
        let (cluster, mut workers) = Cluster::assembled(several_sets(), 1, 2);
        let ask = cluster.ask(1);
        work_off(&mut workers.committer);
        let batch = workers.pass();
        let in_vain = workers.pass();
        assert_eq!((batch.requests().len(), in_vain.requests().len()), (1, 0));
        workers.proposers[0].send(in_vain).unwrap();
        let other = thread::spawn(move || drop(batch));
        work_off(&mut workers.committer);
        let progress = cluster.engine.shared.progress();
        assert!(!progress.quiet || !cluster.is_pending(ask), "quiet, and an ask pending that fits");
        other.join().unwrap();
        workers.run_until_idle();
        assert_eq!(cluster.containers(), 1);
        assert!(cluster.engine.shared.progress().quiet);
    });
}

/// I13. A batch without requests is lost while the committer reports, as when a proposer panics before its pass.
/// Taking its set cleared the set's bit. The bug: a set that comes back without being wanted again, so that the
/// engine looks quiet.
#[test]
fn an_empty_batch_that_is_dropped_is_no_quiet() {
    model(Bound::None, || {
        let (cluster, mut workers) = Cluster::assembled(plain(), 1, 1);
        let ask = cluster.ask(1);
        work_off(&mut workers.committer);
        let owner = Arc::clone(&cluster.engine.shared);
        let losing = thread::spawn(move || {
            let set = owner.leases.take_wanted(0).taken().expect("it is wanted and in the pool");
            drop(ProposalBatch::new(Work::Pass(set), owner));
        });
        workers.committer.commit_group(None);
        let progress = cluster.engine.shared.progress();
        assert!(!progress.quiet || !cluster.is_pending(ask), "quiet, and an ask pending that fits");
        losing.join().unwrap();
        workers.run_until_idle();
        assert_eq!(cluster.containers(), 1);
    });
}

/// I13. The last proposer ends while a caller waits for its work. The bug: a wait that never ends, because the
/// proposer ends between the check and the sleep, or ends without a notification.
#[test]
fn a_wait_for_quiet_against_the_end_of_the_last_proposer() {
    model(Bound::None, || {
        let (cluster, mut workers) = Cluster::assembled(plain(), 1, 1);
        cluster.ask(1);
        work_off(&mut workers.committer);
        let engine = Arc::clone(&cluster.engine);
        let waiting = thread::spawn(move || engine.run_until_quiet());
        drop(workers.proposer());
        waiting.join().unwrap();
        assert_eq!(cluster.containers(), 0);
    });
}

/// I9, I13. A proposer looks for a set while the committer finds that none is worth a pass. The bug: a proposer
/// reads old bits and takes a set after quiet was reported.
#[test]
fn nobody_takes_a_set_once_none_is_wanted() {
    model(Bound::None, || {
        let leases = Arc::new(Leases::new(1, NodeOrderKind::Spread));
        leases.publish_wanted(PartitionId::DEFAULT, 1);
        let theirs = Arc::clone(&leases);
        let looking = thread::spawn(move || theirs.take_wanted(0).taken());
        leases.publish_wanted(PartitionId::DEFAULT, 0);
        let is_idle = leases.is_idle();
        let taken = looking.join().unwrap();
        assert!(!is_idle || taken.is_none(), "taken after quiet was reported");
        assert_eq!(leases.count_checked_out(), u64::from(taken.is_some()));
    });
}

/// I13. A proposer takes a set and drops its batch while the committer checks for work. The bug: a check that reads
/// wanted sets and leases in one order only, and misses a set that moves between them.
#[test]
fn a_set_that_changes_sides_is_not_overlooked() {
    model(Bound::None, || {
        let leases = Arc::new(Leases::new(1, NodeOrderKind::Spread));
        leases.publish_wanted(PartitionId::DEFAULT, 1);
        let theirs = Arc::clone(&leases);
        let asking = thread::spawn(move || assert!(!theirs.is_idle()));
        for _ in 0..2 {
            let set = leases.take_wanted(0).taken().expect("it is wanted and in the pool");
            leases.publish_wanted(PartitionId::DEFAULT, 1);
            leases.give_back(set);
        }
        asking.join().unwrap();
    });
}

/// I13. The same, while a watchdog reads. The bug: an engine that reports no work while a set is worth a pass.
#[test]
fn a_watchdog_overlooks_no_set_that_changes_sides() {
    model(Bound::None, || {
        let leases = Arc::new(Leases::new(1, NodeOrderKind::Spread));
        leases.publish_wanted(PartitionId::DEFAULT, 1);
        let theirs = Arc::clone(&leases);
        let asking = thread::spawn(move || assert_ne!(theirs.count(), (0, 0)));
        for _ in 0..2 {
            let set = leases.take_wanted(0).taken().expect("it is wanted and in the pool");
            leases.publish_wanted(PartitionId::DEFAULT, 1);
            leases.give_back(set);
        }
        asking.join().unwrap();
    });
}

/// I13. A proposer reads old bits after quiet was reported, while a watchdog reads. The bug: an engine that reports
/// work although none is left.
#[test]
fn a_watchdog_takes_no_look_in_vain_for_work() {
    model(Bound::None, || {
        let leases = Arc::new(Leases::new(1, NodeOrderKind::Spread));
        leases.publish_wanted(PartitionId::DEFAULT, 1);
        let theirs = Arc::clone(&leases);
        let looking = thread::spawn(move || theirs.take_wanted(0).taken().is_some());
        leases.publish_wanted(PartitionId::DEFAULT, 0);
        let counts = leases.count();
        let is_taken = looking.join().unwrap();
        assert!(is_taken || counts == (0, 0), "{counts:?}");
    });
}

/// I13. A proposer that finds no set is counted for a moment, in which the committer sees a busy engine. The bug:
/// the committer is not told to look again, so a caller that waits for quiet waits for ever.
#[test]
fn an_undone_checkout_leaves_no_caller_waiting() {
    model(Bound::None, || {
        let (cluster, mut workers) = Cluster::assembled(plain(), 1, 1);
        let proposer = workers.proposer();
        cluster.engine.shared.leases.publish_wanted(PartitionId::DEFAULT, 1);
        let looking = thread::spawn(move || propose_once(proposer));
        workers.committer.commit_group(None);
        looking.join().unwrap();
        work_off(&mut workers.committer);
        assert!(cluster.engine.shared.progress().quiet);
    });
}
