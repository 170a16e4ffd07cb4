//! A sweep: many simulations, side by side.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::chart::{ChartError, percent};
use super::curves::{Curve, CurveAxes, curve_chart};
use super::html::{document, escape, say, section};
use super::palette::SERIES;
use super::plot::Unit;
use super::sweep_policy::to_sweep_policy_section;
use super::{count_text, counted, duration_ms_text};
use crate::sweep::{Figures, Spread, SweepPoint};

/// A figure with its name and format.
#[derive(Clone, Copy)]
struct Column {
    name: &'static str,
    /// The title of its plot.
    title: &'static str,
    figure: fn(&Figures) -> f64,
    text: fn(f64) -> String,
    /// The quantity on the axis, its unit, and the factor from the figure.
    axis: (&'static str, Unit, f64),
    note: &'static str,
}

const WAIT_NOTE: &str = "Virtual time from ask to placement.";
const COLUMNS: [Column; 8] = [
    Column {
        name: "placed",
        title: "Placed",
        figure: |f| f.placed,
        text: count,
        axis: ("containers", Unit::Count, 1.0),
        note: "Containers placed by the end.",
    },
    Column {
        name: "not placed",
        title: "Not placed",
        figure: |f| f.not_placed,
        text: count,
        axis: ("containers", Unit::Count, 1.0),
        note: "Containers that the workload asks for and that were not placed by the end.",
    },
    Column {
        name: "in use, mean",
        title: "Use, mean",
        figure: |f| f.use_mean,
        text: percent,
        axis: ("in use, mean", Unit::Percent, 100.0),
        note: "Of the resource type with the highest peak, over virtual time.",
    },
    Column {
        name: "in use, busy",
        title: "Use, mean of the busy time",
        figure: |f| f.use_busy_mean,
        text: percent,
        axis: ("in use, mean of busy time", Unit::Percent, 100.0),
        note: "Of the resource type with the highest peak, over the time in which anything was pending or arriving.",
    },
    Column {
        name: "in use, peak",
        title: "Use, peak",
        figure: |f| f.use_peak,
        text: percent,
        axis: ("in use, peak", Unit::Percent, 100.0),
        note: "Of the resource type with the highest peak.",
    },
    Column {
        name: "wait, median",
        title: "Waiting time, median",
        figure: |f| f.wait_p50_ms,
        text: duration_ms_text,
        axis: ("waiting time, median, s", Unit::Number, 1e-3),
        note: WAIT_NOTE,
    },
    Column {
        name: "wait, 99 %",
        title: "Waiting time, 99 %",
        figure: |f| f.wait_p99_ms,
        text: duration_ms_text,
        axis: ("waiting time, 99 %, s", Unit::Number, 1e-3),
        note: WAIT_NOTE,
    },
    Column {
        name: "wall time each",
        title: "Time per allocation",
        figure: |f| f.wall_us_per_allocation,
        text: |us| format!("{us:.2} us"),
        axis: ("wall time, us", Unit::Number, 1.0),
        note: "Wall time of the whole simulation per container placed, one thread to a simulation. Simulations that run \
               at the same time slow each other down; --threads 1 lets each have the machine.",
    },
];

/// The settings that vary between the points of a sweep.
pub(super) struct Varied {
    policy: bool,
    size: bool,
    compress: bool,
}

impl Varied {
    pub(super) fn of(points: &[SweepPoint]) -> Self {
        let differs = |is_same: fn(&SweepPoint, &SweepPoint) -> bool| {
            points.windows(2).any(|pair| !is_same(&pair[0], &pair[1]))
        };
        Self {
            policy: differs(|a, b| a.policy == b.policy),
            size: differs(|a, b| a.size == b.size),
            compress: differs(|a, b| a.compress == b.compress),
        }
    }

    /// The columns that identify a point: always the nodes, and the load if nothing else varies.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let compress = self.compress || !(self.policy || self.size);
        let all = [(self.policy, "policy"), (true, "nodes"), (compress, "compress")];
        all.into_iter().filter_map(|(is_shown, name)| is_shown.then_some(name)).collect()
    }

    pub(super) fn values(&self, point: &SweepPoint) -> Vec<String> {
        let value = |name| match name {
            "policy" => point.policy.to_string(),
            "nodes" if self.size => format!("{} (size {})", count_text(point.nodes() as u64), point.size),
            "nodes" => count_text(point.nodes() as u64),
            _ => point.compress.to_string(),
        };
        self.names().into_iter().map(value).collect()
    }
}

