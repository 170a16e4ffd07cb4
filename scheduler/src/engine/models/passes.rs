//! One failed pass, against an event that would help it.

use loom::thread;

use super::{Cluster, Workers, work_off};
use crate::engine::Handle;

/// A proposer runs one pass and sends its result on its own thread, while `helps` happens and the committer works.
/// Then all remaining work is done. The pass serves the pending ask only if it comes after the event.
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
    workers.run_until_idle();
}

/// Checks that this many containers run, and that nothing is in flight.
pub(super) fn expect_placed(cluster: &Cluster, containers: usize) {
    assert_eq!(cluster.containers(), containers, "a wake-up was lost");
    cluster.expect_nothing_in_flight();
    cluster.expect_sound();
}
