//! Background mode: the serial driver on a thread of the engine's own, beside the callers.
//!
//! A batch is decided before any other message. So each proposal is checked against the state that its pass saw,
//! except that time may have advanced. Partitions take turns of a few batches: otherwise a busy one could keep the
//! others waiting for ever.

use super::message::Message;
use super::proposer::Proposer;
use super::serial::SerialDriver;

impl SerialDriver {
    /// Commits and proposes in turn until the engine is shut down and everything sent before is processed. A panic of a
    /// pass is counted, and the thread goes on; after too many it only commits.
    pub(super) fn run(self) {
        let Self { shared, mut committer, proposer } = self;
        let mut proposer = Some(proposer);
        while !committer.is_over() {
            let batch = proposer.as_mut().and_then(Proposer::propose_or_recover);
            // Dropped, so that `run_until_quiet` stops waiting for it.
            proposer = proposer.filter(|proposer| !proposer.has_given_up());
            let batch = batch.map(Message::Batch);
            let is_full =
                batch.as_ref().is_some_and(|batch| batch.weight() >= shared.config.limits.group_requests);
            match batch.or_else(|| committer.inbox.try_receive()) {
                Some(message) => committer.commit_group(Some(message)),
                None if committer.wait_and_commit() => {}
                None => return,
            }
            // The group of such a batch has taken no message, and the next batch may follow at once.
            if is_full && let Some(message) = committer.inbox.try_receive() {
                committer.commit_group(Some(message));
            }
        }
    }
}
