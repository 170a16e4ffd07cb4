//! Permissions for a queue: any list from the root down to the queue grants them.

use super::QueueTree;
use crate::config::{AccessList, QueueConfig};
use crate::ids::QueueId;

impl QueueTree {
    /// Whether the user may submit applications to the queue. Administrators may submit, too, as in YARN and YuniKorn.
    pub(crate) fn may_submit(&self, queue: QueueId, user: &str, groups: &[String]) -> bool {
        self.permits(queue, user, groups, |queue| queue.submitters.as_ref())
            || self.is_listed(queue, user, groups, |queue| queue.administrators.as_ref()) == Some(true)
    }

    /// Whether the user may administer the queue.
    pub(crate) fn may_administer(&self, queue: QueueId, user: &str, groups: &[String]) -> bool {
        self.permits(queue, user, groups, |queue| queue.administrators.as_ref())
    }

    /// Whether the lists permit the user. Without any list, every user is permitted.
    fn permits(
        &self,
        queue: QueueId,
        user: &str,
        groups: &[String],
        list: impl Fn(&QueueConfig) -> Option<&AccessList>,
    ) -> bool {
        self.is_listed(queue, user, groups, list).unwrap_or(true)
    }

    /// Whether a list of the queue or of an ancestor names the user; `None` if there is no list.
    fn is_listed(
        &self,
        queue: QueueId,
        user: &str,
        groups: &[String],
        list: impl Fn(&QueueConfig) -> Option<&AccessList>,
    ) -> Option<bool> {
        let chain = self.queue(queue).chain.iter();
        let mut lists = chain.filter_map(|id| list(&self.queue(*id).config)).peekable();
        lists.peek()?;
        Some(lists.any(|list| list.names(user, groups)))
    }
}
