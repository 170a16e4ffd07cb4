//! Opportunistic containers: asked for as such, queued at nodes, first to go, and promoted when room appears.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod asks;
mod cluster;
mod gangs;
mod model;
mod nodes;
mod promotions;
mod property;
mod queues;
mod recovery;

use cluster::{Cluster, amount, ask, config, opportunistic, queued, started};
