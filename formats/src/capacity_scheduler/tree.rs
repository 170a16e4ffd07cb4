//! The listed queues: those that `queues` properties name, from the root down.

use std::collections::BTreeSet;

use apportion::config::ConfigError;

use super::known::PREFIX;
use super::property::{Setting, Settings};
use crate::ConfigFileError;
use crate::file::excerpt;

/// Bounds every walk of the tree before it is validated; more than validation accepts.
const PATH_NAMES_MAX: usize = 64;

/// A listed queue.
#[derive(Debug)]
pub(super) struct Listed<'p> {
    pub(super) path: String,
    pub(super) name: &'p str,
    /// The property that lists its children.
    pub(super) queues: Option<Setting<'p>>,
    pub(super) children: Vec<Listed<'p>>,
}

impl Listed<'_> {
    /// The full key of one of the queue's properties.
    pub(super) fn key(&self, name: &str) -> String {
        queue_key(&self.path, name)
    }

    /// The queue of a path below the root, which may start at the only queue with its first name.
    pub(super) fn find(&self, path: &str) -> Option<&Self> {
        let mut names = path.split('.');
        let first = names.next()?;
        let all = self.walk();
        let mut named = all.into_iter().filter(|queue| queue.name == first);
        let start = if first == self.name { self } else { named.next()? };
        if first != self.name && named.next().is_some() {
            return None;
        }
        names.try_fold(start, |queue, name| queue.children.iter().find(|child| child.name == name))
    }

    /// This queue and all below it, parents first.
    pub(super) fn walk(&self) -> Vec<&Self> {
        let mut all = vec![self];
        let mut next = 0;
        while let Some(queue) = all.get(next).copied() {
            all.extend(&queue.children);
            next += 1;
        }
        all
    }
}

/// The full key of a queue's property.
pub(super) fn queue_key(path: &str, name: &str) -> String {
    format!("{PREFIX}{path}.{name}")
}

/// The root with all queues listed below it.
pub(super) fn listed<'p>(settings: &Settings<'p>) -> Result<Listed<'p>, ConfigFileError> {
    queue(settings, "root".to_owned(), "root", 1)
}

fn queue<'p>(
    settings: &Settings<'p>,
    path: String,
    name: &'p str,
    depth: usize,
) -> Result<Listed<'p>, ConfigFileError> {
    let queues = settings.get(&queue_key(&path, "queues"));
    let mut children = Vec::new();
    if let Some(setting) = &queues {
        if depth >= PATH_NAMES_MAX {
            return Err(settings.refused(setting, format!("a path has at most {PATH_NAMES_MAX} names")));
        }
        for name in names(settings, setting, &path)? {
            children.push(queue(settings, format!("{path}.{name}"), name, depth + 1)?);
        }
    }
    Ok(Listed { path, name, queues, children })
}

fn names<'p>(
    settings: &Settings<'p>,
    setting: &Setting<'p>,
    parent: &str,
) -> Result<Vec<&'p str>, ConfigFileError> {
    let value = settings.value(setting)?;
    let names: Vec<_> = value.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let mut seen = BTreeSet::new();
    for name in &names {
        if name.contains('.') {
            let problem =
                format!("`{}` has a dot; below a queue its children's short names are listed", excerpt(name));
            return Err(settings.refused(setting, problem));
        }
        if !seen.insert(*name) {
            let error = ConfigError::queue(excerpt(&format!("{parent}.{name}")), "is listed twice");
            return Err(setting.source.config(setting.key_offset, error));
        }
    }
    Ok(names)
}
