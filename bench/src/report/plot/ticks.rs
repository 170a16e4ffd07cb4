//! Round numbers for axes, and their texts.

/// The number format of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Unit {
    /// Hundredths.
    Percent,
    /// Whole numbers.
    Count,
    /// Any other numbers.
    Number,
}

/// Numbers from this value on are written in thousands.
const SHORTENED: f64 = 1e4;
/// The most ticks, including 0.
const TICKS_MAX: usize = 7;

impl Unit {
    pub(super) fn suffix(self) -> &'static str {
        if self == Self::Percent { " %" } else { "" }
    }
}

/// The distance of ticks on an axis of this length: 1, 2 or 5 times a power of ten.
fn distance(length: f64, unit: Unit) -> f64 {
    let least = length / (TICKS_MAX - 1) as f64;
    let power = 10_f64.powf(least.log10().floor());
    let distance = [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power);
    let distance = distance.into_iter().find(|distance| *distance >= least * (1.0 - 1e-9)).unwrap_or(power);
    if unit == Unit::Count { distance.max(1.0) } else { distance }
}

/// Ticks between two values, which are not below 0, each with its text. The texts are distinct.
pub(super) fn tick_texts(from: f64, to: f64, unit: Unit) -> Vec<(f64, String)> {
    let distance = distance(to - from, unit);
    let digits = (-distance.log10()).ceil().max(0.0) as usize;
    let place = |value: f64| value / distance;
    let (first, last) = ((place(from) - 1e-9).ceil() as u64, (place(to) + 1e-9).floor() as u64);
    let text = |value: f64| match value {
        v if v >= SHORTENED && from == 0.0 => plain(v),
        v => format!("{v:.digits$}{}", unit.suffix()),
    };
    (first..=last).map(|place| place as f64 * distance).map(|value| (value, text(value))).collect()
}

/// A round number without an exponent: thousands shortened, with at most three decimals.
pub(super) fn plain(value: f64) -> String {
    let (divisor, letter) = match value {
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= SHORTENED => (1e3, "k"),
        _ => (1.0, ""),
    };
    let text = format!("{:.3}", value / divisor);
    format!("{}{letter}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The end of an axis that shows `highest` with some space above it.
pub(super) fn at_least(highest: f64, unit: Unit) -> f64 {
    let end = if highest > 0.0 { highest * 1.05 } else { 1.0 };
    if unit == Unit::Count { end.max(1.05) } else { end }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ticks_are_round() {
        let texts =
            |max, unit| tick_texts(0.0, max, unit).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(1.05, Unit::Percent), ["0.0 %", "0.2 %", "0.4 %", "0.6 %", "0.8 %", "1.0 %"]);
        assert_eq!(texts(3.2, Unit::Count), ["0", "1", "2", "3"]);
        assert_eq!(texts(1.05, Unit::Count), ["0", "1"]);
        assert_eq!(texts(2.6e6, Unit::Count), ["0", "500k", "1M", "1.5M", "2M", "2.5M"]);
    }

    #[test]
    fn neighbours_on_an_axis_are_told_apart() {
        let texts = [0.0, 0.05, 500_000.0, 1e6, 1.5e6, 2e6, 2.5e9].map(plain);
        assert_eq!(texts, ["0", "0.05", "500k", "1M", "1.5M", "2M", "2.5G"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn ticks_are_distinct_and_fill_the_axis(digits in 1.0_f64..10.0, power in -4_i32..13, is_count: bool) {
            let max = digits * 10_f64.powi(if is_count { power.abs() } else { power });
            let unit = if is_count { Unit::Count } else { Unit::Percent };
            let ticks = tick_texts(0.0, max, unit);
            let mut texts: Vec<&str> = ticks.iter().map(|(_, text)| text.as_str()).collect();
            prop_assert!((2..=TICKS_MAX).contains(&texts.len()), "{:?}", texts);
            texts.dedup();
            prop_assert_eq!(texts.len(), ticks.len());
            prop_assert!(ticks[ticks.len() - 1].0 > max / 2.0 - 1e-9 && ticks[ticks.len() - 1].0 <= max * 1.001);
        }
    }
}
