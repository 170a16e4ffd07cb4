//! The outcomes of jobs, queues and users.

use super::job::JobOutcome;
use crate::statistics::Summary;

/// Answers to questions about policy. All times are virtual; `docs/json.md` defines each figure.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// Of each job, in the workload's order.
    pub jobs: Vec<JobOutcome>,
    /// Of each container placed, in the order of placement; nothing if it was not asked for.
    pub containers: Vec<ContainerOutcome>,
    /// Of each leaf, in the order of the queue tree.
    pub queues: Vec<GroupOutcome>,
    /// Of each user, by name.
    pub users: Vec<GroupOutcome>,
    /// Of all jobs together.
    pub total: GroupOutcome,
    /// How even shares were while there was not enough for all.
    pub fairness: Fairness,
    /// The run over virtual time.
    pub timeline: Timeline,
}

/// What became of a container that was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerOutcome {
    /// Its job's place in the workload.
    pub job: usize,
    /// Stage and tasks within it; nothing for the application master.
    pub tasks: Option<(usize, usize)>,
    /// Its node's place in the workload.
    pub node: usize,
    /// When it was asked for.
    pub asked_ms: u64,
    /// When it was placed.
    pub started_ms: u64,
    /// When it completed.
    pub ended_ms: Option<u64>,
}

/// What became of the jobs of a leaf or a user.
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
    /// How long containers ran or waited.
    pub demand_ms: u64,
    /// Dominant share of the cluster, mean over the whole run.
    pub share: f64,
    /// The same over the time with demand.
    pub share_in_demand: f64,
    /// How far a leaf was from what it is entitled to.
    pub deviation: Option<Deviation>,
    /// Time from ask to placement, of containers placed.
    pub waiting_ms: Option<Summary>,
    /// Time from submission to the end, of finished jobs.
    pub completion_ms: Option<Summary>,
    /// Completion time divided by the time without waiting.
    pub slowdown: Option<Summary>,
    /// The same with jobs of at least ten seconds.
    pub bounded_slowdown: Option<Summary>,
}

/// How far a leaf was from its guarantee, or from its demand where that is less. Shares are dominant shares of the
/// cluster, means are over the time with demand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// The guarantee.
    pub guaranteed: f64,
    /// What was missing, mean.
    pub below: f64,
    /// The most that was missing at any time.
    pub below_max: f64,
    /// The longest time without a break in which more was missing than 2 % of the guarantee and than the largest
    /// container.
    pub below_longest_ms: u64,
    /// What it had beyond, mean.
    pub above: f64,
}

/// Jain's index between leaves and between users.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fairness {
    /// How long two or more leaves with a guarantee waited for containers.
    pub queues_contended_ms: u64,
    /// The index meanwhile, over share divided by guarantee.
    pub queues: Option<f64>,
    /// How long two or more users waited for containers.
    pub users_contended_ms: u64,
    /// The index meanwhile, over shares.
    pub users: Option<f64>,
    /// Over the mean bounded slowdowns of leaves.
    pub queues_slowdown: Option<f64>,
    /// Over the mean bounded slowdowns of users.
    pub users_slowdown: Option<f64>,
}

/// Means over intervals of equal length; the last one may be shorter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The length.
    pub interval_ms: u64,
    /// Containers that run.
    pub running: Vec<f64>,
    /// Containers asked for and not placed.
    pub waiting: Vec<f64>,
    /// Part of the cluster in use, by resource type.
    pub used: Vec<Vec<f64>>,
    /// The share of each leaf.
    pub shares: Vec<Vec<f64>>,
    /// The share that each leaf is entitled to: its guarantee, or its demand where that is less.
    pub entitled: Vec<Vec<f64>>,
}
