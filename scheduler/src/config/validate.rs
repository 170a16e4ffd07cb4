//! Checks of a whole configuration before the engine starts.

use super::queue_checks::check_tree;
use super::{
    AllocationSizes, ConfigError, EngineConfig, EngineLimits, LocalityDelay, opportunistic, preemption,
    queue_mapping,
};
use crate::nearest::{hint, nearest};
use crate::resource::{ResourceTypes, Resources};

/// Limits memory: every queue and user keeps figures for each partition.
const PARTITIONS_MAX: usize = 64;

pub(super) fn check(config: &EngineConfig) -> Result<(), ConfigError> {
    check_logged(config)?;
    match config.locality_delay {
        LocalityDelay::Time { rack_ms, any_ms } => check_delays(["rack_ms", "any_ms"], rack_ms, any_ms),
        LocalityDelay::Nodes { .. } => Ok(()),
    }
}

/// The checks for the configuration of a log. Earlier versions accepted some that [`check`] refuses.
pub(super) fn check_logged(config: &EngineConfig) -> Result<(), ConfigError> {
    check_partitions(&config.partitions)?;
    check_lending(&config.non_exclusive_partitions, &config.partitions)?;
    check_tree(config.into(), &config.root)?;
    queue_mapping::check(&config.queue_mapping, &config.root)?;
    check_limits(&config.limits)?;
    check_allocation(&config.resources, &config.allocation)?;
    if let LocalityDelay::Nodes { rack, any: Some(any), .. } = config.locality_delay {
        check_delays(["rack_nodes", "any_nodes"], rack.into(), any.into())?;
    }
    config.preemption.as_ref().map_or(Ok(()), |rounds| preemption::check(rounds, &config.root))?;
    config.opportunistic.map_or(Ok(()), opportunistic::check)?;
    if config.gather_limit_ms == Some(0) {
        return Err(value_error(
            "engine.gather_limit_ms",
            "must be at least 1: a gang holds its room for some time",
        ));
    }
    match config.heartbeat {
        Some(policy) if policy.interval_ms == 0 => {
            Err(value_error("engine.heartbeat.interval_ms", "must be at least 1"))
        }
        Some(policy) if policy.missed_max == 0 => {
            Err(value_error("engine.heartbeat.missed_max", "must be at least 1"))
        }
        _ => Ok(()),
    }
}

/// Checks that the delay for the rack ends before that for any node, behind which it would have no effect.
fn check_delays([rack_key, any_key]: [&str; 2], rack: u64, any: u64) -> Result<(), ConfigError> {
    if rack <= any {
        return Ok(());
    }
    let problem = format!(
        "{rack_key} is {rack} and {any_key} only {any}, so {rack_key} has no effect; set {any_key} to {rack} or more"
    );
    Err(value_error("engine.locality_delay", &problem))
}

fn check_partitions(names: &[String]) -> Result<(), ConfigError> {
    if names.len() >= PARTITIONS_MAX {
        return Err(value_error(
            "engine.partitions",
            &format!("at most {} are possible", PARTITIONS_MAX - 1),
        ));
    }
    for (position, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(value_error("engine.partitions", "the empty name is the default partition's"));
        }
        if name == "*" {
            return Err(value_error("engine.partitions", "`*` stands for all partitions and names none"));
        }
        if names[..position].contains(name) {
            return Err(value_error("engine.partitions", &format!("`{name}` is named twice")));
        }
    }
    Ok(())
}

/// Checks that the lending partitions exist. The default partition has no partition to lend to.
fn check_lending(names: &[String], partitions: &[String]) -> Result<(), ConfigError> {
    for (position, name) in names.iter().enumerate() {
        if !partitions.contains(name) {
            let hint = hint(nearest(name, partitions.iter().map(String::as_str)).as_deref());
            let problem = format!("`{name}` is not one of the partitions{hint}");
            return Err(value_error("engine.non_exclusive_partitions", &problem));
        }
        if names[..position].contains(name) {
            return Err(value_error("engine.non_exclusive_partitions", &format!("`{name}` is named twice")));
        }
    }
    Ok(())
}

