//! Checks of a whole configuration, before anything runs on it.

use std::collections::BTreeSet;

use super::{
    AllocationSizes, Capacity, ConfigError, EngineConfig, EngineLimits, Factor, LocalityDelay, Maximum,
    Percent, QueueConfig,
};
use crate::resource::{AMOUNT_MAX, ResourceTypes, Resources};

/// How deep a queue tree may be; far above any real one, and a bound on every walk.
const DEPTH_MAX: usize = 32;
/// Every queue and user has figures for each partition, so there are few.
const PARTITIONS_MAX: usize = 64;

pub(super) fn check(config: &EngineConfig) -> Result<(), ConfigError> {
    if config.root.name != "root" {
        return Err(queue_error(&config.root.name, "the top queue must be named `root`"));
    }
    if config.root.children.is_empty() {
        return Err(queue_error("root", "needs at least one queue below it"));
    }
    check_queue(&config.resources, &config.root, "root", 1)?;
    check_partitions(&config.partitions)?;
    check_limits(&config.limits)?;
    check_allocation(&config.resources, &config.allocation)?;
    if let LocalityDelay::Nodes { rack, any } = config.locality_delay
        && rack > any
    {
        return Err(value_error("locality_delay", "the rack's delay may not exceed that of any node"));
    }
    match config.heartbeat {
        Some(policy) if policy.silence_max_ms() == 0 => {
            Err(value_error("heartbeat", "interval_ms and missed_max must be at least 1"))
        }
        _ => Ok(()),
    }
}

fn check_queue(
    types: &ResourceTypes,
    queue: &QueueConfig,
    path: &str,
    depth: usize,
) -> Result<(), ConfigError> {
    if queue.name.is_empty() || queue.name.contains(['.', ',']) || queue.name.trim() != queue.name {
        return Err(queue_error(path, "a queue's name has no dots, commas or outer spaces and is not empty"));
    }
    if depth > DEPTH_MAX {
        return Err(queue_error(path, &format!("is deeper than {DEPTH_MAX} levels")));
    }
    check_own_limits(types, path, &queue.capacity, &queue.maximum, queue.user_limit_factor)?;
    if let Some((user, _)) = queue.user_weights.iter().find(|(_, weight)| weight.milli() == 0) {
        return Err(queue_error(path, &format!("the weight of user `{user}` is 0; it must be above 0")));
    }
    check_siblings(path, queue.children.iter().map(|child| &child.capacity))?;
    let mut names = BTreeSet::new();
    for child in &queue.children {
        let path = format!("{path}.{}", child.name);
        if !names.insert(child.name.as_str()) {
            return Err(queue_error(&path, "is defined twice"));
        }
        check_queue(types, child, &path, depth + 1)?;
    }
    Ok(())
}

/// Whether what one queue says about itself makes sense, whatever its siblings say.
pub(crate) fn check_own_limits(
    types: &ResourceTypes,
    path: &str,
    capacity: &Capacity,
    maximum: &Maximum,
    user_limit_factor: Option<Factor>,
) -> Result<(), ConfigError> {
    let check =
        |resources: &Resources| types.check(resources).map_err(|error| queue_error(path, &error.to_string()));
    if let Capacity::Absolute(amounts) = capacity {
        check(amounts)?;
    }
    if let Maximum::Absolute(amounts) = maximum {
        check(&Resources::new(&amounts.map(|amount| amount.unwrap_or(0))))?;
    }
    if let (Capacity::Absolute(capacity), Maximum::Absolute(maximum)) = (capacity, maximum) {
        let below = |i: usize| maximum[i].is_some_and(|maximum| maximum < capacity[i]);
        if let Some(i) = (0..types.len()).find(|i| below(*i)) {
            let name = &types.names()[i];
            return Err(queue_error(path, &format!("its maximum of {name} is below its capacity")));
        }
    }
    if user_limit_factor.is_some_and(|factor| factor.milli() == 0) {
        return Err(queue_error(path, "user_limit_factor must be above 0"));
    }
    Ok(())
}

