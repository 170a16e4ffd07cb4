//! Decimal numbers with more places than the engine stores, for YARN's checks of sums.

use apportion::config::{Factor, Percent};

/// Billionths in one.
const ONE: u64 = 1_000_000_000;
/// Billionths of a percent in the unit of [`Percent`].
const IN_PERCENT_UNIT: u64 = 100_000;
/// Billionths in the unit of [`Factor`].
const IN_FACTOR_UNIT: u64 = 1_000_000;

/// A non-negative number in billionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Billionths(u64);

impl Billionths {
    /// Reads a plain decimal number of up to `max`; decimal places beyond the ninth are dropped.
    pub(crate) fn parse(text: &str, max: u64) -> Option<Self> {
        let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let kept = &fraction[..fraction.len().min(9)];
        let billionths: u64 = format!("{whole}{kept:0<9}").parse().ok()?;
        (billionths <= max.checked_mul(ONE)?).then_some(Self(billionths))
    }

    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    /// This many percent, rounded down and capped at 100 %.
    pub(crate) fn percent(self) -> Percent {
        u32::try_from(self.0 / IN_PERCENT_UNIT)
            .ok()
            .and_then(Percent::from_millionths)
            .unwrap_or(Percent::ALL)
    }

    /// This part of a whole, rounded down; `None` if it exceeds the whole.
    pub(crate) fn part(self) -> Option<Percent> {
        u32::try_from(self.0 / 1_000).ok().and_then(Percent::from_millionths)
    }

    /// This factor, rounded down and capped at [`Factor::MAX`].
    pub(crate) fn factor(self) -> Factor {
        Factor::from_milli(self.0 / IN_FACTOR_UNIT).unwrap_or(Factor::whole(Factor::MAX))
    }
}

impl From<Percent> for Billionths {
    fn from(percent: Percent) -> Self {
        Self(u64::from(percent.millionths()) * IN_PERCENT_UNIT)
    }
}

impl From<Factor> for Billionths {
    fn from(factor: Factor) -> Self {
        Self(factor.milli() * IN_FACTOR_UNIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surplus_decimals_are_rounded_down() {
        let third = Billionths::parse("33.33333333333", 100).unwrap();
        assert_eq!((third.get(), third.percent().millionths()), (33_333_333_333, 333_333));
        assert_eq!(Billionths::parse("0.9999", 100).unwrap().factor().milli(), 999);
        assert_eq!(Billionths::parse("7", 100).unwrap().percent(), Percent::whole(7));
        assert_eq!(Billionths::parse("1", 1).unwrap().part(), Some(Percent::ALL));
        assert_eq!(Billionths::parse("1.01", 2).unwrap().part(), None);
        for text in ["100.1", "-1", "1.1234567890x", "1.é", ".", "", "99999999999999999999"] {
            assert!(Billionths::parse(text, 100).is_none(), "{text:?}");
        }
    }
}
