//! Decimal parameters kept as integers: 8.5 percent, a factor of 1.25.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

/// A part of something, in millionths. Parsed from a number without a sign: `"8.5"` is 8.5 percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Percent(#[serde(deserialize_with = "read_percent")] u32);

/// A multiple of something, in thousandths; `"1.25"` is one and a quarter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Factor(#[serde(deserialize_with = "read_factor")] u64);

/// The error for a text that is not a plain non-negative decimal number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("`{text}` is not a number from 0 to {max} with at most {places} decimal places")]
pub struct ParseDecimalError {
    text: String,
    max: u64,
    places: u32,
}

impl Percent {
    /// Zero percent.
    pub const NONE: Self = Self::whole(0);
    /// 100 percent.
    pub const ALL: Self = Self::whole(100);
    const PLACES: u32 = 4;

    /// A whole number of percent.
    ///
    /// # Panics
    /// If it is above 100.
    #[must_use]
    pub const fn whole(percent: u32) -> Self {
        assert!(percent <= 100, "more than 100 percent");
        Self(percent * 10u32.pow(Self::PLACES))
    }

    /// The value in millionths of the whole.
    #[must_use]
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// A part in millionths of the whole; `None` if it exceeds the whole.
    #[must_use]
    pub const fn from_millionths(millionths: u32) -> Option<Self> {
        if millionths <= Self::ALL.0 { Some(Self(millionths)) } else { None }
    }
}

impl Factor {
    /// A factor of one.
    pub const ONE: Self = Self(1000);
    const PLACES: u32 = 3;
    /// The largest factor: enough for any user limit, and small enough to multiply without overflow.
    pub const MAX: u64 = 1_000_000;

    /// A whole factor.
    ///
    /// # Panics
    /// If it is above [`Factor::MAX`].
    #[must_use]
    pub const fn whole(factor: u64) -> Self {
        assert!(factor <= Self::MAX, "factor too large");
        Self(factor * 1000)
    }

    /// A factor in thousandths; `None` if it exceeds [`Factor::MAX`].
    #[must_use]
    pub const fn from_milli(milli: u64) -> Option<Self> {
        if milli <= Self::MAX * 1000 { Some(Self(milli)) } else { None }
    }

    /// The value in thousandths.
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

fn decimal(scaled: u64, places: u32) -> String {
    let unit = 10u64.pow(places);
    let fraction = format!("{:0width$}", scaled % unit, width = places as usize);
    match fraction.trim_end_matches('0') {
        "" => (scaled / unit).to_string(),
        fraction => format!("{}.{fraction}", scaled / unit),
    }
}

/// Returns `text` times ten to the power `places`, exactly; further decimal places must be zeros.
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

    #[test]
    fn anything_else_is_refused() {
        for text in ["", ".", "-1", "1e3", "100.1", "0.00001", "NaN", "99999999999999999999", "1 2"] {
            assert!(text.parse::<Percent>().is_err(), "{text:?}");
        }
    }
}
