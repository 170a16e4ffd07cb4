//! The figures as one HTML file that opens without a network.

use apportion_load::Record;

use super::super::chart::{ChartError, bar_chart, percent};
use super::super::distribution::{CONTAINERS, Distribution};
use super::super::html::{document, escape, interrupted_first, say, section, to_cards};
use super::super::plot::{Axis, Unit};
use super::ThroughputReport;
use super::json::{Run, median_record};
use crate::report::{Measured, count_text, counted, leaves_text};

/// The most bars; the JSON has all values.
const RUNS_MAX: usize = 30;
const NS_PER_US: f64 = 1e3;

/// A page with the most important figures, plots of all runs and of the median one, and all figures.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn to_throughput_html(report: &ThroughputReport, measured: &Measured) -> Result<String, ChartError> {
    let middle = median_record(&measured.records);
    let sections =
        [runs(report)?, times(report)?, lock(middle)?, ages(middle)?, latency(middle)?, table(report)]
            .concat();
    let title = format!("Apportion: throughput of {}", escape(&report.workload));
    let sub = format!(
        "{}{}, {}, {}; {}, seed {}; {}",
        interrupted_first(report.interrupted_at_s),
        counted(report.nodes as u64, "node"),
        counted(report.apps as u64, "application"),
        leaves_text(report.leaves as u64),
        report.mode_text,
        report.seed,
        runs_text(report),
    );
    Ok(document(&title, &sub, &format!("{}<main>{sections}</main>", to_cards(&cards(report)))))
}

fn runs_text(report: &ThroughputReport) -> String {
    let by = if report.rate.is_some() { "how long asks waited" } else { "rate" };
    match report.repeat {
        1 => "one run".to_owned(),
        runs => format!("the median of {runs} runs by {by}"),
    }
}

fn cards(report: &ThroughputReport) -> Vec<(String, &'static str)> {
    let mut cards = vec![(count_text(report.allocations_per_second as u64), "allocations per second")];
    if let Some(ratio) = report.ratio_to_limit {
        cards.push((format!("{ratio:.3}"), "of the stripped yardstick"));
    }
    if let Some(ratio) = report.ratio_to_cycle {
        cards.push((format!("{ratio:.3}"), "of the full-cycle yardstick"));
    }
    if let Some(ns) = report.cpu_ns_per_allocation {
        cards.push((format!("{} ns", count_text(ns as u64)), "processor time per allocation"));
    }
    let lock_ns = count_text(report.commit_lock_ns_per_allocation as u64);
    cards.push((format!("{lock_ns} ns"), "write lock per allocation"));
    cards.push((percent(report.commit_lock_share), "of the time under the write lock"));
    if let Some(latency) = &report.latency_us {
        cards.push((format!("{} us", count_text(latency.p50 as u64)), "from ask to commit, median"));
        cards.push((format!("{} us", count_text(latency.p99 as u64)), "from ask to commit, 99 %"));
    }
    cards.push((percent(report.rejected_fraction), "of requests rejected"));
    cards
}

fn runs(report: &ThroughputReport) -> Result<String, ChartError> {
    if let ([run], None) = (report.runs.as_slice(), report.ratio_to_limit) {
        let rate = count_text(run.allocations_per_second as u64);
        return Ok(say("Rate", &format!("One run: {rate} allocations per second.")));
    }
    let bar = |(number, run): (usize, &Run)| {
        let limit = run.cycle_allocations_per_second.unwrap_or(0.0);
        (format!("run {}", number + 1), limit, run.allocations_per_second)
    };
    let bars: Vec<_> = report.runs.iter().enumerate().take(RUNS_MAX).map(bar).collect();
    let (note, x) = if report.ratio_to_limit.is_some() {
        (
            "Each run and the slice of the full-cycle yardstick that followed it, on one thread.",
            "allocations per second: yardstick (grey), engine (blue)",
        )
    } else {
        ("Each run. --with-limit adds the yardstick.", "allocations per second")
    };
    Ok(section("Rate", note, &bar_chart(&bars, Axis::new(x, Unit::Count))?))
}

fn times(report: &ThroughputReport) -> Result<String, ChartError> {
    let bars = [
        ("processor, all threads", report.cpu_ns_per_allocation),
        ("proposing, read lock held", Some(report.propose_ns_per_allocation)),
        ("committing, write lock held", Some(report.commit_lock_ns_per_allocation)),
    ];
    let bar = |(name, ns): (&str, Option<f64>)| Some((name.to_owned(), 0.0, ns?));
    let bars: Vec<_> = bars.into_iter().filter_map(bar).collect();
    let chart = bar_chart(&bars, Axis::new("nanoseconds per allocation", Unit::Count))?;
    let note = "Of the median run. In parallel mode, proposers work side by side, and their times add up. Times with a lock include those in which \
         the system had suspended the thread.";
    Ok(section("Where the time goes", note, &chart))
}

fn lock(middle: &Record) -> Result<String, ChartError> {
    let distribution = Distribution {
        title: "Write lock",
        note: "How long group commits held it, for each container that they placed.",
        things: "group commits",
        x: "nanoseconds per allocation",
        divisor: 1.0,
        text: ns_text,
    };
    distribution.section(&middle.timing.lock_held_ns_per_allocation)
}

fn ages(middle: &Record) -> Result<String, ChartError> {
    let distribution = Distribution {
        title: "Age of proposals",
        note: "From a proposer's look at the state to the verdict.",
        things: "batches",
        x: "microseconds",
        divisor: NS_PER_US,
        text: ns_text,
    };
    distribution.section(&middle.timing.proposal_age_ns)
}

fn latency(middle: &Record) -> Result<String, ChartError> {
    let Some(latency) = &middle.latency_ns else { return Ok(String::new()) };
    let distribution = Distribution {
        title: "Latency",
        note: "From the call that asks to the end of the group commit that places.",
        things: CONTAINERS,
        x: "microseconds",
        divisor: NS_PER_US,
        text: ns_text,
    };
    distribution.section(latency)
}

fn ns_text(ns: u64) -> String {
    format!("{} ns", count_text(ns))
}

fn table(report: &ThroughputReport) -> String {
    let row = |(name, value): (&str, String)| format!("<tr><td>{}<td>{}", escape(name), escape(&value));
    let rows: String = report.rows().into_iter().map(row).collect();
    format!("<section><h2>All figures</h2><table>{rows}</table></section>")
}
