//! Random amounts and choices of a SYNTH trace.

use std::fmt;

use rand::RngExt;
use rand::distr::weighted::WeightedIndex;
use rand_distr::{Distribution, LogNormal, Normal};
use rand_pcg::Pcg64Mcg;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::report::counted;
use crate::trace::field::{Decimal, FromText, json_scalar, one_of};
use crate::trace::number::WHOLE_MAX;
use crate::trace::record::record;

/// An amount that is drawn for each use; never negative.
#[derive(Clone, Debug)]
pub(super) enum Sample {
    /// Constant.
    Constant(f64),
    /// Log-normal.
    LogNormal(LogNormal<f64>),
    /// Normal, cut off at 0.
    Normal(Normal<f64>),
    /// One value of a list.
    Discrete(Vec<f64>, Choice),
}

/// A choice among weighted items, by position.
pub(super) type Choice = WeightedIndex<f64>;

/// The shape of a sample with a standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shape {
    #[default]
    LogNormal,
    Normal,
}

impl FromText for Shape {
    const EXPECTED: &'static str = "a distribution";

    fn from_text(text: &str) -> Result<Self, String> {
        one_of("distribution", text, &[("LOGNORM", Self::LogNormal), ("NORM", Self::Normal)])
    }
}

json_scalar!(Shape);

record! {
    /// A sample in the form of the file.
    struct SampleRecord, unknown keys Refused, {
        mean: Decimal = "val",
        deviation: Decimal = "std",
        shape: Shape = "dist",
        discrete: Vec<Decimal> = "discrete",
        weights: Vec<Decimal> = "weights",
    }
}

impl Sample {
    /// Log-normal with this mean and standard deviation, or constant if the deviation is 0.
    ///
    /// # Errors
    /// When no such distribution exists.
    pub(super) fn spread(mean: f64, deviation: f64) -> Result<Self, String> {
        Self::shaped(Shape::LogNormal, mean, deviation)
    }

    /// Whether it is always 0.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Constant(amount) if *amount == 0.0)
    }

    /// Draws one amount.
    pub(super) fn draw(&self, random: &mut Pcg64Mcg) -> f64 {
        let amount = match self {
            Self::Constant(amount) => *amount,
            Self::LogNormal(spread) => spread.sample(random),
            Self::Normal(spread) => spread.sample(random),
            Self::Discrete(amounts, choice) => amounts[random.sample(choice)],
        };
        amount.clamp(0.0, WHOLE_MAX as f64)
    }

    /// Draws one amount, rounded, and at least 1.
    pub(super) fn draw_whole(&self, random: &mut Pcg64Mcg) -> u64 {
        (self.draw(random).round() as u64).clamp(1, WHOLE_MAX)
    }

    fn shaped(shape: Shape, mean: f64, deviation: f64) -> Result<Self, String> {
        let impossible =
            |_| format!("val {mean} with std {deviation} is not a distribution; val must be above 0");
        match shape {
            _ if deviation == 0.0 => Ok(Self::Constant(mean)),
            Shape::Normal => Normal::new(mean, deviation).map(Self::Normal).map_err(impossible),
            Shape::LogNormal if mean == 0.0 => Err(impossible(rand_distr::NormalError::MeanTooSmall)),
            Shape::LogNormal => {
                LogNormal::from_mean_cv(mean, deviation / mean).map(Self::LogNormal).map_err(impossible)
            }
        }
    }

    fn discrete(amounts: Vec<Decimal>, weights: Option<Vec<Decimal>>) -> Result<Self, String> {
        let weights = weights.unwrap_or_else(|| vec![Decimal(1.0); amounts.len()]);
        if weights.len() != amounts.len() {
            return Err(format!(
                "{} for {}; one for each is needed",
                counted(weights.len() as u64, "weight"),
                counted(amounts.len() as u64, "value")
            ));
        }
        let choice = choice(weights.iter().map(|weight| weight.0))?;
        Ok(Self::Discrete(amounts.into_iter().map(|amount| amount.0).collect(), choice))
    }
}

/// A choice with these weights.
///
/// # Errors
/// When no weight is above 0.
pub(super) fn choice(weights: impl IntoIterator<Item = f64>) -> Result<Choice, String> {
    WeightedIndex::new(weights).map_err(|_| "the weights are all 0; one above 0 is needed".into())
}

impl TryFrom<SampleRecord> for Sample {
    type Error = String;

    fn try_from(record: SampleRecord) -> Result<Self, String> {
        match record {
            SampleRecord { mean: Some(Decimal(mean)), discrete: None, weights: None, deviation, shape } => {
                let deviation = deviation.map_or(0.0, |deviation| deviation.0);
                Self::shaped(shape.unwrap_or_default(), mean, deviation)
            }
            SampleRecord { discrete: Some(amounts), weights, mean: None, deviation: None, shape: None } => {
                Self::discrete(amounts, weights)
            }
            _ => Err("either `val` (with `std`, `dist`) or `discrete` (with `weights`) is needed".into()),
        }
    }
}

impl<'de> Deserialize<'de> for Sample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SampleVisitor)
    }
}

struct SampleVisitor;

// The record is turned into a sample inside the visitor, so that an error there has line and column.
impl<'de> Visitor<'de> for SampleVisitor {
    type Value = Sample;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object with `val` or `discrete`")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Sample, M::Error> {
        let record = SampleRecord::deserialize(MapAccessDeserializer::new(map))?;
        Sample::try_from(record).map_err(M::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn sample(json: &str) -> Result<Sample, String> {
        serde_json::from_str(json).map_err(|error: serde_json::Error| error.to_string())
    }

    fn mean(sample: &Sample) -> f64 {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        (0..20_000).map(|_| sample.draw(&mut random)).sum::<f64>() / 20_000.0
    }

    #[test]
    fn all_forms_have_the_mean_they_state() {
        for json in [
            r#"{"val":10}"#,
            r#"{"val":10,"std":0}"#,
            r#"{"val":10,"std":5}"#,
            r#"{"val":10,"std":2,"dist":"NORM"}"#,
            r#"{"discrete":[5,25],"weights":[3,1]}"#,
            r#"{"discrete":[5,15]}"#,
        ] {
            let mean = mean(&sample(json).unwrap());
            assert!((mean - 10.0).abs() < 0.2, "{json}: {mean}");
        }
    }

    #[test]
    fn impossible_samples_are_refused_where_they_stand() {
        let error = |json| sample(json).unwrap_err();
        assert!(error("{\n\"val\": 0, \"std\": 1\n}\n").contains("val must be above 0 at line 3"));
        assert!(error(r#"{"val":1,"discrete":[1]}"#).starts_with("either `val`"));
        assert!(error(r#"{"discrete":[1],"weights":[1,2]}"#).starts_with("2 weights for 1 value;"));
        assert!(error(r#"{"discrete":[1],"weights":[0]}"#).starts_with("the weights are all 0"));
        assert!(error(r#"{"discrete":[]}"#).starts_with("the weights are all 0"));
        assert!(error(r#"{"val":1,"dist":"NORMAL"}"#).contains("did you mean `NORM`"));
    }
}
