//! Charts as SVG text.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::count_text;
use super::html::escape;
use super::palette::{GRID, GUARANTEE, SERIES, TEXT, colour};
use super::plot::{Axis, Scale, Unit};

/// Why a chart could not be drawn; drawing into memory does not fail in practice.
pub(super) type ChartError = Box<dyn Error>;

/// Width and height of a chart in a report's grid.
pub(super) const SIZE: (u32, u32) = (760, 340);

const MARGIN: u32 = 12;
/// Height of the labels below a chart.
const X_LABELS: u32 = 46;
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

/// The lines' names in their colours, as text next to the chart: inside it they would cover lines.
pub(super) fn names_of<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let name = |(number, name): (usize, &str)| {
        format!("<span><i style='background:{}'></i>{}</span> ", colour(number), escape(name))
    };
    let names: String = lines.enumerate().map(name).collect();
    format!("<div class=names>{names}</div>")
}

/// For each name two values as bars from the left, the first grey and the second blue. If no name has a first value,
/// only the second is drawn.
pub(super) fn bar_chart(bars: &[(String, f64, f64)], x: Axis<'_>) -> Result<String, ChartError> {
    let highest = bars.iter().map(|(_, grey, blue)| grey.max(*blue)).fold(0.0, f64::max);
    let scale = Scale::above(highest, x.unit);
    let is_single = bars.iter().all(|(_, grey, _)| *grey == 0.0);
    let blue_place = if is_single { (0.2, 0.8) } else { (0.5, 0.88) };
    let size = (SIZE.0, bars.len() as u32 * BAR_ROW + 2 * MARGIN + X_LABELS);
    let label_width = bars.iter().map(|(name, ..)| name.len() as u32 * 8 + 16).max().unwrap_or(60).min(300);
    let picture = svg(size, |area| {
        let count = bars.len() as f64;
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .x_label_area_size(X_LABELS)
            .y_label_area_size(label_width)
            .build_cartesian_2d(scale.clone(), 0.0..count)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .disable_y_mesh()
            .disable_y_axis()
            .axis_style(TEXT)
            .x_desc(x.name)
            .x_label_formatter(&|value| scale.text(*value))
            .label_style(("sans-serif", 17, &TEXT))
            .draw()?;
        for (place, (name, grey, blue)) in bars.iter().enumerate() {
            let top = count - place as f64;
            let bar = |value: f64, (from, to): (f64, f64), colour: RGBColor| {
                Rectangle::new([(0.0, top - from), (value, top - to)], colour.filled())
            };
            chart.draw_series([bar(*grey, (0.12, 0.48), GUARANTEE), bar(*blue, blue_place, SERIES[0])])?;
            let style = ("sans-serif", 17, &TEXT).into_text_style(area);
            let y = MARGIN + place as u32 * BAR_ROW + BAR_ROW / 2 - 6;
            area.draw_text(&shorten(name, 34), &style, (8, y as i32))?;
        }
        Ok(())
    })?;
    let title = |(name, grey, blue): &(String, f64, f64)| {
        let value = |value: &f64| value_text(*value, x.unit);
        let title = |value: String| format!("{name}: {value}");
        [title(value(grey)), title(value(blue))]
    };
    let titles: Vec<String> = [String::new()].into_iter().chain(bars.iter().flat_map(title)).collect();
    Ok(with_titles(&picture, "<rect ", &titles))
}

/// The text of a single value.
fn value_text(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => percent(value / 100.0),
        Unit::Count => count_text(value as u64),
        Unit::Number => format!("{value:.1}"),
    }
}

/// Adds a tooltip to shapes: one title for each shape that begins like `tag`, in order; an empty title adds none.
/// The first rectangle is the background.
pub(super) fn with_titles(svg: &str, tag: &str, titles: &[String]) -> String {
    let mut parts = svg.split(tag);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (number, part) in parts.enumerate() {
        text.push_str(tag);
        let title = titles.get(number).filter(|title| !title.is_empty());
        match (title, part.split_once("/>")) {
            (Some(title), Some((attributes, rest))) => {
                let end = tag.trim_start_matches('<').trim_end();
                text.push_str(&format!("{attributes}><title>{}</title></{end}>{rest}", escape(title)));
            }
            _ => text.push_str(part),
        }
    }
    text
}

/// A part as hundredths, with one decimal, or more decimals if it would wrongly read as 0 or 100.
pub(super) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    for digits in 1..=6 {
        let text = format!("{percent:.digits$}");
        let shown: f64 = text.parse().unwrap_or(percent);
        if shown == percent || (shown != 0.0 && shown != 100.0) {
            return format!("{} %", text.trim_end_matches('0').trim_end_matches('.'));
        }
    }
    if percent < 50.0 { "below 0.000001 %".to_owned() } else { "above 99.999999 %".to_owned() }
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
    fn only_all_is_a_hundred_percent_and_only_nothing_is_none() {
        let texts = [0.0, 1e-9, 0.000_4, 0.577, 0.995, 0.999_6, 0.999_999_999_9, 1.0, 1.2].map(percent);
        let wanted = [
            "0 %",
            "below 0.000001 %",
            "0.04 %",
            "57.7 %",
            "99.5 %",
            "99.96 %",
            "above 99.999999 %",
            "100 %",
            "120 %",
        ];
        assert_eq!(texts, wanted);
    }
}
