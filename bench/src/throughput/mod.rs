//! Benchmarks of the engine on the machine's own clock: how many allocations a second, by workload.

mod cluster;
mod cpu;
mod fill;

pub use cluster::ClusterShape;
pub use fill::{FillRecord, fill};
