//! The configuration of an engine: resource types, queues and policies.

mod access;
mod auto_creation;
mod capacity;
mod error;
mod holder_limit;
mod node_order;
mod opportunistic;
mod partitions;
mod preemption;
mod queue;
mod queue_checks;
mod queue_mapping;
mod reconfiguration;
mod semantics;
mod setting;
mod share;
mod validate;

use serde::{Deserialize, Serialize};

pub use access::{AccessList, ParseAccessListError};
pub use auto_creation::AutoCreation;
pub use capacity::{Bound, Capacity, Maximum, Share};
pub use error::ConfigError;
pub(crate) use holder_limit::EVERYBODY_ELSE;
pub use holder_limit::HolderLimit;
pub use node_order::NodeOrderKind;
pub use opportunistic::OpportunisticPolicy;
pub use partitions::{PartitionAccess, PartitionCapacity};
pub use preemption::{PreemptionPolicy, PreemptionRounds, WithinQueueOrder, WithinQueuePolicy};
pub use queue::{
    ApplicationLimits, ApplicationOrdering, Lifetimes, ParallelLimits, QueueConfig, QueueOrdering, QueueState,
};
pub(crate) use queue_checks::{Known, check_queue_alone, check_siblings, check_tree, is_queue_name};
pub(crate) use queue_mapping::check as check_queue_mapping;
pub use queue_mapping::{
    Creation, Fallback, MappingAction, MappingRule, ParsePathError, PathPart, PlaceIn, QueueMapping,
    QueuePath, RuleFilter,
};
pub(crate) use queue_mapping::{FoundQueue, NotPlaced, Queues, Submission};
pub use reconfiguration::{QueueDifferences, QueueUpdate, Reconfiguration};
pub use semantics::Semantics;
pub use setting::{Setting, quoted_key, quoted_text, table_by_type};
pub use share::{Factor, ParseDecimalError, Percent};

use crate::resource::{RESOURCE_TYPES_MAX, ResourceTypes, Resources};

/// Everything that decides how an engine schedules. It is the first record of every log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineConfig {
    /// The counted resource types.
    pub resources: ResourceTypes,
    /// Partitions beside the default one, by name (YARN's node labels).
    pub partitions: Vec<String>,
    /// The partitions that lend idle nodes to asks for the default partition.
    pub non_exclusive_partitions: Vec<String>,
    /// The queue tree; its root must be named `root`.
    pub root: QueueConfig,
    /// The order in which a pass tries the nodes that fit an ordinary ask.
    pub node_order: NodeOrderKind,
    /// When an ask that fits nowhere may reserve a node.
    pub reservations: ReservationPolicy,
    /// How long an ask waits for the hosts it names.
    pub locality_delay: LocalityDelay,
    /// When a silent node stops being a candidate; `None` if nodes do not heartbeat.
    pub heartbeat: Option<HeartbeatPolicy>,
    /// How large containers are.
    pub allocation: AllocationSizes,
    /// Which rules apply where YARN's rules and Apportion's differ.
    pub semantics: Semantics,
    /// The mapping rules: which queue an application goes to.
    pub queue_mapping: QueueMapping,
    /// The highest priority of an application; a higher one is lowered to it. `None`: no limit.
    pub maximum_application_priority: Option<u32>,
    /// How long a stopping container stays charged if its end is not confirmed.
    pub stop_timeout_ms: u64,
    /// Whether the engine stops the containers of an application that ended or outlived its lifetime. Stopped
    /// containers stay charged until their ends are confirmed. If false, the containers end at once, as in YARN.
    pub stop_ended_applications: bool,
    /// Sizes of batches, queues and sets.
    pub limits: EngineLimits,
    /// The rounds in which queues that are owed more get the room of others; `None`: nothing is preempted.
    pub preemption: Option<PreemptionRounds>,
    /// How nodes queue opportunistic containers; `None`: opportunistic asks are refused.
    #[serde(default)]
    pub opportunistic: Option<OpportunisticPolicy>,
    /// How long, in milliseconds, a gang may hold room that does not grow while another gang or other nodes could be
    /// tried. Then it gives the room back and goes behind the gangs that wait. `None`: for ever.
    #[serde(default = "gather_limit_ms")]
    pub gather_limit_ms: Option<u64>,
}