/// The table: one row for each policy, size and load, with medians over the seeds, and lowest and highest values.
#[must_use]
pub fn to_sweep_table(points: &[SweepPoint]) -> String {
    let varied = Varied::of(points);
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(varied.names().into_iter().chain(COLUMNS.map(|column| column.name)));
    for point in points {
        let cell = |column: &Column| match texts(point, column) {
            (median, None) => median,
            (median, Some(spread)) => format!("{median}\n{spread}"),
        };
        table.add_row(varied.values(point).into_iter().chain(COLUMNS.iter().map(cell)));
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.to_string()
}

/// The median, and the spread over the seeds if they differ.
fn texts(point: &SweepPoint, column: &Column) -> (String, Option<String>) {
    let Spread { median, min, max } = point.spread(column.figure);
    let [median, min, max] = [median, min, max].map(column.text);
    if min == max {
        return (median, None);
    }
    // The unit is written once if it is the same.
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    let number = min.split(' ').next().unwrap_or_default();
    let from = if unit(&min) == unit(&max) { number } else { &min };
    (median, Some(format!("{from} to {max}")))
}

/// A page with curves over the number of nodes or the load, and all figures.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn to_sweep_html(format: &str, points: &[SweepPoint]) -> Result<String, ChartError> {
    let title = format!("Apportion: sweep, {}", escape(format));
    let (differ, same): (Vec<Column>, Vec<Column>) =
        COLUMNS.into_iter().partition(|column| differs(points, column));
    let chart = |column: &Column| Ok(section(column.title, column.note, &chart(points, column)?));
    let mut charts = differ.iter().map(chart).collect::<Result<String, ChartError>>()?;
    if let ([first, ..], false) = (points, same.is_empty()) {
        let value = |column: &Column| format!("{} {}", column.name, texts(first, column).0);
        let values: Vec<String> = same.iter().map(value).collect();
        charts += &say("The same at every point", &format!("{}.", values.join("; ")));
    }
    let body = format!(
        "<main>{charts}</main><section><h2>All points</h2><p>{}</p>{}</section>{}",
        "Medians over the seeds; below them the lowest and the highest, where seeds differ.",
        html_table(points),
        to_sweep_policy_section(points),
    );
    Ok(document(&title, &summary(points), &body))
}

/// Whether the medians differ in their written form.
fn differs(points: &[SweepPoint], column: &Column) -> bool {
    points.windows(2).any(|pair| texts(&pair[0], column).0 != texts(&pair[1], column).0)
}

fn summary(points: &[SweepPoint]) -> String {
    let runs: usize = points.iter().map(|point| point.figures.len()).sum();
    format!("{} in serial mode; {} to a point", counted(runs as u64, "simulation"), seeds_text(points))
}

/// The number of seeds per point: `5 seeds`, or `4 to 5 seeds` in an interrupted sweep.
pub(super) fn seeds_text(points: &[SweepPoint]) -> String {
    let seeds = || points.iter().map(|point| point.figures.len() as u64);
    let (least, most) = (seeds().min().unwrap_or(0), seeds().max().unwrap_or(0));
    let from = if least < most { format!("{} to ", count_text(least)) } else { String::new() };
    format!("{from}{}", counted(most, "seed"))
}

fn html_table(points: &[SweepPoint]) -> String {
    let varied = Varied::of(points);
    let names = varied.names().into_iter().chain(COLUMNS.map(|column| column.name));
    let head: String = names.map(|name| format!("<td><b>{name}</b>")).collect();
    let row = |point: &SweepPoint| {
        let values = varied.values(point).into_iter().map(|value| (value, None));
        let cells = values.chain(COLUMNS.iter().map(|column| texts(point, column)));
        let cell = |(median, spread): (String, Option<String>)| {
            let spread = spread.map_or(String::new(), |spread| format!("<small>{}</small>", escape(&spread)));
            format!("<td>{}{spread}", escape(&median))
        };
        format!("<tr>{}", cells.map(cell).collect::<String>())
    };
    format!("<table><tr>{head}{}</table>", points.iter().map(row).collect::<String>())
}

/// A figure over the number of nodes if sizes differ, otherwise over the load.
fn chart(points: &[SweepPoint], column: &Column) -> Result<String, ChartError> {
    let varied = Varied::of(points);
    let mut curves: Vec<Curve> = Vec::new();
    for point in points {
        let name = match (varied.size && varied.compress, &point.policy) {
            (true, policy) => format!("{policy}, compress {}", point.compress),
            (false, policy) => policy.to_string(),
        };
        let x = if varied.size { point.nodes() } else { point.compress };
        let Spread { median, min, max } = point.spread(column.figure);
        let [median, min, max] = [median, min, max].map(|value| value * column.axis.2);
        let at = (x, Spread { median, min, max });
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(at),
            None => curves.push(Curve { name, points: vec![at] }),
        }
    }
    curves.iter_mut().for_each(|curve| curve.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let left_out = curves.len().saturating_sub(SERIES.len());
    curves.truncate(SERIES.len());
    let x = if varied.size { "nodes" } else { "compress" };
    let (y, y_unit, factor) = column.axis;
    let axes = CurveAxes {
        x,
        x_range: None,
        y,
        y_unit,
        is_y_logarithmic: false,
        y_text: &|value| (column.text)(value / factor),
    };
    let note = if left_out == 0 {
        String::new()
    } else {
        format!("<p>{left_out} more are in the table below: colours for them cannot be told apart.</p>")
    };
    Ok(curve_chart(&curves, &axes)? + &note)
}

fn count(value: f64) -> String {
    count_text(value as u64)
}
