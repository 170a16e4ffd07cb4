//! Importer of YuniKorn's `queues.yaml`.
//!
//! `docs/configuration.md`, "From YuniKorn", lists the imported keys and their meaning. All other keys that
//! YuniKorn knows are checked as in YuniKorn and reported as [`NotCarriedOver`](super::NotCarriedOver). Unknown
//! keys are errors (`peers.md` section 1.1).
//!
//! Preemption is on unless the partition switches it off, as in YuniKorn.
//!
//! A queue has the weight `1w` if neither it nor a queue below it has a guarantee. Users have no limit of their
//! own.

mod access;
mod check;
mod entry;
mod limit;
mod partition;
mod preemption;
mod property;
mod quantity;
mod queue;
mod rule;
mod tree;
mod yaml;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod placement_tests;
#[cfg(test)]
mod preemption_tests;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use apportion::ResourceTypes;
use apportion::config::{ConfigError, EngineConfig};

use self::entry::Entry;
use self::queue::Queues;
use self::tree::Queue;
use crate::file::Source;
use crate::{ConfigFileError, Imported};

/// Imports the text of a `queues.yaml` for an engine that counts `types`. YuniKorn's `memory`, in bytes, becomes
/// `memory_mib`; `vcore` becomes `vcore_milli`; a name like `nvidia.com/gpu` becomes `gpu_milli` or `gpu`.
/// Resources that the engine does not count are reported. `file_name` appears only in messages.
///
/// # Errors
/// The first mistake, with its line and column. It is broken YAML, aliases that repeat too much, or a key that YuniKorn
/// does not know (with the nearest known one). Or it is a value of the wrong form, or a setting that YuniKorn or
/// [`EngineConfig::validate`] refuses.
pub fn from_queues_yaml(
    text: &str,
    file_name: &str,
    types: &ResourceTypes,
) -> Result<Imported, ConfigFileError> {
    let source = Source::new(file_name, text)?;
    let node = yaml::document(&source)?;
    let document = Entry::document(&source, &node);
    document.only(&["partitions", "checksum"])?;
    let mut report = Vec::new();
    let partition = partition::chosen(&document, &mut report)?;
    let Some(queues) = partition.get("queues") else {
        return Err(partition.error("this partition has no queues"));
    };
    let root = tree::root(&queues)?;
    check::check(&root)?;
    let rules = partition.get("placementrules");
    let creates = rules.as_ref().map_or(Ok(false), rule::creates)?;
    let mut tree = Queues { types, report: &mut report, creates }.root(&root)?;
    access::read(&root, &mut tree)?;
    if let Some(limits) = partition.get("limits") {
        limit::read_partition(&limits, &root, &mut tree, types, &mut report)?;
    }
    limit::read(&root, &mut tree, &BTreeMap::new(), types, &mut report)?;
    let mut config = EngineConfig::new(types.clone(), tree);
    config.preemption = preemption::read(&partition, &root, &config.root, &mut report)?;
    if let Some(rules) = rules {
        config.queue_mapping = rule::read(&rules, &root, &mut report)?;
    }
    config.node_order = partition::node_order(&partition, &mut report)?;
    config.validate().map_err(|error| refused(&root, error))?;
    report.sort_by_key(|entry| entry.line);
    Ok(Imported { config, not_carried_over: report })
}

/// An error of the engine, at the queue that it is about.
fn refused(root: &Queue<'_>, error: ConfigError) -> ConfigFileError {
    let queue = match &error {
        ConfigError::Queue { path, .. } => root.find(path).unwrap_or(root),
        _ => root,
    };
    queue.entry.config_error(error)
}

/// The body of a fuzz target: imports `data`. An imported configuration must be valid.
#[doc(hidden)]
pub fn fuzz_queues_yaml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let types = ResourceTypes::memory_and_vcores();
    if let Ok(imported) = from_queues_yaml(&text, "fuzz.yaml", &types) {
        assert_eq!(imported.config.validate(), Ok(()));
    }
}
