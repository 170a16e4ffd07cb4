//! When the committing thread commits a group, how long it waits for one, and how it ends.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::group::GroupCommitter;
use super::shared::Shared;
use crate::sync::Nothing;

/// The outcome of one step of the committer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The committer committed a group.
    Worked,
    /// The inbox was empty and no timer is due.
    Idle,
    /// The engine is shut down and everything sent before is processed.
    Ended,
}

impl GroupCommitter {
    /// Commits until the engine is shut down and everything sent before is processed.
    pub fn run(mut self) {
        while !self.is_over() && self.wait_and_commit() {}
    }

    /// Waits for a message or a due timer, and commits a group. Returns false if no message can come any more.
    pub(super) fn wait_and_commit(&mut self) -> bool {
        match self.inbox.receive(self.patience()) {
            Ok(message) => self.commit_group(Some(message)),
            Err(Nothing::TimedOut) => self.commit_group(None),
            Err(Nothing::Closed) => return false,
        }
        true
    }

    /// Commits one group of waiting messages; never blocks. A thread that both steps and submits must step before
    /// the inbox is full, or it waits for itself.
    ///
    /// # Panics
    /// If the embedder's clock, log sink or waker panics. The engine has then ended.
    pub fn step(&mut self) -> Step {
        if self.is_over() {
            self.end();
            return Step::Ended;
        }
        match self.inbox.try_receive() {
            None if !self.is_due() => return Step::Idle,
            message => self.commit_group(message),
        }
        Step::Worked
    }

    /// Whether the committer was told to stop and has processed everything sent before, or a group ended in a
    /// panic.
    pub(super) fn is_over(&self) -> bool {
        (self.processed >= self.shared.ends_after() && self.inbox.is_empty()) || self.shared.has_ended()
    }

    /// How long to wait for a message before a timer is due. `None`: no timer is set, or only the driver moves the
    /// clock. The driver may move the clock after its tick was processed, so this checks for due timers first.
    fn patience(&self) -> Option<Duration> {
        if self.is_due() { Some(Duration::ZERO) } else { self.shared.clock.until(self.next_timer_ms?) }
    }

    /// Whether a timer is due now.
    pub(super) fn is_due(&self) -> bool {
        self.next_timer_ms.is_some_and(|next_ms| next_ms <= self.shared.clock.now_ms())
    }

    /// Ends the engine, wakes all waiting callers and closes the inbox.
    pub(crate) fn end(&mut self) {
        self.shared.end();
        self.inbox.close();
    }
}

/// Ends the engine if a group panics: the group is half done, so no other may follow, even if a caller catches the
/// panic.
pub(super) struct EndIfPanicking(pub(super) Arc<Shared>);

impl Drop for EndIfPanicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// Ends the engine with the committer, also after a panic in the embedder's clock or log sink. So callers do not
/// wait for answers that will not come.
impl Drop for GroupCommitter {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for GroupCommitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupCommitter").field("processed", &self.processed).finish_non_exhaustive()
    }
}
