//! Checks of changes to the queue tree.

use crate::change::Change;
use crate::config::{
    ConfigError, Known, QueueConfig, QueueState, QueueUpdate, Reconfiguration, check_queue_alone,
    check_queue_mapping, check_siblings, check_tree,
};
use crate::facts::{Facts, Queue};
use crate::ids::QueueId;

/// Checks that a change leaves a valid configuration. The error names the mistake and its place.
pub(crate) fn check_configuration(facts: &Facts, change: &Change) -> Result<(), ConfigError> {
    match change {
        Change::QueueUpdated { queue, update } => check_update(facts, *queue, update),
        Change::Reconfigured { configuration } => check_reconfiguration(facts, configuration),
        _ => Ok(()),
    }
}

/// Checks only the queue and its siblings, because a tree may be large.
fn check_update(facts: &Facts, id: QueueId, update: &QueueUpdate) -> Result<(), ConfigError> {
    let unknown = || ConfigError::UnknownQueue { path: id.to_string(), nearest: None };
    let queue = facts.tree.queues.get(id.index()).filter(|queue| queue.is_present).ok_or_else(unknown)?;
    let updated = update.applied_to(&queue.config);
    check_queue_alone(Known::from(&*facts.config), &queue.path, &updated)?;
    let has_limits = update.capacity.is_some() || update.maximum.is_some();
    let Some(parent) = queue.parent else {
        return if has_limits { Err(problem(queue, "the root's capacity is the cluster's")) } else { Ok(()) };
    };
    let above = facts.queue(parent);
    let config_of = |child: &QueueId| if *child == id { &updated } else { &facts.queue(*child).config };
    let siblings: Vec<_> = above.children.iter().map(config_of).collect();
    check_siblings(&facts.config.resources, &above.path, &siblings)
}

/// Checks that the tree is valid and that no application loses its leaf.
pub(crate) fn check_reconfiguration(facts: &Facts, wanted: &Reconfiguration) -> Result<(), ConfigError> {
    check_tree(Known::from(&*facts.config), &wanted.root)?;
    check_queue_mapping(&wanted.queue_mapping, &wanted.root)?;
    facts.tree.queues.iter().filter(|queue| queue.is_leaf).try_for_each(|queue| {
        match find(&wanted.root, &queue.path) {
            Some(next) if next.is_leaf() => Ok(()),
            Some(_) => check_empty(facts, queue, "get queues below it"),
            None if is_kept(facts, &wanted.root, queue) => Ok(()),
            None => check_empty(facts, queue, "be removed"),
        }
    })
}

/// Whether a queue that the tree does not name was auto-created, as were its ancestors up to a queue that still
/// auto-creates.
fn is_kept(facts: &Facts, root: &QueueConfig, queue: &Queue) -> bool {
    let above = queue.parent.map(|parent| facts.queue(parent));
    queue.is_auto_created
        && above.is_some_and(|above| match find(root, &above.path) {
            Some(next) => next.auto_creation.is_some(),
            None => is_kept(facts, root, above),
        })
}

/// Checks that a leaf that stops being a leaf takes no applications and has none.
fn check_empty(facts: &Facts, queue: &Queue, to: &str) -> Result<(), ConfigError> {
    let is_stopped = |id: &QueueId| facts.queue(*id).config.state == QueueState::Stopped;
    if !queue.is_auto_created && !queue.chain.iter().any(is_stopped) {
        return Err(problem(queue, &format!("is running; it must be stopped before it can {to}")));
    }
    match queue.applications {
        0 => Ok(()),
        count => {
            let left = format!("still has applications ({count}); it must be empty before it can {to}");
            Err(problem(queue, &left))
        }
    }
}

fn find<'a>(root: &'a QueueConfig, path: &str) -> Option<&'a QueueConfig> {
    let mut names = path.split('.');
    let top = Some(root).filter(|root| names.next() == Some(root.name.as_str()))?;
    names.try_fold(top, |queue, name| queue.children.iter().find(|child| child.name == name))
}

fn problem(queue: &Queue, problem: &str) -> ConfigError {
    ConfigError::queue(queue.path.to_string(), problem)
}
