//! Counters of a running simulation.

use std::ops::RangeInclusive;

use apportion::resource::{SHARE_ONE, dominant_share};
use apportion::{NodeSpec, Resources};
use hdrhistogram::Histogram;

use super::record::{NodeUse, PreemptionRecord, Utilisation};
use super::series::Series;
use super::time::tick_from;
use crate::workload::Workload;

/// The current use, and its sums over virtual time.
#[derive(Debug)]
pub(super) struct Tally {
    capacity: Resources,
    used: Resources,
    leaf_used: Vec<Resources>,
    pub(super) leaf_placed: Vec<u64>,
    nodes: Vec<NodeTally>,
    used_ms: [f64; apportion::resource::RESOURCE_TYPES_MAX],
    leaf_used_ms: Vec<[f64; apportion::resource::RESOURCE_TYPES_MAX]>,
    /// The sums over the time in which asks were pending or jobs still to arrive.
    busy_used_ms: [f64; apportion::resource::RESOURCE_TYPES_MAX],
    busy_ms: u64,
    /// The arrival times of the first and the last job.
    arrivals_ms: RangeInclusive<u64>,
    now_ms: u64,
    pub(super) submitted: u64,
    pub(super) placed: u64,
    pub(super) completed: u64,
    pub(super) preempted: u64,
    /// Members given back because another member of their gang was preempted.
    given_back: u64,
    /// Sizes of preempted containers.
    taken: Resources,
    /// How long preempted containers and members given back had run, all together, and the same by resource type,
    /// weighted by their sizes.
    lost_container_ms: u64,
    lost_ms: [f64; apportion::resource::RESOURCE_TYPES_MAX],
    pub(super) cancelled: u64,
    /// Requested containers that no node could ever hold, or of refused gangs.
    pub(super) hopeless: u64,
    pub(super) wait_ms: Histogram<u64>,
    pub(super) ask_to_commit_us: Histogram<u64>,
    /// Indexed by [`Figure`](super::Figure)'s channel.
    pub(super) series: Series,
    types: usize,
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

/// The highest value that a histogram distinguishes; larger ones count as this.
const HISTOGRAM_MAX: u64 = 1 << 40;

impl Tally {
    pub(super) fn new(workload: &Workload, leaves: usize, tick_ms: u64) -> Self {
        let nodes = &workload.nodes;
        let tally = |node: &NodeSpec| NodeTally {
            name: node.name.clone(),
            capacity: node.capacity,
            used: Resources::ZERO,
            since_ms: 0,
            share_ms: 0.0,
            containers: 0,
        };
        let types = workload.resources.names().len();
        let histogram = || Histogram::new_with_bounds(1, HISTOGRAM_MAX, 3).expect("the bounds are valid");
        Self {
            capacity: nodes.iter().map(|node| node.capacity).sum(),
            used: Resources::ZERO,
            leaf_used: vec![Resources::ZERO; leaves],
            leaf_placed: vec![0; leaves],
            nodes: nodes.iter().map(tally).collect(),
            used_ms: Default::default(),
            leaf_used_ms: vec![Default::default(); leaves],
            busy_used_ms: Default::default(),
            busy_ms: 0,
            arrivals_ms: arrivals(workload, tick_ms),
            now_ms: 0,
            submitted: 0,
            placed: 0,
            completed: 0,
            preempted: 0,
            given_back: 0,
            taken: Resources::ZERO,
            lost_container_ms: 0,
            lost_ms: Default::default(),
            cancelled: 0,
            hopeless: 0,
            wait_ms: histogram(),
            ask_to_commit_us: histogram(),
            series: Series::new(types + 4 + leaves),
            types,
        }
    }

    /// Advances time; the use has not changed since the last call.
    pub(super) fn advance(&mut self, now_ms: u64) {
        let passed_ms = now_ms.saturating_sub(self.now_ms);
        let passed = passed_ms as f64;
        let is_busy = self.is_busy();
        let add = |sums: &mut [f64], used: &Resources| {
            for (sum, amount) in sums.iter_mut().zip(used.amounts()) {
                *sum += *amount as f64 * passed;
            }
        };
        add(&mut self.used_ms, &self.used);
        if is_busy {
            add(&mut self.busy_used_ms, &self.used);
            self.busy_ms += passed_ms;
        }
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
    }

    pub(super) fn ended(&mut self, node: usize, leaf: usize, size: &Resources) {
        self.completed += 1;
        self.change(node, leaf, Resources::ZERO - *size);
    }

    /// Counts a container that ended after `ran_ms` without completing.
    pub(super) fn preempted(&mut self, node: usize, leaf: usize, size: &Resources, ran_ms: u64) {
        self.preempted += 1;
        self.taken += *size;
        self.lost(node, leaf, size, ran_ms);
    }

    /// Counts a container that its job gave back after `ran_ms`, because another one was preempted.
    pub(super) fn given_back(&mut self, node: usize, leaf: usize, size: &Resources, ran_ms: u64) {
        self.given_back += 1;
        self.lost(node, leaf, size, ran_ms);
    }

    fn lost(&mut self, node: usize, leaf: usize, size: &Resources, ran_ms: u64) {
        self.lost_container_ms = self.lost_container_ms.saturating_add(ran_ms);
        for (sum, amount) in self.lost_ms.iter_mut().zip(size.amounts()) {
            *sum += *amount as f64 * ran_ms as f64;
        }
        self.change(node, leaf, Resources::ZERO - *size);
    }

    fn change(&mut self, node: usize, leaf: usize, change: Resources) {
        self.used += change;
        self.leaf_used[leaf] += change;
        self.nodes[node].change(self.now_ms, change);
    }

