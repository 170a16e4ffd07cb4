//! Parallel and background mode: the engine starts threads for its parts.

use std::sync::Arc;

use super::group::GroupCommitter;
use super::proposer::Proposer;
use super::serial::SerialDriver;
use super::shared::Shared;
use crate::sync::Thread;

/// The threads of an engine in parallel or background mode.
#[derive(Debug)]
pub(crate) struct Threads {
    proposers: Vec<Thread>,
    committer: Option<Thread>,
}

impl Threads {
    pub(crate) fn start(
        shared: &Arc<Shared>,
        committer: GroupCommitter,
        proposers: Vec<Proposer>,
    ) -> std::io::Result<Self> {
        // Linux shows the first fifteen characters of a thread's name.
        let committing = Thread::start("ap-committer".into(), move || committer.run())?;
        let mut threads = Self { proposers: Vec::new(), committer: Some(committing) };
        for (number, proposer) in proposers.into_iter().enumerate() {
            match Thread::start(format!("ap-proposer-{number}"), move || proposer.run()) {
                Ok(proposing) => threads.proposers.push(proposing),
                Err(error) => {
                    threads.stop(shared, 0);
                    return Err(error);
                }
            }
        }
        Ok(threads)
    }

    /// Starts the one thread of background mode.
    pub(super) fn start_one(driver: SerialDriver) -> std::io::Result<Self> {
        let committing = Thread::start("ap-scheduler".into(), move || driver.run())?;
        Ok(Self { proposers: Vec::new(), committer: Some(committing) })
    }

    /// Ends the proposers, each after its present pass, and then the committer, after everything sent.
    pub(crate) fn stop(&mut self, shared: &Shared, last: u64) {
        shared.work.close();
        for proposer in self.proposers.drain(..) {
            // A panic was already reported and counted.
            let _ = proposer.join();
        }
        if let Some(committer) = self.committer.take() {
            shared.stop_after(last);
            let _ = committer.join();
        }
    }
}
