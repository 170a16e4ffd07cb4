//! Values over virtual time, reduced to as many intervals as a plot can show.

/// The values of one channel during one interval of virtual time. Only the last interval may have no length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Start of the interval.
    pub from_ms: u64,
    /// End of the interval, exclusive.
    pub to_ms: u64,
    /// The lowest value.
    pub min: f64,
    /// The mean, weighted by the duration of each value.
    pub mean: f64,
    /// The highest value.
    pub max: f64,
}

/// Several channels over virtual time. Each channel keeps its value until the next sample.
///
/// The series keeps minimum, maximum and time-weighted mean of intervals. An interval begins with a sample that changes
/// a value. When intervals become too many, neighbours with few samples and similar length are merged. A burst thus
/// keeps its details, and a pause stays separate from the time before it. No sample is dropped.
#[derive(Clone, Debug)]
pub struct Series {
    channels: usize,
    starts_ms: Vec<u64>,
    /// The number of samples in each interval.
    samples: Vec<u64>,
    /// Interval by interval, and channel by channel within it.
    parts: Vec<Part>,
    now_ms: u64,
    /// The values since `now_ms`.
    now: Vec<f64>,
    /// Neighbours are merged if together they have at most this many samples,
    samples_max: u64,
    /// and if one is at most this many times as long as the other.
    ratio_max: f64,
}

/// One channel in one interval.
#[derive(Clone, Copy, Debug)]
struct Part {
    min: f64,
    max: f64,
    /// The integral of the value over the interval, in value times milliseconds.
    sum: f64,
}

/// Enough for a plot of ordinary width at twice the usual density, and for some zooming.
const INTERVALS_MAX: usize = 2_048;
/// The number of intervals left after merging.
const INTERVALS_MERGED: usize = INTERVALS_MAX * 3 / 4;

impl Series {
    /// A series of `channels` values that are 0 from time 0 on.
    #[must_use]
    pub fn new(channels: usize) -> Self {
        let now = vec![0.0; channels];
        let (starts_ms, samples, parts) = (Vec::new(), Vec::new(), Vec::new());
        Self { channels, starts_ms, samples, parts, now_ms: 0, now, samples_max: 2, ratio_max: 4.0 }
    }

    /// Sets the values from `time_ms` on, one for each channel. Times ascend. Of several samples at one time only the
    /// last counts: the others lasted for no time.
    pub fn push(&mut self, time_ms: u64, values: impl IntoIterator<Item = f64>) {
        if self.starts_ms.is_empty() && time_ms > 0 {
            self.begin(0);
        }
        let lasts_ms = time_ms.saturating_sub(self.now_ms) as f64;
        let open = self.parts.len().saturating_sub(self.channels);
        for (part, value) in self.parts[open..].iter_mut().zip(&self.now) {
            part.sum += value * lasts_ms;
        }
        self.now_ms += time_ms.saturating_sub(self.now_ms);
        let mut is_same = !self.starts_ms.is_empty();
        for (now, value) in self.now.iter_mut().zip(values) {
            is_same &= *now == value;
            *now = value;
        }
        if self.starts_ms.last() == Some(&self.now_ms) {
            self.parts[open..].iter_mut().zip(&self.now).for_each(|(part, value)| *part = Part::new(*value));
        } else if !is_same {
            self.begin(self.now_ms);
        }
    }

    /// Begins an interval with the current values.
    fn begin(&mut self, start_ms: u64) {
        while self.starts_ms.len() >= INTERVALS_MAX {
            self.merge();
        }
        self.starts_ms.push(start_ms);
        self.samples.push(1);
        self.parts.extend(self.now.iter().map(|value| Part::new(*value)));
    }

    /// Merges neighbours until there are few enough intervals, raising the limits of size and dissimilarity when
    /// necessary.
    fn merge(&mut self) {
        while self.merge_pairs() > INTERVALS_MERGED {
            self.samples_max *= 2;
            self.ratio_max *= 1.5;
        }
    }

    /// Merges pairs in place and returns the number of remaining intervals.
    fn merge_pairs(&mut self) -> usize {
        let (count, channels) = (self.starts_ms.len(), self.channels);
        let (mut from, mut to) = (0, 0);
        while from < count {
            let is_pair = from + 1 < count && self.is_pair(from);
            self.starts_ms[to] = self.starts_ms[from];
            self.samples[to] = self.samples[from] + if is_pair { self.samples[from + 1] } else { 0 };
            for channel in 0..channels {
                let part = self.parts[from * channels + channel];
                let other = is_pair.then(|| self.parts[(from + 1) * channels + channel]);
                self.parts[to * channels + channel] = other.map_or(part, |other| part.merged_with(&other));
            }
            from += if is_pair { 2 } else { 1 };
            to += 1;
        }
        self.starts_ms.truncate(to);
        self.samples.truncate(to);
        self.parts.truncate(to * channels);
        to
    }

    /// Whether an interval and the next one may be merged.
    fn is_pair(&self, interval: usize) -> bool {
        let samples = self.samples[interval] + self.samples[interval + 1];
        let length_ms = |interval: usize| (self.end_ms(interval) - self.starts_ms[interval]) as f64;
        let (one, other) = (length_ms(interval), length_ms(interval + 1));
        samples <= self.samples_max && one.max(other) <= one.min(other) * self.ratio_max
    }

    fn end_ms(&self, interval: usize) -> u64 {
        self.starts_ms.get(interval + 1).copied().unwrap_or(self.now_ms)
    }

