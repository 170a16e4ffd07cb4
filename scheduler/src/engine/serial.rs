//! One thread commits and proposes in turn: the caller's in serial mode, one of the engine's own in background mode.
//! It runs the same code as parallel mode. In serial mode, equal input gives an equal log.

use std::sync::Arc;

use super::group::GroupCommitter;
use super::message::Message;
use super::proposer::Proposer;
use super::shared::Shared;
use super::start::Origin;
use super::{Engine, StartError};
use crate::clock::Clock;
use crate::config::EngineConfig;
use crate::log::LogSink;
use crate::propose::PassScope;

/// In background mode a busy partition gets at most this many batches before the others get theirs. With one batch
/// each, half of the passes would be over a small partition, for a few containers. Serial mode has no turns: it always
/// starts at the first set.
const BATCHES_PER_TURN_MAX: u32 = 4;

/// Both halves of a serial engine.
pub(crate) struct SerialDriver {
    pub(super) shared: Arc<Shared>,
    pub(super) committer: GroupCommitter,
    pub(super) proposer: Proposer,
}

impl SerialDriver {
    pub(super) fn new(
        origin: Origin,
        inbox_capacity: Option<usize>,
        clock: Arc<dyn Clock>,
        sink: Option<Box<dyn LogSink>>,
    ) -> Result<Self, StartError> {
        let mut config = EngineConfig::clone(&origin.state.facts.config);
        // One set gives the exact policy, for any number of nodes. Not in the log: another mode may continue it.
        config.limits.single_set_nodes = u32::MAX as usize;
        let (shared, mut parts) = Engine::make(origin, Arc::new(config), inbox_capacity, 1, clock, sink)?;
        let mut proposer = parts.proposers.remove(0);
        proposer.batches_per_turn_max = BATCHES_PER_TURN_MAX;
        Ok(Self { shared, committer: parts.committer, proposer })
    }

    /// Commits and proposes in turn until nothing is left to do at the present time.
    pub(crate) fn run_until_quiet(&mut self) {
        while !self.shared.has_ended() {
            let next = self.committer.inbox.try_receive().or_else(|| self.propose());
            match next {
                Some(message) => self.committer.commit_group(Some(message)),
                None => {
                    self.committer.commit_group(None);
                    if !self.has_work() {
                        return;
                    }
                }
            }
        }
    }

    /// Commits everything sent so far, and proposes nothing.
    pub(super) fn commit_waiting(&mut self) {
        self.committer.commit_group(None);
        while let Some(message) = self.committer.inbox.try_receive() {
            self.committer.commit_group(Some(message));
        }
    }

    /// Runs and commits a pass within `scope`; returns the number of requests proposed.
    pub(super) fn pass_once(&mut self, scope: PassScope) -> usize {
        let Some(batch) = self.proposer.propose_once(scope) else { return 0 };
        let proposed = batch.requests().len();
        self.committer.commit_group(Some(Message::Batch(batch)));
        proposed
    }

    /// Processes everything sent before the gate was closed, `last` messages in all. Other threads may still be on
    /// their way to the inbox with some of them.
    pub(crate) fn stop(&mut self, last: u64) {
        self.run_until_quiet();
        while self.committer.processed < last
            && let Ok(message) = self.committer.inbox.receive(None)
        {
            self.committer.commit_group(Some(message));
            self.run_until_quiet();
        }
        self.committer.end();
    }

    fn propose(&mut self) -> Option<Message> {
        // Always starts at the first set, because serial mode promises a fixed order.
        self.proposer.propose_from(0).map(Message::Batch)
    }
}
