//! How long asks wait for their containers, by rate and mode: as text, as a page, and as a picture.

use apportion::Mode;
use apportion_load::Record;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::chart::ChartError;
use super::curves::{Curve, CurveAxes, curve_chart, curve_picture};
use super::html::{document, escape, interrupted_first, section};
use super::plot::Unit;
use super::{count_text, counted, interrupted_line, leaves_text};
use crate::interrupt::Interruption;
use crate::sweep::Spread;

/// A mode keeps up with a rate if it places at least this part of what is asked for.
const KEPT_UP: f64 = 0.95;

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyReport {
    /// Nodes of the cluster.
    pub nodes: u32,
    /// Its applications.
    pub apps: u32,
    /// Its leaf queues.
    pub leaves: u32,
    /// The seed of all random values.
    pub seed: u64,
    /// Runs of each mode at each rate.
    pub repeat: u32,
    /// Duration of a run.
    pub seconds: f64,
    /// By rate, then in the order of the modes.
    pub points: Vec<LatencyPoint>,
    /// When a signal ended the measurement.
    pub interrupted_at_s: Option<Interruption>,
}

/// A mode at a rate. The spreads are over its runs.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyPoint {
    /// Which threads did the engine's work.
    #[serde(serialize_with = "mode_name")]
    pub mode: Mode,
    /// 0 unless the mode is parallel.
    pub proposers: usize,
    /// Asks per second.
    pub rate: u32,
    /// Containers placed per second.
    pub allocations_per_second: Spread,
    /// Time from ask to commit, median of a run.
    pub p50_us: Spread,
    /// Time that 99 % of a run's asks do not exceed.
    pub p99_us: Spread,
    /// Whether the mode placed about as much as was asked for. If not, its asks pile up.
    pub keeps_up: bool,
    /// The number of runs.
    pub runs: usize,
}

/// A run of a mode at a rate.
#[derive(Clone, Copy, Debug)]
pub struct LatencyRun {
    mode: Mode,
    rate: u32,
    allocations_per_second: f64,
    p50_us: f64,
    p99_us: f64,
}

fn mode_name<S: serde::Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(mode.name())
}

impl LatencyRun {
    /// The figures of a record with latencies.
    #[must_use]
    pub fn new(mode: Mode, rate: u32, record: &Record) -> Self {
        let us = |quantile| {
            let ns = record.latency_ns.as_ref().map_or(0, |ns| ns.value_at_quantile(quantile));
            ns as f64 / 1e3
        };
        let allocations_per_second = record.per_second();
        Self { mode, rate, allocations_per_second, p50_us: us(0.5), p99_us: us(0.99) }
    }
}

impl LatencyReport {
    fn modes(&self) -> Vec<Mode> {
        let first = self.points.first().map(|point| point.rate);
        let points = self.points.iter().filter(|point| Some(point.rate) == first);
        points.map(|point| point.mode).collect()
    }

    fn sentence(&self) -> String {
        format!(
            "{}, {}, {}; seed {}; {} of {} s at each rate",
            counted(self.nodes.into(), "node"),
            counted(self.apps.into(), "application"),
            leaves_text(self.leaves.into()),
            self.seed,
            match (self.repeat, self.interrupted_at_s) {
                (1, _) => "one run".to_owned(),
                (runs, None) => format!("medians of {runs} runs"),
                (runs, Some(_)) => format!("medians of up to {runs} runs"),
            },
            self.seconds,
        )
    }

    /// Two curves for each mode, over the rates that it keeps up with.
    fn curves(&self) -> Vec<Curve> {
        let curve = |mode: Mode, name: &str, value: fn(&LatencyPoint) -> Spread| Curve {
            name: format!("{mode}: {name}"),
            points: (self.points.iter())
                .filter(|point| point.mode == mode && point.keeps_up)
                .map(|point| (f64::from(point.rate), value(point)))
                .collect(),
        };
        let of_mode =
            |mode| [curve(mode, "median", |point| point.p50_us), curve(mode, "99 %", |point| point.p99_us)];
        self.modes().into_iter().flat_map(of_mode).filter(|curve| !curve.points.is_empty()).collect()
    }
}

impl LatencyPoint {
    /// The points of these runs, in the order of the first run of each.
    #[must_use]
    pub fn all(runs: &[LatencyRun]) -> Vec<Self> {
        let mut points: Vec<Self> = Vec::new();
        for LatencyRun { mode, rate, .. } in runs {
            if !points.iter().any(|point| (point.mode, point.rate) == (*mode, *rate)) {
                points.push(Self::of(*mode, *rate, runs));
            }
        }
        points
    }

    /// The point of this mode at this rate.
    fn of(mode: Mode, rate: u32, runs: &[LatencyRun]) -> Self {
        let its = || runs.iter().filter(|run| (run.mode, run.rate) == (mode, rate));
        let spread = |figure: fn(&LatencyRun) -> f64| Spread::of(its().map(figure).collect());
        let allocations_per_second = spread(|run| run.allocations_per_second);
        Self {
            mode,
            proposers: mode.proposers(),
            rate,
            allocations_per_second,
            p50_us: spread(|run| run.p50_us),
            p99_us: spread(|run| run.p99_us),
            keeps_up: allocations_per_second.median >= KEPT_UP * f64::from(rate),
            runs: its().count(),
        }
    }

    /// The median over the runs of the median and of the 99 % of each.
    fn cells(&self) -> [String; 2] {
        if !self.keeps_up {
            let placed = count_text(self.allocations_per_second.median as u64);
            return [format!("too fast: {placed}/s placed"), "-".to_owned()];
        }
        [self.p50_us, self.p99_us].map(|us| us_text(us.median))
    }
}

