//! The results of a service's year on a cluster: with its history, without it, and in strict mode.

use serde::Serialize;

use super::chart::{ChartError, bar_chart, percent};
use super::html::{Figure, document, figures_table, interrupted_first, plot_section, say, section, to_cards};
use super::plot::{Axis, Line, Plot, Unit};
use super::{NOT_BEGUN, count_text, counted, duration_text, interrupted_line};
use crate::interrupt::Interruption;
use crate::services::{Restart, YearRecord, YearShape, quantile};

const MS_PER_S: f64 = 1_000.0;
/// The most bars of a plot.
const BARS_MAX: usize = 26;
const NAMES: [&str; 3] = ["with history", "without history", "strict"];

/// Three years side by side: with history, without, strict.
#[derive(Clone, Debug)]
pub struct ServicesReport {
    shape: YearShape,
    seed: u64,
    /// With history, without history, strict.
    pub years: [YearRecord; 3],
}

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Clone, Debug, Serialize)]
pub struct ServicesJson {
    seed: u64,
    days: u64,
    nodes: u32,
    region_servers: u32,
    interrupted_at_s: Option<Interruption>,
    returned_fraction: Option<f64>,
    returned_fraction_without_history: Option<f64>,
    returned_fraction_strict: Option<f64>,
    anti_affinity_violations: u64,
    time_to_full_strength_s: Times,
    time_to_full_strength_without_history_s: Times,
    time_to_full_strength_strict_s: Times,
    runs: Vec<RunJson>,
}

