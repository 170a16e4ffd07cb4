//! Counting while a simulation runs.

use apportion::{NodeSpec, Resources, SHARE_ONE, dominant_share};
use hdrhistogram::Histogram;

use super::record::{NodeUse, Utilisation};
use super::series::{Sample, Series};

/// What is in use now, and its sums over virtual time.
#[derive(Debug)]
pub(super) struct Tally {
    capacity: Resources,
    used: Resources,
    leaf_used: Vec<Resources>,
    pub(super) leaf_placed: Vec<u64>,
    nodes: Vec<NodeTally>,
    used_ms: [f64; apportion::RESOURCE_TYPES_MAX],
    leaf_used_ms: Vec<[f64; apportion::RESOURCE_TYPES_MAX]>,
    peak: Resources,
    now_ms: u64,
    pub(super) submitted: u64,
    pub(super) placed: u64,
    pub(super) completed: u64,
    pub(super) cancelled: u64,
    pub(super) wait_ms: Histogram<u64>,
    pub(super) ask_to_commit_us: Histogram<u64>,
    pub(super) series: Series,
}

#[derive(Debug)]
struct NodeTally {
    name: String,
    capacity: Resources,
    used: Resources,
    since_ms: u64,
    share_ms: f64,
    containers: u64,
}

/// Highest value a histogram tells apart; larger ones count as this.
const HISTOGRAM_MAX: u64 = 1 << 40;

impl Tally {
    pub(super) fn new(nodes: &[NodeSpec], leaves: usize, tick_ms: u64) -> Self {
        let tally = |node: &NodeSpec| NodeTally {
            name: node.name.clone(),
            capacity: node.capacity,
            used: Resources::ZERO,
            since_ms: 0,
            share_ms: 0.0,
            containers: 0,
        };
        let histogram = || Histogram::new_with_bounds(1, HISTOGRAM_MAX, 3).expect("the bounds are valid");
        Self {
            capacity: nodes.iter().map(|node| node.capacity).sum(),
            used: Resources::ZERO,
            leaf_used: vec![Resources::ZERO; leaves],
            leaf_placed: vec![0; leaves],
            nodes: nodes.iter().map(tally).collect(),
            used_ms: Default::default(),
            leaf_used_ms: vec![Default::default(); leaves],
            peak: Resources::ZERO,
            now_ms: 0,
            submitted: 0,
            placed: 0,
            completed: 0,
            cancelled: 0,
            wait_ms: histogram(),
            ask_to_commit_us: histogram(),
            series: Series::new(tick_ms),
        }
    }

    /// Time moves on; what is in use has been so since the last move.
    pub(super) fn advance(&mut self, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.now_ms) as f64;
        let add = |sums: &mut [f64], used: &Resources| {
            for (sum, amount) in sums.iter_mut().zip(used.amounts()) {
                *sum += *amount as f64 * passed;
            }
        };
        add(&mut self.used_ms, &self.used);
        for (sums, used) in self.leaf_used_ms.iter_mut().zip(&self.leaf_used) {
            add(sums, used);
        }
        self.now_ms = now_ms;
    }

    pub(super) fn started(&mut self, node: usize, leaf: usize, size: &Resources, waited_ms: u64) {
        self.placed += 1;
        self.leaf_placed[leaf] += 1;
        self.wait_ms.saturating_record(waited_ms);
        self.nodes[node].containers += 1;
        self.change(node, leaf, *size);
        self.peak = self.peak.max(&self.used);
    }

    pub(super) fn ended(&mut self, node: usize, leaf: usize, size: &Resources) {
        self.completed += 1;
        self.change(node, leaf, Resources::ZERO - *size);
    }

    fn change(&mut self, node: usize, leaf: usize, change: Resources) {
        self.used += change;
        self.leaf_used[leaf] += change;
        self.nodes[node].change(self.now_ms, change);
    }

    pub(super) fn running(&self) -> u64 {
        self.placed - self.completed
    }

    pub(super) fn pending(&self) -> u64 {
        self.submitted - self.placed - self.cancelled
    }

    /// Takes a sample if one is due.
    pub(super) fn sample(&mut self) {
        if self.series.is_due(self.now_ms) {
            self.series.push(Sample {
                time_ms: self.now_ms,
                used: self.used,
                capacity: self.capacity,
                pending: self.pending(),
                running: self.running(),
                leaf_used: self.leaf_used.clone(),
            });
        }
    }

    pub(super) fn utilisation(&self, types: usize) -> Vec<Utilisation> {
        let of = |index: usize| {
            let capacity = self.capacity[index] as f64;
            let part = |amount: f64| if capacity > 0.0 { amount / capacity } else { 0.0 };
            let mean = part(self.used_ms[index] / (self.now_ms as f64).max(1.0));
            Utilisation { mean, peak: part(self.peak[index] as f64) }
        };
        (0..types).map(of).collect()
    }

    /// Mean use of a leaf over virtual time as the dominant share of the cluster.
    pub(super) fn leaf_share(&self, leaf: usize) -> f64 {
        let span = (self.now_ms as f64).max(1.0);
        let sums = &self.leaf_used_ms[leaf];
        let share =
            |(sum, capacity): (&f64, &i64)| if *capacity > 0 { sum / span / *capacity as f64 } else { 0.0 };
        sums.iter().zip(self.capacity.amounts()).map(share).fold(0.0, f64::max)
    }

    pub(super) fn node_use(&mut self) -> Vec<NodeUse> {
        let now_ms = self.now_ms;
        let of = |node: &mut NodeTally| {
            node.change(now_ms, Resources::ZERO);
            NodeUse {
                name: node.name.clone(),
                capacity: node.capacity,
                mean_share: node.share_ms / (now_ms as f64).max(1.0),
                containers: node.containers,
            }
        };
        self.nodes.iter_mut().map(of).collect()
    }
}

impl NodeTally {
    fn change(&mut self, now_ms: u64, change: Resources) {
        let share = dominant_share(&self.used, &self.capacity) as f64 / SHARE_ONE as f64;
        self.share_ms += share * now_ms.saturating_sub(self.since_ms) as f64;
        self.since_ms = now_ms;
        self.used += change;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_is_weighed_by_how_long_it_lasts() {
        let nodes = [NodeSpec::new("a", Resources::new(&[10])), NodeSpec::new("b", Resources::new(&[10]))];
        let mut tally = Tally::new(&nodes, 1, 1);
        let size = Resources::new(&[5]);
        tally.submitted = 1;
        tally.started(0, 0, &size, 0);
        tally.advance(100);
        tally.ended(0, 0, &size);
        tally.advance(200);
        assert_eq!(tally.utilisation(1), [Utilisation { mean: 0.125, peak: 0.25 }]);
        assert!((tally.leaf_share(0) - 0.125).abs() < 1e-9);
        let shares: Vec<f64> = tally.node_use().iter().map(|node| node.mean_share).collect();
        assert_eq!(shares, [0.25, 0.0]);
    }
}
