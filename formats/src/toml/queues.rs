//! The tables of queues.

use std::collections::BTreeMap;

use ::toml::de::DeValue;
use apportion::ResourceTypes;
use apportion::config::{
    AccessList, ApplicationLimits, ApplicationOrdering, Bound, Capacity, Factor, HolderLimit, Lifetimes,
    Maximum, ParallelLimits, ParseAccessListError, PartitionAccess, PartitionCapacity, QueueConfig,
    QueueOrdering, QueueState, Share,
};
use apportion::nearest::{hint, nearest};
use apportion::resource::RESOURCE_TYPES_MAX;

use super::auto_creation;
use super::table::{Entry, Section};
use crate::ConfigFileError;
use crate::file::excerpt;

/// The guarantee of a queue without `capacity`.
const CAPACITY_DEFAULT: Capacity = Capacity::Weight(Factor::ONE);

/// Bounds every walk of the tree before `validate` has checked it; more than `validate` accepts.
const PATH_NAMES_MAX: usize = 64;

/// The keys of a queue's table.
pub(super) const KEYS: &[&str] = &[
    "capacity",
    "maximum_capacity",
    "partitions",
    "accessible_partitions",
    "default_partition",
    "ordering",
    "child_ordering",
    "priority",
    "priority_offset",
    "priority_fence",
    "user_limit_factor",
    "user_limit_minimum",
    "user_weights",
    "state",
    "maximum_applications",
    "maximum_applications_per_user",
    "auto_creation",
    "submitters",
    "administrators",
    "maximum_parallel_applications",
    "maximum_parallel_applications_per_user",
    "maximum_parallel_applications_by_user",
    "maximum_master_share",
    "default_application_priority",
    "default_application_lifetime_ms",
    "maximum_application_lifetime_ms",
    "limits",
];

/// The keys of a queue's table for one partition.
const PARTITION_KEYS: [&str; 2] = ["capacity", "maximum_capacity"];

/// The keys of a limit of users and groups.
pub(super) const LIMIT_KEYS: [&str; 4] = ["users", "groups", "maximum", "maximum_parallel_applications"];

/// The word for the order in a file.
pub(super) fn ordering_word(ordering: ApplicationOrdering) -> &'static str {
    match ordering {
        ApplicationOrdering::Fifo => "fifo",
        ApplicationOrdering::Fair => "fair",
        ApplicationOrdering::FairBySize => "fair_by_size",
    }
}

/// The word for the order of a parent's children in a file.
pub(super) fn child_ordering_word(ordering: QueueOrdering) -> &'static str {
    match ordering {
        QueueOrdering::Utilization => "utilization",
        QueueOrdering::PriorityUtilization => "priority_utilization",
        QueueOrdering::DemandPriority => "demand_priority",
        QueueOrdering::UtilizationThenDemand => "utilization_then_demand",
    }
}

/// The word for the state of a queue in a file.
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
    /// The position of the queue. Adds the queue and the parents that its path implies.
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
        return Err(entry.error(format!("a queue's path must start at the root: \"root.{path}\"")));
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
        return Err(nested.error(format!("a queue's path must be quoted: [queues.\"{}\"]", excerpt(&path))));
    }
    section.only(KEYS)?;
    queue.auto_creation =
        section.read("auto_creation", |entry| auto_creation::read(entry, types))?.map(Box::new);
    read_partitions(&section, types, queue)?;
    read_own(&section, types, queue)
}

