//! The data of a plot for the chart library that is embedded in reports.

use serde::Serialize;

use super::super::palette::colour;
use super::{Axis, Line, Plot, Step, Unit};

const LIBRARY: &str = include_str!("live/uPlot.iife.min.js");
const STYLE: &str = include_str!("live/uPlot.min.css");
const LICENCE: &str = include_str!("live/LICENSE-uPlot");
const CHARTS: &str = include_str!("live/charts.js");

/// The end of a page with plots: style and scripts.
pub(in super::super) fn assets() -> String {
    format!(
        "<style>{STYLE}</style><script>/* uPlot:\n{LICENCE}*/\n{LIBRARY}</script><script>{CHARTS}</script>"
    )
}

#[derive(Serialize)]
struct Data<'a> {
    x: AxisData<'a>,
    y: AxisData<'a>,
    time: bool,
    /// The starts of all steps, and the end of the last one.
    at: Vec<f64>,
    lines: Vec<LineData<'a>>,
}

#[derive(Serialize)]
struct AxisData<'a> {
    name: &'a str,
    suffix: &'static str,
    whole: bool,
    log: bool,
    from: f64,
    /// Whether values are seconds, shown in a unit that suits the visible range.
    time: bool,
}

/// Values by step; `null` where the line has no step. A range without extent is left out.
#[derive(Serialize)]
struct LineData<'a> {
    name: &'a str,
    colour: String,
    mean: Vec<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<Vec<Option<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Vec<Option<f64>>>,
}

impl Plot<'_> {
    /// The plot as JSON that is safe inside a page.
    pub(super) fn data(&self) -> String {
        let at = self.starts();
        let rows: Vec<Vec<Option<Step>>> = self.lines.iter().map(|line| values(line, &at)).collect();
        let changes = |place: &usize| *place == 0 || *place + 1 == at.len() || is_change(&rows, *place);
        let kept: Vec<usize> = (0..at.len()).filter(changes).collect();
        let line = |number: usize| {
            let (line, row) = (&self.lines[number], &rows[number]);
            let column = |value: fn(&Step) -> f64| -> Vec<Option<f64>> {
                kept.iter().map(|place| row[*place].as_ref().map(value).map(|v| rounded(v, 6))).collect()
            };
            let range = |value| line.has_range().then(|| column(value));
            LineData {
                name: &line.name,
                colour: colour(number),
                mean: column(|step| step.mean),
                min: range(|step| step.min),
                max: range(|step| step.max),
            }
        };
        let lines = (0..self.lines.len()).map(line).collect();
        let unit = self.x.seconds.unwrap_or(1.0);
        let at = kept.iter().map(|place| rounded(at[*place] * unit, 9)).collect();
        let data = Data { x: axis(&self.x), y: axis(&self.y), time: self.is_over_time, at, lines };
        // Only a less-than sign could end a script.
        serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c")
    }

    /// Every start of a step and end of a line.
    fn starts(&self) -> Vec<f64> {
        let of = |line: &Line| line.steps.iter().map(|step| step.from).chain([line.end]).collect::<Vec<_>>();
        let mut starts: Vec<f64> = self.lines.iter().flat_map(of).collect();
        starts.sort_by(f64::total_cmp);
        starts.dedup();
        starts
    }
}

fn axis<'a>(axis: &Axis<'a>) -> AxisData<'a> {
    AxisData {
        name: axis.name,
        suffix: axis.unit.suffix(),
        whole: axis.unit == Unit::Count,
        log: axis.is_logarithmic,
        from: axis.from,
        time: axis.seconds.is_some(),
    }
}

/// The line's step at each of these positions; `None` before its first step and after its end.
fn values(line: &Line, at: &[f64]) -> Vec<Option<Step>> {
    let mut steps = line.steps.iter().peekable();
    let mut now: Option<Step> = None;
    let value = |x: &f64| {
        let mut range: Option<Step> = None;
        while let Some(step) = steps.next_if(|step| step.from <= *x) {
            // Of several steps at one position the last one holds; the others only extend its range.
            range = Some(range.map_or(*step, |range| Step {
                min: range.min.min(step.min),
                max: range.max.max(step.max),
                ..*step
            }));
        }
        now = range.or(now);
        now.filter(|_| *x <= line.end)
    };
    at.iter().map(value).collect()
}

/// Whether the step at `place` differs from the one before it.
fn is_change(rows: &[Vec<Option<Step>>], place: usize) -> bool {
    let level = |step: &Option<Step>| step.map(|step| (step.min, step.mean, step.max));
    rows.iter().any(|row| level(&row[place]) != level(&row[place - 1]))
}

/// The value with this number of significant digits.
fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let decimals = digits - 1 - value.abs().log10().floor() as i32;
    format!("{value:.*}", decimals.max(0) as usize).parse().unwrap_or(value)
}
