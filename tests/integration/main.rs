//! Scenarios: small clusters with known outcomes, each named after its source, and minimal cases of defects that the
//! properties found.
//!
//! Every step of every scenario is also checked against the model, see `support::check`.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod admission;
mod capacity_scheduler;
mod embedder;
mod engine;
mod explain;
mod explain_again;
mod follower;
mod limits;
mod nodes;
mod old_logs;
mod peers;
mod races;
mod reconciliation;
mod recovery;
mod regressions;
mod reservations;
mod stale;
mod tags;
mod values;

use apportion::ResourceTypes;
use apportion::config::{Capacity, EngineConfig, Percent, QueueConfig, ReservationPolicy};

/// The configuration of an engine that counts memory and cores, with these queues below the root and without
/// reservations.
fn engine(queues: impl IntoIterator<Item = QueueConfig>) -> EngineConfig {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(queues));
    config.reservations = ReservationPolicy { delay_ms: None, ..ReservationPolicy::default() };
    config
}

/// A leaf with this guarantee whose users are limited only by its maximum. YARN lets a user exceed the limit by one
/// container; strict mode does not. Scenarios that rely on that have no user limit.
fn leaf(name: &str, percent: u32) -> QueueConfig {
    QueueConfig::leaf(name, Capacity::Percent(Percent::whole(percent))).with_user_limit_factor(None)
}
