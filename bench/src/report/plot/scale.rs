//! The positions of values on an axis.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use super::ticks::{Unit, at_least, plain, tick_texts};

/// An axis with its ticks and their texts.
#[derive(Clone, Debug)]
pub(in super::super) struct Scale {
    range: Range<f64>,
    is_logarithmic: bool,
    ticks: Vec<(f64, String)>,
}

/// Where an axis is. More texts fit above each other than side by side.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Side {
    Below,
    Left,
}

impl Side {
    /// The most texts of a logarithmic axis.
    fn ticks_max(self) -> usize {
        match self {
            Self::Below => 9,
            Self::Left => 14,
        }
    }
}

impl Scale {
    /// A scale from 0 to somewhat above `highest`.
    pub(in super::super) fn above(highest: f64, unit: Unit) -> Self {
        Self::between(0.0, at_least(highest, unit), unit)
    }

    /// A scale with exactly these ends.
    pub(super) fn between(from: f64, to: f64, unit: Unit) -> Self {
        Self { range: from..to, is_logarithmic: false, ticks: tick_texts(from, to, unit) }
    }

    /// A logarithmic scale with these ends, which are above 0.
    pub(in super::super) fn logarithmic(from: f64, to: f64, side: Side) -> Self {
        let powers = from.log10().floor() as i32..=to.log10().ceil() as i32;
        let ticks = |digits: &[f64]| -> Vec<(f64, String)> {
            let ticks =
                powers.clone().flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
            ticks.filter(|tick| (from..=to).contains(tick)).map(|tick| (tick, plain(tick))).collect()
        };
        let all = ticks(&[1.0, 2.0, 5.0]);
        let ticks = if all.len() > side.ticks_max() { ticks(&[1.0]) } else { all };
        Self { range: from..to, is_logarithmic: true, ticks }
    }

    /// The text of the tick at this value.
    pub(in super::super) fn text(&self, value: f64) -> String {
        let tick = self.ticks.iter().find(|(tick, _)| *tick == value);
        tick.map(|(_, text)| text.clone()).unwrap_or_default()
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limits: (i32, i32)) -> i32 {
        let (first, last) = limits;
        let place = |value: f64| if self.is_logarithmic { value.max(1e-300).ln() } else { value };
        let (start, end) = (place(self.range.start), place(self.range.end));
        let part = (place(*value) - start) / (end - start);
        first + (part * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(tick, _)| *tick).collect()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}
