//! Benchmarks of the engine on the machine's own clock: how many allocations a second, by workload.

mod churn;
mod cluster;
mod fill;
mod latency;
mod memory;
mod meter;
mod profile;
mod queues;
mod tasks;

pub use churn::{Churn, GoOn};
pub(crate) use cluster::Cluster;
pub use cluster::{ClusterShape, Setup};
pub use fill::fill;
pub use memory::Memory;
pub use meter::Record;
pub use profile::{Profile, Room, WANTED_NODES};
pub(crate) use tasks::{Kinds, Task};