    pub(super) fn running(&self) -> u64 {
        self.placed - self.completed - self.asked_again()
    }

    /// Containers that ended without completing: their job has asked for them again.
    pub(super) fn asked_again(&self) -> u64 {
        self.preempted + self.given_back
    }

    pub(super) fn pending(&self) -> u64 {
        self.submitted - self.placed - self.cancelled
    }

    /// Whether a placeable ask is pending, or jobs are still to arrive.
    fn is_busy(&self) -> bool {
        let is_arriving = self.arrivals_ms.contains(&self.now_ms) && self.now_ms < *self.arrivals_ms.end();
        is_arriving || self.pending() > self.hopeless
    }

    /// Records the state from now on. The engine is quiet: a change that begins and ends at one moment is not recorded.
    /// `owed` is what all leaves miss, as a part of the cluster.
    pub(super) fn sample(&mut self, owed: f64) {
        let share = |used: &Resources, i: usize| match self.capacity[i] {
            0 => 0.0,
            capacity => used[i] as f64 / capacity as f64,
        };
        let uses = (0..self.types).map(|i| share(&self.used, i));
        let counts = [self.running() as f64, self.pending() as f64];
        let preemption = [owed, (0..self.types).map(|i| share(&self.taken, i)).fold(0.0, f64::max)];
        let dominant = |used: &Resources| (0..self.types).map(|i| share(used, i)).fold(0.0, f64::max);
        let leaves = self.leaf_used.iter().map(dominant);
        self.series.push(self.now_ms, uses.chain(counts).chain(preemption).chain(leaves));
    }

    pub(super) fn utilisation(&self, types: usize) -> Vec<Utilisation> {
        let of = |index: usize| {
            let capacity = self.capacity[index] as f64;
            let part = |amount: f64| if capacity > 0.0 { amount / capacity } else { 0.0 };
            let mean = part(self.used_ms[index] / (self.now_ms as f64).max(1.0));
            let busy_mean = (self.busy_ms > 0).then(|| part(self.busy_used_ms[index] / self.busy_ms as f64));
            let peak = self.series.channel(index).map(|interval| interval.max).fold(0.0, f64::max);
            Utilisation { mean, busy_mean, peak }
        };
        (0..types).map(of).collect()
    }

    pub(super) fn preemption(&self, rounds: u64) -> PreemptionRecord {
        let part = |(lost, used): (&f64, &f64)| if *used > 0.0 { lost / used } else { 0.0 };
        PreemptionRecord {
            rounds,
            containers: self.preempted,
            given_back: self.given_back,
            lost_container_ms: self.lost_container_ms,
            lost_part: self.lost_ms.iter().zip(&self.used_ms).map(part).fold(0.0, f64::max),
        }
    }

    /// See [`is_busy`](Self::is_busy).
    pub(super) fn busy_ms(&self) -> u64 {
        self.busy_ms
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

/// The ticks from the first to the last arrival of a job; empty without jobs.
fn arrivals(workload: &Workload, tick_ms: u64) -> RangeInclusive<u64> {
    let times = || workload.jobs.iter().map(|job| tick_from(job.submit_ms, tick_ms));
    times().min().unwrap_or(1)..=times().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use apportion::ResourceTypes;

    use super::*;
    use crate::trace::Invented;
    use crate::workload::Job;

    fn workload(submit_ms: &[u64]) -> Workload {
        let job = |submit_ms: &u64| Job {
            name: "j".into(),
            queue: "q".into(),
            user: "u".into(),
            priority: 0,
            submit_ms: *submit_ms,
            master: None,
            stages: Vec::new(),
            starts_together: false,
        };
        let node = |name: &str| NodeSpec::new(name, Resources::new(&[10]));
        Workload {
            resources: ResourceTypes::new(["slots"]).unwrap(),
            nodes: vec![node("a"), node("b")],
            queues: None,
            jobs: submit_ms.iter().map(job).collect(),
            invented: Invented::default(),
        }
    }

    #[test]
    fn use_is_weighed_by_how_long_it_lasts() {
        let mut tally = Tally::new(&workload(&[0]), 1, 1);
        let size = Resources::new(&[5]);
        tally.submitted = 1;
        tally.started(0, 0, &size, 0);
        tally.sample(0.0);
        tally.advance(100);
        tally.ended(0, 0, &size);
        tally.sample(0.0);
        tally.advance(200);
        assert_eq!(tally.utilisation(1), [Utilisation { mean: 0.125, busy_mean: None, peak: 0.25 }]);
        assert!((tally.leaf_share(0) - 0.125).abs() < 1e-9);
        let shares: Vec<f64> = tally.node_use().iter().map(|node| node.mean_share).collect();
        assert_eq!(shares, [0.25, 0.0]);
    }
    #[test]
    fn a_tail_does_not_count_for_the_mean_of_the_busy_time() {
        let mut tally = Tally::new(&workload(&[50, 100]), 1, 1);
        let size = Resources::new(&[5]);
        tally.advance(50);
        tally.submitted = 3;
        tally.started(0, 0, &size, 0);
        tally.advance(100);
        assert_eq!(tally.busy_ms(), 50, "nothing had come before the first job");
        tally.hopeless = 1;
        tally.advance(200);
        assert_eq!(tally.busy_ms(), 150, "one container waits, beside one that waits in vain");
        tally.started(0, 0, &size, 100);
        tally.advance(10_000);
        assert_eq!(tally.busy_ms(), 150);
        assert_eq!(tally.utilisation(1)[0].busy_mean, Some(0.25));
    }
}