/// Over all restarts that came to full strength; `null` if none did.
#[derive(Clone, Copy, Debug, Serialize)]
struct Times {
    p50: Option<f64>,
    p99: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct RunJson {
    placement: &'static str,
    interrupted_at_s: Option<Interruption>,
    returned_fraction: Option<f64>,
    restarts: Vec<RestartJson>,
    crashed: u32,
    crashed_returned: u32,
    anti_affinity_violations: u64,
    widened_requests: u64,
    jobs_ended: u64,
    /// Null if the year had not begun.
    used_part: Option<f64>,
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
    /// A report on these years.
    #[must_use]
    pub fn new(shape: YearShape, seed: u64, years: [YearRecord; 3]) -> Self {
        Self { shape, seed, years }
    }

    /// The furthest time that a year had reached when a signal stopped it, or kept it from beginning.
    #[must_use]
    pub fn interruption(&self) -> Option<Interruption> {
        let furthest = self.years.iter().filter_map(|year| year.interrupted).max()?;
        let has_ended = self.years.iter().any(|year| year.interrupted.is_none());
        let all_ms = self.shape.days * 86_400_000;
        Some(if has_ended { Interruption::Virtual(all_ms) } else { furthest })
    }

    /// The report as JSON.
    #[must_use]
    pub fn to_json(&self) -> ServicesJson {
        let [with, without, strict] = &self.years;
        ServicesJson {
            seed: self.seed,
            days: self.shape.days,
            nodes: self.shape.nodes,
            region_servers: self.shape.region_servers,
            interrupted_at_s: self.interruption(),
            returned_fraction: with.returned_fraction(),
            returned_fraction_without_history: without.returned_fraction(),
            returned_fraction_strict: strict.returned_fraction(),
            anti_affinity_violations: self.years.iter().map(|year| year.anti_affinity_violations).sum(),
            time_to_full_strength_s: times(with),
            time_to_full_strength_without_history_s: times(without),
            time_to_full_strength_strict_s: times(strict),
            runs: NAMES.into_iter().zip(&self.years).map(|(name, year)| run_json(name, year)).collect(),
        }
    }
}

fn times(year: &YearRecord) -> Times {
    let times = year.full_strength_ms();
    let at = |part| quantile(&times, part).map(|ms| ms as f64 / MS_PER_S);
    Times { p50: at(0.5), p99: at(0.99) }
}

fn run_json(placement: &'static str, year: &YearRecord) -> RunJson {
    let restart = |restart: &Restart| RestartJson {
        started_ms: restart.started_ms,
        could_return: restart.could_return,
        returned: restart.returned,
        full_strength_s: restart.full_strength_ms.map(|ms| ms as f64 / MS_PER_S),
    };
    RunJson {
        placement,
        interrupted_at_s: year.interrupted,
        returned_fraction: year.returned_fraction(),
        restarts: year.restarts.iter().map(restart).collect(),
        crashed: year.crashed,
        crashed_returned: year.crashed_returned,
        anti_affinity_violations: year.anti_affinity_violations,
        widened_requests: year.widened,
        jobs_ended: year.jobs_ended,
        used_part: year.has_begun().then_some(year.used_part),
        audit_violations: year.audit_violations,
    }
}

/// The report as text for terminals.
#[must_use]
pub fn to_services_text(report: &ServicesReport) -> String {
    let shape = &report.shape;
    let [with, ..] = &report.years;
    let mut text = format!(
        "{}{} on {}, {} in use, {} of other jobs ended; {}, {}; {}, {}\n",
        interrupted_line(report.interruption()),
        counted(shape.days, "day"),
        counted(shape.nodes.into(), "node"),
        used_text(with),
        counted(with.jobs_ended, "container"),
        counted(shape.region_servers.into(), "region server"),
        counted(shape.masters.into(), "master"),
        counted(shape.restarts.into(), "full restart"),
        crashes_text(shape.crashes.into()),
    );
    for (name, year) in NAMES.into_iter().zip(&report.years) {
        if !year.has_begun() {
            text += &format!("{name:>16}: {NOT_BEGUN}\n");
            continue;
        }
        let times = year.full_strength_ms();
        let at = |part| strength_text(year, part);
        text += &format!(
            "{name:>16}{}: {:>7} of {} came back to their last host; full strength after {} (median), {} (99 %), \
             {} of {}; {} widened; {}\n",
            year.interrupted.map_or_else(String::new, |interruption| format!(", {interruption}")),
            returned_text(year),
            count_text(year.could_return().into()),
            at(0.5),
            at(0.99),
            times.len(),
            counted(year.restarts.len() as u64, "restart"),
            counted(year.widened, "request"),
            counted(year.anti_affinity_violations, "anti-affinity violation"),
        );
    }
    text.trim_end().to_owned()
}

fn crashes_text(crashes: u64) -> String {
    if crashes == 1 { "1 crash".into() } else { format!("{} crashes", count_text(crashes)) }
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
        (returned_text(with), "came back to their last host"),
        (returned_text(without), "did so without history"),
        (median, "to full strength, median"),
        (count_text(violations), "anti-affinity violations"),
        (used_text(with), "of the cluster in use"),
        (count_text(with.jobs_ended), "containers of other jobs"),
    ];
    let sections = [returned(report)?, strength(report)?, live(report)?, table(report)].concat();
    let sub = format!(
        "{}{}, {}, {} and {} that keep apart; {}, {}, each node down {}; seed {}",
        interrupted_first(report.interruption()),
        counted(shape.days, "day"),
        counted(shape.nodes.into(), "node"),
        counted(shape.region_servers.into(), "region server"),
        counted(shape.masters.into(), "master"),
        counted(shape.restarts.into(), "full restart"),
        crashes_text(shape.crashes.into()),
        counted(shape.outages_per_node.into(), "time"),
        report.seed
    );
    Ok(document(
        "Apportion: a service comes back to where it was",
        &sub,
        &format!("{}<main>{sections}</main>", to_cards(&cards)),
    ))
}

/// The fraction that came back with history and without: for each restart, for crashes, and in total as on the cards.
fn returned(report: &ServicesReport) -> Result<String, ChartError> {
    const TITLE: &str = "Where they were";
    let [with, without, strict] = &report.years;
    let part =
        |returned: u32, could_return: u32| 100.0 * f64::from(returned) / f64::from(could_return.max(1));
    let Some((all_with, all_without)) = with.returned_fraction().zip(without.returned_fraction()) else {
        return Ok(say(
            TITLE,
            "Interrupted before a region server could return with history, and one without.",
        ));
    };
    let crashes = |year: &YearRecord| part(year.crashed_returned, year.crashed);
    let mut bars = vec![("all".to_owned(), 100.0 * all_without, 100.0 * all_with)];
    let seen = [with, without].map(|year| year.crashed > 0);
    if seen == [true; 2] || (seen != [false; 2] && report.interruption().is_none()) {
        bars.push(("crashes".to_owned(), crashes(without), crashes(with)));
    }
    let of = |restart: &Restart| part(restart.returned, restart.could_return);
    let restarts = with.restarts.iter().zip(&without.restarts).zip(1..);
    bars.extend(
        restarts.map(|((with, without), number)| (format!("restart {number}"), of(without), of(with))),
    );
    if bars.len() == 1 {
        return Ok(say(TITLE, "There were neither restarts nor crashes."));
    }
    let left_out = bars.len().saturating_sub(BARS_MAX);
    bars.truncate(BARS_MAX);
    let mut note = format!(
        "Fraction of region servers that returned to their last host, if it was up and had room. Strict mode: {}.",
        returned_text(strict)
    );
    if left_out > 0 {
        note += &format!(" {left_out} more restarts are in --json.");
    }
    let axis = Axis::new("came back: without history (grey), with it (blue)", Unit::Percent);
    Ok(section(TITLE, &note, &bar_chart(&bars, axis)?))
}

