//! Auto-created queues: the committer creates them when an application names them, and removes them after they were
//! empty for a while.

use super::{QueueTree, Quota};
use crate::config::{AutoCreation, QueueConfig, is_queue_name};
use crate::ids::QueueId;

/// The leaf for an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// This leaf.
    Leaf(QueueId),
    /// A leaf that is created below this queue, with the queues between: these names, from the top down.
    New { below: QueueId, names: Vec<String> },
}

impl Destination {
    /// The lowest existing queue on the path.
    pub(crate) fn lowest(&self) -> QueueId {
        match self {
            Self::Leaf(queue) | Self::New { below: queue, .. } => *queue,
        }
    }
}

/// Why there is no leaf for an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoDestination {
    /// There is no such leaf, and none may be created there.
    NoLeaf,
    /// The leaf would be too deep, or one queue too many.
    NoFurther,
}

impl QueueTree {
    /// The leaf for an application that names this path.
    pub(crate) fn destination(&self, path: &str) -> Result<Destination, NoDestination> {
        if let Some(queue) = self.queue_named(path) {
            return if self.queue(queue).is_leaf {
                Ok(Destination::Leaf(queue))
            } else {
                Err(NoDestination::NoLeaf)
            };
        }
        let (below, names) = self.missing_below(path).ok_or(NoDestination::NoLeaf)?;
        let (maker, creation) = self.auto_creation_at(below).ok_or(NoDestination::NoLeaf)?;
        if self.queue(below).is_leaf || !names.iter().all(|name| is_queue_name(name)) {
            return Err(NoDestination::NoLeaf);
        }
        let depth = self.queue(below).chain.len() - self.queue(maker).chain.len() + names.len();
        let count = self.count_created(maker) + names.len();
        if depth > creation.depth_max as usize || count > creation.queues_max as usize {
            return Err(NoDestination::NoFurther);
        }
        Ok(Destination::New { below, names: names.into_iter().map(str::to_owned).collect() })
    }

    /// The nearest existing queue above, and the missing names.
    fn missing_below<'a>(&self, path: &'a str) -> Option<(QueueId, Vec<&'a str>)> {
        let (mut rest, mut names) = (path, Vec::new());
        loop {
            let (above, name) = rest.rsplit_once('.')?;
            names.push(name);
            if let Some(queue) = self.queue_named(above) {
                names.reverse();
                return Some((queue, names));
            }
            rest = above;
        }
    }

    /// The nearest configured queue at or above this one, if it creates queues.
    pub(crate) fn auto_creation_at(&self, id: QueueId) -> Option<(QueueId, &AutoCreation)> {
        let chain = self.queue(id).chain.iter().rev();
        let maker = chain.copied().find(|level| !self.queue(*level).is_auto_created)?;
        self.queue(maker).config.auto_creation.as_deref().map(|creation| (maker, creation))
    }

    fn count_created(&self, id: QueueId) -> usize {
        let children = self.queue(id).children.iter().filter(|child| self.queue(**child).is_auto_created);
        children.map(|child| 1 + self.count_created(*child)).sum()
    }

    /// Creates the missing queues and returns them, the leaf last.
    pub(crate) fn create_queues(&mut self, below: QueueId, names: &[String], now_ms: u64) -> Vec<QueueId> {
        let Some((_, creation)) = self.auto_creation_at(below) else { return Vec::new() };
        let (leaf, parent) = (creation.leaf.clone(), creation.parent.clone());
        let mut made = Vec::new();
        let (mut above, known) = (below, self.queues.len());
        for (place, name) in names.iter().enumerate() {
            let is_leaf = place + 1 == names.len();
            let template = if is_leaf { &leaf } else { &parent };
            let config = QueueConfig { name: name.clone(), ..template.clone() };
            above = self.place_queue(&config, Some(above), is_leaf, now_ms);
            self.queues[above.index()].is_auto_created = true;
            self.recount_users(above);
            made.push(above);
        }
        self.update_priorities();
        if made.iter().any(|queue| queue.index() < known) {
            // A queue of this path existed before, perhaps with other limits, and may still have users.
            self.recount_limit_usages();
        }
        made
    }

    /// Records that a queue may have become idle. Returns when it expires if it stays idle.
    pub(crate) fn record_idle(&mut self, id: QueueId, now_ms: u64) -> Option<u64> {
        if !self.is_idle(id) {
            return None;
        }
        self.queues[id.index()].idle_since_ms = now_ms;
        self.expires_ms(id)
    }

    /// When the queue expires if it stays idle; `None` if it is in use or never expires.
    pub(crate) fn expires_ms(&self, id: QueueId) -> Option<u64> {
        let (_, creation) = self.auto_creation_at(id).filter(|_| self.is_idle(id))?;
        Some(self.queue(id).idle_since_ms.saturating_add(creation.expiry_ms?))
    }

    fn is_idle(&self, id: QueueId) -> bool {
        let queue = self.queue(id);
        queue.is_present && queue.is_auto_created && queue.applications == 0 && queue.children.is_empty()
    }

    /// Removes an idle queue. Returns its parent.
    pub(crate) fn remove_queue(&mut self, id: QueueId) -> Option<QueueId> {
        let queue = &mut self.queues[id.index()];
        queue.is_present = false;
        queue.is_leaf = false;
        queue.quota.fill(Quota::default());
        let parent = queue.parent?;
        self.queues[parent.index()].children.retain(|child| *child != id);
        Some(parent)
    }
}
