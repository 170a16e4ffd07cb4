//! The queues with what they come to in a cluster, by the engine's own reckoning.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apportion::config::{EngineConfig, PartitionAccess, QueueConfig};
use apportion::{Engine, ManualClock, Mode, Resources};

use super::cluster::{Part, nodes};
use crate::cli::Failure;

/// So much of every type makes percentages exact to the fourth decimal place.
const WHOLE: i64 = 100_000_000;

/// One queue.
#[derive(Debug)]
pub(super) struct Row<'c> {
    pub(super) path: String,
    pub(super) depth: usize,
    pub(super) queue: &'c QueueConfig,
    /// The partitions it may use beside the default one; `None`: all.
    pub(super) access: Option<BTreeSet<String>>,
    /// In each partition that has nodes: its name, the guarantee and the maximum there.
    pub(super) effective: Vec<(String, Resources, Resources)>,
}

impl Row<'_> {
    /// Whether the queue may use the partition with this name; the default one's is empty.
    pub(super) fn may_use(&self, partition: &str) -> bool {
        partition.is_empty() || self.access.as_ref().is_none_or(|names| names.contains(partition))
    }
}

/// The tree in some cluster.
#[derive(Debug)]
pub(super) struct Tree<'c> {
    pub(super) rows: Vec<Row<'c>>,
    /// What the partitions have where effective amounts are parts of it and not amounts.
    pub(super) whole: Option<Resources>,
}

/// Parents before children. Without `parts` the figures are parts of the whole, if they do not depend on amounts.
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
    rows.push(Row { path: path.to_owned(), depth, queue, access: access.cloned(), effective: Vec::new() });
    for child in &queue.children {
        collect(child, &format!("{path}.{}", child.name), depth + 1, access, rows);
    }
}

fn has_amounts(queue: &QueueConfig) -> bool {
    let names = queue.partitions.keys().map(String::as_str).chain([""]);
    let mut sizes = names.map(|name| (queue.capacity_in(name).amounts(), queue.maximum_in(name).amounts()));
    sizes.any(|(least, most)| !least.is_zero() || most.iter().any(Option::is_some))
}

/// Starts an engine with the nodes and asks it.
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
        for row in rows {
            let Some(queue) = queues.get(row.path.as_str()) else { continue };
            let quotas = ids.iter().map(|(name, id)| (name, queue.quota(*id)));
            row.effective =
                quotas.map(|(name, quota)| (name.clone(), quota.guaranteed, quota.maximum)).collect();
        }
    });
    Ok(())
}
