//! Many simulations of one workload: over policies, sizes of the cluster, loads and seeds.

mod case;
mod point;
mod run;

pub use case::{Case, Grid, Policy};
pub use point::{Figures, Spread, SweepPoint};
pub use run::{Source, Subject, SweepRun};
