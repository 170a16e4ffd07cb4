//! Many simulations of one workload: over policies, sizes of the cluster, loads and seeds.

mod case;
mod estimate;
mod outcome;
mod point;
mod run;

pub use case::{Case, Grid, Policy, Preemption};
pub use estimate::Estimate;
pub use outcome::OutcomeFigures;
pub use point::{Figures, Spread, SweepPoint};
pub use run::{Source, Subject, SweepRun, Variant};
