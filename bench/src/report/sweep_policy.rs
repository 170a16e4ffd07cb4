//! A sweep's figures about jobs, queues and users: means over the seeds with confidence intervals.

use std::collections::BTreeMap;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::chart::percent;
use super::html::escape;
use super::sweep::{Varied, seeds_text};
use super::{duration_ms_text, ratio_text};
use crate::sweep::{Estimate, Figures, SweepPoint};

/// Reads a figure of a simulation; `None` if it has none.
type Figure = fn(&Figures) -> Option<f64>;

/// A figure with its key in `--json`, its name and format.
struct Column {
    key: &'static str,
    name: &'static str,
    figure: Figure,
    text: fn(f64) -> String,
    /// The limits of possible values. Intervals end there.
    bounds: [f64; 2],
}

const PARTS: [f64; 2] = [0.0, 1.0];
const TIMES: [f64; 2] = [0.0, f64::INFINITY];
const RATIOS: [f64; 2] = [1.0, f64::INFINITY];

const COLUMNS: [Column; 7] = [
    column("finished", "finished", |f| f.outcomes.finished, percent, PARTS),
    column("completion_p50_ms", "completion", |f| f.outcomes.completion_p50_ms, duration_ms_text, TIMES),
    column("slowdown_mean", "slowdown", |f| f.outcomes.slowdown_mean, ratio_text, RATIOS),
    column("wait_mean_ms", "wait", |f| f.outcomes.wait_mean_ms, duration_ms_text, TIMES),
    column("missing", "missing", |f| f.outcomes.missing, percent, PARTS),
    column("jain_queues", "Jain, queues", |f| f.outcomes.jain_queues, index, PARTS),
    column("jain_users", "Jain, users", |f| f.outcomes.jain_users, index, PARTS),
];

const fn column(
    key: &'static str,
    name: &'static str,
    figure: Figure,
    text: fn(f64) -> String,
    bounds: [f64; 2],
) -> Column {
    Column { key, name, figure, text, bounds }
}

const LEGEND: &str =
    "finished: part of the jobs. completion: median of finished jobs. slowdown, wait: means.
missing: shortfall of leaves against their guarantees, or their demands if those are less; part of the cluster.";

/// Figures without a column here, for `--json`.
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

/// The columns for which at least one point has a value.
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
        "\nMeans over {}; below them the 95 % confidence interval of the mean (Student's t).",
        seeds_text(points)
    );
    format!("{LEGEND}{}", if seeds > 1 { &means } else { "" })
}

/// The mean, and its interval if seeds differ.
fn texts(point: &SweepPoint, column: &Column) -> (String, Option<String>) {
    let Some(Estimate { mean, ci95, .. }) = point.estimate(column.figure) else {
        return ("-".into(), None);
    };
    let mean = (column.text)(mean);
    let [least, most] = column.bounds;
    let [low, high] = ci95.unwrap_or_default().map(|end| (column.text)(end.clamp(least, most)));
    if low == high { (mean, None) } else { (mean, Some(format!("{low} to {high}"))) }
}

fn index(index: f64) -> String {
    format!("{index:.3}")
}

#[cfg(test)]
mod tests {
    use apportion::config::NodeOrderKind;

    use super::*;
    use crate::sweep::{OutcomeFigures, Policy};

    const NOTHING: Figures = Figures {
        nodes: 1.0,
        placed: 0.0,
        not_placed: 0.0,
        use_mean: 0.0,
        use_busy_mean: 0.0,
        use_peak: 0.0,
        wait_p50_ms: 0.0,
        wait_p99_ms: 0.0,
        wall_us_per_allocation: 0.0,
        outcomes: OutcomeFigures {
            finished: None,
            completion_mean_ms: None,
            completion_p50_ms: None,
            slowdown_mean: None,
            bounded_slowdown_mean: None,
            wait_mean_ms: None,
            missing: None,
            jain_queues: None,
            jain_users: None,
        },
    };

    fn point(slowdowns: &[f64]) -> SweepPoint {
        let figures = |slowdown: &f64| {
            let outcomes = OutcomeFigures {
                slowdown_mean: Some(*slowdown),
                finished: Some(slowdown / 10.0),
                ..OutcomeFigures::default()
            };
            Figures { outcomes, ..NOTHING }
        };
        SweepPoint {
            policy: Policy {
                queues: None,
                node_order: NodeOrderKind::Pack,
                application_order: None,
                preemption: None,
            },
            size: 1.0,
            compress: 1.0,
            figures: slowdowns.iter().map(figures).collect(),
        }
    }

    #[test]
    fn intervals_end_where_no_value_can_be() {
        let column = |key: &str| COLUMNS.iter().find(|column| column.key == key).unwrap();
        let point = point(&[1.0, 9.0]);
        let (mean, interval) = texts(&point, column("slowdown_mean"));
        assert_eq!((mean.as_str(), interval.as_deref()), ("5.00", Some("1.00 to 55.82")));
        let (mean, interval) = texts(&point, column("finished"));
        assert_eq!((mean.as_str(), interval.as_deref()), ("50 %", Some("0 % to 100 %")));
    }

    #[test]
    fn points_with_fewer_seeds_are_told() {
        let text = note(&[point(&[1.0, 2.0, 3.0]), point(&[1.0, 2.0])]);
        assert!(text.contains("\nMeans over 2 to 3 seeds; below them"), "{text}");
        assert!(note(&[point(&[1.0, 2.0])]).contains("\nMeans over 2 seeds; "));
        assert!(!note(&[point(&[1.0])]).contains("Means over"));
    }
}
