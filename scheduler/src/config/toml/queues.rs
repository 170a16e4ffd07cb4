//! The tables of queues.

use std::collections::BTreeMap;

use ::toml::de::DeValue;

use super::table::{Entry, Section};
use crate::config::file::excerpt;
use crate::config::{
    ApplicationLimits, ApplicationOrdering, Capacity, ConfigFileError, Factor, Maximum, QueueConfig,
    QueueOrdering, QueueState,
};
use crate::nearest::{hint, nearest};
use crate::resource::{RESOURCE_TYPES_MAX, ResourceTypes, Resources};

/// What a queue is guaranteed if the file does not say it.
const CAPACITY_DEFAULT: Capacity = Capacity::Weight(Factor::ONE);

/// Bounds every walk of the tree before `validate` has seen it, with room above the depth it accepts.
const PATH_NAMES_MAX: usize = 64;

/// What a queue's table may say.
const KEYS: &[&str] = &[
    "capacity",
    "maximum_capacity",
    "ordering",
    "child_ordering",
    "priority",
    "user_limit_factor",
    "user_limit_minimum",
    "user_weights",
    "state",
    "maximum_applications",
    "maximum_applications_per_user",
];

/// How a file names the order.
pub(super) fn ordering_word(ordering: ApplicationOrdering) -> &'static str {
    match ordering {
        ApplicationOrdering::Fifo => "fifo",
        ApplicationOrdering::Fair => "fair",
    }
}

/// How a file names the order of a parent's children.
pub(super) fn child_ordering_word(ordering: QueueOrdering) -> &'static str {
    match ordering {
        QueueOrdering::Utilization => "utilization",
        QueueOrdering::PriorityUtilization => "priority_utilization",
    }
}

/// How a file names a queue's state.
pub(super) fn state_word(state: QueueState) -> &'static str {
    match state {
        QueueState::Running => "running",
        QueueState::Stopped => "stopped",
    }
}

pub(super) fn read(document: &Section<'_>, types: &ResourceTypes) -> Result<QueueConfig, ConfigFileError> {
    let mut tree = Tree::default();
    let queues = document.get("queues").map(|entry| entry.section()).transpose()?;
    for entry in queues.iter().flat_map(Section::entries) {
        check_path(&entry)?;
        let position = tree.position(entry.key.get_ref());
        read_queue(&entry, types, &mut tree.queues[position].0)?;
    }
    Ok(tree.into_root())
}

/// Queues in the order of their first mention, each with the positions of its children.
#[derive(Debug, Default)]
struct Tree<'a> {
    queues: Vec<(QueueConfig, Vec<usize>)>,
    positions: BTreeMap<&'a str, usize>,
}

impl<'a> Tree<'a> {
    /// Where the queue is, after it and the parents its path implies were put in.
    fn position(&mut self, path: &'a str) -> usize {
        if let Some(position) = self.positions.get(path) {
            return *position;
        }
        let (queue, parent) = match path.rsplit_once('.') {
            Some((parent, name)) => (QueueConfig::leaf(name, CAPACITY_DEFAULT), Some(self.position(parent))),
            None => (QueueConfig::root([]), None),
        };
        let position = self.queues.len();
        self.queues.push((queue, Vec::new()));
        self.positions.insert(path, position);
        if let Some(parent) = parent {
            self.queues[parent].1.push(position);
        }
        position
    }

    fn into_root(mut self) -> QueueConfig {
        let root = self.position("root");
        self.take(root)
    }

    fn take(&mut self, position: usize) -> QueueConfig {
        let (queue, children) =
            std::mem::replace(&mut self.queues[position], (QueueConfig::root([]), vec![]));
        queue.with_children(children.into_iter().map(|child| self.take(child)).collect::<Vec<_>>())
    }
}

fn check_path(entry: &Entry<'_>) -> Result<(), ConfigFileError> {
    let path: &str = entry.key.get_ref();
    let mut names = path.split('.');
    if names.next() != Some("root") {
        let path = excerpt(path);
        return Err(entry.error(format!("a queue's path starts at the root: \"root.{path}\"")));
    }
    if names.clone().any(str::is_empty) {
        return Err(entry.error("the name between two dots is empty"));
    }
    if names.count() >= PATH_NAMES_MAX {
        return Err(entry.error(format!("a path has at most {PATH_NAMES_MAX} names")));
    }
    Ok(())
}

