//! Charts as SVG text.

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::html::escape;
use super::palette::{GRID, GUARANTEE, SERIES, TEXT};

/// Why a chart could not be drawn; drawing into memory does not fail in practice.
pub(super) type ChartError = Box<dyn Error>;

/// One line of a chart.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// What a chart's axes are.
pub(super) struct Axes<'a> {
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    pub(super) y_range: Range<f64>,
    pub(super) y_text: &'a dyn Fn(&f64) -> String,
}

/// Width and height of a chart in a report's grid.
pub(super) const SIZE: (u32, u32) = (760, 340);

const MARGIN: u32 = 12;
/// What the labels below a chart take.
const X_LABELS: u32 = 38;
const BAR_ROW: u32 = 30;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws into a new SVG.
pub(super) fn svg(
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), ChartError>,
) -> Result<String, ChartError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        draw(&area)?;
        area.present()?;
    }
    Ok(text)
}

/// Lines over time under their names; a single one's area is filled.
pub(super) fn line_chart(lines: &[Line], axes: &Axes<'_>) -> Result<String, ChartError> {
    Ok(names_of(lines.iter().map(|line| line.name.as_str())) + &lines_over_time(lines, axes)?)
}

/// The lines' names in their colours, as text beside the chart: inside it they would cover lines.
pub(super) fn names_of<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let name = |(number, name): (usize, &str)| {
        let RGBColor(red, green, blue) = SERIES[number % SERIES.len()];
        let colour = format!("#{red:02x}{green:02x}{blue:02x}");
        format!("<span><i style='background:{colour}'></i>{}</span> ", escape(name))
    };
    let names: String = lines.enumerate().map(name).collect();
    format!("<div class=names>{names}</div>")
}

fn lines_over_time(lines: &[Line], axes: &Axes<'_>) -> Result<String, ChartError> {
    let x_max = lines.iter().flat_map(|line| line.points.last()).map(|point| point.0).fold(1e-9, f64::max);
    svg(SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..x_max, axes.y_range.clone())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(TEXT)
            .x_desc(axes.x)
            .y_desc(axes.y)
            .y_label_formatter(axes.y_text)
            .label_style(("sans-serif", 14, &TEXT))
            .draw()?;
        for (number, line) in lines.iter().enumerate() {
            let colour = SERIES[number % SERIES.len()];
            if lines.len() == 1 {
                let fill = colour.mix(0.12).filled();
                chart.draw_series(AreaSeries::new(line.points.iter().copied(), 0.0, fill))?;
            }
            chart.draw_series(LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)))?;
        }
        Ok(())
    })
}

/// What part of all values is at most this, over a logarithmic axis.
pub(super) fn distribution_chart(points: &[(f64, f64)], x: &str, y: &str) -> Result<String, ChartError> {
    // From the power of ten below the first value on; before that there is nothing to see.
    let first = points.get(1).map_or(1.0, |point| point.0);
    let x_min = 10_f64.powf(first.log10().floor()).max(1.0);
    let x_max = points.last().map_or(10.0, |point| point.0).max(x_min * 10.0);
    let points: Vec<(f64, f64)> = points.iter().map(|(x, part)| (x.max(x_min), *part)).collect();
    svg(SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(64)
            .build_cartesian_2d((x_min..x_max * 1.1).log_scale(), 0.0..1.0)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(TEXT)
            .x_desc(x)
            .y_desc(y)
            .x_label_formatter(&|value| plain(*value))
            .y_label_formatter(&|value| percent(*value))
            .label_style(("sans-serif", 14, &TEXT))
            .draw()?;
        let fill = SERIES[0].mix(0.12).filled();
        chart.draw_series(AreaSeries::new(points.iter().copied(), 0.0, fill))?;
        chart.draw_series(LineSeries::new(points.iter().copied(), SERIES[0].stroke_width(2)))?;
        Ok(())
    })
}

/// For each name two values as bars from the left, the first grey and the second blue; only the second where no name
/// has a first.
pub(super) fn bar_chart(
    bars: &[(String, f64, f64)],
    x: &str,
    x_text: &dyn Fn(&f64) -> String,
) -> Result<String, ChartError> {
    let x_max = bars.iter().map(|(_, grey, blue)| grey.max(*blue)).fold(0.01, f64::max) * 1.05;
    let is_single = bars.iter().all(|(_, grey, _)| *grey == 0.0);
    let blue_place = if is_single { (0.2, 0.8) } else { (0.5, 0.88) };
    let size = (SIZE.0, bars.len() as u32 * BAR_ROW + 2 * MARGIN + X_LABELS);
    let label_width = bars.iter().map(|(name, ..)| name.len() as u32 * 7 + 16).max().unwrap_or(60).min(260);
    svg(size, |area| {
        let count = bars.len() as f64;
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .x_label_area_size(X_LABELS)
            .y_label_area_size(label_width)
            .build_cartesian_2d(0.0..x_max, 0.0..count)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .disable_y_mesh()
            .disable_y_axis()
            .axis_style(TEXT)
            .x_desc(x)
            .x_label_formatter(&x_text)
            .label_style(("sans-serif", 14, &TEXT))
            .draw()?;
        for (place, (name, grey, blue)) in bars.iter().enumerate() {
            let top = count - place as f64;
            let bar = |value: f64, (from, to): (f64, f64), colour: RGBColor| {
                Rectangle::new([(0.0, top - from), (value, top - to)], colour.filled())
            };
            chart.draw_series([bar(*grey, (0.12, 0.48), GUARANTEE), bar(*blue, blue_place, SERIES[0])])?;
            let style = ("sans-serif", 14, &TEXT).into_text_style(area);
            let y = MARGIN + place as u32 * BAR_ROW + BAR_ROW / 2 - 6;
            area.draw_text(&shorten(name, 34), &style, (8, y as i32))?;
        }
        Ok(())
    })
}

pub(super) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent >= 10.0 || percent == 0.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// A number without an exponent, thousands shortened, with at most one decimal.
pub(super) fn plain(value: f64) -> String {
    let short = |value: f64| (value * 10.0).round() / 10.0;
    match value {
        v if v >= 1e9 => format!("{}G", short(v / 1e9)),
        v if v >= 1e6 => format!("{}M", short(v / 1e6)),
        v if v >= 1e4 => format!("{}k", short(v / 1e3)),
        v => format!("{v:.0}"),
    }
}

fn shorten(name: &str, length: usize) -> String {
    let count = name.chars().count();
    if count <= length {
        return name.to_owned();
    }
    let tail: String = name.chars().skip(count - length + 1).collect();
    format!("…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_an_axis_are_told_apart() {
        let texts = [0.0, 500_000.0, 1e6, 1.5e6, 2e6, 2.5e9].map(plain);
        assert_eq!(texts, ["0", "500k", "1M", "1.5M", "2M", "2.5G"]);
    }
}
