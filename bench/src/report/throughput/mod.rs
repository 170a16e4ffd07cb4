//! The results of `throughput`: as JSON for programs, as text for terminals, and as an HTML page.

mod html;
mod json;
mod text;

pub use html::to_throughput_html;
pub use json::{Measured, ThroughputParameters, ThroughputReport};