/// Reads the settings of a queue or of a template.
pub(super) fn read_own(
    section: &Section<'_>,
    types: &ResourceTypes,
    queue: &mut QueueConfig,
) -> Result<(), ConfigFileError> {
    let own = partition_capacity(section, types)?;
    queue.capacity = own.capacity.unwrap_or(queue.capacity);
    queue.maximum = own.maximum.unwrap_or(queue.maximum);
    let orderings = [ApplicationOrdering::Fifo, ApplicationOrdering::Fair, ApplicationOrdering::FairBySize];
    if let Some(ordering) = section.read("ordering", |entry| entry.word(&orderings, ordering_word))? {
        queue.ordering = ordering;
    }
    let orderings = [
        QueueOrdering::Utilization,
        QueueOrdering::PriorityUtilization,
        QueueOrdering::DemandPriority,
        QueueOrdering::UtilizationThenDemand,
    ];
    if let Some(ordering) =
        section.read("child_ordering", |entry| entry.word(&orderings, child_ordering_word))?
    {
        queue.child_ordering = ordering;
    }
    if let Some(priority) = section.read("priority", Entry::priority)? {
        queue.priority = priority;
    }
    if let Some(offset) = section.read("priority_offset", Entry::priority)? {
        queue.priority_offset = offset;
    }
    if let Some(is_fence) = section.read("priority_fence", |entry| entry.switch())? {
        queue.priority_fence = is_fence;
    }
    if let Some(factor) = section.read("user_limit_factor", |entry| entry.limit_factor())? {
        queue.user_limit_factor = factor;
    }
    if let Some(minimum) = section.read("user_limit_minimum", |entry| entry.percent())? {
        queue.user_limit_minimum = minimum;
    }
    queue.user_weights = section.read("user_weights", user_weights)?.unwrap_or_default();
    queue.limits = section.read("limits", |entry| holder_limits(entry, types))?.unwrap_or_default();
    read_applications(section, queue)
}

fn read_partitions(
    section: &Section<'_>,
    types: &ResourceTypes,
    queue: &mut QueueConfig,
) -> Result<(), ConfigFileError> {
    let own = |entry: &Entry<'_>| {
        let section = entry.section()?;
        section.only(&PARTITION_KEYS)?;
        Ok((entry.key.get_ref().to_string(), partition_capacity(&section, types)?))
    };
    let all = |entry: &Entry<'_>| entry.section()?.entries().iter().map(own).collect();
    queue.partitions = section.read("partitions", all)?.unwrap_or_default();
    queue.accessible_partitions = section.read("accessible_partitions", access)?;
    queue.default_partition = section.read("default_partition", |entry| entry.text().map(str::to_owned))?;
    Ok(())
}

/// Reads the names of partitions; `["*"]` means all.
fn access(entry: &Entry<'_>) -> Result<PartitionAccess, ConfigFileError> {
    let names = entry.texts()?;
    if names.iter().any(|name| name == "*") {
        return match &names[..] {
            [_] => Ok(PartitionAccess::All),
            _ => Err(entry.error("\"*\" means all partitions; remove the other names")),
        };
    }
    Ok(PartitionAccess::Only(names.into_iter().collect()))
}

/// Reads the capacities in a table, of a queue or of one of its partitions.
fn partition_capacity(
    section: &Section<'_>,
    types: &ResourceTypes,
) -> Result<PartitionCapacity, ConfigFileError> {
    let [capacity_key, maximum_key] = PARTITION_KEYS;
    Ok(PartitionCapacity {
        capacity: section.read(capacity_key, |entry| capacity(entry, types))?,
        maximum: section.read(maximum_key, |entry| maximum(entry, types))?,
    })
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
    queue.submitters = section.read("submitters", access_list)?;
    queue.administrators = section.read("administrators", access_list)?;
    queue.parallel = ParallelLimits {
        total: section.read("maximum_parallel_applications", Entry::whole)?,
        per_user: section.read("maximum_parallel_applications_per_user", Entry::whole)?,
        by_user: section.read("maximum_parallel_applications_by_user", counts_by_user)?.unwrap_or_default(),
    };
    if let Some(priority) = section.read("default_application_priority", Entry::whole)? {
        queue.default_application_priority = priority;
    }
    queue.lifetimes = Lifetimes {
        default_ms: section.read("default_application_lifetime_ms", Entry::whole)?,
        maximum_ms: section.read("maximum_application_lifetime_ms", Entry::whole)?,
    };
    queue.master_share = section.read("maximum_master_share", |entry| entry.percent())?;
    Ok(())
}

fn access_list(entry: &Entry<'_>) -> Result<AccessList, ConfigFileError> {
    entry.text()?.parse().map_err(|error: ParseAccessListError| entry.error(error.to_string()))
}

fn counts_by_user(entry: &Entry<'_>) -> Result<BTreeMap<String, u32>, ConfigFileError> {
    let count = |entry: &Entry<'_>| Ok((entry.key.get_ref().to_string(), entry.whole()?));
    entry.section()?.entries().iter().map(count).collect()
}

