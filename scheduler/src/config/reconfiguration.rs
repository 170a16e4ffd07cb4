//! Changes of a configuration while the engine runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    ApplicationLimits, Capacity, EngineConfig, Factor, Maximum, ParallelLimits, Percent, QueueConfig,
    QueueMapping, QueueState,
};

/// The settings that can change while the engine runs, as they are to be afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconfiguration {
    /// The queue tree.
    pub root: QueueConfig,
    /// The mapping rules: which queue an application goes to.
    pub queue_mapping: QueueMapping,
}

impl From<&EngineConfig> for Reconfiguration {
    fn from(config: &EngineConfig) -> Self {
        Self { root: config.root.clone(), queue_mapping: config.queue_mapping.clone() }
    }
}

/// The effect of a reconfiguration on the queues, by full path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueDifferences {
    /// Queues that are new.
    pub added: Vec<String>,
    /// Queues that are removed.
    pub removed: Vec<String>,
    /// Queues whose own settings change.
    pub changed: Vec<String>,
}

impl QueueDifferences {
    /// The differences between two trees.
    #[must_use]
    pub fn between(before: &QueueConfig, after: &QueueConfig) -> Self {
        let (before, after) = (by_path(before), by_path(after));
        let is_changed = |path: &&String| {
            before.get(*path).is_some_and(|queue| queue.without_children() != after[*path].without_children())
        };
        Self {
            added: after.keys().filter(|path| !before.contains_key(*path)).cloned().collect(),
            removed: before.keys().filter(|path| !after.contains_key(*path)).cloned().collect(),
            changed: after.keys().filter(is_changed).cloned().collect(),
        }
    }

    /// Whether the two trees are equal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

fn by_path(root: &QueueConfig) -> BTreeMap<String, &QueueConfig> {
    let mut all = BTreeMap::new();
    let mut rest = vec![(root.name.clone(), root)];
    while let Some((path, queue)) = rest.pop() {
        rest.extend(queue.children.iter().map(|child| (format!("{path}.{}", child.name), child)));
        all.insert(path, queue);
    }
    all
}

/// A change of one queue while the engine runs; `None` leaves a limit as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueUpdate {
    /// New guarantee.
    pub capacity: Option<Capacity>,
    /// New maximum.
    pub maximum: Option<Maximum>,
    /// New user limit factor (`Some(None)`: up to the leaf's maximum).
    pub user_limit_factor: Option<Option<Factor>>,
    /// New user limit minimum.
    pub user_limit_minimum: Option<Percent>,
    /// New priority among its siblings.
    pub priority: Option<i32>,
    /// Whether it takes new applications from now on.
    pub state: Option<QueueState>,
    /// New limits on the number of applications. Existing applications stay.
    pub applications: Option<ApplicationLimits>,
    /// New limits on the number of active applications. Active applications stay active.
    pub parallel: Option<ParallelLimits>,
    /// New limit for the masters of active applications (`Some(None)`: no limit).
    pub master_share: Option<Option<Percent>>,
}

impl QueueUpdate {
    /// The queue after this change.
    #[must_use]
    pub fn applied_to(&self, queue: &QueueConfig) -> QueueConfig {
        let mut queue = queue.clone();
        queue.capacity = self.capacity.unwrap_or(queue.capacity);
        queue.maximum = self.maximum.unwrap_or(queue.maximum);
        queue.user_limit_factor = self.user_limit_factor.unwrap_or(queue.user_limit_factor);
        queue.user_limit_minimum = self.user_limit_minimum.unwrap_or(queue.user_limit_minimum);
        queue.priority = self.priority.unwrap_or(queue.priority);
        queue.state = self.state.unwrap_or(queue.state);
        queue.applications = self.applications.unwrap_or(queue.applications);
        queue.parallel = self.parallel.clone().unwrap_or(queue.parallel);
        queue.master_share = self.master_share.unwrap_or(queue.master_share);
        queue
    }
}