fn strength(report: &ServicesReport) -> Result<String, ChartError> {
    const TITLE: &str = "Time to full strength";
    let [.., strict] = &report.years;
    let [median, worst] = [0.5, 1.0].map(|part| strength_text(strict, part));
    let strict = if strict.has_begun() {
        format!("Strict mode waits for hosts that are down: {median} in the median, {worst} at worst.")
    } else {
        "The strict year was not begun.".to_owned()
    };
    let bar = |(name, year): (&str, &YearRecord)| {
        let times = year.full_strength_ms();
        let seconds = |part| quantile(&times, part).map(|ms| ms as f64 / MS_PER_S);
        Some((name.to_owned(), seconds(1.0)?, seconds(0.5)?))
    };
    let bars: Vec<_> = NAMES.into_iter().zip(&report.years).take(2).filter_map(bar).collect();
    if bars.is_empty() {
        return Ok(say(TITLE, &format!("No restart came to full strength. {strict}")));
    }
    let note = format!("From the start until all instances run. {strict}");
    let axis = Axis::new("seconds: slowest (grey), median (blue)", Unit::Number);
    Ok(section(TITLE, &note, &bar_chart(&bars, axis)?))
}

fn live(report: &ServicesReport) -> Result<String, ChartError> {
    let line = |number: usize| {
        let days = Some(&report.years[number]).filter(|year| year.has_begun())?.live_by_day();
        let end = days.last().map_or(1.0, |(day, _)| day + 1.0);
        Some(Line::of_values(NAMES[number], days, end))
    };
    let plot = Plot {
        x: Axis::new("day", Unit::Count),
        y: Axis::new("region servers", Unit::Count),
        lines: [line(2), line(0)].into_iter().flatten().collect(),
        is_over_time: false,
    };
    let note = "The fewest that were live on each day: stops, crashes, failed hosts, and flexes up and down. Without \
                history it looks as with it.";
    plot_section("Region servers", note, &plot, "No region server was live for a whole day.")
}

fn table(report: &ServicesReport) -> String {
    let rows: [(&str, Figure<YearRecord>); 11] = [
        ("interrupted at", |year| year.interrupted.map_or_else(|| "no".to_owned(), Interruption::moment)),
        ("came back", returned_text),
        ("crashed, their host up", |year| count_text(year.crashed.into())),
        ("of these, came back", |year| count_text(year.crashed_returned.into())),
        ("restarts at full strength", |year| {
            format!("{} of {}", year.full_strength_ms().len(), year.restarts.len())
        }),
        ("full strength, median", |year| strength_text(year, 0.5)),
        ("full strength, slowest", |year| strength_text(year, 1.0)),
        ("requests widened", |year| count_text(year.widened)),
        ("anti-affinity violations", |year| count_text(year.anti_affinity_violations)),
        ("containers of other jobs", |year| count_text(year.jobs_ended)),
        ("audit violations", |year| count_text(year.audit_violations as u64)),
    ];
    let begun = report.years.iter().map(|year| Some(year).filter(|year| year.has_begun()));
    let columns: Vec<_> = NAMES.map(str::to_owned).into_iter().zip(begun).collect();
    // The first row is about interrupted runs.
    let first = usize::from(report.interruption().is_none());
    figures_table(&rows[first..], &columns)
}

fn strength_text(year: &YearRecord, part: f64) -> String {
    let none = if year.interrupted.is_some() { "not yet" } else { "never" };
    quantile(&year.full_strength_ms(), part).map_or_else(|| none.to_owned(), duration_text)
}

fn returned_text(year: &YearRecord) -> String {
    let none = if year.has_begun() { "not yet" } else { NOT_BEGUN };
    year.returned_fraction().map_or_else(|| none.to_owned(), percent)
}

fn used_text(year: &YearRecord) -> String {
    if year.has_begun() { percent(year.used_part) } else { "not known".to_owned() }
}

#[cfg(test)]
mod tests;
