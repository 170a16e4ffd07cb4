//! The partition that is imported, and its settings other than queues.

use std::collections::BTreeMap;

use apportion::config::NodeOrderKind;

use super::entry::Entry;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const KEYS: [&str; 8] = [
    "name",
    "queues",
    "placementrules",
    "limits",
    "preemption",
    "nodesortpolicy",
    "usergroupresolver",
    "statedumpfilepath",
];
const NOT_YET: &str = "not supported by this engine yet";

/// The partition named `default`, else the first one. The others are reported by name, because an engine has one
/// tree of queues.
pub(super) fn chosen<'n>(
    document: &Entry<'n>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<Entry<'n>, ConfigFileError> {
    let partitions = document.get("partitions").map(|list| list.items()).transpose()?.unwrap_or_default();
    let mut lines = BTreeMap::new();
    let mut named = Vec::new();
    for partition in partitions {
        let entries = partition.only(&KEYS)?;
        let line = entries.first().map_or(partition.line(), Entry::line);
        let name = partition.get("name").map_or(Ok(""), |name| name.text())?.to_ascii_lowercase();
        let name = if name.is_empty() { "default".to_owned() } else { name };
        if let Some(line) = lines.insert(name.clone(), line) {
            let problem = format!("partition `{}` is already defined in line {line}", excerpt(&name));
            return Err(partition.error(problem));
        }
        named.push((partition.named(format!("partitions.{name}")), name));
    }
    let position = named.iter().position(|(_, name)| name == "default").unwrap_or(0);
    if named.is_empty() {
        return Err(document.error("has no partitions"));
    }
    let (chosen, _) = named.remove(position);
    for (partition, _) in named {
        if let Some(name) = partition.get("name") {
            let reason = "an engine has one tree of queues; this partition needs an engine of its own";
            name.report(reason, report);
        }
    }
    Ok(chosen)
}

/// Reads a partition's node order. Its other settings are checked and reported.
pub(super) fn node_order(
    partition: &Entry<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<NodeOrderKind, ConfigFileError> {
    if let Some(resolver) = partition.get("usergroupresolver") {
        resolver.only(&["type"])?;
        resolver.report(NOT_YET, report);
    }
    if let Some(path) = partition.get("statedumpfilepath") {
        path.report("deprecated; YuniKorn ignores it", report);
    }
    partition.get("nodesortpolicy").map_or(Ok(NodeOrderKind::Spread), |policy| sort_policy(&policy, report))
}

fn sort_policy(
    policy: &Entry<'_>,
    report: &mut Vec<NotCarriedOver>,
) -> Result<NodeOrderKind, ConfigFileError> {
    policy.only(&["type", "resourceweights"])?;
    if let Some(weights) = policy.get("resourceweights") {
        for weight in weights.entries()? {
            let number = weight.text()?.parse::<f64>().ok().filter(|number| number.is_finite());
            match number {
                Some(number) if number >= 0.0 => {}
                Some(_) => return Err(weight.error("a weight may not be negative")),
                None => return Err(weight.error("expected a number")),
            }
        }
        weights.report("this engine's node orders weigh all resource types alike", report);
    }
    match policy.get("type").map_or(Ok("fair"), |kind| kind.word(&["fair", "binpacking", ""]))? {
        "binpacking" => Ok(NodeOrderKind::Pack),
        _ => Ok(NodeOrderKind::Spread),
    }
}
