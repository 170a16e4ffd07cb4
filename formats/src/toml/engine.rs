//! The tables `resources` and `engine`.

use apportion::config::{
    AllocationSizes, EngineConfig, EngineLimits, HeartbeatPolicy, LocalityDelay, NodeOrderKind,
    ReservationPolicy, Semantics,
};
use apportion::resource::ResourceError;
use apportion::{ResourceTypes, Resources};

use super::queues::amounts;
use super::table::Section;
use super::{opportunistic, preemption};
use crate::ConfigFileError;

/// The word for the node order in a file.
pub(super) fn node_order_word(order: NodeOrderKind) -> &'static str {
    match order {
        NodeOrderKind::Spread => "spread",
        NodeOrderKind::Pack => "pack",
        NodeOrderKind::First => "first",
    }
}

pub(super) fn resources(document: &Section<'_>) -> Result<ResourceTypes, ConfigFileError> {
    let section = document.section("resources", &["types", "devices"])?;
    let types = section.read("types", |entry| {
        ResourceTypes::new(entry.texts()?).map_err(|error| entry.error(error.to_string()))
    })?;
    let types = types.unwrap_or_else(ResourceTypes::memory_and_vcores);
    let Some(entry) = section.get("devices") else { return Ok(types) };
    let refused = |error: ResourceError| entry.error(error.to_string());
    types.with_devices(entry.text()?).map_err(refused)
}

pub(super) fn read(document: &Section<'_>, config: &mut EngineConfig) -> Result<(), ConfigFileError> {
    let tables = [
        "reservations",
        "locality_delay",
        "heartbeat",
        "preemption",
        "opportunistic",
        "allocation",
        "limits",
    ];
    let own = [
        "partitions",
        "non_exclusive_partitions",
        "node_order",
        "semantics",
        "maximum_application_priority",
        "stop_timeout_ms",
        "stop_ended_applications",
        "gather_limit_ms",
    ];
    let known = [&own[..], &tables[..]].concat();
    let engine = document.section("engine", &known)?;
    if let Some(partitions) = engine.read("partitions", |entry| entry.texts())? {
        config.partitions = partitions;
    }
    if let Some(partitions) = engine.read("non_exclusive_partitions", |entry| entry.texts())? {
        config.non_exclusive_partitions = partitions;
    }
    let orders = [NodeOrderKind::Spread, NodeOrderKind::Pack, NodeOrderKind::First];
    if let Some(order) = engine.read("node_order", |entry| entry.word(&orders, node_order_word))? {
        config.node_order = order;
    }
    let semantics = [Semantics::Strict, Semantics::YarnCompatible];
    if let Some(semantics) = engine.read("semantics", |entry| entry.word(&semantics, Semantics::word))? {
        config.semantics = semantics;
    }
    config.maximum_application_priority =
        engine.read("maximum_application_priority", |entry| entry.whole())?;
    if let Some(timeout) = engine.read("stop_timeout_ms", |entry| entry.whole())? {
        config.stop_timeout_ms = timeout;
    }
    if let Some(stops) = engine.read("stop_ended_applications", |entry| entry.switch())? {
        config.stop_ended_applications = stops;
    }
    if let Some(limit) = engine.read("gather_limit_ms", |entry| entry.whole())? {
        config.gather_limit_ms = Some(limit).filter(|limit| *limit > 0);
    }
    config.allocation = allocation(&engine, &config.resources)?;
    reservations(&engine, &mut config.reservations)?;
    config.locality_delay = locality_delay(&engine)?.unwrap_or_default();
    config.heartbeat = heartbeat(&engine)?;
    config.preemption = preemption::read(&engine)?;
    config.opportunistic = opportunistic::read(&engine)?;
    limits(&engine, &mut config.limits)
}