/// The time for which YuniKorn keeps placeholders.
pub(crate) fn gather_limit_ms() -> Option<u64> {
    Some(900_000)
}

/// Kubernetes' grace period of 30 seconds, and another 30 seconds for the node to report.
const STOP_TIMEOUT_MS: u64 = 60_000;

impl EngineConfig {
    /// A configuration with defaults for most clusters: spread order, reservations after two seconds, no heartbeats.
    /// The locality delay is half a second for the rack and another half for any node.
    #[must_use]
    pub fn new(resources: ResourceTypes, root: QueueConfig) -> Self {
        Self {
            resources,
            partitions: Vec::new(),
            non_exclusive_partitions: Vec::new(),
            root,
            node_order: NodeOrderKind::Spread,
            reservations: ReservationPolicy::default(),
            locality_delay: LocalityDelay::default(),
            heartbeat: None,
            allocation: AllocationSizes::default(),
            semantics: Semantics::default(),
            queue_mapping: QueueMapping::default(),
            maximum_application_priority: None,
            stop_timeout_ms: STOP_TIMEOUT_MS,
            stop_ended_applications: false,
            limits: EngineLimits::default(),
            preemption: None,
            opportunistic: None,
            gather_limit_ms: gather_limit_ms(),
        }
    }

    /// The names of all partitions in the order of their numbers; the default partition has the empty name.
    pub fn partition_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once("").chain(self.partitions.iter().map(String::as_str))
    }

    /// Checks the whole configuration.
    ///
    /// # Errors
    /// The first mistake found, with its queue.
    pub fn validate(&self) -> Result<(), ConfigError> {
        validate::check(self)
    }

    /// Checks the configuration in a log. It may be one that an earlier version accepted.
    pub(crate) fn validate_logged(&self) -> Result<(), ConfigError> {
        validate::check_logged(self)
    }
}

/// Container sizes: the engine rounds asks up to a step and refuses sizes above the maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationSizes {
    /// The smallest container and the step. Every container has a multiple of the minimum of each type, at least
    /// one. A type with minimum 0 is not rounded.
    pub minimum: Resources,
    /// The largest container, a multiple of the minimum; `None`: the type has no limit.
    pub maximum: [Option<i64>; RESOURCE_TYPES_MAX],
    /// Whether a container may be empty, with zero of every type.
    pub allow_empty: bool,
}

impl AllocationSizes {
    /// Whether a container may have this size; `size` includes its devices.
    pub(crate) fn admits(&self, size: &Resources) -> bool {
        self.allow_empty || !size.is_zero()
    }

    /// Rounds the size up, or returns the first type that exceeds its maximum.
    pub(crate) fn normalize(&self, size: &mut Resources) -> Result<(), usize> {
        let types = size.types().end.max(self.minimum.types().end);
        for i in 0..types {
            if self.maximum[i].is_some_and(|maximum| size[i] > maximum) {
                return Err(i);
            }
            if let step @ 1.. = self.minimum[i] {
                // Stays within the maximum, which is a multiple itself.
                size.set(i, (size[i].max(1) + step - 1) / step * step);
            }
        }
        Ok(())
    }
}

/// Reservations: the engine keeps a node for an ask that no node of its partition can hold now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationPolicy {
    /// How long an ask must be pending before it may reserve; `None` turns reservations off.
    pub delay_ms: Option<u64>,
    /// The age at which a reservation is dropped, so that no node is held for ever (YUNIKORN-3092).
    pub age_limit_ms: u64,
    /// The largest part of a partition's nodes that is reserved at a time (at least one node).
    pub nodes: Percent,
    /// Whether an ask with a reservation may take any other node that has room, and then gives the reservation back.
    /// If false, the ask waits for its reserved node.
    pub continue_looking: bool,
}

impl Default for ReservationPolicy {
    fn default() -> Self {
        Self {
            delay_ms: Some(2_000),
            age_limit_ms: 3_600_000,
            nodes: Percent::whole(10),
            continue_looking: true,
        }
    }
}

