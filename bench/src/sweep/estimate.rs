//! A figure over several seeds, with the confidence of its mean.

use serde::Serialize;

use super::point::{Figures, SweepPoint};
use crate::statistics::mean_interval;

/// Median and mean over the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The 95 % confidence interval of the mean; `None` for one seed.
    pub ci95: Option<[f64; 2]>,
}

impl Estimate {
    /// The estimate of these values; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let median = super::Spread::of(values.to_vec()).median;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Self { median, mean, ci95: mean_interval(values) })
    }
}

impl SweepPoint {
    /// A figure over the seeds that have it.
    #[must_use]
    pub fn estimate(&self, figure: fn(&Figures) -> Option<f64>) -> Option<Estimate> {
        Estimate::of(&self.figures.iter().filter_map(figure).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_says_nothing_of_noise() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[3.0]), Some(Estimate { median: 3.0, mean: 3.0, ci95: None }));
        let three = Estimate::of(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!((three.median, three.mean), (2.0, 3.0));
        // Standard deviation sqrt(7), t(2) = 4.303: 3 +- 6.573.
        let [low, high] = three.ci95.unwrap();
        assert!((low + 3.573).abs() < 1e-3 && (high - 9.573).abs() < 1e-3, "{low} {high}");
    }
}
