//! A figure over the varied parameter: one curve for each policy, with the spread over the seeds.

use plotters::prelude::*;

use super::chart::{Area, ChartError, SIZE, names_of, svg, with_titles};
use super::palette::{GRID, SERIES, TEXT};
use super::plot::{Scale, Side, Unit};
use crate::sweep::Spread;

/// One curve.
pub(super) struct Curve {
    pub(super) name: String,
    /// Sorted by the first value.
    pub(super) points: Vec<(f64, Spread)>,
}

/// The axes of a curve plot.
pub(super) struct CurveAxes<'a> {
    pub(super) x: &'a str,
    /// The lowest and the highest x; without them those of the points.
    pub(super) x_range: Option<[f64; 2]>,
    pub(super) y: &'a str,
    pub(super) y_unit: Unit,
    /// Whether the vertical axis is logarithmic; the values are then above 0.
    pub(super) is_y_logarithmic: bool,
    /// The text of a median in a tooltip; the factor is that of the axis.
    pub(super) y_text: &'a dyn Fn(f64) -> String,
}

impl CurveAxes<'_> {
    /// The titles of the dots, curve by curve.
    fn titles(&self, curves: &[Curve]) -> Vec<String> {
        let title = |curve: &Curve, (x, y): &(f64, Spread)| {
            let [median, min, max] = [y.median, y.min, y.max].map(self.y_text);
            let spread = if min == max { String::new() } else { format!(" ({min} to {max})") };
            format!("{}, {} {x}: {median}{spread}", curve.name, self.x)
        };
        curves.iter().flat_map(|curve| curve.points.iter().map(|point| title(curve, point))).collect()
    }

    fn x_range(&self, curves: &[Curve]) -> [f64; 2] {
        let all = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.0);
        self.x_range
            .unwrap_or_else(|| [all().fold(f64::MAX, f64::min), all().fold(f64::MIN_POSITIVE, f64::max)])
    }

    fn x_scale(&self, curves: &[Curve]) -> Scale {
        let [min, max] = self.x_range(curves);
        if max >= WIDE * min {
            Scale::logarithmic(min / SPACE, max * SPACE, Side::Below)
        } else {
            Scale::above(max, Unit::Number)
        }
    }

    fn y_scale(&self, curves: &[Curve]) -> Scale {
        let values = || curves.iter().flat_map(|curve| &curve.points).map(|(_, y)| y);
        let highest = values().map(|y| y.max).fold(0.0, f64::max);
        if self.is_y_logarithmic {
            let lowest = values().map(|y| y.min).fold(highest, f64::min).max(f64::MIN_POSITIVE);
            return Scale::logarithmic(lowest / SPACE, highest.max(lowest) * SPACE, Side::Left);
        }
        Scale::above(highest, self.y_unit)
    }
}

/// If the last value is at least this multiple of the first, the axis is logarithmic.
const WIDE: f64 = 10.0;
/// The space beyond the outermost values on a logarithmic axis, as a factor.
const SPACE: f64 = 1.3;
/// Height of a policy's row, and of the frame around the rows: margins, numbers and axis name.
const ROW: u32 = 34;
const FRAME: u32 = 2 * 12 + 46;

/// Medians as dots with lines between them, lowest and highest values as whiskers. If only policies vary, each gets a
/// row.
pub(super) fn curve_chart(curves: &[Curve], axes: &CurveAxes<'_>) -> Result<String, ChartError> {
    let [x_min, x_max] = axes.x_range(curves);
    if x_min == x_max {
        return dot_chart(curves, axes);
    }
    let picture = svg(SIZE, |area| draw(area, curves, axes, Names::Outside))?;
    let picture = with_titles(&picture, "<circle ", &axes.titles(curves));
    Ok(names_of(curves.iter().map(|curve| curve.name.as_str())) + &picture)
}

/// The same over a varied x, as a picture of its own with the curves' names inside.
pub(super) fn curve_picture(curves: &[Curve], axes: &CurveAxes<'_>) -> Result<String, ChartError> {
    svg(SIZE, |area| draw(area, curves, axes, Names::Inside))
}

/// Where the names of the curves are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Inside,
    Outside,
}

fn draw(area: &Area<'_>, curves: &[Curve], axes: &CurveAxes<'_>, names: Names) -> Result<(), ChartError> {
    let (x, y) = (axes.x_scale(curves), axes.y_scale(curves));
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(78)
        .build_cartesian_2d(x.clone(), y.clone())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_label_formatter(&|value| x.text(*value))
        .y_label_formatter(&|value| y.text(*value))
        .label_style(("sans-serif", 17, &TEXT))
        .draw()?;
    for (number, curve) in curves.iter().enumerate() {
        let colour = SERIES[number % SERIES.len()];
        let medians = || curve.points.iter().map(|(x, y)| (*x, y.median));
        let whisker =
            |(x, y): &(f64, Spread)| PathElement::new([(*x, y.min), (*x, y.max)], colour.stroke_width(1));
        chart.draw_series(curve.points.iter().map(whisker))?;
        let line = chart.draw_series(LineSeries::new(medians(), colour.stroke_width(2)))?;
        if names == Names::Inside {
            let mark = move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2));
            line.label(curve.name.as_str()).legend(mark);
        }
        chart.draw_series(medians().map(|point| Circle::new(point, 4, colour.filled())))?;
    }
    if names == Names::Inside {
        let mut names = chart.configure_series_labels();
        let names = names.position(SeriesLabelPosition::UpperLeft).background_style(WHITE).border_style(GRID);
        names.label_font(("sans-serif", 17, &TEXT)).draw()?;
    }
    Ok(())
}

/// One row for each curve, which has one point.
fn dot_chart(curves: &[Curve], axes: &CurveAxes<'_>) -> Result<String, ChartError> {
    let scale = axes.y_scale(curves);
    let label_width = curves.iter().map(|curve| curve.name.len() as u32 * 9 + 16).max().unwrap_or(60).max(60);
    let size = (SIZE.0, curves.len() as u32 * ROW + FRAME);
    let picture = svg(size, |area| {
        let count = curves.len() as f64;
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(label_width)
            .build_cartesian_2d(scale.clone(), 0.0..count)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .disable_y_mesh()
            .disable_y_axis()
            .axis_style(TEXT)
            .x_desc(axes.y)
            .x_label_formatter(&|value| scale.text(*value))
            .label_style(("sans-serif", 17, &TEXT))
            .draw()?;
        for (place, curve) in curves.iter().enumerate() {
            let (row, colour) = (count - place as f64 - 0.5, SERIES[place % SERIES.len()]);
            for (_, y) in &curve.points {
                let whisker = PathElement::new([(y.min, row), (y.max, row)], colour.stroke_width(2));
                chart.draw_series([whisker])?;
                chart.draw_series([Circle::new((y.median, row), 5, colour.filled())])?;
            }
            let style = ("sans-serif", 17, &TEXT).into_text_style(area);
            let middle = 12 + (place as u32 * ROW + ROW / 2) as i32;
            area.draw_text(&curve.name, &style, (8, middle - 6))?;
        }
        Ok(())
    })?;
    Ok(with_titles(&picture, "<circle ", &axes.titles(curves)))
}
