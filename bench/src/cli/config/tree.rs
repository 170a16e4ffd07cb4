//! The queues with their effective amounts in a cluster, as the engine computes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apportion::config::{Bound, EngineConfig, PartitionAccess, Percent, QueueConfig, Setting};
use apportion::view::QueueView;
use apportion::{Engine, ManualClock, Mode, PartitionId, Resources};

use super::cluster::{Part, nodes};
use crate::cli::Failure;

/// With this amount of every type, percentages are exact to the fourth decimal place.
const WHOLE: i64 = 100_000_000;

/// One queue.
#[derive(Debug)]
pub(super) struct Row<'c> {
    pub(super) path: String,
    pub(super) depth: usize,
    pub(super) queue: &'c QueueConfig,
    /// The partitions that it may use in addition to the default one; `None`: all.
    pub(super) access: Option<BTreeSet<String>>,
    /// In each partition that has nodes: its name, the guarantee and the maximum there.
    pub(super) effective: Vec<(String, Resources, Resources)>,
    /// The limits of a leaf in each partition that has nodes.
    pub(super) limits: Vec<Limit>,
}

/// A limit of a leaf, and the key that decides it.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) partition: String,
    pub(super) of: &'static str,
    /// `None` where the amount depends on the active users.
    pub(super) most: Option<Resources>,
    pub(super) setting: Setting,
}

impl Row<'_> {
    /// Whether the queue may use the partition with this name; the default partition's name is empty.
    pub(super) fn may_use(&self, partition: &str) -> bool {
        partition.is_empty() || self.access.as_ref().is_none_or(|names| names.contains(partition))
    }
}

/// The tree in a cluster.
#[derive(Debug)]
pub(super) struct Tree<'c> {
    pub(super) rows: Vec<Row<'c>>,
    /// The capacity of each partition, if effective amounts are parts of it.
    pub(super) whole: Option<Resources>,
}

/// The rows, parents before children. Without `parts` the figures are parts of the whole, unless they depend on
/// amounts.
pub(super) fn tree<'c>(config: &'c EngineConfig, parts: Vec<Part>) -> Result<Tree<'c>, Failure> {
    let mut rows = Vec::new();
    collect(&config.root, "root", 0, None, &mut rows);
    let (parts, whole) = match parts {
        given if !given.is_empty() => (given, None),
        _ if rows.iter().skip(1).any(|row| has_amounts(row.queue)) => return Ok(Tree { rows, whole: None }),
        _ => {
            let whole = Resources::new(&vec![WHOLE; config.resources.len()]);
            let names = std::iter::once(String::new()).chain(config.partitions.iter().cloned());
            (names.map(|name| (name, nodes(whole, &config.resources))).collect(), Some(whole))
        }
    };
    resolve(config, parts, &mut rows)?;
    Ok(Tree { rows, whole })
}

fn collect<'c>(
    queue: &'c QueueConfig,
    path: &str,
    depth: usize,
    above: Option<&BTreeSet<String>>,
    rows: &mut Vec<Row<'c>>,
) {
    let access = match &queue.accessible_partitions {
        Some(PartitionAccess::All) => None,
        Some(PartitionAccess::Only(names)) => Some(names),
        None => above,
    };
    let (effective, limits) = (Vec::new(), Vec::new());
    rows.push(Row { path: path.to_owned(), depth, queue, access: access.cloned(), effective, limits });
    for child in &queue.children {
        collect(child, &format!("{path}.{}", child.name), depth + 1, access, rows);
    }
}

fn has_amounts(queue: &QueueConfig) -> bool {
    let names = queue.partitions.keys().map(String::as_str).chain([""]);
    let mut sizes = names.map(|name| (queue.capacity_in(name).amounts(), queue.maximum_in(name).amounts()));
    sizes.any(|(least, most)| !least.is_zero() || most.iter().any(Option::is_some))
}

