//! Simulation: the shipped engine on virtual time, driven by a workload.
//!
//! Time advances from event to event, in steps of one tick, and only when the engine is quiet.

mod asks;
mod cluster;
mod containers;
mod finish;
mod gang;
mod jobs;
mod metrics;
#[cfg(test)]
mod preemption_tests;
mod record;
mod run;
mod series;
mod tally;
mod time;

pub use cluster::{ClusterError, queues_for};
pub use gang::{GangFigure, GangGroup, GangJob, GangRecord, WaitReason};
pub use metrics::{ContainerOutcome, Deviation, Fairness, GroupOutcome, JobOutcome, Outcomes, Timeline};
pub use record::{Figure, NodeUse, PreemptionRecord, QueueUse, RunRecord, Utilisation};
pub use run::{Progress, SimError, SimOptions, simulate};
pub use series::{Interval, Series};
