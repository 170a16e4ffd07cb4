//! Figures about policy: as JSON, as tables and as CSV.

mod csv;
mod json;
mod text;

pub use self::csv::{write_containers_csv, write_jobs_csv};
pub(super) use json::{FairnessOut, JobsOut, LeafOut, PreemptionOut, SeriesOut, UserOut, WaitOut};
pub(super) use text::{rows, to_policy_section, to_policy_table};
