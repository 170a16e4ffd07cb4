//! Several runs of one workload at different loads, side by side.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::chart::{Axes, ChartError, Line, line_chart, percent, plain};
use super::html::{STYLE, escape, section};
use super::{count_text, duration_text};
use crate::sim::RunRecord;

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct SweepPoint {
    /// What submission times were divided by.
    pub compress: f64,
    /// What came of it.
    pub record: RunRecord,
}

/// One row for each run.
#[must_use]
pub fn to_sweep_table(points: &[SweepPoint]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(HEADER);
    for point in points {
        table.add_row(cells(point));
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.to_string()
}

const HEADER: [&str; 7] =
    ["compress", "placed", "not placed", "busiest type: mean", "peak", "wait, median", "wait, 99 %"];

fn cells(point: &SweepPoint) -> [String; 7] {
    let record = &point.record;
    let (mean, peak) = busiest(record);
    let wait = |quantile| duration_text(record.wait_ms.value_at_quantile(quantile));
    [
        point.compress.to_string(),
        count_text(record.placed),
        count_text(record.asks - record.placed),
        format!("{:.1} %", 100.0 * mean),
        format!("{:.1} %", 100.0 * peak),
        wait(0.5),
        wait(0.99),
    ]
}

/// Mean and peak use of the resource type with the highest peak.
fn busiest(record: &RunRecord) -> (f64, f64) {
    let types = record.utilisation.iter().map(|used| (used.mean, used.peak));
    types.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
}

/// A page with use and waiting time over the load.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn to_sweep_html(format: &str, points: &[SweepPoint]) -> Result<String, ChartError> {
    let title = format!("Apportion: {} at {} loads", escape(format), points.len());
    let used = section(
        "Use",
        "Of the resource type with the highest peak, over the factor by which arrivals are compressed.",
        &chart(
            points,
            &[("peak", |record| busiest(record).1), ("mean", |record| busiest(record).0)],
            "in use",
            &|value| percent(*value),
        )?,
    );
    let waits = section(
        "Waiting time",
        "Virtual time from ask to placement, seconds.",
        &chart(
            points,
            &[("99 %", |record| wait_s(record, 0.99)), ("median", |record| wait_s(record, 0.5))],
            "waiting time, s",
            &|value| plain(*value),
        )?,
    );
    let head: String = HEADER.iter().map(|name| format!("<td><b>{name}</b>")).collect();
    let row = |point: &SweepPoint| {
        format!("<tr>{}", cells(point).map(|cell| format!("<td>{}", escape(&cell))).concat())
    };
    let rows: String = points.iter().map(row).collect();
    Ok(format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content='width=device-width, initial-scale=1'><title>{title}</title>\
         <style>{STYLE}</style><h1>{title}</h1><p class=sub>serial mode</p><main>{used}{waits}</main>\
         <section><h2>All runs</h2><table><tr>{head}{rows}</table></section></html>"
    ))
}

fn wait_s(record: &RunRecord, quantile: f64) -> f64 {
    record.wait_ms.value_at_quantile(quantile) as f64 / 1000.0
}

type Figure<'a> = (&'a str, fn(&RunRecord) -> f64);

fn chart(
    points: &[SweepPoint],
    figures: &[Figure<'_>],
    y: &str,
    y_text: &dyn Fn(&f64) -> String,
) -> Result<String, ChartError> {
    let line = |(name, value): &Figure<'_>| {
        let mut points: Vec<(f64, f64)> =
            points.iter().map(|point| (point.compress, value(&point.record))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line { name: (*name).to_owned(), points }
    };
    let lines: Vec<Line> = figures.iter().map(line).collect();
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.01, f64::max);
    line_chart(&lines, &Axes { x: "compress", y, y_range: 0.0..highest * 1.08, y_text })
}
