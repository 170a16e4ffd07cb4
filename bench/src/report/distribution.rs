//! Distributions of values: the part of the values that is at most x, over a logarithmic axis.

use hdrhistogram::Histogram;

use super::chart::{ChartError, percent};
use super::count_text;
use super::html::{say, section};
use super::plot::{Axis, Line, Plot, Unit};

/// The texts and units of a distribution.
pub(super) struct Distribution<'a> {
    pub(super) title: &'a str,
    pub(super) note: &'a str,
    /// The objects that have the values.
    pub(super) things: &'a str,
    /// The name and unit of the axis.
    pub(super) x: &'a str,
    /// The divisor from values to that unit.
    pub(super) divisor: f64,
    /// The text of a value in a sentence.
    pub(super) text: fn(u64) -> String,
}

/// If a larger part of the values is 0, the axis begins at that part.
const HALF: f64 = 0.5;
/// The objects of most distributions.
pub(super) const CONTAINERS: &str = "containers";

impl Distribution<'_> {
    /// A plot, or a sentence if all values are the same.
    pub(super) fn section(&self, values: &Histogram<u64>) -> Result<String, ChartError> {
        let count = count_text(values.len());
        if values.is_empty() {
            return Ok(say(self.title, &format!("There were no {}.", self.things)));
        }
        if values.min() == values.max() {
            let value = (self.text)(values.max());
            return Ok(say(self.title, &format!("{value} for each of {count} {}.", self.things)));
        }
        let (line, zeros) = self.line(values);
        let begins = if zeros > 0.0 {
            format!(" {} of them have {}; the line begins there.", percent(zeros), (self.text)(0))
        } else {
            String::new()
        };
        let y = format!("part of {}", self.things);
        let plot = Plot {
            x: Axis::logarithmic(self.x, Unit::Number),
            y: Axis {
                from: if zeros > HALF { (100.0 * zeros).floor() } else { 0.0 },
                ..Axis::new(&y, Unit::Percent)
            },
            lines: vec![line],
            is_over_time: false,
        };
        let note = format!("{} {count} {}.{begins}", self.note, self.things);
        Ok(section(self.title, &note, &plot.to_html()?))
    }

    /// The line, and the part of values that are 0. Zeros have no place on the axis, but count below every other value.
    fn line(&self, values: &Histogram<u64>) -> (Line, f64) {
        let total = values.len() as f64;
        let zeros = values.count_at(0) as f64 / total;
        let mut sum = 0;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for value in values.iter_recorded() {
            sum += value.count_since_last_iteration();
            if value.value_iterated_to() > 0 {
                points.push((value.value_iterated_to() as f64 / self.divisor, 100.0 * sum as f64 / total));
            }
        }
        let (first, last) = (points.first().map_or(1.0, |p| p.0), points.last().map_or(10.0, |p| p.0));
        let before = [(first / 1.5, 100.0 * zeros)];
        (Line::of_values("at most this", before.into_iter().chain(points), last * 1.5), zeros)
    }
}
