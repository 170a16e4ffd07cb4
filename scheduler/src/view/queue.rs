//! Looking at queues.

use crate::config::QueueState;
use crate::facts::{Queue, Quota};
use crate::ids::{PartitionId, QueueId};
use crate::resource::Resources;
use crate::state::State;

/// What a queue is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueStatus {
    /// It takes applications.
    Running,
    /// It takes none and waits for those it has to end.
    Draining,
    /// It takes none and has none.
    Stopped,
}

/// A queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueView<'a> {
    pub(super) id: QueueId,
    pub(super) queue: &'a Queue,
    pub(super) state: &'a State,
}

impl<'a> QueueView<'a> {
    /// Its identifier.
    #[must_use]
    pub fn id(&self) -> QueueId {
        self.id
    }

    /// Its full path.
    #[must_use]
    pub fn path(&self) -> &'a str {
        &self.queue.path
    }

    /// Whether it takes applications.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.queue.is_leaf()
    }

    /// Whether it takes applications, and whether it still has some if it does not.
    #[must_use]
    pub fn status(&self) -> QueueStatus {
        let is_running = |id: &QueueId| self.state.facts.queue(*id).state == QueueState::Running;
        match (self.queue.chain.iter().all(is_running), self.queue.applications) {
            (true, _) => QueueStatus::Running,
            (false, 0) => QueueStatus::Stopped,
            (false, _) => QueueStatus::Draining,
        }
    }

    /// How many applications are in it and below.
    #[must_use]
    pub fn application_count(&self) -> u32 {
        self.queue.applications
    }

    /// What it may use and does use in a partition. `pending` covers everything below it.
    #[must_use]
    pub fn quota(&self, partition: PartitionId) -> Quota {
        let below = |id: &QueueId| {
            QueueView { id: *id, queue: self.state.facts.queue(*id), state: self.state }
                .quota(partition)
                .pending
        };
        let mut quota = *self.queue.quota(partition);
        quota.pending += self.queue.children.iter().map(below).sum();
        quota
    }

    /// What one of its users holds in a partition (leaves).
    #[must_use]
    pub fn used_by(&self, user: &str, partition: PartitionId) -> Resources {
        let user = self.queue.users.get(user).map(|user| self.state.facts.user(*user));
        user.map_or(Resources::ZERO, |user| user.used[partition.index()])
    }
}
