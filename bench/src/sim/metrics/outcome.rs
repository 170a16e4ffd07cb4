//! The outcomes of jobs, queues and users.

use super::job::JobOutcome;
use crate::statistics::Summary;

/// Figures about policy. All times are virtual; `docs/json.md` defines each figure.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// Each job, in the workload's order.
    pub jobs: Vec<JobOutcome>,
    /// Each container placed, in the order of placement; empty unless requested.
    pub containers: Vec<ContainerOutcome>,
    /// Each leaf, in the order of the queue tree.
    pub queues: Vec<GroupOutcome>,
    /// Each user, by name.
    pub users: Vec<GroupOutcome>,
    /// All jobs together.
    pub total: GroupOutcome,
    /// How even shares were during contention.
    pub fairness: Fairness,
    /// The run over virtual time.
    pub timeline: Timeline,
}

/// The outcome of a placed container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerOutcome {
    /// Its job's place in the workload.
    pub job: usize,
    /// Stage and tasks within it; `None` for the application master.
    pub tasks: Option<(usize, usize)>,
    /// Its node's place in the workload.
    pub node: usize,
    /// When it was asked for.
    pub asked_ms: u64,
    /// When it was placed.
    pub started_ms: u64,
    /// When it completed or was preempted.
    pub ended_ms: Option<u64>,
    /// Whether it was preempted. Its job then asked for it again.
    pub is_preempted: bool,
}

/// The outcome of the jobs of a leaf or a user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupOutcome {
    /// The leaf's path, or the user's name.
    pub name: String,
    /// Jobs.
    pub jobs: u64,
    /// Jobs whose containers have all completed.
    pub finished: u64,
    /// Containers that the jobs want.
    pub asked: u64,
    /// Containers placed.
    pub placed: u64,
    /// Containers completed.
    pub completed: u64,
    /// Containers preempted.
    pub preempted: u64,
    /// How long preempted containers had run, all together.
    pub lost_ms: u64,
    /// How long containers ran or waited: the time with demand.
    pub demand_ms: u64,
    /// Dominant share of the cluster, mean over the whole run.
    pub share: f64,
    /// Mean dominant share over the time with demand.
    pub share_in_demand: f64,
    /// How far a leaf was from its entitlement.
    pub deviation: Option<Deviation>,
    /// Time from ask to placement, over placed containers.
    pub waiting_ms: Option<Summary>,
    /// Time from submission to the end, over finished jobs.
    pub completion_ms: Option<Summary>,
    /// Completion time divided by the time without waiting.
    pub slowdown: Option<Summary>,
    /// The bounded slowdown: the same with jobs of at least ten seconds.
    pub bounded_slowdown: Option<Summary>,
}

/// How far a leaf was from its guarantee, or from its demand where that is less. Shares are dominant shares of the
/// cluster, means are over the time with demand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// The guarantee.
    pub guaranteed: f64,
    /// The missing share, mean.
    pub below: f64,
    /// The largest missing share at any time.
    pub below_max: f64,
    /// The longest unbroken time in which the missing share exceeded both 2 % of the guarantee and the largest
    /// container.
    pub below_longest_ms: u64,
    /// The share beyond the entitlement, mean.
    pub above: f64,
}

/// Jain's index between leaves and between users.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fairness {
    /// How long two or more leaves with a guarantee waited for containers.
    pub queues_contended_ms: u64,
    /// The index during that time, over share divided by guarantee.
    pub queues: Option<f64>,
    /// How long two or more users waited for containers.
    pub users_contended_ms: u64,
    /// The index during that time, over shares.
    pub users: Option<f64>,
    /// The index over the mean bounded slowdowns of leaves.
    pub queues_slowdown: Option<f64>,
    /// The index over the mean bounded slowdowns of users.
    pub users_slowdown: Option<f64>,
}

/// Means over intervals of equal length; the last one may be shorter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The length of an interval.
    pub interval_ms: u64,
    /// Running containers.
    pub running: Vec<f64>,
    /// Containers requested and not placed.
    pub waiting: Vec<f64>,
    /// Part of the cluster in use, by resource type.
    pub used: Vec<Vec<f64>>,
    /// The share of each leaf.
    pub shares: Vec<Vec<f64>>,
    /// The entitlement of each leaf: its guarantee, or its demand if that is less.
    pub entitled: Vec<Vec<f64>>,
    /// The part of the cluster that preemption has taken from each leaf since the start.
    pub taken: Vec<Vec<f64>>,
}
