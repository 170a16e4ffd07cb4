//! Benchmarks of the engine on the machine's own clock: how many allocations a second, by workload.

mod churn;
mod cluster;
mod cpu;
mod fill;
mod meter;

pub use churn::Churn;
pub use cluster::{ClusterShape, Setup};
pub use fill::fill;
pub use meter::Record;
