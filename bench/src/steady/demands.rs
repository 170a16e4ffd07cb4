//! The limits and demands of queues and users, from the configuration and the asks.

use apportion::config::{Capacity, Maximum, Percent, QueueConfig};
use apportion::{ApplicationSpec, PartitionId, Resources};
use apportion_load::Task;
use rustc_hash::FxHashMap;

use super::driver::Steady;
use super::fairness::LeafShare;
use super::water_fill::{Below, DividedQueue, UserDemand, water_fill};

/// A leaf may be this part of its share away from it.
const TOLERANCE: f64 = 0.02;

/// Demand of the users of each leaf in each partition: by leaf and partition, then by user.
pub(super) struct Demands<'a>(FxHashMap<(&'a str, PartitionId), FxHashMap<&'a str, Demand>>);

#[derive(Debug, Default)]
struct Demand {
    used: Resources,
    pending: Resources,
    /// The sizes of pending containers.
    pending_sizes: Vec<Resources>,
}

impl<'a> Demands<'a> {
    /// The demands from running containers, reservations and pending asks. Pending sizes that do not count are left
    /// out.
    pub(super) fn of(
        steady: &Steady,
        applications: &'a [ApplicationSpec],
        counts: impl Fn(&Resources) -> bool,
    ) -> Self {
        let mut demands = Self(FxHashMap::default());
        for running in steady.running.values() {
            let size = steady.kinds.of(running.task).size;
            demands.entry(steady, applications, running.task).used += size;
        }
        let reservations = steady.reservations();
        for (ask, asked) in &steady.asked {
            let size = steady.kinds.of(asked.task).size;
            let demand = demands.entry(steady, applications, asked.task);
            // A reservation is charged to the ask's queue and user as if the container were placed.
            if reservations.contains(ask) {
                demand.used += size;
            } else if counts(&size) {
                demand.pending += size;
                if !demand.pending_sizes.contains(&size) {
                    demand.pending_sizes.push(size);
                }
            }
        }
        demands
    }

    fn entry(&mut self, steady: &Steady, applications: &'a [ApplicationSpec], task: Task) -> &mut Demand {
        let spec = &applications[task.application as usize];
        // No leaf has another default partition.
        let partition = steady.kinds.of(task).partition.unwrap_or(PartitionId::DEFAULT);
        let leaf = (spec.queue.as_str(), partition);
        self.0.entry(leaf).or_default().entry(&spec.user).or_default()
    }
}

/// The queues of one partition.
pub(super) struct Partition<'a> {
    pub(super) id: PartitionId,
    pub(super) capacity: Resources,
    /// The resource type that runs out first.
    pub(super) scarce: usize,
    /// The sizes of containers.
    pub(super) sizes: &'a [Resources],
    pub(super) demands: &'a Demands<'a>,
}

/// The guaranteed and maximum parts of the partition for a queue.
#[derive(Clone, Copy)]
struct Quota {
    guaranteed: f64,
    maximum: f64,
}

/// The current use of a leaf.
struct Leaf {
    path: String,
    /// The type of which it uses the largest part.
    dominant: usize,
    used: f64,
    guaranteed: f64,
    is_pending: bool,
}

