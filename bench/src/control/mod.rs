//! Container control on virtual time: drained hosts, rolling restarts, and relief of hot hosts, on a cluster that other
//! jobs keep busy. How many containers are down meanwhile?

mod experiment;
mod record;
mod run;
mod slow_hosts;

pub use experiment::{ControlShape, Experiment};
pub use record::{ExperimentRecord, FaultCounts};
pub use run::{BUSY_PERCENT, run_experiment};
