//! Reduces the number of steps: steps of a line that begin in the same pixel column are merged.

use super::{Line, Step};

impl Line {
    /// Merges the whole steps that begin in each of `columns` equal columns, with minimum, mean and maximum. No step is
    /// cut, so that no value is drawn outside its steps. Steps longer than a column stay unmerged.
    pub(super) fn reduced(&self, from: f64, to: f64, columns: usize) -> Self {
        let width = (to - from) / columns as f64;
        let spans: Vec<(&Step, f64)> = self.spans().collect();
        let column = |step: &Step| ((step.from - from) / width).floor();
        let is_short = |(step, until): &(&Step, f64)| until - step.from <= width;
        let groups =
            spans.chunk_by(|a, b| is_short(a) && is_short(b) && column(a.0) == column(b.0)).map(together);
        Self { name: self.name.clone(), steps: groups.collect(), end: self.end }
    }

    /// Each step with its end.
    pub(super) fn spans(&self) -> impl Iterator<Item = (&Step, f64)> {
        let ends = self.steps.iter().skip(1).map(|step| step.from).chain([self.end]);
        self.steps.iter().zip(ends)
    }
}

/// Merges these steps, at least one, into one.
fn together(spans: &[(&Step, f64)]) -> Step {
    let (mut all, until) = (*spans[0].0, spans[spans.len() - 1].1);
    let length = until - all.from;
    let area: f64 = spans.iter().map(|(step, until)| step.mean * (until - step.from)).sum();
    all.min = spans.iter().map(|(step, _)| step.min).fold(all.min, f64::min);
    all.max = spans.iter().map(|(step, _)| step.max).fold(all.max, f64::max);
    if spans.len() > 1 && length > 0.0 {
        all.mean = (area / length).clamp(all.min, all.max);
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Axis, Plot, Unit};
    use super::*;
    use crate::sim::Series;

    /// Random samples, recorded and reduced as for a report.
    fn recorded() -> impl Strategy<Value = (Vec<(u64, f64)>, Line)> {
        let pause = prop_oneof![20 => 1_u64..5_000, 1 => 0_u64..50_000_000];
        let value = prop_oneof![Just(0.0), (1_u32..1_000).prop_map(f64::from)];
        proptest::collection::vec((pause, value), 1..3_000).prop_map(|steps| {
            let (mut now_ms, mut samples, mut series) = (0, vec![(0, 0.0)], Series::new(1));
            for (pause_ms, value) in steps {
                now_ms += pause_ms;
                series.push(now_ms, [value]);
                // A value that lasted for no time does not count.
                samples.pop_if(|(at_ms, _)| *at_ms == now_ms);
                samples.push((now_ms, value));
            }
            (samples, Line::of_intervals("running", series.channel(0), 1.0, 1_000.0))
        })
    }

    /// Whether the value was 0 from one time to the other, both included.
    fn is_idle(samples: &[(u64, f64)], from_ms: f64, to_ms: f64) -> bool {
        let before = samples.iter().rposition(|(at, _)| (*at as f64) < from_ms).unwrap_or(0);
        let during = samples[before..].iter().take_while(|(at, _)| *at as f64 <= to_ms);
        during.map(|(_, value)| *value).sum::<f64>() == 0.0
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn both_pictures_show_every_peak_and_nothing_where_there_was_nothing((samples, line) in recorded()) {
            let values = || samples.iter().map(|(_, value)| *value);
            let (highest, lowest) = (values().fold(0.0, f64::max), values().fold(f64::MAX, f64::min));
            let (x, y) = (Axis::new("time", Unit::Number), Axis::new("containers", Unit::Count));
            let plot = Plot { x, y, lines: vec![line.clone()], is_over_time: true };
            let (from, to) = plot.ends();
            for drawn in [line.reduced(from, to, 300), line] {
                prop_assert_eq!(drawn.highest(), highest);
                prop_assert_eq!(drawn.steps.iter().map(|step| step.min).fold(f64::MAX, f64::min), lowest);
                for (step, until) in drawn.spans() {
                    let (from_ms, to_ms) = ((step.from * 1e3).round(), (until * 1e3).round());
                    prop_assert!(step.max == 0.0 || !is_idle(&samples, from_ms, to_ms), "{:?} to {}", step, until);
                }
            }
            let data: serde_json::Value = serde_json::from_str(&plot.data()).unwrap();
            let shown = |key: &str| data["lines"][0].get(key).unwrap_or(&data["lines"][0]["mean"]).clone();
            let shown = |key: &str| -> Vec<f64> { serde_json::from_value(shown(key)).unwrap() };
            prop_assert_eq!(shown("max").into_iter().fold(0.0, f64::max), highest);
            prop_assert_eq!(shown("min").into_iter().fold(f64::MAX, f64::min), lowest);
        }
    }
}