fn allocation(engine: &Section<'_>, types: &ResourceTypes) -> Result<AllocationSizes, ConfigFileError> {
    let section = engine.section("allocation", &["minimum", "maximum", "allow_empty"])?;
    let minimum = section.read("minimum", |entry| amounts(entry, types))?.unwrap_or_default();
    let maximum = section.read("maximum", |entry| amounts(entry, types))?.unwrap_or_default();
    let minimum = Resources::new(&minimum.map(|amount| amount.unwrap_or(0)));
    let allow_empty = section.read("allow_empty", |entry| entry.switch())?.unwrap_or(false);
    Ok(AllocationSizes { minimum, maximum, allow_empty })
}

fn reservations(engine: &Section<'_>, policy: &mut ReservationPolicy) -> Result<(), ConfigFileError> {
    let section = engine
        .section("reservations", &["enabled", "delay_ms", "age_limit_ms", "nodes", "continue_looking"])?;
    if let Some(delay) = section.read("delay_ms", |entry| entry.whole())? {
        policy.delay_ms = Some(delay);
    }
    // After the delay: a disabled policy may keep its delay in the file.
    if section.read("enabled", |entry| entry.switch())? == Some(false) {
        policy.delay_ms = None;
    }
    if let Some(limit) = section.read("age_limit_ms", |entry| entry.whole())? {
        policy.age_limit_ms = limit;
    }
    if let Some(nodes) = section.read("nodes", |entry| entry.percent())? {
        policy.nodes = nodes;
    }
    if let Some(continue_looking) = section.read("continue_looking", |entry| entry.switch())? {
        policy.continue_looking = continue_looking;
    }
    Ok(())
}

fn locality_delay(engine: &Section<'_>) -> Result<Option<LocalityDelay>, ConfigFileError> {
    let (times, counts) = (["rack_ms", "any_ms"], ["rack_nodes", "any_nodes", "full_reset"]);
    let section = engine.section("locality_delay", &[&times[..], &counts].concat())?;
    if !section.is_given() {
        return Ok(None);
    }
    let count = counts.iter().find_map(|key| section.get(key));
    match (times.iter().find_map(|key| section.get(key)), count) {
        (Some(_), Some(count)) => Err(count.error("the delay is already given in milliseconds")),
        (None, Some(_)) => Ok(Some(LocalityDelay::Nodes {
            rack: section.require("rack_nodes")?.whole()?,
            any: section.read("any_nodes", |entry| entry.whole())?,
            full_reset: section.read("full_reset", |entry| entry.switch())?.unwrap_or(true),
        })),
        _ => Ok(Some(LocalityDelay::Time {
            rack_ms: section.require("rack_ms")?.whole()?,
            any_ms: section.require("any_ms")?.whole()?,
        })),
    }
}

fn heartbeat(engine: &Section<'_>) -> Result<Option<HeartbeatPolicy>, ConfigFileError> {
    let section = engine.section("heartbeat", &["interval_ms", "missed_max"])?;
    if !section.is_given() {
        return Ok(None);
    }
    let interval_ms = section.require("interval_ms")?.whole()?;
    let missed_max = section.require("missed_max")?.whole()?;
    Ok(Some(HeartbeatPolicy { interval_ms, missed_max }))
}

fn limits(engine: &Section<'_>, limits: &mut EngineLimits) -> Result<(), ConfigFileError> {
    let EngineLimits {
        batch_requests,
        pass_visits,
        group_requests,
        inbox,
        off_switch_per_pass,
        single_set_nodes,
        set_nodes,
    } = limits;
    let sizes = [
        ("batch_requests", batch_requests),
        ("pass_visits", pass_visits),
        ("group_requests", group_requests),
        ("inbox", inbox),
        ("single_set_nodes", single_set_nodes),
        ("set_nodes", set_nodes),
    ];
    let mut known = sizes.each_ref().map(|(key, _)| *key).to_vec();
    known.push("off_switch_per_pass");
    let section = engine.section("limits", &known)?;
    for (key, size) in sizes {
        if let Some(value) = section.read(key, |entry| entry.whole())? {
            *size = value;
        }
    }
    if let Some(most) = section.read("off_switch_per_pass", |entry| entry.whole())? {
        *off_switch_per_pass = Some(most);
    }
    Ok(())
}
