//! Differences between two results beyond noise.
//!
//! A result is a file that `replay` or `demo` wrote with `--json`, or an array of such results as `sweep` writes it.
//! Runs that differ only in the seed form a point; the points of one file are compared with those of the other.

mod figures;
mod points;
mod read;
mod verdict;

pub use figures::Unit;
pub use read::{ReadError, ResultFile, Run};
pub use verdict::{Comparison, Row, Verdict, compare};