fn check_allocation(types: &ResourceTypes, sizes: &AllocationSizes) -> Result<(), ConfigError> {
    let AllocationSizes { minimum, maximum, .. } = sizes;
    types.check(minimum)?;
    types.check(&Resources::new(&maximum.map(|amount| amount.unwrap_or(0))))?;
    if let Some(i) = (0..types.len()).find(|i| maximum[*i].is_some_and(|maximum| maximum < minimum[*i])) {
        let name = &types.names()[i];
        return Err(value_error(
            "engine.allocation.maximum",
            &format!("the maximum of {name} is below the minimum"),
        ));
    }
    for (i, name) in types.names().iter().enumerate() {
        if let (step @ 1.., Some(most)) = (minimum[i], maximum[i])
            && most % step != 0
        {
            let below = most / step * step;
            let problem = format!(
                "the maximum of {name}, {most}, is not a multiple of the minimum, {step}, to which sizes are rounded; \
                 use {below} or {}",
                below + step
            );
            return Err(value_error("engine.allocation.maximum", &problem));
        }
    }
    match types.device_type() {
        Some(i) if minimum[i] > 0 || maximum[i].is_some() => {
            Err(value_error("engine.allocation", "devices are not rounded; leave their type out"))
        }
        _ => Ok(()),
    }
}

fn check_limits(limits: &EngineLimits) -> Result<(), ConfigError> {
    let sizes = [
        ("engine.limits.batch_requests", limits.batch_requests),
        ("engine.limits.pass_visits", limits.pass_visits),
        ("engine.limits.group_requests", limits.group_requests),
        ("engine.limits.inbox", limits.inbox),
        ("engine.limits.off_switch_per_pass", limits.off_switch_per_pass.unwrap_or(1) as usize),
        ("engine.limits.single_set_nodes", limits.single_set_nodes),
        ("engine.limits.set_nodes", limits.set_nodes),
    ];
    match sizes.into_iter().find(|(_, size)| *size == 0) {
        Some((key, _)) => Err(value_error(key, "must be at least 1")),
        None => Ok(()),
    }
}

fn value_error(key: &'static str, problem: &str) -> ConfigError {
    ConfigError::Value { key, problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::config::{Capacity, Percent, QueueConfig};
    use crate::log::{HEADER, frame_head};
    use crate::replay::Replay;

    /// Otherwise rounding up could exceed the maximum, or the largest size would not be a multiple of the step.
    #[test]
    fn a_largest_container_that_is_not_in_steps_is_refused() {
        let leaf = QueueConfig::leaf("a", Capacity::Percent(Percent::whole(1)));
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf]));
        config.allocation.minimum = Resources::new(&[300]);
        config.allocation.maximum[0] = Some(1000);
        let expected = "engine.allocation.maximum: the maximum of memory_mib, 1000, is not a multiple of the minimum, 300, \
                        to which sizes are rounded; use 900 or 1200";
        assert_eq!(config.validate().unwrap_err().to_string(), expected);
        config.allocation.maximum[0] = Some(900);
        assert_eq!(config.validate(), Ok(()));
        let normalized = |amount: i64| {
            let mut size = Resources::new(&[amount]);
            config.allocation.normalize(&mut size).map(|()| size)
        };
        assert_eq!(normalized(900), Ok(Resources::new(&[900])));
        assert_eq!(normalized(601), Ok(Resources::new(&[900])));
        assert_eq!(normalized(901), Err(0));
    }

    /// Its rack would be accepted after all other nodes.
    #[test]
    fn a_delay_for_the_rack_above_that_for_any_node_is_refused() {
        let leaf = QueueConfig::leaf("a", Capacity::Percent(Percent::whole(1)));
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf]));
        let mut refusal = |delay| {
            config.locality_delay = delay;
            config.validate().map_err(|error| error.to_string())
        };
        let nodes = |rack, any| LocalityDelay::Nodes { rack, any, full_reset: true };
        for (delay, problem) in [
            (
                nodes(3, Some(2)),
                "rack_nodes is 3 and any_nodes only 2, so rack_nodes has no effect; set any_nodes to 3 or more",
            ),
            (
                LocalityDelay::Time { rack_ms: 3, any_ms: 2 },
                "rack_ms is 3 and any_ms only 2, so rack_ms has no effect; set any_ms to 3 or more",
            ),
        ] {
            assert_eq!(refusal(delay), Err(format!("engine.locality_delay: {problem}")));
        }
        for delay in [nodes(3, Some(3)), nodes(3, None), LocalityDelay::Time { rack_ms: 3, any_ms: 3 }] {
            assert_eq!(refusal(delay), Ok(()));
        }
    }

    /// An engine of an earlier version accepted the configuration and wrote it to its log.
    #[test]
    fn a_log_with_a_delay_that_is_refused_now_can_be_read() {
        let leaf = QueueConfig::leaf("a", Capacity::Percent(Percent::whole(1)));
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf]));
        config.locality_delay = LocalityDelay::Time { rack_ms: 3, any_ms: 2 };
        let frame = postcard::to_allocvec(&Change::Configured { config: config.into() }).unwrap();
        let log = [&HEADER[..], &frame_head(&frame).unwrap(), &frame].concat();
        assert_eq!(Replay::read(&log[..], None).unwrap().seq().0, 1);
    }
}