/// Whether the guarantees of one parent's children can be met together.
pub(crate) fn check_siblings<'a>(
    parent: &str,
    capacities: impl Iterator<Item = &'a Capacity>,
) -> Result<(), ConfigError> {
    let (mut percent, mut absolute) = (0u64, Resources::ZERO);
    for capacity in capacities {
        match capacity {
            Capacity::Percent(part) => percent += u64::from(part.millionths()),
            Capacity::Absolute(amounts) => absolute += *amounts,
            Capacity::Weight(weight) if weight.milli() == 0 => {
                return Err(queue_error(parent, "a weight below it is 0; it must be above 0"));
            }
            Capacity::Weight(_) => {}
        }
    }
    if percent > u64::from(Percent::ALL.millionths()) {
        let sum = percent as f64 / 10_000.0;
        return Err(queue_error(parent, &format!("the capacities below it sum to {sum} %, more than 100 %")));
    }
    if absolute.amounts().iter().any(|amount| *amount > AMOUNT_MAX) {
        return Err(queue_error(parent, "the absolute capacities below it are too large to add up"));
    }
    Ok(())
}

fn check_partitions(names: &[String]) -> Result<(), ConfigError> {
    if names.len() >= PARTITIONS_MAX {
        return Err(value_error("partitions", &format!("at most {} are possible", PARTITIONS_MAX - 1)));
    }
    for (position, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(value_error("partitions", "the empty name is the default partition's"));
        }
        if names[..position].contains(name) {
            return Err(value_error("partitions", &format!("`{name}` is named twice")));
        }
    }
    Ok(())
}

fn check_allocation(types: &ResourceTypes, sizes: &AllocationSizes) -> Result<(), ConfigError> {
    let AllocationSizes { minimum, maximum } = sizes;
    types.check(minimum)?;
    types.check(&Resources::new(&maximum.map(|amount| amount.unwrap_or(0))))?;
    if let Some(i) = (0..types.len()).find(|i| maximum[*i].is_some_and(|maximum| maximum < minimum[*i])) {
        let name = &types.names()[i];
        return Err(value_error("engine.allocation", &format!("the maximum of {name} is below the minimum")));
    }
    match types.device_type() {
        Some(i) if minimum[i] > 0 || maximum[i].is_some() => {
            Err(value_error("engine.allocation", "devices are not rounded: their type is left out"))
        }
        _ => Ok(()),
    }
}

fn check_limits(limits: &EngineLimits) -> Result<(), ConfigError> {
    let sizes = [
        ("limits.batch_requests", limits.batch_requests),
        ("limits.pass_visits", limits.pass_visits),
        ("limits.group_requests", limits.group_requests),
        ("limits.inbox", limits.inbox),
        ("limits.leaf_quantum", limits.leaf_quantum as usize),
        ("limits.single_set_nodes", limits.single_set_nodes),
        ("limits.set_nodes", limits.set_nodes),
    ];
    match sizes.into_iter().find(|(_, size)| *size == 0) {
        Some((key, _)) => Err(value_error(key, "must be at least 1")),
        None => Ok(()),
    }
}

fn queue_error(path: &str, problem: &str) -> ConfigError {
    ConfigError::Queue { path: path.to_owned(), problem: problem.to_owned() }
}

fn value_error(key: &'static str, problem: &str) -> ConfigError {
    ConfigError::Value { key, problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(children: Vec<QueueConfig>) -> EngineConfig {
        EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(children))
    }

    fn percent(name: &str, percent: u32) -> QueueConfig {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(percent)))
    }

    #[test]
    fn children_over_100_percent_are_refused() {
        let error = config(vec![percent("a", 60), percent("b", 41)]).validate().unwrap_err();
        assert_eq!(error.to_string(), "queue `root`: the capacities below it sum to 101 %, more than 100 %");
        assert_eq!(config(vec![percent("a", 60), percent("b", 40)]).validate(), Ok(()));
    }

    #[test]
    fn a_queue_defined_twice_is_refused() {
        let error = config(vec![percent("a", 1), percent("a", 1)]).validate().unwrap_err();
        assert_eq!(error.to_string(), "queue `root.a`: is defined twice");
    }

    #[test]
    fn a_maximum_below_the_capacity_is_refused() {
        let leaf = QueueConfig::leaf("a", Capacity::Absolute(Resources::new(&[10])))
            .with_maximum(Maximum::absolute(&[9]));
        let error = config(vec![leaf]).validate().unwrap_err();
        assert_eq!(error.to_string(), "queue `root.a`: its maximum of memory_mib is below its capacity");
    }
}
