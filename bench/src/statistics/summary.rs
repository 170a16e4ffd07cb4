//! Summaries of many values.

use serde::Serialize;

/// Mean and percentiles of values. A percentile is the smallest value that at least this part of the values does not
/// exceed (nearest rank).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The arithmetic mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// The summary of these values; `None` if there are none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::of_counts(values.into_iter().map(|value| (value, 1)).collect())
    }

    /// The summary of values with their numbers of occurrences.
    #[must_use]
    pub fn of_counts(mut counts: Vec<(f64, u64)>) -> Option<Self> {
        counts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: u64 = counts.iter().map(|(_, count)| count).sum();
        counts.retain(|(_, count)| *count > 0);
        let max = counts.last()?.0;
        let sum: f64 = counts.iter().map(|(value, count)| value * *count as f64).sum();
        let at = |percent: u64| {
            let rank = (total * percent).div_ceil(100);
            let mut seen = 0;
            let reaches = |(value, count): &(f64, u64)| {
                seen += count;
                (seen >= rank).then_some(*value)
            };
            counts.iter().find_map(reaches).unwrap_or(max)
        };
        Some(Self { mean: sum / total as f64, p50: at(50), p95: at(95), p99: at(99), max })
    }

    /// The same in another unit: all values divided by `divisor`.
    #[must_use]
    pub fn divided_by(self, divisor: f64) -> Self {
        let Self { mean, p50, p95, p99, max } = self;
        let [mean, p50, p95, p99, max] = [mean, p50, p95, p99, max].map(|value| value / divisor);
        Self { mean, p50, p95, p99, max }
    }
}

/// Jain's fairness index: the square of the sum, divided by the number times the sum of squares. It is 1 if all values
/// are equal, and 1/n if one of n has everything. `None` for fewer than two values.
///
/// Source: Jain, Chiu, Hawe: A quantitative measure of fairness and discrimination for resource allocation in shared
/// computer systems. DEC-TR-301, 1984.
#[must_use]
pub fn jain(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    // If all values are 0, they are equal.
    Some(if squares > 0.0 { sum * sum / (values.len() as f64 * squares) } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occur() {
        let summary = Summary::of((1..=100).rev().map(f64::from)).unwrap();
        assert_eq!([summary.p50, summary.p95, summary.p99, summary.max], [50.0, 95.0, 99.0, 100.0]);
        assert_eq!(summary.mean, 50.5);
        assert_eq!(Summary::of([]), None);
        let few = Summary::of([4.0, 2.0]).unwrap();
        assert_eq!([few.mean, few.p50, few.p99], [3.0, 2.0, 4.0]);
        assert_eq!(Summary::of_counts(vec![(4.0, 1), (2.0, 1)]), Some(few));
        assert_eq!(Summary::of_counts(vec![(7.0, 0)]), None);
    }

    /// The examples of the report: if k of four users have equal shares and the others nothing, the index is k/4.
    #[test]
    fn the_index_of_jain_is_the_part_that_is_served() {
        assert_eq!(jain(&[3.0; 4]), Some(1.0));
        assert_eq!(jain(&[5.0, 5.0, 0.0, 0.0]), Some(0.5));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!((jain(&[0.0, 0.0]), jain(&[1.0]), jain(&[])), (Some(1.0), None, None));
    }
}
