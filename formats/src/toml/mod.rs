//! Native configuration files.
//!
//! Every table and every key is optional except the queues; omitted keys have the values shown here.
//!
//! ```toml
//! [resources]
//! types = ["memory_mib", "vcore_milli"]   # the unit is part of the name
//! # devices = "gpu_milli"                 # the type that counts devices, if nodes have any
//!
//! [engine]
//! partitions = []                         # names of the partitions beside the default one
//! # non_exclusive_partitions = ["gpu"]    # those that lend idle nodes to asks for the default one
//! node_order = "spread"                   # "spread", "pack" or "first"
//! semantics = "strict"                    # or "yarn_compatible": users exceed their limits by one container
//! # maximum_application_priority = 10      # a higher one counts as this
//! stop_timeout_ms = 60000                 # a container that is being stopped is charged for so long at most
//! stop_ended_applications = false         # true: the containers of an application that is ended are stopped first
//!
//! [engine.reservations]
//! enabled = true                          # false: no reservations, and `delay_ms` has no effect
//! delay_ms = 2000
//! age_limit_ms = 3600000
//! nodes = "10 %"
//! continue_looking = true                 # false: whoever has a reservation waits for its node
//!
//! [engine.locality_delay]                 # either both times or both numbers of nodes
//! rack_ms = 500
//! any_ms = 1000
//! # rack_nodes = 40
//! # any_nodes = 80                        # left out: as for the rack
//! # full_reset = true                     # "yarn_compatible" only: a container on the rack begins the count anew
//!
//! # [engine.heartbeat]                    # without this table nodes do not heartbeat
//! # interval_ms = 1000
//! # missed_max = 3
//!
//! # [engine.allocation]                   # how large containers are
//! # minimum = { memory_mib = 1024 }       # the smallest, and the step to which sizes are rounded up
//! # maximum = { memory_mib = 8192 }       # a larger one is refused; a multiple of the minimum
//! # allow_empty = false                   # true: a container may have nothing of any type; else it is refused
//!
//! [engine.limits]
//! batch_requests = 256
//! pass_visits = 65536
//! group_requests = 1024
//! inbox = 1024
//! # off_switch_per_pass = 1
//! single_set_nodes = 1000
//! set_nodes = 640
//!
//! # [placement]                           # to which queue an application goes; without rules: the one it requests
//! # override_requested = true             # false: the rules are for applications that request no queue
//! # [[placement.rules]]                   # as many as there are rules; the first that leads to a leaf decides
//! # users = ["alice"]                     # whose: of these users, or of members of these `groups`, or with these
//! # groups = []                           # names (`applications`); all three left out: everybody's
//! # applications = []
//! # except = false                        # true: all but those
//! # queue = "root.analytics.%user"        # or `default_queue = "root.a"`, or `reject = true`
//! # create = "nothing"                    # "leaf" or "path": what may be created
//! # otherwise = "skip"                    # if there is no such leaf: "skip" the rule, "reject", or go to "default"
//! # if_permitted = false                  # true: a queue the user may not submit to counts as none
//!
//! [queues."root.analytics.etl"]           # one table per queue; its parents are implied, and may be given
//! capacity = "1w"                         # "40 %", "3w" or { memory_mib = 1024, vcore_milli = "50 %" }
//! maximum_capacity = "100 %"              # "80 %" or { memory_mib = 4096 }: the other types have no limit
//! # accessible_partitions = ["gpu"]       # beside the default one; ["*"]: all. As the queue above if left out
//! # default_partition = "gpu"             # of asks that name none. As the queue above if left out
//! ordering = "fifo"                       # "fifo", "fair" or "fair_by_size"
//! child_ordering = "utilization"          # or "priority_utilization", "demand_priority", "utilization_then_demand" (parents)
//! priority = 0                            # higher is first where the parent's order is "priority_utilization"
//! priority_offset = 0                     # added to the priority of what is pending in it, as those above see it
//! priority_fence = false                  # true: those above see the offset alone
//! user_limit_factor = 1                   # 1.5 or "unlimited"
//! user_limit_minimum = "100 %"            # below 100 %: what each of several users with something pending may have
//! # user_weights = { alice = 1.5 }        # by how much users count, here and below; others once
//! state = "running"                       # or "stopped": takes no new applications, nor do the queues below
//! # maximum_applications = 100            # in it and below; one more is refused
//! # maximum_applications_per_user = 10    # of one user (leaves)
//! # submitters = "alice,bob ops"          # users, a space, groups; or "*". Named here or above, or everybody
//! # administrators = "carol"              # likewise; they may submit, too
//! # maximum_parallel_applications = 20    # active at a time, in it and below; one more waits
//! # maximum_parallel_applications_per_user = 5                 # of one user, in it and below
//! # maximum_parallel_applications_by_user = { alice = 10 }     # of users named, instead
//! # maximum_master_share = "10 %"         # what masters of active applications may need of it (leaves)
//! default_application_priority = 0        # of applications that say none (leaves); higher is served first
//! # default_application_lifetime_ms = 3600000                  # when those that say nothing are ended, here and below
//! # maximum_application_lifetime_ms = 86400000                 # when all are, at the latest
//!
//! # [[queues."root.analytics.etl".limits]]  # what users and groups may have in it and below
//! # users = ["alice", "*"]                # each by itself; "*": each other one
//! # groups = ["dev", "*"]                 # each together; "*": those in no group that a limit names
//! # maximum = { memory_mib = 4096 }       # in each partition
//! # maximum_parallel_applications = 5     # active at a time; one more waits
//!
//! # [queues."root.analytics.etl".partitions.gpu]   # in one partition instead, where the queue may use it
//! # capacity = "20 %"
//! # maximum_capacity = "50 %"
//! ```
//!
//! A queue without `capacity` weighs `1w`: it and its like share equally what their siblings leave over.
//! Children of one parent keep the order in which the file first mentions them. A percentage may also be
//! given as a plain number. The meaning of each value is that of the field of [`EngineConfig`] it fills.

mod auto_creation;
mod engine;
mod place;
mod queue_mapping;
mod queues;
mod table;
mod value;
mod write;

#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod tests;

use ::toml::de::DeTable;
use apportion::config::EngineConfig;

use self::table::Section;
pub use self::write::to_toml;
use crate::ConfigFileError;
use crate::file::Source;

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
    document.only(&["resources", "engine", "placement", "queues"])?;
    let resources = engine::resources(&document)?;
    let root = queues::read(&document, &resources)?;
    let mut config = EngineConfig::new(resources, root);
    engine::read(&document, &mut config)?;
    config.queue_mapping = queue_mapping::read(&document)?;
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
