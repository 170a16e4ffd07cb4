//! Statistics that reports and comparisons share.

mod student;
mod summary;

pub use student::{Difference, adjusted, mean_interval, paired, welch};
pub use summary::{Summary, jain};
