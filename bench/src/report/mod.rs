//! Reports: a run as JSON for programs, a table for terminals, and one HTML file with plots.

mod chart;
mod compare;
mod control;
mod curves;
mod distribution;
mod gangs;
mod heat_map;
mod html;
mod json;
mod json_text;
mod latency;
mod palette;
mod pending;
mod plot;
mod policy;
mod reclaim;
mod run;
mod services;
mod sweep;
mod sweep_policy;
mod table;
mod throughput;

pub use compare::{CompareJson, to_compare_html, to_compare_text};
pub use control::{ControlJson, ControlReport, to_control_html, to_control_text};
pub use json::{JsonReport, RunParameters};
pub use json_text::to_json_text;
pub use latency::{
    LatencyPoint, LatencyReport, LatencyRun, to_latency_html, to_latency_svg, to_latency_text,
};
pub use policy::{write_containers_csv, write_jobs_csv};
pub use reclaim::{ReclaimReport, to_reclaim_html, to_reclaim_text};
pub use run::to_html;
pub use services::{ServicesJson, ServicesReport, to_services_html, to_services_text};
pub use sweep::{to_sweep_html, to_sweep_table};
pub use sweep_policy::to_sweep_policy_table;
pub use table::to_table;
pub use throughput::{Measured, ThroughputParameters, ThroughputReport, to_throughput_html};

use crate::interrupt::Interruption;

/// The text for a run that had not begun when a signal came.
const NOT_BEGUN: &str = "not begun";

/// The first line of a report for terminals if a signal stopped the run.
pub(crate) fn interrupted_line(interruption: Option<Interruption>) -> String {
    interruption.map_or_else(String::new, |interruption| format!("{interruption}\n"))
}

/// A duration in milliseconds, rounded.
fn duration_ms_text(ms: f64) -> String {
    duration_text(ms.round() as u64)
}

/// A ratio: two decimals below 100.
fn ratio_text(ratio: f64) -> String {
    if ratio < 100.0 { format!("{ratio:.2}") } else { count_text(ratio.round() as u64) }
}

/// A number of milliseconds in readable units.
#[must_use]
pub fn duration_text(ms: u64) -> String {
    let seconds = ms as f64 / 1000.0;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{seconds:.1} s"),
        120_000..7_200_000 => format!("{:.1} min", seconds / 60.0),
        7_200_000..172_800_000 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

/// A number with the noun that it counts: `1 node`, `2 nodes`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", count_text(count), if count == 1 { "" } else { "s" })
}

/// A number of leaves.
pub(crate) fn leaves_text(count: u64) -> String {
    if count == 1 { "1 leaf".into() } else { format!("{} leaves", count_text(count)) }
}

/// A whole number with thousands separated.
#[must_use]
pub fn count_text(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([999, 1_000, 1_234_567].map(count_text), ["999", "1,000", "1,234,567"]);
        assert_eq!(
            [5, 1_500, 600_000, 86_400_000].map(duration_text),
            ["5 ms", "1.5 s", "10.0 min", "24.0 h"]
        );
    }
}
