//! The plot as a still picture: for paper, and for readers without scripts.

use plotters::prelude::*;

use super::super::chart::{Area, ChartError, SIZE, svg};
use super::super::palette::{GRID, SERIES, TEXT};
use super::{Line, Plot, Scale, Side};

/// Columns of pixels between the axes.
const COLUMNS: usize = 660;

impl Plot<'_> {
    pub(super) fn still(&self) -> Result<String, ChartError> {
        svg(SIZE, |area| self.draw(area))
    }

    fn draw(&self, area: &Area<'_>) -> Result<(), ChartError> {
        let (from, to) = self.ends();
        let x = if self.x.is_logarithmic {
            Scale::logarithmic(from, to, Side::Below)
        } else {
            Scale::between(from, to, self.x.unit)
        };
        let y = if self.y.from > 0.0 {
            Scale::between(self.y.from, 100.0, self.y.unit)
        } else {
            Scale::above(self.highest(), self.y.unit)
        };
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
            .x_desc(self.x.name)
            .y_desc(self.y.name)
            .x_label_formatter(&|value| x.text(*value))
            .y_label_formatter(&|value| y.text(*value))
            .label_style(("sans-serif", 17, &TEXT))
            .draw()?;
        for (number, line) in self.lines.iter().enumerate() {
            let colour = SERIES[number % SERIES.len()];
            let line = if self.x.is_logarithmic { line.clone() } else { line.reduced(from, to, COLUMNS) };
            if line.has_range() {
                let top = line.corners(|step| step.max);
                let mut outline = top.clone();
                outline.extend(line.corners(|step| step.min).into_iter().rev());
                chart.draw_series([Polygon::new(outline, colour.mix(0.22).filled())])?;
                chart.draw_series(LineSeries::new(top, colour.mix(0.55).stroke_width(1)))?;
            }
            // With few lines, all but the last are wider, so that they are visible below the later ones.
            let width = if number + 1 < self.lines.len() && self.lines.len() <= 3 { 3 } else { 2 };
            let mean = line.corners(|step| step.mean);
            if self.lines.len() == 1 && self.y.from == 0.0 {
                chart.draw_series(AreaSeries::new(mean.iter().copied(), 0.0, colour.mix(0.12).filled()))?;
            }
            chart.draw_series(LineSeries::new(mean, colour.stroke_width(width)))?;
        }
        Ok(())
    }
}

impl Line {
    /// The corners of the line: along each step, and vertically to the next one.
    fn corners(&self, value: fn(&super::Step) -> f64) -> Vec<(f64, f64)> {
        self.spans().flat_map(|(step, until)| [(step.from, value(step)), (until, value(step))]).collect()
    }
}
