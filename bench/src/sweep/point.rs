//! The results of cases that differ only in the seed.

use serde::Serialize;

use super::case::{Case, Policy};
use super::outcome::OutcomeFigures;
use super::run::SweepRun;
use crate::sim::RunRecord;

/// The compared figures of one simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Nodes of the cluster.
    pub nodes: f64,
    /// Containers placed.
    pub placed: f64,
    /// Containers requested and not placed.
    pub not_placed: f64,
    /// Mean use, over virtual time, of the resource type with the highest peak, from 0 to 1.
    pub use_mean: f64,
    /// Mean use of that type while asks were pending or jobs arriving; 0 if there was no such time.
    pub use_busy_mean: f64,
    /// Its peak.
    pub use_peak: f64,
    /// Virtual time from ask to placement, median.
    pub wait_p50_ms: f64,
    /// The same, 99th percentile.
    pub wait_p99_ms: f64,
    /// Wall time of the simulation per container placed.
    pub wall_us_per_allocation: f64,
    /// Figures about jobs, queues and users.
    pub outcomes: OutcomeFigures,
}

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle value, or the mean of the middle two.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

/// A policy at one size and load.
#[derive(Clone, Debug)]
pub struct SweepPoint {
    /// The policies.
    pub policy: Policy,
    /// See [`Case::size`].
    pub size: f64,
    /// See [`Case::compress`].
    pub compress: f64,
    /// One entry for each seed.
    pub figures: Vec<Figures>,
}

impl Figures {
    /// The figures of a simulation.
    #[must_use]
    pub fn of(record: &RunRecord) -> Self {
        let types = record.utilisation.iter().copied();
        let used = types.max_by(|a, b| a.peak.total_cmp(&b.peak)).unwrap_or_default();
        let wait_ms = |quantile| record.wait_ms.value_at_quantile(quantile) as f64;
        Self {
            nodes: record.nodes as f64,
            placed: record.placed as f64,
            not_placed: (record.asks + record.asked_again() - record.placed) as f64,
            use_mean: used.mean,
            use_busy_mean: used.busy_mean.unwrap_or(0.0),
            use_peak: used.peak,
            wait_p50_ms: wait_ms(0.5),
            wait_p99_ms: wait_ms(0.99),
            wall_us_per_allocation: record.elapsed.as_secs_f64() * 1e6 / record.placed.max(1) as f64,
            outcomes: OutcomeFigures::of(record),
        }
    }
}

impl Spread {
    /// The spread of these values; all 0 if there are none.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
        let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
        let max = values.last().copied().unwrap_or(0.0);
        Self { median: f64::midpoint(at(low), at(high)), min: at(0), max }
    }
}

impl SweepPoint {
    /// Groups runs, in the order of [`Grid::cases`](super::Grid::cases), by everything except the seed.
    #[must_use]
    pub fn all(runs: &[SweepRun]) -> Vec<Self> {
        let is_same = |one: &Case, other: &Case| Case { seed: other.seed, ..one.clone() } == *other;
        runs.chunk_by(|one, other| is_same(&one.case, &other.case))
            .map(|runs| {
                let Case { policy, size, compress, .. } = runs[0].case.clone();
                Self { policy, size, compress, figures: runs.iter().map(|run| run.figures).collect() }
            })
            .collect()
    }

    /// Nodes of its cluster.
    #[must_use]
    pub fn nodes(&self) -> f64 {
        self.figures.first().map_or(0.0, |figures| figures.nodes)
    }

    /// A figure over the seeds.
    #[must_use]
    pub fn spread(&self, figure: fn(&Figures) -> f64) -> Spread {
        Spread::of(self.figures.iter().map(figure).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let of = |values: &[f64]| {
            let Spread { median, min, max } = Spread::of(values.to_vec());
            [median, min, max]
        };
        assert_eq!(of(&[3.0, 1.0, 2.0]), [2.0, 1.0, 3.0]);
        assert_eq!(of(&[4.0, 1.0, 2.0, 9.0]), [3.0, 1.0, 9.0]);
        assert_eq!(of(&[5.0]), [5.0; 3]);
    }
}
