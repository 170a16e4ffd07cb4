//! The record of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use apportion::{EngineStats, Resources, StateDigest};
use hdrhistogram::Histogram;

use super::gang::GangRecord;
use super::metrics::Outcomes;
use super::series::{Interval, Series};
use crate::interrupt::Interruption;
use crate::pending::PendingKind;

/// The data of all reports about one run.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// Resource types, in vector order.
    pub resource_names: Vec<String>,
    /// The parts of the workload that its trace does not specify, in sentences.
    pub invented: Vec<String>,
    /// Registered nodes.
    pub nodes: usize,
    /// Containers that the workload asks for. Each is counted in exactly one of `placed`, `unplaceable`,
    /// `cancelled` and `pending_at_end`. It is counted once more for each time that it was preempted, or given back
    /// with its gang.
    pub asks: u64,
    /// Containers placed; a preempted container is placed again.
    pub placed: u64,
    /// Containers that completed.
    pub completed: u64,
    /// What preemption took; `None` if the configuration has no preemption.
    pub preemption: Option<PreemptionRecord>,
    /// Jobs whose containers start together; `None` if the workload has none.
    pub gangs: Option<GangRecord>,
    /// Containers that no node could ever hold, or of gangs that could never start, by reason.
    pub unplaceable: BTreeMap<String, u64>,
    /// Containers whose asks were cancelled.
    pub cancelled: u64,
    /// Containers still pending at the end, by reason.
    pub pending_at_end: BTreeMap<String, u64>,
    /// Explanations of the asks that were pending longest, including unplaceable ones.
    pub pending_longest: Vec<PendingKind>,
    /// Counters of the engine.
    pub stats: EngineStats,
    /// Virtual time of the last event.
    pub makespan_ms: u64,
    /// The point at which a signal stopped the run; the figures cover the run up to it.
    pub interrupted: Option<Interruption>,
    /// Wall time of the simulation.
    pub elapsed: Duration,
    /// Wall time from submitting an ask to its commit, for asks placed at the virtual time of submission;
    /// not in serial mode.
    pub ask_to_commit_us: Option<Histogram<u64>>,
    /// Virtual time from submitting an ask to its placement, by container.
    pub wait_ms: Histogram<u64>,
    /// By resource type.
    pub utilisation: Vec<Utilisation>,
    /// By leaf, in the order of the queue tree.
    pub queues: Vec<QueueUse>,
    /// Completion, waiting and shares of jobs, queues and users.
    pub outcomes: Outcomes,
    /// By node.
    pub node_use: Vec<NodeUse>,
    /// Virtual time in which a placeable ask was pending or jobs were still to arrive.
    pub busy_ms: u64,
    /// Values over virtual time; see [`over_time`](Self::over_time).
    pub series: Series,
    /// Why writing the log failed; `None` if it succeeded.
    pub log_error: Option<String>,
    /// Violations that the audit at the end found.
    pub audit_violations: Vec<String>,
    /// Digest of the log.
    pub log_digest: u128,
    /// Digest of the state at the end.
    pub state_digest: StateDigest,
}

/// What preemption took in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PreemptionRecord {
    /// Rounds that the engine made.
    pub rounds: u64,
    /// Containers that were preempted.
    pub containers: u64,
    /// Members of gangs that were given back because another member was preempted.
    pub given_back: u64,
    /// How long these containers had run, all together: their tasks start again from zero.
    pub lost_container_ms: u64,
    /// The lost part of all work: run time multiplied by size, of the resource type that lost the largest part.
    pub lost_part: f64,
}

/// The use of one resource type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// Mean over virtual time, from 0 to 1.
    pub mean: f64,
    /// Mean over the time in which asks were pending or jobs still to arrive; `None` if there is no such time.
    pub busy_mean: Option<f64>,
    /// The highest use that lasted until a later tick or the end.
    pub peak: f64,
}

/// A leaf over the whole run.
#[derive(Clone, Debug)]
pub struct QueueUse {
    /// Its path.
    pub path: String,
    /// Its guarantee, as a dominant share of the cluster.
    pub guaranteed_share: f64,
    /// Its mean use over virtual time, as a dominant share of the cluster.
    pub mean_share: f64,
    /// Containers placed for it.
    pub placed: u64,
}

/// A node over the whole run.
#[derive(Clone, Debug)]
pub struct NodeUse {
    /// Host name.
    pub name: String,
    /// Its capacity.
    pub capacity: Resources,
    /// Mean dominant share of its containers, over virtual time.
    pub mean_share: f64,
    /// Number of containers that ran on it.
    pub containers: u64,
}

/// The pending reason of a container that no job has asked for.
pub(super) const NOT_ASKED_YET: &str = "not_asked_yet";

/// The figures recorded over virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Part of the cluster in use, by number of the resource type.
    Use(usize),
    /// Running containers.
    Running,
    /// Containers requested and not placed.
    Pending,
    /// What all leaves together miss of their guarantees, or of their demands where these are less: a part of the
    /// cluster.
    Owed,
    /// What preemption has taken from the start, as a part of the cluster.
    Taken,
    /// A leaf's dominant share of the cluster, by number in the order of the queue tree.
    LeafShare(usize),
}

impl Figure {
    /// Its channel in the series of a cluster with this number of resource types.
    fn channel(self, types: usize) -> usize {
        match self {
            Self::Use(resource) => resource,
            Self::Running => types,
            Self::Pending => types + 1,
            Self::Owed => types + 2,
            Self::Taken => types + 3,
            Self::LeafShare(leaf) => types + 4 + leaf,
        }
    }
}

impl RunRecord {
    /// A figure over virtual time, by ascending time and without gaps.
    pub fn over_time(&self, figure: Figure) -> impl Iterator<Item = Interval> + '_ {
        self.series.channel(figure.channel(self.resource_names.len()))
    }

    /// Allocations per second of wall time.
    #[must_use]
    pub fn allocations_per_second(&self) -> f64 {
        self.placed as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Containers that no node could ever hold, or of gangs that could never start; all reasons together.
    #[must_use]
    pub fn unplaceable_total(&self) -> u64 {
        self.unplaceable.values().sum()
    }

    /// Containers still pending, all reasons together.
    #[must_use]
    pub fn pending_total(&self) -> u64 {
        self.pending_at_end.values().sum()
    }

    /// Containers that jobs would have asked for had an earlier stage finished; part of `pending_total`.
    #[must_use]
    pub fn not_asked_yet(&self) -> u64 {
        self.pending_at_end.get(NOT_ASKED_YET).copied().unwrap_or(0)
    }

    /// Containers that were preempted or given back, and asked for again.
    #[must_use]
    pub fn asked_again(&self) -> u64 {
        self.preemption.map_or(0, |preemption| preemption.containers + preemption.given_back)
    }

    /// Containers that are in none of the groups; anything but 0 is a bug.
    #[must_use]
    pub fn unaccounted(&self) -> i128 {
        let groups = self.placed + self.unplaceable_total() + self.cancelled + self.pending_total();
        i128::from(self.asks + self.asked_again()) - i128::from(groups)
    }
}