/// Starts an engine with the nodes and reads the queues' quotas and limits from it.
fn resolve(config: &EngineConfig, parts: Vec<Part>, rows: &mut [Row<'_>]) -> Result<(), Failure> {
    let clock = Arc::new(ManualClock::new());
    let engine = Engine::start(config.clone(), Mode::Serial, clock, None).map_err(Failure::run)?;
    let handle = engine.handle();
    let mut ids = Vec::new();
    for (name, nodes) in parts {
        let id = handle.partition(&name).map_err(Failure::input)?;
        for (number, mut node) in nodes.into_iter().enumerate() {
            node.name = format!("{name}/{number}/{}", node.name);
            handle.add_node(node.in_partition(id)).map_err(Failure::input)?;
        }
        if !ids.iter().any(|(_, known)| *known == id) {
            ids.push((name, id));
        }
    }
    engine.run_until_quiet();
    engine.read(|view| {
        let queues: BTreeMap<_, _> = view.queues().map(|queue| (queue.path(), queue)).collect();
        for row in &mut *rows {
            let Some(queue) = queues.get(row.path.as_str()) else { continue };
            let quotas = ids.iter().map(|(name, id)| (name, queue.quota(*id)));
            row.effective =
                quotas.map(|(name, quota)| (name.clone(), quota.guaranteed, quota.maximum)).collect();
        }
        let configured: BTreeMap<String, &QueueConfig> =
            rows.iter().map(|row| (row.path.clone(), row.queue)).collect();
        for row in rows.iter_mut().filter(|row| row.queue.is_leaf()) {
            let Some(leaf) = queues.get(row.path.as_str()) else { continue };
            let chain: Vec<_> = prefixes(&row.path)
                .filter_map(|path| Some((path, *configured.get(path)?, queues.get(path)?)))
                .collect();
            let of = |(name, id): &(String, PartitionId)| limits(config, &chain, leaf, name, *id);
            row.limits = ids.iter().flat_map(of).collect();
        }
    });
    Ok(())
}

/// The paths of the queues from below the root to this one.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('.').map(|(end, _)| end).skip(1).chain([path.len()]);
    ends.map(|end| &path[..end])
}

/// The limits of a leaf, its users and its masters in a partition.
fn limits(
    config: &EngineConfig,
    chain: &[(&str, &QueueConfig, &QueueView<'_>)],
    leaf: &QueueView<'_>,
    name: &str,
    partition: PartitionId,
) -> Vec<Limit> {
    let types = &config.resources;
    let (quota, table) = (leaf.quota(partition), Setting::table(leaf.path()));
    let Some((_, queue, _)) = chain.last() else { return Vec::new() };
    let limit =
        |of, most: Option<Resources>, setting| Limit { partition: name.to_owned(), of, most, setting };
    // For each type, the first queue on the path from the root whose maximum equals the leaf's.
    let deciding = |index: usize| {
        let (path, queue, _) = chain.iter().find(|(_, queue, view)| {
            let is_all = queue.maximum_in(name).bound(index) == Bound::NONE;
            !is_all && view.quota(partition).maximum[index] == quota.maximum[index]
        })?;
        Some(Setting::maximum(&Setting::table(path), queue, name, types))
    };
    let maxima: BTreeSet<Setting> = (0..types.len()).filter_map(deciding).collect();
    let mut limits: Vec<Limit> =
        maxima.into_iter().map(|setting| limit("queue", Some(quota.maximum), setting)).collect();
    if (0..types.len()).any(|index| quota.user_limit[index] < quota.maximum[index]) {
        let setting = Setting::user_limit_factor(&table, queue);
        limits.push(limit("user", Some(quota.user_limit), setting));
    }
    if queue.user_limit_minimum < Percent::ALL {
        limits.push(limit("user_beside_others", None, Setting::user_limit_minimum(&table, queue)));
    }
    let masters = Setting::master_share(&table, queue);
    limits.extend(masters.map(|setting| limit("masters", leaf.master_limit(partition), setting)));
    limits
}
