//! Samples over virtual time, as many as a plot can show.

use apportion::Resources;

/// The cluster at one moment.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Virtual time.
    pub time_ms: u64,
    /// What containers hold, all partitions together.
    pub used: Resources,
    /// What all nodes have.
    pub capacity: Resources,
    /// Containers asked for and not placed.
    pub pending: u64,
    /// Containers that run.
    pub running: u64,
    /// What each leaf uses, in the order of the queue tree.
    pub leaf_used: Vec<Resources>,
}

/// Samples at equal distances. When there are too many, every second one is dropped and the distance doubles.
#[derive(Clone, Debug)]
pub struct Series {
    samples: Vec<Sample>,
    distance_ms: u64,
    next_ms: u64,
}

/// As many as a plot of ordinary width shows.
const SAMPLES_MAX: usize = 1_600;

impl Series {
    /// An empty series whose samples are at least `distance_ms` apart.
    #[must_use]
    pub fn new(distance_ms: u64) -> Self {
        Self { samples: Vec::new(), distance_ms: distance_ms.max(1), next_ms: 0 }
    }

    /// Whether a sample is due.
    #[must_use]
    pub fn is_due(&self, time_ms: u64) -> bool {
        time_ms >= self.next_ms
    }

    /// Adds a sample.
    pub fn push(&mut self, sample: Sample) {
        self.next_ms = sample.time_ms + self.distance_ms;
        self.samples.push(sample);
        if self.samples.len() > SAMPLES_MAX {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.distance_ms *= 2;
        }
    }

    /// The samples by ascending time.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_thins_itself_out() {
        let mut series = Series::new(10);
        for time_ms in 0..100_000 {
            if series.is_due(time_ms) {
                let used = Resources::ZERO;
                series.push(Sample {
                    time_ms,
                    used,
                    capacity: used,
                    pending: 0,
                    running: 0,
                    leaf_used: vec![],
                });
            }
        }
        let samples = series.samples();
        assert!(samples.len() > SAMPLES_MAX / 2 && samples.len() <= SAMPLES_MAX, "{}", samples.len());
        assert_eq!(samples[0].time_ms, 0);
        assert!(samples.last().unwrap().time_ms > 99_000);
    }
}
