//! A figure over what is varied, a curve for each policy, with its spread over the seeds.

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::chart::{Area, ChartError, SIZE, names_of, plain, svg};
use super::palette::{GRID, SERIES, TEXT};
use crate::sweep::Spread;

/// One curve.
pub(super) struct Curve {
    pub(super) name: String,
    /// By ascending first.
    pub(super) points: Vec<(f64, Spread)>,
}

/// What is drawn over what.
pub(super) struct CurveAxes<'a> {
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    pub(super) y_text: fn(f64) -> String,
}

/// From this factor between the first and the last on, the axis is logarithmic.
const WIDE: f64 = 10.0;
/// Height of a policy's row, and of what is around the rows: margins, numbers and their name.
const ROW: u32 = 34;
const FRAME: u32 = 2 * 12 + 38;

/// Medians as dots with lines between them, lowest and highest as whiskers. If nothing is varied but policies, they
/// stand below each other.
pub(super) fn curve_chart(curves: &[Curve], axes: &CurveAxes<'_>) -> Result<String, ChartError> {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let x_min = all().map(|point| point.0).fold(f64::MAX, f64::min);
    let x_max = all().map(|point| point.0).fold(f64::MIN_POSITIVE, f64::max);
    if x_min == x_max {
        return dot_chart(curves, axes);
    }
    let picture = svg(SIZE, |area| {
        if x_max >= WIDE * x_min {
            draw(area, curves, axes, (x_min / 1.3..x_max * 1.3).log_scale(), decade)
        } else {
            draw(area, curves, axes, 0.0..x_max * 1.06, factor)
        }
    })?;
    Ok(names_of(curves.iter().map(|curve| curve.name.as_str())) + &picture)
}

fn draw<X>(
    area: &Area<'_>,
    curves: &[Curve],
    axes: &CurveAxes<'_>,
    x: X,
    x_text: fn(f64) -> String,
) -> Result<(), ChartError>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
{
    let highest = curves.iter().flat_map(|curve| &curve.points).map(|(_, y)| y.max).fold(1e-9, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(38)
        .y_label_area_size(64)
        .build_cartesian_2d(x, 0.0..highest * 1.08)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_label_formatter(&|value| x_text(*value))
        .y_label_formatter(&|value| (axes.y_text)(*value))
        .label_style(("sans-serif", 14, &TEXT))
        .draw()?;
    for (number, curve) in curves.iter().enumerate() {
        let colour = SERIES[number % SERIES.len()];
        let medians = || curve.points.iter().map(|(x, y)| (*x, y.median));
        let whisker =
            |(x, y): &(f64, Spread)| PathElement::new([(*x, y.min), (*x, y.max)], colour.stroke_width(1));
        chart.draw_series(curve.points.iter().map(whisker))?;
        chart.draw_series(LineSeries::new(medians(), colour.stroke_width(2)))?;
        chart.draw_series(medians().map(|point| Circle::new(point, 4, colour.filled())))?;
    }
    Ok(())
}

/// A row for each curve, which has one point.
fn dot_chart(curves: &[Curve], axes: &CurveAxes<'_>) -> Result<String, ChartError> {
    let highest = curves.iter().flat_map(|curve| &curve.points).map(|(_, y)| y.max).fold(1e-9, f64::max);
    let label_width = curves.iter().map(|curve| curve.name.len() as u32 * 8 + 16).max().unwrap_or(60).max(60);
    let size = (SIZE.0, curves.len() as u32 * ROW + FRAME);
    svg(size, |area| {
        let count = curves.len() as f64;
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(label_width)
            .build_cartesian_2d(0.0..highest * 1.08, 0.0..count)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .disable_y_mesh()
            .disable_y_axis()
            .axis_style(TEXT)
            .x_desc(axes.y)
            .x_label_formatter(&|value| (axes.y_text)(*value))
            .label_style(("sans-serif", 14, &TEXT))
            .draw()?;
        for (place, curve) in curves.iter().enumerate() {
            let (row, colour) = (count - place as f64 - 0.5, SERIES[place % SERIES.len()]);
            for (_, y) in &curve.points {
                let whisker = PathElement::new([(y.min, row), (y.max, row)], colour.stroke_width(2));
                chart.draw_series([whisker])?;
                chart.draw_series([Circle::new((y.median, row), 5, colour.filled())])?;
            }
            let style = ("sans-serif", 14, &TEXT).into_text_style(area);
            let middle = 12 + (place as u32 * ROW + ROW / 2) as i32;
            area.draw_text(&curve.name, &style, (8, middle - 6))?;
        }
        Ok(())
    })
}

/// A number of nodes or a factor.
fn factor(value: f64) -> String {
    if value >= 10.0 || value.fract() == 0.0 { plain(value) } else { format!("{value:.2}") }
}

/// The same, of 1, 2 and 5 in each decade: there is no room for all.
fn decade(value: f64) -> String {
    let leading = value / 10f64.powf(value.log10().floor());
    let is_shown = [1.0, 2.0, 5.0, 10.0].iter().any(|digit| (leading - digit).abs() < 0.01);
    if is_shown { factor(value) } else { String::new() }
}
