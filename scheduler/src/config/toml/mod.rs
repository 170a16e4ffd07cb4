//! Native configuration files.
//!
//! Every table and every key is optional except the queues; what is left out has the value shown here.
//!
//! ```toml
//! [resources]
//! types = ["memory_mib", "vcore_milli"]   # the unit is part of the name
//! # devices = "gpu_milli"                 # the type that counts devices, if nodes have any
//!
//! [engine]
//! partitions = []                         # names of the partitions beside the default one
//! node_order = "spread"                   # "spread", "pack" or "first"
//! semantics = "strict"                    # or "yarn_compatible": users exceed their limits by one container
//!
//! [engine.reservations]
//! enabled = true                          # false: no reservations, and `delay_ms` has no effect
//! delay_ms = 2000
//! age_limit_ms = 3600000
//! nodes = "10 %"
//!
//! [engine.locality_delay]                 # either both times or both numbers of nodes
//! rack_ms = 500
//! any_ms = 1000
//! # rack_nodes = 40
//! # any_nodes = 80
//!
//! # [engine.heartbeat]                    # without this table nodes do not heartbeat
//! # interval_ms = 1000
//! # missed_max = 3
//!
//! # [engine.allocation]                   # how large containers are
//! # minimum = { memory_mib = 1024 }       # the smallest, and the step to which sizes are rounded up
//! # maximum = { memory_mib = 8192 }       # a larger one is refused
//!
//! [engine.limits]
//! batch_requests = 256
//! pass_visits = 65536
//! group_requests = 1024
//! inbox = 1024
//! leaf_quantum = 64
//! single_set_nodes = 1000
//! set_nodes = 640
//!
//! [queues."root.analytics.etl"]           # one table per queue; its parents are implied, and may be given
//! capacity = "1w"                         # "40 %", "3w" or { memory_mib = 1024, vcore_milli = 2000 }
//! maximum_capacity = "100 %"              # "80 %" or { memory_mib = 4096 }: the other types have no limit
//! ordering = "fifo"                       # "fifo" or "fair"
//! child_ordering = "utilization"          # or "priority_utilization" (parents)
//! priority = 0                            # higher is first where the parent orders by priority
//! user_limit_factor = 1                   # 1.5 or "unlimited"
//! user_limit_minimum = "100 %"            # below 100 %: what each of several users with something pending may have
//! # user_weights = { alice = 1.5 }        # by how much users count, here and below; others once
//! state = "running"                       # or "stopped": takes no new applications, nor do the queues below
//! # maximum_applications = 100            # in it and below; one more is refused
//! # maximum_applications_per_user = 10    # of one user (leaves)
//! ```
//!
//! A queue without `capacity` weighs `1w`: it and its like share equally what their siblings leave over.
//! Children of one parent keep the order in which the file first mentions them. A percentage may also be
//! given as a plain number. The meaning of each value is that of the field of [`EngineConfig`] it fills.

mod engine;
mod place;
mod queues;
mod table;
mod value;
mod write;

#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod tests;

use ::toml::de::DeTable;

use self::table::Section;
pub use self::write::to_toml;
use super::file::Source;
use super::{ConfigFileError, EngineConfig};

/// Reads a native configuration file; the module describes the format. `file_name` is only for messages.
///
/// The result has passed [`EngineConfig::validate`].
///
/// # Errors
/// The first thing that is wrong, with its line and column: broken TOML, a key that is unknown (with the
/// nearest known one) or has a value of the wrong type or range, and whatever `validate` refuses.
pub fn from_toml(text: &str, file_name: &str) -> Result<EngineConfig, ConfigFileError> {
    let source = Source::new(file_name, text)?;
    let table = DeTable::parse(source.text()).map_err(|error| {
        source.syntax(error.span().map_or(0, |span| span.start), format!("not TOML: {}", error.message()))
    })?;
    let document = Section::document(&source, table.get_ref());
    document.only(&["resources", "engine", "queues"])?;
    let resources = engine::resources(&document)?;
    let root = queues::read(&document, &resources)?;
    let mut config = EngineConfig::new(resources, root);
    engine::read(&document, &mut config)?;
    config.validate().map_err(|error| place::refused(&document, error))?;
    Ok(config)
}

/// The body of a fuzz target: reads `data`, and what can be read must survive being written.
#[doc(hidden)]
pub fn fuzz_toml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(config) = from_toml(&text, "fuzz.toml") {
        assert_eq!(from_toml(&to_toml(&config), "written.toml"), Ok(config));
    }
}