    /// The intervals of a channel by ascending time, without gaps.
    pub fn channel(&self, channel: usize) -> impl Iterator<Item = Interval> + '_ {
        let parts = self.parts.iter().skip(channel).step_by(self.channels.max(1));
        parts.zip(&self.starts_ms).enumerate().map(move |(interval, (part, start_ms))| {
            let (from_ms, to_ms) = (*start_ms, self.end_ms(interval));
            let mean = if to_ms > from_ms { part.sum / (to_ms - from_ms) as f64 } else { self.now[channel] };
            // A sum of many products can be off by a rounding error.
            Interval { from_ms, to_ms, min: part.min, mean: mean.clamp(part.min, part.max), max: part.max }
        })
    }
}

impl Part {
    fn new(value: f64) -> Self {
        Self { min: value, max: value, sum: 0.0 }
    }

    fn merged_with(&self, other: &Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max), sum: self.sum + other.sum }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Times and values: short and long pauses, many of them idle.
    fn samples() -> impl Strategy<Value = Vec<(u64, f64)>> {
        let pause = prop_oneof![4 => 0_u64..300, 1 => 0_u64..50_000_000];
        let value = prop_oneof![Just(0.0), (1_u32..1_000_000).prop_map(|value| f64::from(value) / 8.0)];
        proptest::collection::vec((pause, value), 1..5_000).prop_map(|steps| {
            let mut now_ms = 0;
            let at = |(pause_ms, value)| {
                now_ms += pause_ms;
                (now_ms, value)
            };
            steps.into_iter().map(at).collect()
        })
    }

    /// The same samples with their durations: from, to, value. Only the last one may have no length.
    fn spans(samples: &[(u64, f64)]) -> Vec<(u64, u64, f64)> {
        let samples: Vec<_> = [(0, 0.0)].iter().chain(samples).copied().collect();
        let ends = samples.iter().skip(1).chain(samples.last()).map(|(end_ms, _)| *end_ms);
        let spans = samples.iter().zip(ends).map(|((at, value), end)| (*at, end, *value));
        let mut spans: Vec<_> = spans.collect();
        let last = spans.pop();
        spans.retain(|(from, to, _)| from < to);
        spans.extend(last);
        spans
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn intervals_keep_minimum_maximum_and_mean(samples in samples()) {
            let mut series = Series::new(2);
            samples.iter().for_each(|(time_ms, value)| series.push(*time_ms, [*value, -*value]));
            let spans = spans(&samples);
            let intervals: Vec<Interval> = series.channel(0).collect();
            prop_assert!(intervals.len() <= INTERVALS_MAX);
            prop_assert!(intervals.windows(2).all(|pair| pair[0].to_ms == pair[1].from_ms));
            for interval in &intervals {
                let during: Vec<_> = spans
                    .iter()
                    .filter(|(from, to, _)| {
                        let is_end = from == to && *to == interval.to_ms;
                        is_end || (*from < interval.to_ms && interval.from_ms < *to)
                    })
                    .collect();
                let values = || during.iter().map(|(.., value)| *value);
                prop_assert!(interval.max <= values().fold(f64::MIN, f64::max));
                prop_assert!(interval.min >= values().fold(f64::MAX, f64::min));
                prop_assert!(interval.min <= interval.mean && interval.mean <= interval.max);
            }
            let highest = intervals.iter().map(|interval| interval.max).fold(f64::MIN, f64::max);
            let lowest = intervals.iter().map(|interval| interval.min).fold(f64::MAX, f64::min);
            prop_assert_eq!(highest, spans.iter().map(|span| span.2).fold(f64::MIN, f64::max));
            prop_assert_eq!(lowest, spans.iter().map(|span| span.2).fold(f64::MAX, f64::min));
            let area: f64 = intervals.iter().map(|i| i.mean * (i.to_ms - i.from_ms) as f64).sum();
            let wanted: f64 = spans.iter().map(|(from, to, value)| value * (to - from) as f64).sum();
            prop_assert!((area - wanted).abs() <= 1e-9 * wanted.max(1.0), "{} for {}", area, wanted);
            let mirrored = series.channel(1).map(|interval| interval.min).fold(f64::MAX, f64::min);
            prop_assert_eq!(mirrored, -highest);
        }
    }

    #[test]
    fn a_burst_before_a_long_tail_keeps_its_details() {
        let mut series = Series::new(1);
        let burst = (0..2_000).map(|second| (second * 1_000, 500.0 + (second % 2) as f64));
        let tail = (1..6_000).map(|number| (2_000_000 + number * 2_000_000, 6_000.0 - number as f64));
        burst.chain(tail).for_each(|(time_ms, value)| series.push(time_ms, [value]));
        let in_burst = series.channel(0).filter(|interval| interval.to_ms <= 2_100_000).count();
        assert!(in_burst > 100, "{in_burst}");
    }

    #[test]
    fn a_pause_of_months_stays_empty() {
        const DAY_MS: u64 = 86_400_000;
        let mut series = Series::new(1);
        for (time_ms, running) in [(0, 5.0), (60_000, 0.0), (122 * DAY_MS, 7.0), (122 * DAY_MS + 60_000, 0.0)]
        {
            series.push(time_ms, [running]);
        }
        let busy: Vec<Interval> = series.channel(0).filter(|interval| interval.max > 0.0).collect();
        assert_eq!(busy.iter().map(|interval| interval.max).collect::<Vec<_>>(), [5.0, 7.0]);
        let lasts_ms: u64 = busy.iter().map(|interval| interval.to_ms - interval.from_ms).sum();
        assert!(lasts_ms < DAY_MS / 4, "{lasts_ms}");
    }
}