fn user_weights(entry: &Entry<'_>) -> Result<BTreeMap<String, Factor>, ConfigFileError> {
    let weight = |entry: &Entry<'_>| Ok((entry.key.get_ref().to_string(), entry.factor()?));
    entry.section()?.entries().iter().map(weight).collect()
}

fn holder_limits(entry: &Entry<'_>, types: &ResourceTypes) -> Result<Vec<HolderLimit>, ConfigFileError> {
    let limit = |section: &Section<'_>| {
        section.only(&LIMIT_KEYS)?;
        let [users, groups, maximum, parallel] = LIMIT_KEYS;
        Ok(HolderLimit {
            users: section.read(users, Entry::texts)?.unwrap_or_default(),
            groups: section.read(groups, Entry::texts)?.unwrap_or_default(),
            maximum: section.read(maximum, |entry| amounts(entry, types))?.unwrap_or_default(),
            parallel: section.read(parallel, Entry::whole)?,
        })
    };
    entry.tables()?.iter().map(limit).collect()
}

/// Whether the entry looks like an unquoted path: `[queues.root.a]` nests tables, `[queues."root.a"]` names a
/// queue.
fn is_unquoted_path(entry: &Entry<'_>) -> bool {
    let key: &str = entry.key.get_ref();
    entry.value.get_ref().is_table() && !KEYS.contains(&key)
}

fn capacity(entry: &Entry<'_>, types: &ResourceTypes) -> Result<Capacity, ConfigFileError> {
    match entry.value.get_ref() {
        DeValue::Table(_) => {
            let shares = by_type(entry, types, share)?.map(|share| share.unwrap_or(Share::NONE));
            Ok(Capacity::mixed(&shares))
        }
        DeValue::String(text) if text.trim().ends_with('w') => entry.weight(text).map(Capacity::Weight),
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) => {
            entry.percent().map(Capacity::Percent)
        }
        _ => Err(entry.expected("\"40 %\", \"3w\" or a table of amounts")),
    }
}

fn share(entry: &Entry<'_>) -> Result<Share, ConfigFileError> {
    match entry.value.get_ref() {
        DeValue::String(text) if text.trim().ends_with('w') => entry.weight(text).map(Share::Weight),
        DeValue::String(_) => entry.percent().map(Share::Percent),
        DeValue::Integer(_) => entry.amount().map(Share::Amount),
        _ => Err(entry.expected("an amount, \"40 %\" or \"3w\"")),
    }
}

fn maximum(entry: &Entry<'_>, types: &ResourceTypes) -> Result<Maximum, ConfigFileError> {
    match entry.value.get_ref() {
        DeValue::Table(_) => {
            let bounds = by_type(entry, types, bound)?.map(|bound| bound.unwrap_or(Bound::NONE));
            Ok(Maximum::mixed(&bounds))
        }
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) => entry.percent().map(Maximum::Percent),
        _ => Err(entry.expected("\"80 %\" or a table of amounts")),
    }
}

fn bound(entry: &Entry<'_>) -> Result<Bound, ConfigFileError> {
    match entry.value.get_ref() {
        DeValue::String(_) => entry.percent().map(Bound::Percent),
        DeValue::Integer(_) => entry.amount().map(Bound::Amount),
        _ => Err(entry.expected("an amount or \"80 %\"")),
    }
}

pub(super) fn amounts(
    entry: &Entry<'_>,
    types: &ResourceTypes,
) -> Result<[Option<i64>; RESOURCE_TYPES_MAX], ConfigFileError> {
    by_type(entry, types, |entry| entry.amount())
}

/// Reads the value of each type in the table.
fn by_type<T: Copy>(
    entry: &Entry<'_>,
    types: &ResourceTypes,
    read: impl Fn(&Entry<'_>) -> Result<T, ConfigFileError>,
) -> Result<[Option<T>; RESOURCE_TYPES_MAX], ConfigFileError> {
    let mut all = [None; RESOURCE_TYPES_MAX];
    for entry in entry.section()?.entries() {
        let name = entry.key.get_ref();
        let Some(index) = types.names().iter().position(|known| known == name) else {
            let name = excerpt(name);
            let hint = hint(nearest(&name, types.names().iter().map(String::as_str)).as_deref());
            return Err(entry.key_error(format!("unknown resource type `{name}`{hint}")));
        };
        all[index] = Some(read(&entry)?);
    }
    Ok(all)
}
