//! Load for the engine on the machine's own clock: how many containers a second it places, by workload.
//!
//! | module | purpose |
//! |---|---|
//! | `cluster` | starts an engine with nodes, queues and applications: [`Setup`] |
//! | `profile`, `queues`, `sizes`, `tasks` | define sizes of nodes and containers, asks and queues |
//! | `fill` | fills an empty cluster: [`fill()`] |
//! | `cycle` | does the same work on one or two threads as leanly as possible: [`CycleYardstick`] |
//! | `churn` | keeps a full cluster busy: [`Churn`] |
//! | `thread_model` | a model of the engine's threads on any number of cores: [`simulate`] |
//! | `meter`, `latency`, `memory`, `commit_times`, `process` | measure time, processor time and memory |
//!
//! The benches in `benches/` need only this and the engine, so that they build in a minute or two: `instructions` is a
//! gate in CI.

#![forbid(unsafe_code)]

mod churn;
mod cluster;
mod commit_times;
mod cycle;
mod fill;
mod latency;
mod memory;
mod meter;
pub mod process;
mod profile;
mod queues;
pub mod sizes;
mod tasks;
mod thread_model;

pub use churn::{Churn, GoOn, window};
pub use cluster::{Cluster, ClusterShape, Setup};
pub use commit_times::{CommitTimes, LatencySink};
pub use cycle::{CycleRate, CycleYardstick};
pub use fill::{fill, node_capacity};
pub use memory::Memory;
pub use meter::Record;
pub use profile::{DrawnAsk, Profile, Room, WANTED_NODES, is_other};
pub use tasks::{Kinds, Task};
pub use thread_model::{ModelMachine, ModelOutcome, StepTimes, simulate};
