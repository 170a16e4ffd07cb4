//! The run as one HTML file that opens without a network.

use apportion::Mode;
use hdrhistogram::Histogram;

use super::chart::{Axes, ChartError, Line, bar_chart, distribution_chart, line_chart, percent, plain};
use super::heat_map::heat_map;
use super::pending::to_pending_section;
use super::table::rows;
use super::{count_text, duration_text};
use crate::report::RunParameters;
use crate::sim::{QueueUse, RunRecord, Sample};

/// Bars beyond this are left out; the JSON has them all.
const QUEUES_MAX: usize = 30;
/// Lines beyond this cannot be told apart.
const LINES_MAX: usize = 7;
/// What most distributions are of.
pub(super) const CONTAINERS: &str = "part of containers";

/// A page with the most important figures, plots, and all figures.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn to_html(parameters: &RunParameters, record: &RunRecord) -> Result<String, ChartError> {
    let time = TimeAxis::new(record.makespan_ms);
    let mut sections = vec![
        section(
            "Use over time",
            "Allocated part of the cluster, by resource type.",
            &use_chart(record, &time)?,
        ),
        section(
            "Running and waiting",
            "Containers that run, and containers asked for that are not placed yet.",
            &load_chart(record, &time)?,
        ),
        section(
            "Waiting time",
            "Virtual time from ask to placement: the part of containers that waited at most this long.",
            &distribution_chart(
                &distribution(&record.wait_ms, 1.0),
                "waiting time, ms (0 is drawn at 1)",
                CONTAINERS,
            )?,
        ),
        section(
            "Queues: share against guarantee",
            "Mean over the run. A queue may use more than its guarantee while others leave room.",
            &bar_chart(
                &queue_bars(&record.queues),
                "dominant share of the cluster: guaranteed (grey), mean use (blue)",
                &|value| percent(*value),
            )?,
        ),
    ];
    if record.queues.len() > 1 {
        let chart = queue_chart(record, &time)?;
        sections.push(section("Queues over time", "Dominant share of the cluster, busiest leaves.", &chart));
    }
    sections.push(section(
        "Nodes",
        "Each node's mean use, in order of registration. Point at a square to see whose it is.",
        &heat_map(&record.node_use)?,
    ));
    if let Some(latency) = &record.ask_to_commit_us {
        let points = distribution(latency, 1.0);
        let chart = distribution_chart(&points, "ask to commit, microseconds of wall time", CONTAINERS)?;
        sections.push(section("Latency", "Asks placed at the virtual time they were submitted.", &chart));
    }
    Ok(page(parameters, record, &sections.concat()))
}

fn page(parameters: &RunParameters, record: &RunRecord, sections: &str) -> String {
    let title = format!("Apportion: {}", escape(&parameters.format));
    let cards = [
        (count_text(record.placed), "containers placed"),
        (count_text(record.allocations_per_second() as u64), "allocations per second"),
        (duration_text(record.wait_ms.value_at_quantile(0.5)), "median wait"),
        (duration_text(record.makespan_ms), "virtual time"),
        (count_text(record.pending_total() + record.unplaceable_total()), "not placed"),
        (count_text(record.audit_violations.len() as u64), "audit violations"),
    ];
    let table: String = rows(record)
        .iter()
        .map(|(name, value)| format!("<tr><td>{}<td>{}", escape(name), escape(value)))
        .collect();
    let mode = match parameters.mode {
        Mode::Serial => "serial".to_owned(),
        Mode::Parallel { proposers: 1 } => "parallel, 1 proposer".to_owned(),
        Mode::Parallel { proposers } => format!("parallel, {proposers} proposers"),
    };
    let mode = format!("{mode}, seed {}", parameters.seed);
    let interrupted = record.interrupted_ms.map(|at_ms| format!("Interrupted at {}: ", duration_text(at_ms)));
    let sub = format!(
        "{}{} nodes, {} containers asked for; {}; state {}",
        interrupted.unwrap_or_default(),
        count_text(record.nodes as u64),
        count_text(record.asks),
        escape(&mode),
        record.state_digest,
    );
    let invented: String =
        record.invented.iter().map(|text| format!("<p class=sub>{}</p>", escape(text))).collect();
    let body = format!(
        "{invented}{}<main>{sections}<section><h2>All figures</h2><table>{table}</table></section></main>{}",
        to_cards(&cards),
        to_pending_section(&record.pending_longest).unwrap_or_default()
    );
    document(&title, &sub, &body)
}

/// A page that needs nothing else. The texts are HTML.
pub(super) fn document(title: &str, sub: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content='width=device-width, initial-scale=1'><title>{title}</title>\
         <style>{STYLE}</style><h1>{title}</h1><p class=sub>{sub}</p>{body}</html>"
    )
}

