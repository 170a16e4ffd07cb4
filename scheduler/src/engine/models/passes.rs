//! One pass that comes to nothing, while something happens that would help it.

use loom::thread;

use super::{Cluster, Workers, work_off};
use crate::engine::Handle;

/// A proposer makes one pass and sends what it saw, on a thread of its own, while `helps` happens and the committer
/// works; then everything that is left is done. Something is pending that the pass finds in vain unless it comes
/// late.
pub(super) fn pass_against(workers: &mut Workers, handle: &Handle, helps: impl FnOnce(&Handle)) {
    work_off(&mut workers.committer);
    let mut proposer = workers.proposer();
    let other = thread::spawn(move || {
        if let Some(batch) = proposer.propose() {
            proposer.send(batch).unwrap();
        }
        proposer
    });
    helps(handle);
    work_off(&mut workers.committer);
    workers.proposers.insert(0, other.join().unwrap());
    workers.settle();
}

/// So many containers run, and nothing is in flight.
pub(super) fn expect_placed(cluster: &Cluster, containers: usize) {
    assert_eq!(cluster.containers(), containers, "a wake-up was lost");
    cluster.expect_nothing_in_flight();
    cluster.expect_sound();
}