impl Partition<'_> {
    /// The actual and the fair dominant share of each leaf with pending demand, for the resources in use.
    pub(super) fn shares(&self, root: &QueueConfig) -> Vec<LeafShare> {
        self.shares_of(root, |leaf| leaf.is_pending)
    }

    /// The actual and the fair dominant share of each leaf. A leaf that has all that it wants has its fair share.
    pub(super) fn all_shares(&self, root: &QueueConfig) -> Vec<LeafShare> {
        self.shares_of(root, |_| true)
    }

    fn shares_of(&self, root: &QueueConfig, counts: fn(&Leaf) -> bool) -> Vec<LeafShare> {
        let whole = Quota { guaranteed: 1.0, maximum: 1.0 };
        let mut leaves = Vec::new();
        let (divided_queue, used) = self.divided_queue(root, root.name.clone(), whole, &mut leaves);
        let fair = water_fill(&divided_queue, self.part(&used, self.scarce));
        let shares = leaves.into_iter().zip(fair).filter(|(leaf, _)| counts(leaf));
        let share = |(leaf, fair): (Leaf, f64)| {
            let largest = self.sizes.iter().map(|size| self.part(size, leaf.dominant)).fold(0.0, f64::max);
            let tolerance = (fair * TOLERANCE).max(largest);
            LeafShare {
                path: leaf.path,
                partition: self.id,
                used: leaf.used,
                fair,
                guaranteed: leaf.guaranteed,
                tolerance,
            }
        };
        shares.map(share).collect()
    }

    fn part(&self, amounts: &Resources, resource: usize) -> f64 {
        amounts[resource] as f64 / (self.capacity[resource] as f64).max(1.0)
    }

    /// The type of which `used` is the largest part.
    fn dominant(&self, used: &Resources) -> usize {
        let types = 0..self.capacity.amounts().iter().filter(|amount| **amount > 0).count();
        let by_part = |a: &usize, b: &usize| self.part(used, *a).total_cmp(&self.part(used, *b));
        types.max_by(by_part).unwrap_or(self.scarce)
    }

    /// Describes the queue with all queues below it, and their use; adds its leaves to the list.
    fn divided_queue(
        &self,
        queue: &QueueConfig,
        path: String,
        quota: Quota,
        leaves: &mut Vec<Leaf>,
    ) -> (DividedQueue, Resources) {
        let (below, used) = if queue.children.is_empty() {
            self.users(queue, path, quota, leaves)
        } else {
            let weights: f64 = queue.children.iter().map(weight).sum();
            let child = |child: &QueueConfig| {
                let quota = Quota {
                    guaranteed: quota.guaranteed * weight(child) / weights,
                    maximum: quota.maximum * maximum_part(child),
                };
                self.divided_queue(child, format!("{path}.{}", child.name), quota, leaves)
            };
            let (queues, used): (Vec<DividedQueue>, Vec<Resources>) =
                queue.children.iter().map(child).unzip();
            (Below::Queues(queues), used.into_iter().sum())
        };
        let dominant_share = self.part(&used, self.dominant(&used));
        let scarce_per_unit =
            if dominant_share > 0.0 { self.part(&used, self.scarce) / dominant_share } else { 1.0 };
        let Quota { guaranteed, maximum } = quota;
        (DividedQueue { guaranteed, maximum, scarce_per_unit, below }, used)
    }

    fn users(
        &self,
        queue: &QueueConfig,
        path: String,
        quota: Quota,
        leaves: &mut Vec<Leaf>,
    ) -> (Below, Resources) {
        let demands: Vec<&Demand> = self
            .demands
            .0
            .get(&(path.as_str(), self.id))
            .into_iter()
            .flatten()
            .map(|(_, user)| user)
            .collect();
        let used = demands.iter().map(|demand| demand.used).sum();
        let dominant = self.dominant(&used);
        let factor = queue.user_limit_factor.map_or(f64::INFINITY, |factor| factor.milli() as f64 / 1e3);
        let limit = (quota.guaranteed * factor).min(quota.maximum);
        let users = demands.iter().map(|demand| self.user_demand(demand, limit, dominant)).collect();
        let is_pending = demands.iter().any(|demand| !demand.pending_sizes.is_empty());
        leaves.push(Leaf {
            path,
            dominant,
            used: self.part(&used, dominant),
            guaranteed: quota.guaranteed,
            is_pending,
        });
        (Below::Users(users), used)
    }

    /// The demand of one user. A user is at the limit if no pending size fits below it, in whatever type.
    fn user_demand(&self, demand: &Demand, limit: f64, dominant: usize) -> UserDemand {
        let fits = |size: &Resources| {
            let after = demand.used + *size;
            self.part(&after, self.dominant(&after)) <= limit
        };
        let used = self.part(&demand.used, dominant);
        let is_at_limit = !demand.pending_sizes.iter().any(fits);
        UserDemand {
            wanted: used + self.part(&demand.pending, dominant),
            limit: if is_at_limit { used } else { limit },
        }
    }
}

/// The queue's weight. All queues of the wide tree have one.
fn weight(queue: &QueueConfig) -> f64 {
    match queue.capacity {
        Capacity::Weight(weight) => weight.milli() as f64,
        Capacity::Percent(_) | Capacity::Absolute(_) | Capacity::Mixed(_) => 0.0,
    }
}

fn maximum_part(queue: &QueueConfig) -> f64 {
    match queue.maximum {
        Maximum::Percent(part) => f64::from(part.millionths()) / f64::from(Percent::ALL.millionths()),
        Maximum::Absolute(_) | Maximum::Mixed(_) => 1.0,
    }
}
