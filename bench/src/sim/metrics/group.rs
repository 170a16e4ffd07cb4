//! A leaf or a user: its use and demand, and both over virtual time.

use apportion::Resources;
use rustc_hash::FxHashMap;

use super::bins::Bins;
use crate::amounts::multiplied;

/// A leaf or a user while the simulation runs.
#[derive(Clone, Debug)]
pub(super) struct Group {
    used: Resources,
    /// Requested and not placed, without containers that no node could hold.
    pending: Resources,
    pub(super) waiting: u64,
    running: u64,
    /// Leaves only: the guarantee, as a dominant share of the cluster.
    pub(super) guaranteed: Option<f64>,
    /// The dominant share of the largest container that it asked for.
    largest: f64,
    since_ms: u64,
    pub(super) totals: Totals,
    /// The sizes of preempted containers.
    pub(super) taken: Resources,
    /// Leaves only.
    pub(super) series: Option<LeafSeries>,
    /// Number of containers by waiting time.
    pub(super) waits_ms: FxHashMap<u64, u64>,
}

/// A leaf over virtual time.
#[derive(Clone, Debug)]
pub(super) struct LeafSeries {
    pub(super) shares: Bins,
    pub(super) entitled: Bins,
    /// What preemption has taken from the start.
    pub(super) taken: Bins,
}

impl LeafSeries {
    pub(super) fn new(width_ms: u64) -> Self {
        let bins = || Bins::new(width_ms);
        Self { shares: bins(), entitled: bins(), taken: bins() }
    }
}

/// Sums over virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) share_ms: f64,
    pub(super) demand_ms: u64,
    pub(super) below_ms: f64,
    pub(super) above_ms: f64,
    pub(super) below_max: f64,
    /// How long the group has been far below by now; the longest such time is in `below_longest_ms`.
    below_for_ms: u64,
    pub(super) below_longest_ms: u64,
}

/// A leaf is far below its entitlement if it misses more than this part of its guarantee.
const TOLERANCE: f64 = 0.02;

impl Group {
    pub(super) fn new(series: Option<LeafSeries>) -> Self {
        Self {
            used: Resources::ZERO,
            pending: Resources::ZERO,
            waiting: 0,
            running: 0,
            guaranteed: None,
            largest: 0.0,
            since_ms: 0,
            totals: Totals::default(),
            taken: Resources::ZERO,
            series,
            waits_ms: FxHashMap::default(),
        }
    }

    /// Adds the state since the last change to the sums. Callers do this before every change.
    pub(super) fn advance(&mut self, now_ms: u64, cluster: &Resources) {
        let elapsed_ms = now_ms - self.since_ms;
        if elapsed_ms == 0 {
            return;
        }
        let share = self.share(cluster);
        let entitled = self.entitled(cluster);
        self.totals.add(elapsed_ms, share, entitled, self.tolerance());
        if self.running + self.waiting > 0 {
            self.totals.demand_ms += elapsed_ms;
        }
        if let Some(series) = &mut self.series {
            series.shares.add(self.since_ms, now_ms, share);
            series.entitled.add(self.since_ms, now_ms, entitled);
            series.taken.add(self.since_ms, now_ms, share_of(&self.taken, cluster));
        }
        self.since_ms = now_ms;
    }

    /// The group's use, as a dominant share of the cluster.
    pub(super) fn share(&self, cluster: &Resources) -> f64 {
        share_of(&self.used, cluster)
    }

    /// The guarantee, or the demand if that is less.
    fn entitled(&self, cluster: &Resources) -> f64 {
        let wanted = share_of(&(self.used + self.pending), cluster);
        wanted.min(self.guaranteed.unwrap_or(0.0))
    }

    /// What it misses of its entitlement now.
    pub(super) fn owed(&self, cluster: &Resources) -> f64 {
        (self.entitled(cluster) - self.share(cluster)).max(0.0)
    }

