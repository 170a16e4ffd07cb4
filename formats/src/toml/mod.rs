//! Native configuration files.
//!
//! All tables and keys are optional, except that there must be a queue. The values shown are the defaults.
//!
//! ```toml
//! [resources]
//! types = ["memory_mib", "vcore_milli"]   # the unit is part of the name
//! # devices = "gpu_milli"                 # the type that counts devices, if nodes have any
//!
//! [engine]
//! partitions = []                         # names of the partitions; the default partition is not listed
//! # non_exclusive_partitions = ["gpu"]    # partitions that lend idle nodes to asks for the default one
//! node_order = "spread"                   # "spread", "pack" or "first"
//! semantics = "strict"                    # or "yarn_compatible": users may exceed their limits by one container
//! # maximum_application_priority = 10      # higher priorities are lowered to this
//! stop_timeout_ms = 60000                 # a stopping container stays charged for at most this long
//! stop_ended_applications = false         # true: the containers of an ended application are stopped first
//! gather_limit_ms = 900000                # held room of a gang that does not grow for so long is given back; 0: never
//!
//! [engine.reservations]
//! enabled = true                          # false: no reservations, and `delay_ms` has no effect
//! delay_ms = 2000
//! age_limit_ms = 3600000
//! nodes = "10 %"
//! continue_looking = true                 # false: an ask with a reservation waits for its node
//!
//! [engine.locality_delay]                 # either both times or both numbers of nodes
//! rack_ms = 500
//! any_ms = 1000
//! # rack_nodes = 40
//! # any_nodes = 80                        # default: as for the rack
//! # full_reset = true                     # "yarn_compatible" only: a container on the rack restarts the count
//!
//! # [engine.heartbeat]                    # without this table nodes do not heartbeat; it needs both keys
//! # interval_ms = 1000
//! # missed_max = 3
//!
//! # [engine.preemption]                   # without this table nothing is preempted
//! # interval_ms = 3000                    # the time between two rounds
//! # max_wait_before_kill_ms = 15000       # between the announcement of a victim and its end; 0: no announcement
//! # observe_only = false                  # true: rounds only record their plan
//! # dead_zone = "10 %"                    # a queue loses nothing while it exceeds its guarantee by at most this part
//! # natural_termination = "20 %"          # the part of the owed amount that one round takes
//! # per_round = "10 %"                    # the most that one round takes, as a part of the partition
//! # exempt = []                           # paths of queues that lose nothing to others, with the queues below them
//! # exempt_applications = []              # names of applications that lose nothing
//! # exempt_tags = []                      # containers whose ask has one of these tags lose nothing
//! # balances = false                      # true: goes on until queues have equal parts beyond their guarantees
//!
//! # [engine.preemption.within_queue]      # without this table applications of one leaf take nothing from each other
//! # order = "user_limit_first"            # or "priority_first"
//! # minimum_use = "50 %"                  # a leaf that uses less of its guarantee is left alone
//! # max_part = "20 %"                     # the most that one round takes, as a part of the leaf's guarantee
//! # exempt = []                           # paths of queues within which nothing is taken; likewise below them
//!
//! # [engine.opportunistic]                # without this table opportunistic asks are refused
//! # queue_length_max = 15                 # the most opportunistic containers that wait at one node
//!
//! # [engine.allocation]                   # sizes of containers
//! # minimum = { memory_mib = 1024 }       # the smallest container, and the step to which sizes are rounded up
//! # maximum = { memory_mib = 8192 }       # larger containers are refused; a multiple of the minimum
//! # allow_empty = false                   # true: a container may have zero of every type; false: refused
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
//! # [placement]                           # mapping rules; without rules: the queue that an application requests
//! # override_requested = true             # false: the rules apply only to applications that request no queue
//! # [[placement.rules]]                   # any number of rules; the first that leads to a leaf decides
//! # users = ["alice"]                     # applies to these users, members of these `groups`, or applications with
//! # groups = []                           # these names (`applications`); all three left out: every application
//! # applications = []
//! # except = false                        # true: applies to all others
//! # queue = "root.analytics.%user"        # or `default_queue = "root.a"`, or `reject = true`
//! # create = "nothing"                    # "leaf" or "path": queues that may be created
//! # otherwise = "skip"                    # without such a leaf: "skip" the rule, "reject", or use "default"
//! # if_permitted = false                  # true: a queue to which the user may not submit counts as missing
//!
//! [queues."root.analytics.etl"]           # one table per queue; its parents are implied, and may have tables
//! capacity = "1w"                         # "40 %", "3w" or { memory_mib = 1024, vcore_milli = "50 %" }
//! maximum_capacity = "100 %"              # "80 %" or { memory_mib = 4096 }: the other types have no limit
//! # accessible_partitions = ["gpu"]       # in addition to the default one; ["*"]: all. Default: as the queue above
//! # default_partition = "gpu"             # for asks that name none. Default: as the queue above
//! ordering = "fifo"                       # "fifo", "fair" or "fair_by_size"
//! child_ordering = "utilization"          # or "priority_utilization", "demand_priority", "utilization_then_demand"
//! priority = 0                            # higher is first if the parent's order is "priority_utilization"
//! priority_offset = 0                     # added to the priority of its pending asks, as the queues above see it
//! priority_fence = false                  # true: the queues above see only the offset
//! user_limit_factor = 1                   # 1.5 or "unlimited"
//! user_limit_minimum = "100 %"            # below 100 %: the part for each of several users with pending asks
//! # user_weights = { alice = 1.5 }        # weights of users, here and below; default 1
//! state = "running"                       # or "stopped": no new applications, here and below
//! # maximum_applications = 100            # here and below; an application above the limit is refused
//! # maximum_applications_per_user = 10    # of one user (leaves)
//! # submitters = "alice,bob ops"          # users, a space, groups; or "*". Without a list here or above: every user
//! # administrators = "carol"              # likewise; they may submit, too
//! # maximum_parallel_applications = 20    # active at a time, here and below; an application above the limit waits
//! # maximum_parallel_applications_per_user = 5                 # of one user, here and below
//! # maximum_parallel_applications_by_user = { alice = 10 }     # of the named users, instead
//! # maximum_master_share = "10 %"         # the part that masters of active applications may use (leaves)
//! default_application_priority = 0        # of applications that name none (leaves); higher is served first
//! # default_application_lifetime_ms = 3600000                  # of applications that name none, here and below
//! # maximum_application_lifetime_ms = 86400000                 # of all applications, here and below
//!
//! # [[queues."root.analytics.etl".limits]]  # limits of users and groups, here and below
//! # users = ["alice", "*"]                # for each user separately; "*": every other user
//! # groups = ["dev", "*"]                 # for all members together; "*": users in no group that a limit names
//! # maximum = { memory_mib = 4096 }       # in each partition
//! # maximum_parallel_applications = 5     # active at a time; an application above the limit waits
//!
//! # [queues."root.analytics.etl".partitions.gpu]   # other capacities in one partition that the queue may use
//! # capacity = "20 %"
//! # maximum_capacity = "50 %"
//! ```
//!
//! A queue without `capacity` has the weight `1w`: all such siblings share the rest equally. Children of one parent
//! keep the order in which the file first mentions them. A percentage may also be a plain number. The fields of
//! [`EngineConfig`] document the meaning of each value.

mod auto_creation;
mod engine;
mod opportunistic;
mod place;
mod preemption;
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

/// Reads a native configuration file; the module describes the format. `file_name` appears only in messages.
///
/// The result has passed [`EngineConfig::validate`].
///
/// # Errors
/// The first mistake, with its line and column. It is broken TOML, an unknown key (with the nearest known one), a
/// value of wrong type or range, or a configuration that `validate` refuses.
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

/// The body of a fuzz target: reads `data`. A configuration that was read must survive being written.
#[doc(hidden)]
pub fn fuzz_toml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(config) = from_toml(&text, "fuzz.toml") {
        assert_eq!(from_toml(&to_toml(&config), "written.toml"), Ok(config));
    }
}
