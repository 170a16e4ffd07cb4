//! Parallel mode: a committing thread and any number of proposing threads.

use std::sync::Arc;

use super::group::GroupCommitter;
use super::proposer::run_proposer;
use super::shared::{Message, Shared};
use crate::ids::SETS_MAX;
use crate::sync::{Nothing, Thread};

/// The threads of a parallel engine.
#[derive(Debug)]
pub(crate) struct Threads {
    proposers: Vec<Thread>,
    committer: Option<Thread>,
}

impl Threads {
    pub(crate) fn start(
        shared: &Arc<Shared>,
        committer: GroupCommitter,
        proposers: usize,
    ) -> std::io::Result<Self> {
        let committing = Thread::start("apportion-committer".into(), move || run_committer(committer))?;
        let mut threads = Self { proposers: Vec::new(), committer: Some(committing) };
        for number in 0..proposers {
            let home = Arc::clone(shared);
            let start = (number * SETS_MAX / proposers) as u32;
            let name = format!("apportion-proposer-{number}");
            let proposing = Thread::start(name, move || run_proposer(&home, start));
            match proposing {
                Ok(proposing) => threads.proposers.push(proposing),
                Err(error) => {
                    threads.stop(shared, 0);
                    return Err(error);
                }
            }
        }
        Ok(threads)
    }

    /// Ends the proposers, each after its present pass, then the committer, after everything sent.
    pub(crate) fn stop(&mut self, shared: &Shared, last: u64) {
        shared.work.close();
        for proposer in self.proposers.drain(..) {
            proposer.join();
        }
        if let Some(committer) = self.committer.take() {
            let _ = shared.outbox.send(Message::Stop { last });
            committer.join();
        }
    }
}

fn run_committer(committer: GroupCommitter) {
    let mut committing = Committing(committer);
    let committer = &mut committing.0;
    loop {
        match committer.inbox().receive(committer.patience()) {
            Ok(message) => committer.commit_group(Some(message)),
            Err(Nothing::TimedOut) => committer.commit_group(None),
            Err(Nothing::Closed) => break,
        }
        if committer.is_done() {
            break;
        }
    }
}

/// Ends everything with the committing thread, also if that ends by a panic: the embedder's clock and log sink
/// run on it. Nobody waits for answers that will not come.
struct Committing(GroupCommitter);

impl Drop for Committing {
    fn drop(&mut self) {
        self.0.end();
    }
}
