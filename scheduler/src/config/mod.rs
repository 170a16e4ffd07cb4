//! The configuration of an engine: resource types, queues and policies.

mod access;
mod auto_creation;
mod capacity;
mod holder_limit;
mod node_order;
mod partitions;
mod queue;
mod queue_checks;
mod queue_mapping;
mod reconfiguration;
mod setting;
mod share;
mod validate;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use access::{AccessList, ParseAccessListError};
pub use auto_creation::AutoCreation;
pub use capacity::{Bound, Capacity, Maximum, Share};
pub(crate) use holder_limit::EVERYBODY_ELSE;
pub use holder_limit::HolderLimit;
pub use node_order::NodeOrderKind;
pub use partitions::{PartitionAccess, PartitionCapacity};
pub use queue::{
    ApplicationLimits, ApplicationOrdering, Lifetimes, ParallelLimits, QueueConfig, QueueOrdering, QueueState,
};
pub(crate) use queue_checks::{Known, check_queue_alone, check_siblings, check_tree, is_queue_name};
pub(crate) use queue_mapping::check as check_queue_mapping;
pub use queue_mapping::{
    Creation, FoundQueue, MappingAction, MappingRule, NotPlaced, Otherwise, ParsePathError, PathPart,
    PlaceIn, QueueMapping, QueuePath, Queues, Submission, Whose,
};
pub use reconfiguration::{QueueDifferences, QueueUpdate, Reconfiguration};
pub use setting::Setting;
pub use share::{Factor, ParseDecimalError, Percent};

use crate::resource::{RESOURCE_TYPES_MAX, ResourceError, ResourceTypes, Resources};

/// Everything that decides how an engine schedules. It is the first record of every log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineConfig {
    /// The resource types that are counted.
    pub resources: ResourceTypes,
    /// Partitions beside the default one, by name (YARN's node labels).
    pub partitions: Vec<String>,
    /// Those of them that lend idle nodes to asks for the default partition.
    pub non_exclusive_partitions: Vec<String>,
    /// The queue tree; its root must be named `root`.
    pub root: QueueConfig,
    /// Which of the nodes that fit an ordinary ask gets.
    pub node_order: NodeOrderKind,
    /// When an ask that fits nowhere may reserve a node.
    pub reservations: ReservationPolicy,
    /// How long an ask waits for the hosts it names.
    pub locality_delay: LocalityDelay,
    /// When a silent node stops being a candidate; `None` if nodes do not heartbeat.
    pub heartbeat: Option<HeartbeatPolicy>,
    /// How large containers are.
    pub allocation: AllocationSizes,
    /// Whose rules hold where YARN's differ from ours.
    pub semantics: Semantics,
    /// To which queues applications go.
    pub queue_mapping: QueueMapping,
    /// Applications have this priority at most: more counts as this. `None`: any.
    pub maximum_application_priority: Option<u32>,
    /// How long a stopping container stays charged if its end is not confirmed.
    pub stop_timeout_ms: u64,
    /// Whether the containers of an application that is ended, or whose lifetime is over, are stopped: they stay
    /// charged until their ends are confirmed. Otherwise they end at once, as in YARN.
    pub stop_ended_applications: bool,
    /// Sizes of batches, queues and sets.
    pub limits: EngineLimits,
}

/// Kubernetes' grace period of 30 seconds, and as long again for the node to report.
const STOP_TIMEOUT_MS: u64 = 60_000;

impl EngineConfig {
    /// The given resource types and queues, and for everything else what most clusters want: spread order,
    /// reservations after two seconds, half a second of locality delay for the rack and half for the rest,
    /// no heartbeats.
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
        }
    }

    /// The names of all partitions, by number; the default one's is empty.
    pub fn partition_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once("").chain(self.partitions.iter().map(String::as_str))
    }

    /// Checks the whole configuration.
    ///
    /// # Errors
    /// The first thing that is wrong, with the queue it is wrong at.
    pub fn validate(&self) -> Result<(), ConfigError> {
        validate::check(self)
    }
}

/// How large containers are: what is asked for is rounded up to steps, and refused above the maximum
/// (`capacity-scheduler.md` 1.1, container normalisation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationSizes {
    /// The smallest container and the step: of each type every container has a multiple of it, at least one. Nothing of
    /// a type: it is not rounded.
    pub minimum: Resources,
    /// The largest container, in steps of the minimum; `None` stands for a type without a limit.
    pub maximum: [Option<i64>; RESOURCE_TYPES_MAX],
    /// Whether a container may have nothing of any type.
    pub allow_empty: bool,
}

impl AllocationSizes {
    /// Whether a container may have this size, in which its devices are counted.
    pub(crate) fn admits(&self, size: &Resources) -> bool {
        self.allow_empty || !size.is_zero()
    }

    /// The size rounded up, or the first type of which it is more than the maximum.
    pub(crate) fn normalized(&self, size: &Resources) -> Result<Resources, usize> {
        let mut normalized = *size;
        for i in 0..RESOURCE_TYPES_MAX {
            if self.maximum[i].is_some_and(|maximum| size[i] > maximum) {
                return Err(i);
            }
            if let step @ 1.. = self.minimum[i] {
                // Not above the maximum, which is a multiple itself.
                normalized.set(i, (size[i].max(1) + step - 1) / step * step);
            }
        }
        Ok(normalized)
    }
}