/// How long an ask that names hosts waits for them before it accepts their rack, and then any node.
///
/// The unit is distinct nodes that had room but that the ask does not name, or time. Attempts would not do: more
/// proposers make more attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LocalityDelay {
    /// Distinct nodes offered: `rack` before a rack-mate is accepted, `any` before any node is. Both are capped at
    /// the other nodes of the partition that take containers and could hold this one. In a nearly full cluster this can
    /// take long.
    ///
    /// With [`Semantics::YarnCompatible`] the unit is YARN's missed opportunities, capped at the number of the
    /// cluster's nodes. A pass over one node counts that node even without room. A pass over several
    /// nodes counts each node with room.
    Nodes {
        /// Nodes offered before a rack-mate is accepted.
        rack: u32,
        /// Nodes offered before any node is accepted. `None`: as for the rack. In YARN mode `None` means the number
        /// of outstanding containers, or fewer if the ask names a small part of the cluster.
        any: Option<u32>,
        /// Whether the count restarts after a container on a named rack, as it does after one on a named host. Only
        /// missed opportunities restart.
        full_reset: bool,
    },
    /// Milliseconds since the ask became pending.
    Time {
        /// Time before a rack-mate is accepted.
        rack_ms: u64,
        /// Time before any node is accepted.
        any_ms: u64,
    },
}

impl LocalityDelay {
    /// Whether the delay counts nodes rather than time.
    pub(crate) fn counts_nodes(self) -> bool {
        matches!(self, Self::Nodes { .. })
    }
}

impl LocalityDelay {
    /// A delay in offered nodes: this many before a rack-mate is accepted, and before any node is.
    #[must_use]
    pub const fn nodes(rack: u32, any: u32) -> Self {
        Self::Nodes { rack, any: Some(any), full_reset: true }
    }
}

impl Default for LocalityDelay {
    fn default() -> Self {
        Self::Time { rack_ms: 500, any_ms: 1_000 }
    }
}

/// When a node that stopped heartbeating stops being a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeartbeatPolicy {
    /// How often nodes report.
    pub interval_ms: u64,
    /// A node is stale after this many intervals of silence.
    pub missed_max: u32,
}

impl HeartbeatPolicy {
    pub(crate) fn silence_max_ms(&self) -> u64 {
        self.interval_ms.saturating_mul(u64::from(self.missed_max))
    }

    /// The first time at which a node with its last heartbeat at `last_heartbeat_ms` counts as silent for too long.
    pub(crate) fn silent_from_ms(&self, last_heartbeat_ms: u64) -> u64 {
        last_heartbeat_ms.saturating_add(self.silence_max_ms()).saturating_add(1)
    }
}

/// Sizes inside the engine. The defaults suit clusters of 10 to 1,000,000 nodes; models and tests use smaller ones.
/// Serial and background mode have one set per partition, so they ignore `single_set_nodes` and `set_nodes`. The
/// inbox of serial mode is unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineLimits {
    /// A pass ends after this many commit requests (B).
    pub batch_requests: usize,
    /// A pass ends after visiting this many nodes (V).
    pub pass_visits: usize,
    /// A group commit ends after this many requests and other messages (G). Of kinds and attachments 1,024 end one.
    pub group_requests: usize,
    /// The length of the inbox. When it is full, callers and proposers block.
    pub inbox: usize,
    /// The most off-switch containers on one node in one pass. Containers of asks that name neither hosts nor racks
    /// count too. `None`: no limit; YARN allows 1 per heartbeat.
    pub off_switch_per_pass: Option<u32>,
    /// A partition with fewer nodes is one placement set and gets the exact policy.
    pub single_set_nodes: usize,
    /// The number of nodes in a placement set of a larger partition.
    pub set_nodes: usize,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            batch_requests: 256,
            pass_visits: 65_536,
            group_requests: 1_024,
            inbox: 1_024,
            off_switch_per_pass: None,
            single_set_nodes: 1_000,
            set_nodes: 640,
        }
    }
}
