//! Counters of a year.

use super::plan::DAY_MS;
use crate::interrupt::Interruption;

/// One full restart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Restart {
    /// The time of its start.
    pub started_ms: u64,
    /// Region servers whose last host was up and had room at that time.
    pub could_return: u32,
    /// Number of these that returned.
    pub returned: u32,
    /// Time until all instances ran; `None` if they did not before the next stop.
    pub full_strength_ms: Option<u64>,
}

/// The result of a year.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct YearRecord {
    /// The point at which it was stopped early; an unfinished restart is left out.
    pub interrupted: Option<Interruption>,
    /// Each full restart, in order.
    pub restarts: Vec<Restart>,
    /// Region servers that crashed, and whose host was up when all ran again. A crash leaves its own room there.
    pub crashed: u32,
    /// See [`crashed`](Self::crashed).
    pub crashed_returned: u32,
    /// Number of times that two masters were on one host.
    pub anti_affinity_violations: u64,
    /// Number of live region servers at each change, with its time in milliseconds.
    pub live: Vec<(u64, u32)>,
    /// Requests that were widened because their host had no room in time.
    pub widened: u64,
    /// Containers of other jobs that ended.
    pub jobs_ended: u64,
    /// Mean part of the slots in use, by the service and the other jobs.
    pub used_part: f64,
    /// Number of violations that the engine's audit found at the end.
    pub audit_violations: usize,
}

impl YearRecord {
    /// The record of a year that had not begun when a signal came.
    #[must_use]
    pub fn not_begun() -> Self {
        Self { interrupted: Some(Interruption::Virtual(0)), ..Self::default() }
    }

    /// Whether any virtual time passed.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.interrupted != Some(Interruption::Virtual(0))
    }

    /// Number of region servers that could return to their last host.
    #[must_use]
    pub fn could_return(&self) -> u32 {
        self.restarts.iter().map(|restart| restart.could_return).sum::<u32>() + self.crashed
    }

    /// The fraction of these that returned; 1 if there were none. `None` if the year was stopped before there was one.
    #[must_use]
    pub fn returned_fraction(&self) -> Option<f64> {
        let did = self.restarts.iter().map(|restart| restart.returned).sum::<u32>() + self.crashed_returned;
        match (self.could_return(), self.interrupted) {
            (0, Some(_)) => None,
            (0, None) => Some(1.0),
            (could, _) => Some(f64::from(did) / f64::from(could)),
        }
    }

    /// Times of full restarts, sorted; restarts that never came to full strength are left out.
    #[must_use]
    pub fn full_strength_ms(&self) -> Vec<u64> {
        let mut times: Vec<u64> =
            self.restarts.iter().filter_map(|restart| restart.full_strength_ms).collect();
        times.sort_unstable();
        times
    }

    /// The lowest number of live region servers on each day.
    #[must_use]
    pub fn live_by_day(&self) -> Vec<(f64, f64)> {
        let mut days: Vec<(f64, f64)> = Vec::new();
        let mut now = 0;
        let mut changes = self.live.iter().peekable();
        let last_day = self.live.last().map_or(0, |(at_ms, _)| at_ms / DAY_MS);
        for day in 0..=last_day {
            // The number at the beginning of the day counts too.
            let mut least = now;
            while let Some((_, live)) = changes.next_if(|(at_ms, _)| at_ms / DAY_MS <= day) {
                now = *live;
                least = least.min(now);
            }
            days.push((day as f64, f64::from(least)));
        }
        days
    }
}

/// The value that this part of the values does not exceed (nearest rank).
#[must_use]
pub fn quantile(sorted: &[u64], part: f64) -> Option<u64> {
    let rank = (sorted.len() as f64 * part).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_there() {
        let values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|part| quantile(&values, part)), [1, 5, 10, 10].map(Some));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn a_day_without_changes_is_as_the_one_before_ended() {
        let live = vec![(0, 5), (10, 9), (2 * DAY_MS, 3), (2 * DAY_MS + 1, 9), (4 * DAY_MS, 8)];
        let record = YearRecord { live, ..YearRecord::default() };
        let days = record.live_by_day();
        assert_eq!(days, [(0.0, 0.0), (1.0, 9.0), (2.0, 3.0), (3.0, 9.0), (4.0, 8.0)]);
    }

    #[test]
    fn the_returned_are_a_part_of_those_that_could() {
        let restart = |could_return, returned| Restart { could_return, returned, ..Restart::default() };
        let record = YearRecord {
            restarts: vec![restart(50, 45), restart(40, 40)],
            crashed: 10,
            crashed_returned: 5,
            ..YearRecord::default()
        };
        assert_eq!(record.returned_fraction(), Some(0.9));
        assert_eq!(YearRecord::default().returned_fraction(), Some(1.0));
        let interrupted = Some(Interruption::Virtual(1));
        assert_eq!(YearRecord { interrupted, ..YearRecord::default() }.returned_fraction(), None);
        assert_eq!(YearRecord { interrupted, ..record }.returned_fraction(), Some(0.9));
    }
}
