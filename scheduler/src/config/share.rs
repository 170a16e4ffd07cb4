//! Decimal parameters kept as integers: 8.5 percent, a factor of 1.25.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

/// A part of something, in millionths; `"8.5"` is 8.5 percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Percent(#[serde(deserialize_with = "read_percent")] u32);

/// A multiple of something, in thousandths; `"1.25"` is one and a quarter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Factor(#[serde(deserialize_with = "read_factor")] u64);

/// A text that is not a plain non-negative decimal number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a number from 0 to {max} with at most {places} decimal places")]
pub struct ParseDecimalError {
    text: String,
    max: u64,
    places: u32,
}

impl Percent {
    /// Nothing of it.
    pub const NONE: Self = Self::whole(0);
    /// All of it.
    pub const ALL: Self = Self::whole(100);
    const PLACES: u32 = 4;

    /// A whole number of percent, at most 100.
    #[must_use]
    pub const fn whole(percent: u32) -> Self {
        assert!(percent <= 100, "more than 100 percent");
        Self(percent * 10u32.pow(Self::PLACES))
    }

    /// In millionths of the whole.
    #[must_use]
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// So much less, and nothing where less than nothing would be left.
    #[cfg(feature = "import")]
    pub(super) fn saturating_sub_millionths(self, less: u32) -> Self {
        Self(self.0.saturating_sub(less))
    }
}

impl Factor {
    /// Exactly once.
    pub const ONE: Self = Self(1000);
    const PLACES: u32 = 3;
    /// The largest factor; enough for any user limit and small enough to multiply safely.
    pub const MAX: u64 = 1_000_000;

    /// A whole factor, at most [`Factor::MAX`].
    #[must_use]
    pub const fn whole(factor: u64) -> Self {
        assert!(factor <= Self::MAX, "factor too large");
        Self(factor * 1000)
    }

    /// In thousandths.
    #[must_use]
    pub const fn milli(self) -> u64 {
        self.0
    }
}

fn read_percent<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let most = Percent::ALL.0;
    u32::deserialize(from).and_then(|millionths| up_to(millionths, most))
}

fn read_factor<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let most = Factor::whole(Factor::MAX).0;
    u64::deserialize(from).and_then(|milli| up_to(milli, most))
}

fn up_to<T: Copy + PartialOrd + fmt::Display, E: serde::de::Error>(given: T, most: T) -> Result<T, E> {
    if given <= most { Ok(given) } else { Err(E::custom(format_args!("{given} is more than {most}"))) }
}

impl FromStr for Percent {
    type Err = ParseDecimalError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let scaled = parse_decimal(text, Self::PLACES, 100)?;
        Ok(Self(u32::try_from(scaled).expect("at most 100 percent")))
    }
}

impl FromStr for Factor {
    type Err = ParseDecimalError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_decimal(text, Self::PLACES, Self::MAX).map(Self)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", decimal(u64::from(self.0), Self::PLACES))
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal(self.0, Self::PLACES))
    }
}

/// A number from 0 with more decimal places than [`Percent`] and [`Factor`] keep, for checks that need them.
#[cfg(feature = "import")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Billionths(u64);

#[cfg(feature = "import")]
impl Billionths {
    const PLACES: u32 = 9;

    /// Reads a number of up to `max`; decimal places beyond the ninth are dropped.
    pub(super) fn parse(text: &str, max: u64) -> Result<Self, ParseDecimalError> {
        let text = text.trim();
        let kept = match text.split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|byte| byte.is_ascii_digit()) => {
                &text[..whole.len() + 1 + fraction.len().min(Self::PLACES as usize)]
            }
            _ => text,
        };
        let error = |_| ParseDecimalError { text: text.to_owned(), max, places: Self::PLACES };
        parse_decimal(kept, Self::PLACES, max).map(Self).map_err(error)
    }

    pub(super) const fn get(self) -> u64 {
        self.0
    }

    /// So many percent, rounded down; more than all is all.
    pub(super) fn percent(self) -> Percent {
        let millionths = self.0 / 10u64.pow(Self::PLACES - Percent::PLACES);
        Percent(u32::try_from(millionths).map_or(Percent::ALL.0, |some| some.min(Percent::ALL.0)))
    }

    /// That part of a whole, rounded down; nothing if it is more than the whole.
    pub(super) fn part(self) -> Option<Percent> {
        let millionths = self.0 / 10u64.pow(Self::PLACES - 6);
        u32::try_from(millionths).ok().map(Percent).filter(|part| *part <= Percent::ALL)
    }

    /// So many times, rounded down.
    pub(super) const fn factor(self) -> Factor {
        Factor(self.0 / 10u64.pow(Self::PLACES - Factor::PLACES))
    }
}

#[cfg(feature = "import")]
impl From<Percent> for Billionths {
    fn from(percent: Percent) -> Self {
        Self(u64::from(percent.0) * 10u64.pow(Self::PLACES - Percent::PLACES))
    }
}

#[cfg(feature = "import")]
impl From<Factor> for Billionths {
    fn from(factor: Factor) -> Self {
        Self(factor.0 * 10u64.pow(Self::PLACES - Factor::PLACES))
    }
}

fn decimal(scaled: u64, places: u32) -> String {
    let unit = 10u64.pow(places);
    let fraction = format!("{:0width$}", scaled % unit, width = places as usize);
    match fraction.trim_end_matches('0') {
        "" => (scaled / unit).to_string(),
        fraction => format!("{}.{fraction}", scaled / unit),
    }
}

/// `text` times ten to the `places`, exactly; further decimal places must be zeros.
fn parse_decimal(text: &str, places: u32, max: u64) -> Result<u64, ParseDecimalError> {
    let error = || ParseDecimalError { text: text.to_owned(), max, places };
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(error());
    }
    let (kept, rest) = fraction.split_at(fraction.len().min(places as usize));
    if rest.bytes().any(|byte| byte != b'0') {
        return Err(error());
    }
    let combined = format!("{whole}{kept:0<width$}", width = places as usize);
    let scaled: u64 = combined.parse().map_err(|_| error())?;
    if scaled <= max * 10u64.pow(places) { Ok(scaled) } else { Err(error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!("8.5".parse::<Percent>().unwrap().millionths(), 85_000);
        assert_eq!("33.3333".parse::<Percent>().unwrap().millionths(), 333_333);
        assert_eq!("100.000000".parse::<Percent>(), Ok(Percent::ALL));
        assert_eq!(".5".parse::<Factor>().unwrap().milli(), 500);
        assert_eq!("8.5".parse::<Percent>().unwrap().to_string(), "8.5 %");
        assert_eq!(Factor::ONE.to_string(), "1");
    }

    #[cfg(feature = "import")]
    #[test]
    fn surplus_decimals_are_rounded_down() {
        let third = Billionths::parse("33.33333333333", 100).unwrap();
        assert_eq!((third.get(), third.percent().millionths()), (33_333_333_333, 333_333));
        assert_eq!(Billionths::parse("0.9999", 100).unwrap().factor().milli(), 999);
        assert_eq!(Billionths::parse("7", 100).unwrap().percent(), Percent::whole(7));
        for text in ["100.1", "-1", "1.1234567890x", "1.é", "."] {
            assert!(Billionths::parse(text, 100).is_err(), "{text:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", ".", "-1", "1e3", "100.1", "0.00001", "NaN", "99999999999999999999", "1 2"] {
            assert!(text.parse::<Percent>().is_err(), "{text:?}");
        }
    }
}