fn read_queue(
    entry: &Entry<'_>,
    types: &ResourceTypes,
    queue: &mut QueueConfig,
) -> Result<(), ConfigFileError> {
    let section = entry.section()?;
    if let Some(nested) = section.entries().iter().find(|entry| is_unquoted_path(entry)) {
        let path = format!("{}.{}", entry.key.get_ref(), nested.key.get_ref());
        return Err(nested.error(format!("a queue's path is quoted: [queues.\"{}\"]", excerpt(&path))));
    }
    section.only(KEYS)?;
    if let Some(capacity) = section.read("capacity", |entry| capacity(entry, types))? {
        queue.capacity = capacity;
    }
    if let Some(maximum) = section.read("maximum_capacity", |entry| maximum(entry, types))? {
        queue.maximum = maximum;
    }
    let orderings = [ApplicationOrdering::Fifo, ApplicationOrdering::Fair];
    if let Some(ordering) = section.read("ordering", |entry| entry.word(&orderings, ordering_word))? {
        queue.ordering = ordering;
    }
    let orderings = [QueueOrdering::Utilization, QueueOrdering::PriorityUtilization];
    if let Some(ordering) =
        section.read("child_ordering", |entry| entry.word(&orderings, child_ordering_word))?
    {
        queue.child_ordering = ordering;
    }
    if let Some(priority) = section.read("priority", Entry::priority)? {
        queue.priority = priority;
    }
    if let Some(factor) = section.read("user_limit_factor", |entry| entry.limit_factor())? {
        queue.user_limit_factor = factor;
    }
    if let Some(minimum) = section.read("user_limit_minimum", |entry| entry.percent())? {
        queue.user_limit_minimum = minimum;
    }
    queue.user_weights = section.read("user_weights", user_weights)?.unwrap_or_default();
    read_applications(&section, queue)
}

fn read_applications(section: &Section<'_>, queue: &mut QueueConfig) -> Result<(), ConfigFileError> {
    let states = [QueueState::Running, QueueState::Stopped];
    if let Some(state) = section.read("state", |entry| entry.word(&states, state_word))? {
        queue.state = state;
    }
    queue.applications = ApplicationLimits {
        total: section.read("maximum_applications", Entry::whole)?,
        per_user: section.read("maximum_applications_per_user", Entry::whole)?,
    };
    Ok(())
}

fn user_weights(entry: &Entry<'_>) -> Result<BTreeMap<String, Factor>, ConfigFileError> {
    let weight = |entry: &Entry<'_>| Ok((entry.key.get_ref().to_string(), entry.factor()?));
    entry.section()?.entries().iter().map(weight).collect()
}

/// Whether a queue was meant: `[queues.root.a]` nests where `[queues."root.a"]` names.
fn is_unquoted_path(entry: &Entry<'_>) -> bool {
    let key: &str = entry.key.get_ref();
    entry.value.get_ref().is_table() && !["capacity", "maximum_capacity", "user_weights"].contains(&key)
}

fn capacity(entry: &Entry<'_>, types: &ResourceTypes) -> Result<Capacity, ConfigFileError> {
    match entry.value.get_ref() {
        DeValue::Table(_) => {
            let amounts = amounts(entry, types)?.map(|amount| amount.unwrap_or(0));
            Ok(Capacity::Absolute(Resources::new(&amounts)))
        }
        DeValue::String(text) if text.trim().ends_with('w') => entry.weight(text).map(Capacity::Weight),
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) => {
            entry.percent().map(Capacity::Percent)
        }
        _ => Err(entry.expected("\"40 %\", \"3w\" or a table of amounts")),
    }
}

fn maximum(entry: &Entry<'_>, types: &ResourceTypes) -> Result<Maximum, ConfigFileError> {
    match entry.value.get_ref() {
        DeValue::Table(_) => amounts(entry, types).map(Maximum::Absolute),
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) => entry.percent().map(Maximum::Percent),
        _ => Err(entry.expected("\"80 %\" or a table of amounts")),
    }
}

pub(super) fn amounts(
    entry: &Entry<'_>,
    types: &ResourceTypes,
) -> Result<[Option<i64>; RESOURCE_TYPES_MAX], ConfigFileError> {
    let mut amounts = [None; RESOURCE_TYPES_MAX];
    for entry in entry.section()?.entries() {
        let name = entry.key.get_ref();
        let Some(index) = types.names().iter().position(|known| known == name) else {
            let name = excerpt(name);
            let hint = hint(nearest(&name, types.names().iter().map(String::as_str)).as_deref());
            return Err(entry.key_error(format!("unknown resource type `{name}`{hint}")));
        };
        amounts[index] = Some(entry.amount()?);
    }
    Ok(amounts)
}
