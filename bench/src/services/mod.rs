//! A year of a service on virtual time. An application like HBase is stopped and started, crashes, and loses
//! hosts, on a cluster that other jobs keep busy. How often do its instances return to their hosts?

mod application;
pub(crate) mod cluster;
pub(crate) mod jobs;
mod plan;
mod tally;
mod year;

pub use application::Placement;
pub use plan::{Happening, Plan, YearShape};
pub use tally::{Restart, YearRecord, quantile};
pub use year::run_year;
