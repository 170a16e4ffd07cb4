//! A quantity over virtual time, as means over intervals of equal length.

/// Sums over intervals from time 0 on. If there are too many intervals, neighbours are merged: no value is dropped.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    width_ms: u64,
    /// Value times milliseconds.
    sums: Vec<f64>,
}

/// The largest number of intervals.
const BINS_MAX: u64 = 400;

impl Bins {
    pub(super) fn new(width_ms: u64) -> Self {
        Self { width_ms: width_ms.max(1), sums: Vec::new() }
    }

    /// Adds a value that the quantity had from `from_ms` to `to_ms`.
    pub(super) fn add(&mut self, from_ms: u64, to_ms: u64, value: f64) {
        while to_ms > self.width_ms * BINS_MAX {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.width_ms *= 2;
        }
        let count = to_ms.div_ceil(self.width_ms) as usize;
        if count > self.sums.len() {
            self.sums.resize(count, 0.0);
        }
        let mut at_ms = from_ms;
        while at_ms < to_ms && value != 0.0 {
            let bin = at_ms / self.width_ms;
            let end_ms = to_ms.min((bin + 1) * self.width_ms);
            self.sums[bin as usize] += value * (end_ms - at_ms) as f64;
            at_ms = end_ms;
        }
    }

    pub(super) fn width_ms(&self) -> u64 {
        self.width_ms
    }

    /// The mean of each interval; the last one ends at `end_ms`.
    pub(super) fn means(&self, end_ms: u64) -> Vec<f64> {
        let mean = |(bin, sum): (usize, &f64)| {
            let from_ms = bin as u64 * self.width_ms;
            sum / (end_ms.saturating_sub(from_ms)).clamp(1, self.width_ms) as f64
        };
        self.sums.iter().enumerate().map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_the_time_that_an_interval_covers() {
        let mut bins = Bins::new(10);
        bins.add(0, 5, 4.0);
        bins.add(5, 25, 2.0);
        assert_eq!(bins.means(25), [3.0, 2.0, 2.0]);
    }

    #[test]
    fn joined_intervals_lose_nothing() {
        let mut bins = Bins::new(1);
        for at_ms in 0..1_000 {
            bins.add(at_ms, at_ms + 1, f64::from(u8::from(at_ms == 703)));
        }
        assert_eq!((bins.width_ms(), bins.means(1_000).len()), (4, 250));
        let sum: f64 = bins.means(1_000).iter().map(|mean| mean * 4.0).sum();
        assert!((sum - 1.0).abs() < 1e-9, "one millisecond is not lost: {sum}");
        let mut sudden = Bins::new(1);
        sudden.add(0, 1_000, 1.0);
        assert_eq!((sudden.width_ms(), sudden.means(1_000)), (4, vec![1.0; 250]));
    }
}
