//! What differs between two results beyond noise.
//!
//! A result is what `replay` and `demo` write with `--json`, or an array of such as `sweep` writes it. Runs that differ
//! by the seed alone are a point; the points of one file are compared with those of the other.

mod figures;
mod points;
mod read;
mod verdict;

pub use figures::Unit;
pub use read::{ReadError, ResultFile, Run};
pub use verdict::{Comparison, Row, Verdict, compare};
