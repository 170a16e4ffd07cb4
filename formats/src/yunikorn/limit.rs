//! Limits of users and groups, checked as in YuniKorn and carried over.

use std::collections::{BTreeMap, BTreeSet};

use apportion::ResourceTypes;
use apportion::config::{HolderLimit, QueueConfig};

use super::entry::Entry;
use super::quantity::{self, Quantities};
use super::tree::Queue;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

const BEHIND_ROOT: &str =
    "the root queue has limits of its own; those of the partition would be the same queue's";
const KEYS: [&str; 5] = ["limit", "users", "groups", "maxresources", "maxapplications"];

/// The kind (user or group) and the name of a limit's holder.
type Holder<'n> = (&'static str, &'n str);

/// The amounts and applications of the limits in force.
type InForce<'n> = BTreeMap<Holder<'n>, (Quantities<'n>, u64)>;

/// Reads the limits of the queue and of all queues below it.
pub(super) fn read<'n>(
    queue: &Queue<'n>,
    config: &mut QueueConfig,
    above: &InForce<'n>,
    types: &ResourceTypes,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    let mut in_force = above.clone();
    if let Some(limits) = queue.entry.get("limits") {
        for Limit { holder, entry, amounts, applications } in list(&limits, queue)? {
            let (most, (kind, name)) = (in_force.get(&holder), holder);
            if most.is_some_and(|(most, _)| amounts.exceeds(most).is_some()) {
                return Err(entry.error(format!("{kind} `{name}` has a lower limit in a queue above")));
            }
            if most.is_some_and(|(_, most)| *most != 0 && (applications == 0 || applications > *most)) {
                return Err(entry
                    .error(format!("{kind} `{name}` has a lower limit of applications in a queue above")));
            }
            let amounts = most.map_or(amounts.clone(), |(most, _)| amounts.at_most(most));
            in_force.insert(holder, (amounts, applications));
        }
        carry_over(&limits, config, types, report)?;
    }
    let children = queue.children.iter().zip(&mut config.children);
    children.into_iter().try_for_each(|(child, config)| read(child, config, &in_force, types, report))
}

/// Reads the limits of a partition, which are those of its root. If the root has limits, the partition's are
/// reported.
pub(super) fn read_partition(
    limits: &Entry<'_>,
    root: &Queue<'_>,
    config: &mut QueueConfig,
    types: &ResourceTypes,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    list(limits, root)?;
    if root.entry.get("limits").is_some() {
        limits.report(BEHIND_ROOT, report);
        return Ok(());
    }
    carry_over(limits, config, types, report)
}

/// Carries the limits over. A limit without any type that this engine counts is only reported.
fn carry_over(
    limits: &Entry<'_>,
    config: &mut QueueConfig,
    types: &ResourceTypes,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    for entry in limits.items()? {
        let names = |key| -> Result<Vec<String>, ConfigFileError> {
            let names = entry.get(key).map(|names| names.items()).transpose()?.unwrap_or_default();
            names.iter().map(|name| name.text().map(str::to_owned)).collect()
        };
        let written = entry.get("maxresources");
        if let Some(written) = &written {
            quantity::check(written, types, report)?;
        }
        let amounts = Quantities::read(written.as_ref())?;
        // YuniKorn treats amounts that are all zero as no limit.
        let maximum = if amounts.is_zero() { Default::default() } else { amounts.amounts(types) };
        let applications = entry.get("maxapplications").map_or(Ok(0), |entry| entry.count())?;
        let parallel = Some(u32::try_from(applications).unwrap_or(u32::MAX)).filter(|most| *most > 0);
        if parallel.is_some() || maximum.iter().any(Option::is_some) {
            let (users, groups) = (names("users")?, names("groups")?);
            config.limits.push(HolderLimit { users, groups, maximum, parallel });
        }
    }
    Ok(())
}

/// A limit of one user or group.
#[derive(Debug)]
struct Limit<'n> {
    holder: Holder<'n>,
    entry: Entry<'n>,
    amounts: Quantities<'n>,
    /// The number of applications; 0: any.
    applications: u64,
}

fn list<'n>(limits: &Entry<'n>, queue: &Queue<'n>) -> Result<Vec<Limit<'n>>, ConfigFileError> {
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in limits.items()? {
        entry.only(&KEYS)?;
        let amounts = Quantities::read(entry.get("maxresources").as_ref())?;
        let applications = entry.get("maxapplications").map_or(Ok(0), |entry| entry.count())?;
        check_bounds(&entry, queue, &amounts, applications)?;
        let before = all.len();
        for (kind, key) in [("user", "users"), ("group", "groups")] {
            for item in entry.get(key).map(|names| names.items()).transpose()?.unwrap_or_default() {
                let name = item.text()?;
                check_name(&item, kind, name, &mut seen)?;
                let (entry, amounts) = (entry.clone(), amounts.clone());
                all.push(Limit { holder: (kind, name), entry, amounts, applications });
            }
        }
        if all.len() == before {
            return Err(entry.error("this limit names neither users nor groups"));
        }
    }
    let groups: Vec<_> = seen.iter().filter(|(kind, _)| *kind == "group").collect();
    if let [(_, "*")] = groups[..] {
        return Err(limits.error("a limit for all groups needs one for a named group before it"));
    }
    Ok(all)
}

fn check_bounds(
    entry: &Entry<'_>,
    queue: &Queue<'_>,
    amounts: &Quantities<'_>,
    applications: u64,
) -> Result<(), ConfigFileError> {
    if amounts.is_zero() && (applications == 0 || !amounts.is_empty()) {
        return Err(entry.error("this limit has neither maxresources above 0 nor maxapplications"));
    }
    if queue.max_applications != 0 && applications > queue.max_applications {
        let problem = format!("maxapplications is above the queue's own {}", queue.max_applications);
        return Err(entry.error(problem));
    }
    match amounts.exceeds(&queue.max) {
        Some(name) => Err(entry.error(format!("more {name} than the queue's own max"))),
        None => Ok(()),
    }
}

/// Checks the name: valid in POSIX and directories, or `*` after all names; no name twice.
fn check_name<'n>(
    item: &Entry<'_>,
    kind: &'static str,
    name: &'n str,
    seen: &mut BTreeSet<Holder<'n>>,
) -> Result<(), ConfigFileError> {
    let is_other = |byte: u8| {
        byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte) || (kind == "user" && byte == b'@')
    };
    let body = if kind == "user" { name.strip_suffix('$').unwrap_or(name) } else { name };
    let starts_well = body.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if name != "*" && !(starts_well && body.bytes().all(is_other)) {
        return Err(item.error(format!("`{}` is not a valid {kind} name", excerpt(name))));
    }
    if name != "*" && seen.contains(&(kind, "*")) {
        return Err(item.error(format!("`{name}` comes after `*`, which must be the last")));
    }
    if !seen.insert((kind, name)) {
        return Err(item.error(format!("{kind} `{name}` already has a limit")));
    }
    Ok(())
}
