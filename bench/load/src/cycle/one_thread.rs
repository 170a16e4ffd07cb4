//! A proposer and a committer that take turns on one thread.

use super::cluster::ClusterPlan;
use super::committer::Committer;
use super::proposer::{Proposer, Request};
use super::queues::PARTITIONS;

/// Both sides of the yardstick's engine.
#[derive(Clone, Debug)]
pub(super) struct OneThread {
    pub(super) committer: Committer,
    pub(super) proposer: Proposer,
    requests: Vec<Request>,
}

impl OneThread {
    pub(super) fn new(plan: &ClusterPlan) -> Self {
        Self { committer: Committer::new(plan), proposer: Proposer::new(plan), requests: Vec::new() }
    }

    /// Proposes and commits until no pass places anything.
    pub(super) fn run(&mut self) {
        self.committer.log.end_group();
        for partition in 0..PARTITIONS {
            loop {
                let Self { committer, proposer, requests } = self;
                let is_full = proposer.propose(partition, |slot| committer.pending(slot), requests);
                committer.commit(partition, requests);
                if !is_full {
                    break;
                }
            }
        }
    }
}
