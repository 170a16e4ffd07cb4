//! Plots of steps: a still picture, and the same data for an interactive chart.
//!
//! Every line is a sequence of steps with minimum, mean and maximum. Both pictures show all three: the mean as a line,
//! and the range as a band. So a plot shows every peak and every idle time.

mod live;
mod reduce;
mod scale;
mod still;
mod ticks;

use super::chart::ChartError;
use super::html::escape;
use super::palette::colour;
use crate::sim::Interval;

pub(super) use live::assets;
pub(super) use scale::{Scale, Side};
pub(super) use ticks::Unit;

/// Values over an axis.
pub(super) struct Plot<'a> {
    pub(super) x: Axis<'a>,
    pub(super) y: Axis<'a>,
    pub(super) lines: Vec<Line>,
    /// Whether x is time. Plots over time are zoomed together.
    pub(super) is_over_time: bool,
}

/// The quantity, unit and range of an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis<'a> {
    pub(super) name: &'a str,
    pub(super) unit: Unit,
    pub(super) is_logarithmic: bool,
    /// The start of a vertical axis. An axis of hundredths that does not start at 0 ends at 100.
    pub(super) from: f64,
    /// Length of the unit of a time axis. Zooming in changes it to a shorter unit.
    pub(super) seconds: Option<f64>,
}

/// One line of a plot. It ends at `end`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    /// Sorted by start.
    pub(super) steps: Vec<Step>,
    pub(super) end: f64,
}

/// A value that holds until the next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) from: f64,
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) max: f64,
}

impl<'a> Axis<'a> {
    pub(super) fn new(name: &'a str, unit: Unit) -> Self {
        Self { name, unit, is_logarithmic: false, from: 0.0, seconds: None }
    }

    pub(super) fn logarithmic(name: &'a str, unit: Unit) -> Self {
        Self { name, unit, is_logarithmic: true, from: 0.0, seconds: None }
    }

    /// An axis of virtual time; `seconds` is the length of the unit in the name.
    pub(super) fn time(name: &'a str, seconds: f64) -> Self {
        Self { seconds: Some(seconds), ..Self::new(name, Unit::Number) }
    }
}

impl Step {
    pub(super) fn flat(from: f64, value: f64) -> Self {
        Self { from, min: value, mean: value, max: value }
    }
}

impl Line {
    /// A line of values that each hold from their x until the next one.
    pub(super) fn of_values(name: &str, values: impl IntoIterator<Item = (f64, f64)>, end: f64) -> Self {
        let steps = values.into_iter().map(|(from, value)| Step::flat(from, value)).collect();
        Self { name: name.to_owned(), steps, end }
    }

    /// A recorded figure, times `factor`, over time in units of `unit_ms`.
    pub(super) fn of_intervals(
        name: &str,
        intervals: impl Iterator<Item = Interval>,
        factor: f64,
        unit_ms: f64,
    ) -> Self {
        let mut end_ms = 0;
        let steps = intervals.map(|interval| {
            end_ms = interval.to_ms;
            let Interval { from_ms, min, mean, max, .. } = interval;
            let [min, mean, max] = [min, mean, max].map(|value| value * factor);
            Step { from: from_ms as f64 / unit_ms, min, mean, max }
        });
        let steps = steps.collect();
        Self { name: name.to_owned(), steps, end: end_ms as f64 / unit_ms }
    }

    pub(super) fn highest(&self) -> f64 {
        self.steps.iter().map(|step| step.max).fold(0.0, f64::max)
    }

    fn has_range(&self) -> bool {
        self.steps.iter().any(|step| step.min < step.max)
    }
}

impl Plot<'_> {
    /// Whether all values are zero.
    pub(super) fn is_nothing(&self) -> bool {
        self.lines.iter().all(|line| line.highest() <= 0.0)
    }

    /// The plot for a page. The page must contain the [`assets`].
    pub(super) fn to_html(&self) -> Result<String, ChartError> {
        let name = |(number, line): (usize, &Line)| {
            let name = escape(&line.name);
            format!("<span data-line><i style='background:{}'></i>{name} <b></b></span> ", colour(number))
        };
        let names: String = self.lines.iter().enumerate().map(name).collect();
        let (still, data) = (self.still()?, self.data());
        Ok(format!(
            "<figure class=plot><div class=names>{names}<span class=at></span><button hidden>show all</button></div>\
             <div class=still>{still}</div><div class=live hidden></div>\
             <script type='application/json'>{data}</script></figure>"
        ))
    }

    fn ends(&self) -> (f64, f64) {
        let starts = self.lines.iter().filter_map(|line| line.steps.first()).map(|step| step.from);
        let from = starts.fold(f64::MAX, f64::min);
        let to = self.lines.iter().map(|line| line.end).fold(f64::MIN, f64::max);
        // An axis needs a length, also in a plot without lines.
        if from >= to { (from.min(0.0), from.max(0.0) + 1.0) } else { (from, to) }
    }

    fn highest(&self) -> f64 {
        self.lines.iter().map(Line::highest).fold(0.0, f64::max)
    }
}