/// The most important figures with their names.
pub(super) fn to_cards(cards: &[(String, &str)]) -> String {
    let card = |(value, name): &(String, &str)| format!("<div class=card><b>{value}</b>{name}</div>");
    format!("<div class=cards>{}</div>", cards.iter().map(card).collect::<String>())
}

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;color:#222;background:#f5f6f8;margin:0 auto;\
max-width:1640px;padding:24px}h1{font-size:24px;margin:0}h2{font-size:16px;margin:0 0 2px}\
.sub,section p{color:#666;margin:2px 0 12px}.cards{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}\
.card,section{background:#fff;border:1px solid #e2e4e8;border-radius:8px;padding:14px 18px}\
.card{flex:1 1 130px;color:#666}.card b{display:block;font-size:22px;color:#111}\
main{columns:540px 2;column-gap:16px}section{overflow-x:auto;break-inside:avoid;margin:0 0 16px}\
.names{font-size:13px;color:#444}.names span{margin-right:14px;white-space:nowrap}\
.names i{display:inline-block;width:14px;height:4px;margin-right:5px;vertical-align:middle}\
main+section{margin-top:16px}svg{width:100%;min-width:480px;height:auto;display:block}table{border-collapse:collapse;width:100%}\
td{border-bottom:1px solid #eee;padding:4px 8px 4px 0}td+td{text-align:right;font-variant-numeric:tabular-nums}\
th{text-align:left;font-weight:600;padding:4px 8px 4px 0}.why td{vertical-align:top;text-align:left;padding-right:16px}\
.why small{white-space:normal}small{display:block;color:#666;white-space:nowrap}";

pub(super) fn section(title: &str, note: &str, svg: &str) -> String {
    format!("<section><h2>{}</h2><p>{}</p>{svg}</section>", escape(title), escape(note))
}

/// Text that means itself in HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Virtual time in the unit that suits its length.
struct TimeAxis {
    unit: &'static str,
    unit_ms: f64,
}

impl TimeAxis {
    fn new(makespan_ms: u64) -> Self {
        let (unit, unit_ms) = match makespan_ms {
            0..300_000 => ("virtual time, s", 1e3),
            300_000..18_000_000 => ("virtual time, min", 6e4),
            18_000_000..432_000_000 => ("virtual time, h", 3.6e6),
            _ => ("virtual time, days", 8.64e7),
        };
        Self { unit, unit_ms }
    }

    fn line(&self, name: String, samples: &[Sample], value: impl Fn(&Sample) -> f64) -> Line {
        let point = |sample: &Sample| (sample.time_ms as f64 / self.unit_ms, value(sample));
        Line { name, points: samples.iter().map(point).collect() }
    }
}

fn use_chart(record: &RunRecord, time: &TimeAxis) -> Result<String, ChartError> {
    let samples = record.series.samples();
    let names = record.resource_names.iter().enumerate();
    let lines: Vec<Line> =
        names.map(|(i, name)| time.line(name.clone(), samples, |s| part(s.used[i], s.capacity[i]))).collect();
    line_chart(
        &lines,
        &Axes { x: time.unit, y: "in use", y_range: 0.0..1.0, y_text: &|value| percent(*value) },
    )
}

fn load_chart(record: &RunRecord, time: &TimeAxis) -> Result<String, ChartError> {
    let samples = record.series.samples();
    let lines = [
        time.line("running".into(), samples, |sample| sample.running as f64),
        time.line("waiting".into(), samples, |sample| sample.pending as f64),
    ];
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(1.0, f64::max);
    let axes =
        Axes { x: time.unit, y: "containers", y_range: 0.0..highest * 1.08, y_text: &|value| plain(*value) };
    line_chart(&lines, &axes)
}

fn queue_chart(record: &RunRecord, time: &TimeAxis) -> Result<String, ChartError> {
    let mut busiest: Vec<usize> = (0..record.queues.len()).collect();
    busiest.sort_by(|a, b| record.queues[*b].mean_share.total_cmp(&record.queues[*a].mean_share));
    busiest.truncate(LINES_MAX);
    let samples = record.series.samples();
    let share = |sample: &Sample, leaf: usize| {
        let types = 0..record.resource_names.len();
        types.map(|i| part(sample.leaf_used[leaf][i], sample.capacity[i])).fold(0.0, f64::max)
    };
    let lines: Vec<Line> = busiest
        .into_iter()
        .map(|leaf| time.line(record.queues[leaf].path.clone(), samples, |sample| share(sample, leaf)))
        .collect();
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.01, f64::max);
    let axes = Axes {
        x: time.unit,
        y: "share",
        y_range: 0.0..(highest * 1.08).min(1.0),
        y_text: &|value| percent(*value),
    };
    line_chart(&lines, &axes)
}

fn queue_bars(queues: &[QueueUse]) -> Vec<(String, f64, f64)> {
    let bar = |queue: &QueueUse| (queue.path.clone(), queue.guaranteed_share, queue.mean_share);
    queues.iter().take(QUEUES_MAX).map(bar).collect()
}

fn part(amount: i64, total: i64) -> f64 {
    if total > 0 { amount as f64 / total as f64 } else { 0.0 }
}

/// What part of the values is at most this, at every recorded value divided by `unit`.
pub(super) fn distribution(histogram: &Histogram<u64>, unit: f64) -> Vec<(f64, f64)> {
    let total = histogram.len().max(1) as f64;
    let mut sum = 0;
    let mut points = vec![(1.0, 0.0)];
    for value in histogram.iter_recorded() {
        sum += value.count_since_last_iteration();
        points.push(((value.value_iterated_to() as f64 / unit).max(1.0), sum as f64 / total));
    }
    points
}