fn us_text(us: f64) -> String {
    if us < 10_000.0 {
        format!("{} us", count_text(us.round() as u64))
    } else {
        format!("{:.1} ms", us / 1e3)
    }
}

/// The report as a table for terminals.
#[must_use]
pub fn to_latency_text(report: &LatencyReport) -> String {
    let [header, rows @ ..] = &rows(report)[..] else { return String::new() };
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(header).add_rows(rows);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let interrupted = interrupted_line(report.interrupted_at_s);
    format!("{interrupted}time from ask to commit; {}\n{table}\naudit: nothing found", report.sentence())
}

/// The header and a row for each rate.
fn rows(report: &LatencyReport) -> Vec<Vec<String>> {
    let mode_cells = |mode: Mode| [format!("{mode}: median"), "99 %".to_owned()];
    let header =
        ["asks a second".to_owned()].into_iter().chain(report.modes().into_iter().flat_map(mode_cells));
    let row = |points: &[LatencyPoint]| {
        let rate = count_text(points[0].rate.into());
        [rate].into_iter().chain(points.iter().flat_map(LatencyPoint::cells)).collect()
    };
    let points = report.points.chunk_by(|one, other| one.rate == other.rate);
    [header.collect()].into_iter().chain(points.map(row)).collect()
}

/// A page with the plot and the table.
///
/// # Errors
/// When the plot cannot be drawn.
pub fn to_latency_html(report: &LatencyReport) -> Result<String, ChartError> {
    let note = "A dot is the median over the runs, a whisker reaches from the lowest to the highest. Rates that a \
                mode does not keep up with are left out.";
    let curves = report.curves();
    let plot = if curves.is_empty() { String::new() } else { curve_chart(&curves, &axes(report))? };
    let sections = section("Time from ask to commit", note, &plot) + &table(report);
    let sub = format!("{}{}", interrupted_first(report.interrupted_at_s), escape(&report.sentence()));
    Ok(document("Apportion: how long asks wait", &sub, &format!("<main>{sections}</main>")))
}

fn table(report: &LatencyReport) -> String {
    let cells = |row: &Vec<String>, tag: &str| -> String {
        row.iter().map(|cell| format!("<{tag}>{}", escape(cell))).collect()
    };
    let tag = |number: usize| if number == 0 { "th" } else { "td" };
    let rows = rows(report).into_iter().enumerate();
    let rows: String = rows.map(|(number, row)| format!("<tr>{}", cells(&row, tag(number)))).collect();
    format!("<section><h2>All figures</h2><table>{rows}</table></section>")
}

/// The plot alone, as SVG.
///
/// # Errors
/// When it cannot be drawn.
pub fn to_latency_svg(report: &LatencyReport) -> Result<String, ChartError> {
    curve_picture(&report.curves(), &axes(report))
}

fn axes(report: &LatencyReport) -> CurveAxes<'static> {
    let rates = || report.points.iter().map(|point| f64::from(point.rate));
    CurveAxes {
        x: "asks a second",
        x_range: Some([rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max)]),
        y: "time from ask to commit, us",
        y_unit: Unit::Count,
        // Without any curve there is no value for such an axis.
        is_y_logarithmic: report.points.iter().any(|point| point.keeps_up),
        y_text: &us_text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One mode at two rates. Its median run places 95 and 94 % of what is asked for.
    fn report() -> LatencyReport {
        let run = |rate, allocations_per_second, p50_us, p99_us| LatencyRun {
            mode: Mode::Background,
            rate,
            allocations_per_second,
            p50_us,
            p99_us,
        };
        let runs = [
            run(1_000, 990.0, 30.0, 90.0),
            run(20_000, 18_999.0, 40.0, 12_345.0),
            run(1_000, 950.0, 10.0, 70.0),
            run(1_000, 100.0, 20.0, 5_000.0),
        ];
        LatencyReport {
            nodes: 10,
            apps: 2,
            leaves: 1,
            seed: 1,
            repeat: 3,
            seconds: 1.5,
            points: LatencyPoint::all(&runs),
            interrupted_at_s: None,
        }
    }

    #[test]
    fn a_point_has_the_medians_of_its_runs() {
        let report = report();
        assert_eq!(report.points[0].p50_us, Spread { median: 20.0, min: 10.0, max: 30.0 });
        assert_eq!(report.points.iter().map(|point| point.runs).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(report.points[0].cells(), ["20 us", "90 us"]);
        assert_eq!([1_234.5, 12_345.0].map(us_text), ["1,235 us", "12.3 ms"]);
    }

    #[test]
    fn a_rate_that_a_mode_does_not_keep_up_with_has_no_dot() {
        let report = report();
        assert_eq!(report.points.iter().map(|point| point.keeps_up).collect::<Vec<_>>(), [true, false]);
        let rates = report.curves().iter().map(|curve| curve.points.len()).collect::<Vec<_>>();
        assert_eq!(rates, [1, 1]);
        assert_eq!(report.points[1].cells(), ["too fast: 18,999/s placed", "-"]);
        assert!(to_latency_text(&report).contains("too fast: 18,999/s placed"));
        let svg = to_latency_svg(&report).unwrap();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("background: 99 %"), "{svg}");
        assert_eq!(to_latency_html(&report).unwrap().matches("<circle").count(), 2);
    }

    #[test]
    fn a_report_without_any_dot_can_be_drawn() {
        let mut report = report();
        report.points.remove(0);
        assert!(to_latency_svg(&report).unwrap().contains("<svg"));
        assert!(to_latency_html(&report).unwrap().contains("too fast"));
    }
}
