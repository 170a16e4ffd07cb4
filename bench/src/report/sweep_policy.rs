//! A sweep's answers about jobs, queues and users: means over the seeds and how sure they are.

use std::collections::BTreeMap;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::chart::percent;
use super::html::escape;
use super::sweep::Varied;
use super::{duration_ms_text, ratio_text};
use crate::sweep::{Estimate, Figures, SweepPoint};

/// What a simulation says of a figure; nothing where it has none.
type Figure = fn(&Figures) -> Option<f64>;

/// A figure with its key in `--json`, its name and how it is written.
struct Column {
    key: &'static str,
    name: &'static str,
    figure: Figure,
    text: fn(f64) -> String,
}

const COLUMNS: [Column; 7] = [
    Column { key: "finished", name: "finished", figure: |f| f.outcomes.finished, text: percent },
    Column {
        key: "completion_p50_ms",
        name: "completion",
        figure: |f| f.outcomes.completion_p50_ms,
        text: duration_ms_text,
    },
    Column { key: "slowdown_mean", name: "slowdown", figure: |f| f.outcomes.slowdown_mean, text: ratio_text },
    Column { key: "wait_mean_ms", name: "wait", figure: |f| f.outcomes.wait_mean_ms, text: duration_ms_text },
    Column { key: "missing", name: "missing", figure: |f| f.outcomes.missing, text: percent },
    Column { key: "jain_queues", name: "Jain, queues", figure: |f| f.outcomes.jain_queues, text: index },
    Column { key: "jain_users", name: "Jain, users", figure: |f| f.outcomes.jain_users, text: index },
];
const LEGEND: &str =
    "finished: part of the jobs. completion: median of finished jobs. slowdown, wait: means.
missing: what leaves lack of their guarantees, or of their demands where those are less; part of the cluster.";

/// Figures that no column shows or that are in another table, for `--json`.
const OTHERS: [(&str, Figure); 10] = [
    ("completion_mean_ms", |f| f.outcomes.completion_mean_ms),
    ("bounded_slowdown_mean", |f| f.outcomes.bounded_slowdown_mean),
    ("placed", |f| Some(f.placed)),
    ("not_placed", |f| Some(f.not_placed)),
    ("use_mean", |f| Some(f.use_mean)),
    ("use_busy_mean", |f| Some(f.use_busy_mean)),
    ("use_peak", |f| Some(f.use_peak)),
    ("wait_p50_ms", |f| Some(f.wait_p50_ms)),
    ("wait_p99_ms", |f| Some(f.wait_p99_ms)),
    ("wall_us_per_allocation", |f| Some(f.wall_us_per_allocation)),
];

/// The columns that any point has a value for.
fn columns(points: &[SweepPoint]) -> Vec<&'static Column> {
    let has = |column: &&Column| points.iter().any(|point| point.estimate(column.figure).is_some());
    COLUMNS.iter().filter(has).collect()
}

/// Median, mean and interval of each figure that the point has.
pub(super) fn confidence(point: &SweepPoint) -> BTreeMap<&'static str, Estimate> {
    let columns = COLUMNS.iter().map(|column| (column.key, column.figure));
    let all = columns.chain(OTHERS);
    all.filter_map(|(key, figure)| Some((key, point.estimate(figure)?))).collect()
}

/// One row for each policy, size and load.
#[must_use]
pub fn to_sweep_policy_table(points: &[SweepPoint]) -> String {
    let varied = Varied::of(points);
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let columns = columns(points);
    table.set_header(varied.names().into_iter().chain(columns.iter().map(|column| column.name)));
    for point in points {
        let cell = |column: &&Column| match texts(point, column) {
            (mean, None) => mean,
            (mean, Some(interval)) => format!("{mean}\n{interval}"),
        };
        table.add_row(varied.values(point).into_iter().chain(columns.iter().map(cell)));
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!("{table}\n{}", note(points))
}

/// The same as a section of a page.
pub(super) fn to_sweep_policy_section(points: &[SweepPoint]) -> String {
    let varied = Varied::of(points);
    let columns = columns(points);
    let names = varied.names().into_iter().chain(columns.iter().map(|column| column.name));
    let head: String = names.map(|name| format!("<td><b>{name}</b>")).collect();
    let row = |point: &SweepPoint| {
        let values = varied.values(point).into_iter().map(|value| (value, None));
        let cells = values.chain(columns.iter().map(|column| texts(point, column)));
        let cell = |(mean, interval): (String, Option<String>)| {
            let interval = interval.map(|text| format!("<small>{}</small>", escape(&text)));
            format!("<td>{}{}", escape(&mean), interval.unwrap_or_default())
        };
        format!("<tr>{}", cells.map(cell).collect::<String>())
    };
    let rows: String = points.iter().map(row).collect();
    let note = note(points);
    format!("<section><h2>Jobs, queues and users</h2><p>{note}</p><table><tr>{head}{rows}</table></section>")
}

fn note(points: &[SweepPoint]) -> String {
    let seeds = points.iter().map(|point| point.figures.len()).max().unwrap_or(0);
    let means = format!(
        "\nMeans over {seeds} seeds; below them the 95 % confidence interval of the mean (Student's t)."
    );
    format!("{LEGEND}{}", if seeds > 1 { &means } else { "" })
}

/// The mean, and its interval if seeds differ. None of these figures can be below 0.
fn texts(point: &SweepPoint, column: &Column) -> (String, Option<String>) {
    let Some(Estimate { mean, ci95, .. }) = point.estimate(column.figure) else {
        return ("-".into(), None);
    };
    let mean = (column.text)(mean);
    let [low, high] = ci95.unwrap_or_default().map(|end| (column.text)(end.max(0.0)));
    if low == high { (mean, None) } else { (mean, Some(format!("{low} to {high}"))) }
}

fn index(index: f64) -> String {
    format!("{index:.3}")
}
