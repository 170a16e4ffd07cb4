//! What came of a service's year, with its history, without, and in strict mode.

use serde::Serialize;

use super::chart::{Axes, ChartError, Line, bar_chart, line_chart, percent, plain};
use super::html::{document, section, to_cards};
use super::{count_text, duration_text};
use crate::services::{YearRecord, YearShape, quantile};

const MS_PER_S: f64 = 1_000.0;
const NAMES: [&str; 3] = ["with history", "without history", "strict"];

/// Three years side by side: with history, without, strict.
#[derive(Clone, Debug)]
pub struct ServicesReport {
    shape: YearShape,
    seed: u64,
    /// In this order.
    pub years: [YearRecord; 3],
}

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Clone, Debug, Serialize)]
pub struct ServicesJson {
    seed: u64,
    days: u64,
    nodes: u32,
    region_servers: u32,
    returned_fraction: f64,
    returned_fraction_without_history: f64,
    returned_fraction_strict: f64,
    anti_affinity_violations: u64,
    time_to_full_strength_s: Times,
    time_to_full_strength_without_history_s: Times,
    time_to_full_strength_strict_s: Times,
    runs: Vec<RunJson>,
}

/// Of all restarts that came to full strength; `null` if none did.
#[derive(Clone, Copy, Debug, Serialize)]
struct Times {
    p50: Option<f64>,
    p99: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct RunJson {
    placement: &'static str,
    returned_fraction: f64,
    restarts: Vec<RestartJson>,
    crashed: u32,
    crashed_returned: u32,
    anti_affinity_violations: u64,
    widened_requests: u64,
    jobs_ended: u64,
    used_part: f64,
    audit_violations: usize,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct RestartJson {
    started_ms: u64,
    could_return: u32,
    returned: u32,
    full_strength_s: Option<f64>,
}

impl ServicesReport {
    /// What came of these.
    #[must_use]
    pub fn new(shape: YearShape, seed: u64, years: [YearRecord; 3]) -> Self {
        Self { shape, seed, years }
    }

    /// For programs.
    #[must_use]
    pub fn to_json(&self) -> ServicesJson {
        let [with, without, strict] = &self.years;
        ServicesJson {
            seed: self.seed,
            days: self.shape.days,
            nodes: self.shape.nodes,
            region_servers: self.shape.region_servers,
            returned_fraction: with.returned_fraction(),
            returned_fraction_without_history: without.returned_fraction(),
            returned_fraction_strict: strict.returned_fraction(),
            anti_affinity_violations: self.years.iter().map(|year| year.anti_affinity_violations).sum(),
            time_to_full_strength_s: times(with),
            time_to_full_strength_without_history_s: times(without),
            time_to_full_strength_strict_s: times(strict),
            runs: NAMES.into_iter().zip(&self.years).map(run_json).collect(),
        }
    }
}

fn times(year: &YearRecord) -> Times {
    let times = year.full_strength_ms();
    let at = |part| quantile(&times, part).map(|ms| ms as f64 / MS_PER_S);
    Times { p50: at(0.5), p99: at(0.99) }
}

fn run_json((placement, year): (&'static str, &YearRecord)) -> RunJson {
    let restart = |restart: &crate::services::Restart| RestartJson {
        started_ms: restart.started_ms,
        could_return: restart.could_return,
        returned: restart.returned,
        full_strength_s: restart.full_strength_ms.map(|ms| ms as f64 / MS_PER_S),
    };
    RunJson {
        placement,
        returned_fraction: year.returned_fraction(),
        restarts: year.restarts.iter().map(restart).collect(),
        crashed: year.crashed,
        crashed_returned: year.crashed_returned,
        anti_affinity_violations: year.anti_affinity_violations,
        widened_requests: year.widened,
        jobs_ended: year.jobs_ended,
        used_part: year.used_part,
        audit_violations: year.audit_violations,
    }
}

/// For terminals.
#[must_use]
pub fn to_services_text(report: &ServicesReport) -> String {
    let shape = &report.shape;
    let [with, ..] = &report.years;
    let mut text = format!(
        "{} days on {} nodes, {:.0} % in use, {} containers of other jobs ended; {} region servers, {} masters; \
         {} full restarts, {} crashes\n",
        shape.days,
        count_text(shape.nodes.into()),
        100.0 * with.used_part,
        count_text(with.jobs_ended),
        shape.region_servers,
        shape.masters,
        shape.restarts,
        shape.crashes,
    );
    for (name, year) in NAMES.into_iter().zip(&report.years) {
        let could = year.restarts.iter().map(|restart| restart.could_return).sum::<u32>() + year.crashed;
        let times = year.full_strength_ms();
        let at = |part| strength_text(year, part);
        text += &format!(
            "{name:>16}: {:5.1} % of {} came back to their last host; full strength after {} (median), {} (99 %), \
             {} of {} restarts; {} requests widened; {} anti-affinity violations\n",
            100.0 * year.returned_fraction(),
            count_text(could.into()),
            at(0.5),
            at(0.99),
            times.len(),
            year.restarts.len(),
            count_text(year.widened),
            year.anti_affinity_violations,
        );
    }
    text.trim_end().to_owned()
}

/// A page with the most important figures, plots and all figures.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn to_services_html(report: &ServicesReport) -> Result<String, ChartError> {
    let shape = &report.shape;
    let [with, without, _] = &report.years;
    let violations: u64 = report.years.iter().map(|year| year.anti_affinity_violations).sum();
    let median = strength_text(with, 0.5);
    let cards = [
        (percent(with.returned_fraction()), "came back to their last host"),
        (percent(without.returned_fraction()), "did so without history"),
        (median, "to full strength, median"),
        (count_text(violations), "anti-affinity violations"),
        (percent(with.used_part), "of the cluster in use"),
        (count_text(with.jobs_ended), "containers of other jobs"),
    ];
    let sections = [returned(report)?, strength(report)?, live(report)?, table(report)].concat();
    let sub = format!(
        "{} days, {} nodes, {} region servers and {} masters that keep apart; {} full restarts, {} crashes, each node \
         down {} times; seed {}",
        shape.days,
        count_text(shape.nodes.into()),
        shape.region_servers,
        shape.masters,
        shape.restarts,
        shape.crashes,
        shape.outages_per_node,
        report.seed
    );
    Ok(document(
        "Apportion: a service comes back to where it was",
        &sub,
        &format!("{}<main>{sections}</main>", to_cards(&cards)),
    ))
}

/// Of each restart, beside each other.
fn returned(report: &ServicesReport) -> Result<String, ChartError> {
    let line = |(name, year): (&str, &YearRecord)| {
        let part = |restart: &crate::services::Restart| {
            f64::from(restart.returned) / f64::from(restart.could_return.max(1))
        };
        let points =
            year.restarts.iter().zip(1..).map(|(restart, number)| (f64::from(number), part(restart)));
        Line { name: name.to_owned(), points: points.collect() }
    };
    // A line of strict ones would cover the first.
    let lines: Vec<Line> = NAMES.into_iter().zip(&report.years).take(2).map(line).collect();
    let axes =
        Axes { x: "full restart", y: "came back", y_range: 0.0..1.05, y_text: &|value| percent(*value) };
    Ok(section(
        "Where they were",
        &format!(
            "Of the region servers whose last host was up and had room, the part that came back to it, restart by restart. \
             In strict mode: {} over the year.",
            percent(report.years[2].returned_fraction())
        ),
        &line_chart(&lines, &axes)?,
    ))
}

fn strength(report: &ServicesReport) -> Result<String, ChartError> {
    let bar = |(name, year): (&str, &YearRecord)| {
        let times = year.full_strength_ms();
        let seconds = |part| quantile(&times, part).map_or(0.0, |ms| ms as f64 / MS_PER_S);
        (name.to_owned(), seconds(0.99), seconds(0.5))
    };
    let bars: Vec<_> = NAMES.into_iter().zip(&report.years).take(2).map(bar).collect();
    let strict = [0.5, 0.99].map(|part| strength_text(&report.years[2], part));
    Ok(section(
        "Time to full strength",
        &format!(
            "From the start until all instances run. Strict ones wait for hosts that are down: {} in the median, {} at \
             worst.",
            strict[0], strict[1]
        ),
        &bar_chart(&bars, "seconds: slowest (grey), median (blue)", &|value| plain(*value))?,
    ))
}

fn live(report: &ServicesReport) -> Result<String, ChartError> {
    let line =
        |number: usize| Line { name: NAMES[number].to_owned(), points: report.years[number].live_by_day() };
    let lines = [line(2), line(0)];
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(1.0, f64::max);
    let axes =
        Axes { x: "day", y: "region servers", y_range: 0.0..highest * 1.08, y_text: &|value| plain(*value) };
    Ok(section(
        "Region servers",
        "The fewest that were live on each day: stops, crashes, failed hosts, and flexes up and down. Without history it \
         looks as with it.",
        &line_chart(&lines, &axes)?,
    ))
}

fn table(report: &ServicesReport) -> String {
    type Figure = fn(&YearRecord) -> String;
    let rows: [(&str, Figure); 10] = [
        ("came back", |year| percent(year.returned_fraction())),
        ("crashed, their host up", |year| count_text(year.crashed.into())),
        ("of these, came back", |year| count_text(year.crashed_returned.into())),
        ("restarts at full strength", |year| {
            format!("{} of {}", year.full_strength_ms().len(), year.restarts.len())
        }),
        ("full strength, median", |year| strength_text(year, 0.5)),
        ("full strength, slowest", |year| strength_text(year, 0.99)),
        ("requests widened", |year| count_text(year.widened)),
        ("anti-affinity violations", |year| count_text(year.anti_affinity_violations)),
        ("containers of other jobs", |year| count_text(year.jobs_ended)),
        ("audit violations", |year| count_text(year.audit_violations as u64)),
    ];
    let row = |(name, figure): &(&str, Figure)| {
        let cells: String = report.years.iter().map(|year| format!("<td>{}", figure(year))).collect();
        format!("<tr><td>{name}{cells}")
    };
    let heads: String = NAMES.into_iter().map(|name| format!("<td><b>{name}</b>")).collect();
    let body: String = rows.iter().map(row).collect();
    format!("<section><h2>All figures</h2><table><tr><td>{heads}{body}</table></section>")
}

fn strength_text(year: &YearRecord, part: f64) -> String {
    quantile(&year.full_strength_ms(), part).map_or_else(|| "never".to_owned(), duration_text)
}