/// Whose rules hold where YARN's differ from ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Semantics {
    /// No queue or user exceeds a limit.
    #[default]
    Strict,
    /// As YARN does: a user who is not above the user limit may have one container more, however large, and user limits
    /// are rounded up to steps of the smallest container (`capacity-scheduler.md` 2.8). A pass over one node reserves
    /// it although another has room, and one over several nodes the last of them; passes over one reserved node in vain
    /// let an ask reserve more nodes than it wants containers (2.6). Missed opportunities count instead of distinct
    /// nodes (2.7), and an ask that misses one in a pass over one node holds back later asks of its application (2.5).
    YarnCompatible,
}

impl Semantics {
    /// Its name in configurations.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::YarnCompatible => "yarn_compatible",
        }
    }
}

/// Reservations: a node is kept for an ask that no node of its partition can hold now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationPolicy {
    /// How long an ask must have been pending before it may reserve; `None` turns reservations off.
    pub delay_ms: Option<u64>,
    /// After this long a reservation is dropped, so that no node is held for ever (YUNIKORN-3092).
    pub age_limit_ms: u64,
    /// At most this part of a partition's nodes is reserved at a time (at least one node).
    pub nodes: Percent,
    /// Whether a unit for which a node is reserved is placed on any other node that has room first, and the reservation
    /// given back (`capacity-scheduler.md` 2.6). Without that it waits for its node.
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

/// How long an ask that names hosts waits for them before its rack, then any node, will do.
///
/// Counted in distinct nodes that had room for the ask and were not what it named, or in time; never in
/// attempts, which pass faster the more proposers there are (`capacity-scheduler.md` 2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LocalityDelay {
    /// Distinct nodes offered: `rack` of them until the rack will do, `any` until any node will; no more
    /// than the partition has beside those named. In a cluster that stays nearly full this can be long.
    ///
    /// With [`Semantics::YarnCompatible`] they count as YARN's missed opportunities do, up to the number of the
    /// cluster's nodes: the node of a pass over one node whatever room it has, and each with room of a pass over
    /// several.
    Nodes {
        /// Nodes offered before a rack-mate is accepted.
        rack: u32,
        /// Nodes offered before any node is accepted. `None`: as for the rack; in YARN's way as many as containers are
        /// outstanding, or fewer where little of the cluster is named.
        any: Option<u32>,
        /// Whether counting begins anew after a container on a rack that was named, as it does after one on a host.
        /// Only missed opportunities begin anew.
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
    /// So many nodes offered before a rack-mate, and before any node, is accepted.
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

    /// From when on a node that was last heard of at `heard_ms` has been silent for too long.
    pub(crate) fn silent_from_ms(&self, heard_ms: u64) -> u64 {
        heard_ms.saturating_add(self.silence_max_ms()).saturating_add(1)
    }
}

/// Sizes inside the engine. The defaults are right for clusters of 10 to 1,000,000 nodes; models and tests
/// take smaller ones. Serial mode has one set per partition and an unbounded inbox; it ignores
/// `single_set_nodes`, `set_nodes` and `inbox`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineLimits {
    /// A pass ends after this many commit requests (B).
    pub batch_requests: usize,
    /// A pass ends after visiting this many nodes (V).
    pub pass_visits: usize,
    /// A group commit ends after this many requests and other messages (G).
    pub group_requests: usize,
    /// How many messages may wait for the committer before callers and proposers are held back.
    pub inbox: usize,
    /// At most this many containers on a node in one pass that are neither on a host nor on a rack that their ask
    /// names; those of asks that name none count too. No limit if not said, where YARN has 1 for each heartbeat.
    pub off_switch_per_pass: Option<u32>,
    /// A partition below this many nodes is one placement set and gets the exact policy.
    pub single_set_nodes: usize,
    /// How many nodes a placement set has where there are several.
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

/// Why a configuration was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Something about one queue.
    #[error("queue `{path}`: {problem}")]
    Queue {
        /// The queue's full path.
        path: String,
        /// The mistake, and a correct form.
        problem: String,
    },
    /// A queue that does not exist.
    #[error("unknown queue `{path}`{}", crate::nearest::hint(.nearest.as_deref()))]
    UnknownQueue {
        /// The path given.
        path: String,
        /// The known path closest to it.
        nearest: Option<String>,
    },
    /// Something about one placement rule.
    #[error("placement rule {rule}: {problem}")]
    QueueMapping {
        /// Which, counted from 1.
        rule: usize,
        /// The mistake, and a correct form.
        problem: String,
    },
    /// A value outside its range.
    #[error("{key}: {problem}")]
    Value {
        /// The key.
        key: &'static str,
        /// The mistake, and a correct form.
        problem: String,
    },
    /// A resource type or amount.
    #[error(transparent)]
    Resource(#[from] ResourceError),
}
