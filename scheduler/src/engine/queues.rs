//! Queues by their paths.

use super::handle::Handle;
use super::submit_error::SubmitError;
use crate::facts::QueueRole;
use crate::ids::QueueId;
use crate::nearest::nearest;

impl Handle {
    /// The queue with this full path.
    ///
    /// # Errors
    /// If there is no such queue; the error names the nearest path.
    pub fn queue(&self, path: &str) -> Result<QueueId, SubmitError> {
        self.find_queue(path).map(|(queue, _)| queue).ok_or_else(|| self.unknown_queue(path, |_| true))
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
