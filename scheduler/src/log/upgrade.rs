//! Reads older formats: brings the bytes of logs up to version 10, and of snapshots of version 1, into the present
//! form.
//!
//! These formats differ from the present one in two places. The configuration, which stands first in both, had no
//! preemption, no queues of opportunistic containers and no limit for gangs that gather. A snapshot ended without the
//! facts that newer features have ([`LaterFacts`]).

use std::sync::Arc;

use serde::Deserialize;

use crate::change::Change;
use crate::config::{
    AllocationSizes, EngineConfig, EngineLimits, HeartbeatPolicy, LocalityDelay, NodeOrderKind, QueueConfig,
    QueueMapping, ReservationPolicy, Semantics, gather_limit_ms,
};
use crate::facts::LaterFacts;
use crate::resource::ResourceTypes;

/// The newest log without preemption in its configuration.
const LAST_WITHOUT_PREEMPTION: u8 = 10;
/// The position of [`Change::Configured`] among the changes.
const CONFIGURED: u8 = 0;

/// The configuration without preemption.
#[derive(Deserialize)]
struct ConfigBeforePreemption {
    resources: ResourceTypes,
    partitions: Vec<String>,
    non_exclusive_partitions: Vec<String>,
    root: QueueConfig,
    node_order: NodeOrderKind,
    reservations: ReservationPolicy,
    locality_delay: LocalityDelay,
    heartbeat: Option<HeartbeatPolicy>,
    allocation: AllocationSizes,
    semantics: Semantics,
    queue_mapping: QueueMapping,
    maximum_application_priority: Option<u32>,
    stop_timeout_ms: u64,
    stop_ended_applications: bool,
    limits: EngineLimits,
}

impl From<ConfigBeforePreemption> for EngineConfig {
    fn from(old: ConfigBeforePreemption) -> Self {
        Self {
            resources: old.resources,
            partitions: old.partitions,
            non_exclusive_partitions: old.non_exclusive_partitions,
            root: old.root,
            node_order: old.node_order,
            reservations: old.reservations,
            locality_delay: old.locality_delay,
            heartbeat: old.heartbeat,
            allocation: old.allocation,
            semantics: old.semantics,
            queue_mapping: old.queue_mapping,
            maximum_application_priority: old.maximum_application_priority,
            stop_timeout_ms: old.stop_timeout_ms,
            stop_ended_applications: old.stop_ended_applications,
            limits: old.limits,
            preemption: None,
            opportunistic: None,
            gather_limit_ms: gather_limit_ms(),
        }
    }
}

/// The first change of a log and the bytes behind it, if the log's version needs this reader for it.
pub(super) fn first_change(version: u8, bytes: &[u8]) -> Option<postcard::Result<(Change, &[u8])>> {
    let (&CONFIGURED, rest) = bytes.split_first().filter(|_| version <= LAST_WITHOUT_PREEMPTION)? else {
        return None;
    };
    let configured = |(config, rest)| (Change::Configured { config: Arc::new(config) }, rest);
    Some(config(rest).map(configured))
}

/// The bytes of a snapshot of the present version.
pub(super) fn snapshot_of_version_1(bytes: &[u8]) -> postcard::Result<Vec<u8>> {
    let (config, rest) = config(bytes)?;
    let mut upgraded = postcard::to_allocvec(&config)?;
    upgraded.extend_from_slice(rest);
    postcard::to_extend(&LaterFacts::default(), upgraded)
}

fn config(bytes: &[u8]) -> postcard::Result<(EngineConfig, &[u8])> {
    postcard::take_from_bytes::<ConfigBeforePreemption>(bytes).map(|(old, rest)| (old.into(), rest))
}
