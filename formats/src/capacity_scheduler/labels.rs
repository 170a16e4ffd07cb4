//! Node labels: the partitions, the queues that may use them, and their capacities there (`capacity-scheduler.md`
//! 1.3).

use std::collections::BTreeSet;

use apportion::config::{Capacity, Maximum, PartitionAccess, PartitionCapacity, Percent, QueueConfig};

use super::property::Settings;
use super::queue::Queues;
use super::tree::Listed;
use crate::ConfigFileError;

const LABELS: &str = "accessible-node-labels";
const DEFAULT_LABEL: &str = "default-node-label-expression";

/// YARN's capacity in a partition that a queue may use but sets no capacity for.
const NOTHING: Capacity = Capacity::Percent(Percent::NONE);

/// The labels that listed queues name. No file lists the labels of a cluster.
pub(super) fn named(settings: &Settings<'_>, root: &Listed<'_>) -> Result<Vec<String>, ConfigFileError> {
    let mut names = BTreeSet::new();
    for queue in root.walk() {
        if let Some(PartitionAccess::Only(own)) = access(settings, queue)? {
            names.extend(own);
        }
        names.extend(default_label(settings, queue)?.filter(|name| !name.is_empty()));
        let before = format!("{}.", queue.key(LABELS));
        let keys = settings.below(&before).filter_map(|setting| setting.key.strip_prefix(&before));
        names.extend(keys.filter_map(|key| key.rsplit_once('.')).map(|(label, _)| label.to_owned()));
    }
    Ok(names.into_iter().collect())
}

/// The name of a queue's property, or of its counterpart for one label.
pub(super) fn name_in(label: Option<&str>, name: &str) -> String {
    label.map_or_else(|| name.to_owned(), |label| format!("{LABELS}.{label}.{name}"))
}

/// Reads the accessible labels of queues and their capacities there, into the tree at `root`.
pub(super) fn read<'p>(
    queues: &mut Queues<'p, '_>,
    listed: &Listed<'p>,
    root: &mut QueueConfig,
    labels: &[String],
) -> Result<(), ConfigFileError> {
    root.accessible_partitions = access(queues.settings, listed)?;
    root.default_partition = default_label(queues.settings, listed)?;
    below(queues, listed, root, labels, &PartitionAccess::All)
}

/// Reads the queues below a queue; `above` is the access of the queues above.
fn below<'p>(
    queues: &mut Queues<'p, '_>,
    listed: &Listed<'p>,
    queue: &mut QueueConfig,
    labels: &[String],
    above: &PartitionAccess,
) -> Result<(), ConfigFileError> {
    let own = queue.accessible_partitions.clone().unwrap_or_else(|| above.clone());
    for (listed, child) in listed.children.iter().zip(&mut queue.children) {
        child.accessible_partitions = access(queues.settings, listed)?;
        child.default_partition = default_label(queues.settings, listed)?;
        record_unused(queues, listed, labels, child.accessible_partitions.as_ref().unwrap_or(&own));
    }
    for label in labels.iter().filter(|label| own.includes(label)) {
        let has_nothing = queue.partitions.get(label).is_some_and(|own| own.capacity == Some(NOTHING));
        let children = listed.children.iter().zip(&mut queue.children);
        let (children, mut configs): (Vec<_>, Vec<_>) =
            children.filter(|(_, child)| !child.is_kept_from(label)).unzip();
        let capacities = queues.capacities(listed, &children, Some(label), has_nothing)?;
        for ((listed, child), capacity) in children.into_iter().zip(&mut configs).zip(capacities) {
            let capacity = capacity.unwrap_or(NOTHING);
            let maximum = queues.maximum(listed, Some(label), &capacity)?;
            let maximum = Some(maximum.unwrap_or(Maximum::Percent(Percent::ALL)));
            let there = PartitionCapacity { capacity: Some(capacity), maximum };
            child.partitions.insert(label.clone(), there);
        }
    }
    let mut children = listed.children.iter().zip(&mut queue.children);
    children.try_for_each(|(listed, child)| below(queues, listed, child, labels, &own))
}

/// Reports capacities in partitions that the queue may not use.
fn record_unused(
    queues: &mut Queues<'_, '_>,
    listed: &Listed<'_>,
    labels: &[String],
    access: &PartitionAccess,
) {
    for label in labels.iter().filter(|label| !access.includes(label)) {
        for name in ["capacity", "maximum-capacity"] {
            if let Some(setting) = queues.settings.get(&listed.key(&name_in(Some(label), name))) {
                queues.record(&setting, "the queue may not use this partition");
            }
        }
    }
}

/// The partitions in the queue's own list. In YARN a blank list means the default partition only.
fn access(settings: &Settings<'_>, listed: &Listed<'_>) -> Result<Option<PartitionAccess>, ConfigFileError> {
    let Some(setting) = settings.get(&listed.key(LABELS)) else { return Ok(None) };
    let names = settings.value(&setting)?.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    Ok(Some(if names.contains("*") { PartitionAccess::All } else { PartitionAccess::Only(names) }))
}

fn default_label(settings: &Settings<'_>, listed: &Listed<'_>) -> Result<Option<String>, ConfigFileError> {
    let setting = settings.get(&listed.key(DEFAULT_LABEL));
    setting.map(|setting| Ok(settings.value(&setting)?.to_owned())).transpose()
}
