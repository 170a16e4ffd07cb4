//! Calls of a handle that find and change queues.

use super::answered_call::{AnsweredCall, UpdateResult};
use super::group::GroupCommitter;
use super::handle::Handle;
use super::submit_error::SubmitError;
use crate::change::Change;
use crate::commit::{check_configuration, check_reconfiguration};
use crate::config::{ConfigError, QueueDifferences, QueueUpdate, Reconfiguration};
use crate::event::Refusal;
use crate::facts::QueueRole;
use crate::ids::QueueId;
use crate::nearest::nearest;
use crate::request::CommitSeq;
use crate::state::State;
use crate::sync::Ticket;

/// # Queues and configuration
///
/// A [`QueueId`] stands for its queue's path as long as the engine exists, and never for another path. It is unknown
/// while no queue has that path. The refusal is [`UnknownQueue`](ConfigError::UnknownQueue).
impl Handle {
    /// The queue with this full path.
    ///
    /// # Errors
    /// If there is no such queue; the error names the nearest path.
    pub fn queue(&self, path: &str) -> Result<QueueId, SubmitError> {
        self.find_queue(path).map(|(queue, _)| queue).ok_or_else(|| self.unknown_queue(path, |_| true))
    }

    /// Changes a queue's limits. The ticket tells whether they were valid and which change set them, or refuses an
    /// unknown queue.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn update_queue(
        &self,
        queue: QueueId,
        update: QueueUpdate,
    ) -> Result<Ticket<Result<CommitSeq, ConfigError>>, SubmitError> {
        self.configure(Change::QueueUpdated { queue, update: Box::new(update) })
    }

    /// Changes the whole queue tree in one step: adds and removes queues, changes their settings, and replaces
    /// mapping rules. The ticket has the change from which on the new tree holds, or the mistake; after a mistake
    /// nothing has changed.
    ///
    /// A queue that is removed or becomes a parent must be stopped and have no applications. Running containers go
    /// on, above new limits too. See [`check_reconfiguration`](Self::check_reconfiguration) for a dry run.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn reconfigure(
        &self,
        configuration: Reconfiguration,
    ) -> Result<Ticket<Result<CommitSeq, ConfigError>>, SubmitError> {
        self.configure(Change::Reconfigured { configuration: Box::new(configuration) })
    }

    /// Returns the differences that [`reconfigure`](Self::reconfigure) would make now.
    ///
    /// # Errors
    /// The first mistake in the configuration.
    pub fn check_reconfiguration(
        &self,
        configuration: &Reconfiguration,
    ) -> Result<QueueDifferences, ConfigError> {
        let state = self.shared.state.read();
        check_reconfiguration(&state.facts, configuration)?;
        Ok(QueueDifferences::between(&state.facts.tree.configuration(), &configuration.root))
    }

    fn configure(&self, change: Change) -> Result<Ticket<Result<CommitSeq, ConfigError>>, SubmitError> {
        let change = Box::new(change);
        self.send_for_answer(|answer| AnsweredCall::Configure { change, answer })
    }

    /// Whether the path may name a leaf when the committer processes the application.
    pub(super) fn check_leaf(&self, path: &str) -> Result<(), SubmitError> {
        let is_maker = |above: &str| matches!(self.find_queue(above), Some((_, QueueRole::Maker)));
        let mut above = std::iter::successors(path.rsplit_once('.'), |(above, _)| above.rsplit_once('.'));
        if self.find_queue(path).is_none() && above.any(|(above, _)| is_maker(above)) {
            return Ok(());
        }
        self.leaf(path).map(drop)
    }

    /// The leaf with this path.
    pub(super) fn leaf(&self, path: &str) -> Result<QueueId, SubmitError> {
        match self.find_queue(path) {
            Some((queue, QueueRole::Leaf)) => Ok(queue),
            Some(_) => Err(SubmitError::NotALeaf { path: path.to_owned() }),
            None => Err(self.unknown_queue(path, |role| role == QueueRole::Leaf)),
        }
    }

    /// The queue with this path, and its role.
    pub(super) fn find_queue(&self, path: &str) -> Option<(QueueId, QueueRole)> {
        self.shared.names.queues.get(path)
    }

    /// Suggests a queue that suits: the only one with this short name, or else the one with the nearest path.
    pub(super) fn unknown_queue(&self, path: &str, suits: impl Fn(QueueRole) -> bool) -> SubmitError {
        let mut paths = self.shared.names.queues.names();
        paths.retain(|known| self.find_queue(known).is_some_and(|(_, role)| suits(role)));
        let mut called = paths.iter().filter(|known| known.rsplit('.').next() == Some(path));
        let only = called.next().filter(|_| called.next().is_none()).map(|only| only.to_string());
        let nearest = only.or_else(|| nearest(path, paths.iter().map(|name| &**name)));
        SubmitError::UnknownQueue { path: path.to_owned(), nearest }
    }
}

impl GroupCommitter {
    /// Changes the configuration of queues, if the new one is valid.
    pub(super) fn configure(&mut self, state: &mut State, change: Change) -> UpdateResult {
        check_configuration(&state.facts, &change)
            .inspect_err(|_| self.stats.count_refused(Refusal::InvalidConfiguration))
            .map(|()| self.committer(state).apply(change))
    }
}
