//! What `throughput` measured: as JSON for programs and as text for terminals.

mod json;
mod text;

pub use json::{Measured, ThroughputParameters, ThroughputReport};
