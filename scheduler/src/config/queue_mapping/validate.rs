//! Checks of mapping rules: the queues that they name must exist.

use super::{Creation, MappingAction, QueueMapping, QueuePath};
use crate::config::{ConfigError, QueueConfig};
use crate::nearest::{hint, nearest};

/// Checks that each rule can lead to a queue of this tree.
pub(crate) fn check(queue_mapping: &QueueMapping, root: &QueueConfig) -> Result<(), ConfigError> {
    for (position, rule) in queue_mapping.rules.iter().enumerate() {
        let refused = |problem| ConfigError::QueueMapping { rule: position + 1, problem };
        if rule.filter.except && rule.filter.is_everybody() {
            return Err(refused("`except` is empty: users, groups or applications are needed".to_owned()));
        }
        let (path, create) = match &rule.action {
            MappingAction::Reject => continue,
            MappingAction::SetDefault(path) => (path, Creation::Nothing),
            MappingAction::Place(place) => (&place.queue, place.create),
        };
        check_written(path).map_err(refused)?;
        check_path(path, create, root).map_err(refused)?;
    }
    Ok(())
}

/// Checks that the path survives writing to a file and reading it back.
fn check_written(path: &QueuePath) -> Result<(), String> {
    let written = path.to_string();
    match written.parse::<QueuePath>() {
        Ok(read) if read == *path => Ok(()),
        Ok(_) => Err(format!("`{written}` has names that are read as something else")),
        Err(error) => Err(format!("`{written}`: {error}")),
    }
}

fn check_path(path: &QueuePath, create: Creation, root: &QueueConfig) -> Result<(), String> {
    let (fixed, is_whole) = path.fixed();
    if fixed.is_empty() {
        return Ok(());
    }
    let must_be_there = match (create, is_whole) {
        (Creation::Nothing, _) | (Creation::Leaf, false) => fixed.as_str(),
        (Creation::Leaf, true) => fixed.rsplit_once('.').map_or(fixed.as_str(), |(above, _)| above),
        (Creation::Path, _) => fixed.split('.').next().unwrap_or(""),
    };
    let Some(queue) = find(root, must_be_there) else {
        let mut paths = Vec::new();
        list_paths(root, "root", &mut paths);
        let ambiguous = paths_with_last_name(must_be_there, paths.iter().map(String::as_str));
        if ambiguous.len() > 1 {
            return Err(several(must_be_there, &ambiguous));
        }
        let hint = hint(
            nearest(must_be_there, paths.iter().map(String::as_str).filter(|path| *path != "root"))
                .as_deref(),
        );
        return Err(format!("unknown queue `{must_be_there}`{hint}"));
    };
    match (create, is_whole, queue.children.is_empty()) {
        (Creation::Nothing, true, false) => Err(format!("queue `{fixed}` is a parent; a leaf is needed")),
        (Creation::Nothing, false, true) => Err(format!("queue `{fixed}` is a leaf; a parent is needed")),
        _ => Ok(()),
    }
}

/// The paths that end with this name; none if the name is a path itself.
fn paths_with_last_name<'p>(name: &str, paths: impl Iterator<Item = &'p str>) -> Vec<&'p str> {
    paths.filter(|path| path.rsplit_once('.').is_some_and(|(_, last)| last == name)).collect()
}

/// The message for a name that several queues share.
fn several(name: &str, paths: &[&str]) -> String {
    format!("`{name}` is the name of several queues, {}; write the whole path", paths.join(" and "))
}

/// The queue of a path. The path may start at the only queue with its first name.
pub(super) fn find<'t>(root: &'t QueueConfig, path: &str) -> Option<&'t QueueConfig> {
    let mut names = path.split('.');
    let first = names.next()?;
    let mut start = root;
    if first != root.name {
        let mut named = Vec::new();
        with_name(root, first, &mut named);
        let [only] = named[..] else { return None };
        start = only;
    }
    names.try_fold(start, |queue, name| queue.children.iter().find(|child| child.name == name))
}

fn with_name<'t>(queue: &'t QueueConfig, name: &str, found: &mut Vec<&'t QueueConfig>) {
    for child in &queue.children {
        if child.name == name {
            found.push(child);
        }
        with_name(child, name, found);
    }
}

/// Adds the paths of the queue and all queues below it.
pub(crate) fn list_paths(queue: &QueueConfig, path: &str, paths: &mut Vec<String>) {
    paths.push(path.to_owned());
    for child in &queue.children {
        list_paths(child, &format!("{path}.{}", child.name), paths);
    }
}