    fn tolerance(&self) -> f64 {
        self.largest.max(TOLERANCE * self.guaranteed.unwrap_or(0.0))
    }

    pub(super) fn asked(&mut self, size: &Resources, count: u64, cluster: &Resources) {
        self.waiting += count;
        self.pending += multiplied(size, count);
        self.largest = self.largest.max(share_of(size, cluster));
    }

    pub(super) fn cancelled(&mut self, size: &Resources, count: u64) {
        self.waiting = self.waiting.saturating_sub(count);
        self.pending -= multiplied(size, count);
    }

    pub(super) fn started(&mut self, size: &Resources, waited_ms: u64) {
        self.waiting = self.waiting.saturating_sub(1);
        self.running += 1;
        self.pending -= *size;
        self.used += *size;
        *self.waits_ms.entry(waited_ms).or_default() += 1;
    }

    pub(super) fn ended(&mut self, size: &Resources) {
        self.running -= 1;
        self.used -= *size;
    }
}

impl Totals {
    fn add(&mut self, elapsed_ms: u64, share: f64, entitled: f64, tolerance: f64) {
        let below = (entitled - share).max(0.0);
        self.share_ms += share * elapsed_ms as f64;
        self.below_ms += below * elapsed_ms as f64;
        self.above_ms += (share - entitled).max(0.0) * elapsed_ms as f64;
        self.below_max = self.below_max.max(below);
        self.below_for_ms = if below > tolerance { self.below_for_ms + elapsed_ms } else { 0 };
        self.below_longest_ms = self.below_longest_ms.max(self.below_for_ms);
    }
}

/// The largest part of any resource type.
fn share_of(amount: &Resources, cluster: &Resources) -> f64 {
    let part = |(amount, total): (&i64, &i64)| if *total > 0 { *amount as f64 / *total as f64 } else { 0.0 };
    amount.amounts().iter().zip(cluster.amounts()).map(part).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leaf with half of 10 wants 8. It has 0 for 100 ms, 3 for 100 ms, 8 for 200 ms; then it wants and has 2.
    #[test]
    fn deviation_is_from_the_guarantee_or_the_demand_if_that_is_less() {
        let (cluster, one) = (Resources::new(&[10]), Resources::new(&[1]));
        let mut leaf = Group::new(None);
        leaf.guaranteed = Some(0.5);
        leaf.asked(&one, 8, &cluster);
        leaf.advance(100, &cluster);
        (0..3).for_each(|_| leaf.started(&one, 100));
        leaf.advance(200, &cluster);
        (0..5).for_each(|_| leaf.started(&one, 200));
        leaf.advance(400, &cluster);
        (0..6).for_each(|_| leaf.ended(&one));
        leaf.advance(500, &cluster);
        (0..2).for_each(|_| leaf.ended(&one));
        leaf.advance(10_000, &cluster);
        let totals = leaf.totals;
        assert_eq!(totals.demand_ms, 500);
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
        close(totals.below_ms, 0.5 * 100.0 + 0.2 * 100.0);
        close(totals.above_ms, 0.3 * 200.0);
        close(totals.below_max, 0.5);
        close(totals.share_ms, 0.3 * 100.0 + 0.8 * 200.0 + 0.2 * 100.0);
        assert_eq!(totals.below_longest_ms, 200);
    }

    #[test]
    fn a_leaf_that_one_container_would_lift_above_its_guarantee_is_not_far_below() {
        let (cluster, three) = (Resources::new(&[10]), Resources::new(&[3]));
        let mut leaf = Group::new(None);
        leaf.guaranteed = Some(0.5);
        leaf.asked(&three, 4, &cluster);
        leaf.started(&three, 0);
        leaf.advance(100, &cluster);
        assert_eq!(leaf.totals.below_longest_ms, 0);
        assert!((leaf.totals.below_ms - 20.0).abs() < 1e-9);
    }
}
