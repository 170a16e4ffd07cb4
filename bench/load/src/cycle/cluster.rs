//! The cluster of `throughput` in plain values: nodes, queues, users, applications and kinds of asks.

use anyhow::{Context, ensure};
use rustc_hash::FxHashMap;

use super::amounts::{Amounts, plus};
use super::queues::{PARTITIONS, QueuePlan, plan_queues};
use crate::cluster::Setup;
use crate::profile::{DrawnAsk, is_other};

#[derive(Clone, Debug)]
pub(super) struct UserPlan {
    pub(super) leaf: u32,
    /// Its number among the users of its leaf.
    pub(super) place: u32,
}

#[derive(Clone, Debug)]
pub(super) struct ApplicationPlan {
    pub(super) leaf: u32,
    pub(super) user: u32,
    /// Its place in the order of its leaf: by priority, then by submission.
    pub(super) order: u32,
}

/// The common values of equal asks. Asks name their kind by number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) size: Amounts,
    /// The number of the size.
    pub(super) size_number: u32,
    pub(super) priority: u32,
    pub(super) partition: u32,
}

/// A cluster with nothing placed.
#[derive(Clone, Debug)]
pub(super) struct ClusterPlan {
    /// By number: capacity and partition.
    pub(super) nodes: Vec<(Amounts, usize)>,
    pub(super) queues: Vec<QueuePlan>,
    pub(super) users: Vec<UserPlan>,
    pub(super) applications: Vec<ApplicationPlan>,
    pub(super) kinds: Vec<Kind>,
    /// The number of sizes.
    pub(super) sizes: usize,
    /// The most requests of a pass.
    pub(super) batch: usize,
}

impl ClusterPlan {
    /// The cluster of the setup's engine, with nodes of these capacities by number.
    pub(super) fn new(setup: &Setup, capacity: impl Fn(usize) -> Amounts) -> anyhow::Result<Self> {
        let node = |number: usize| (capacity(number), usize::from(is_other(number)));
        let nodes: Vec<(Amounts, usize)> = (0..setup.shape.nodes).map(node).collect();
        let totals: [Amounts; PARTITIONS] = std::array::from_fn(|partition| {
            nodes.iter().filter(|node| node.1 == partition).fold([0; 2], |sum, node| plus(sum, node.0))
        });
        let config = setup.config();
        let queues = plan_queues(&config.root, &totals)?;
        let (users, applications) = applications(setup, &queues)?;
        let sizes = setup.profile.all_sizes().len();
        let batch = config.limits.batch_requests;
        Ok(Self { nodes, queues, users, applications, kinds: kinds(setup), sizes, batch })
    }

    /// The number of the kind of a drawn ask.
    pub(super) fn kind_of(&self, drawn: &DrawnAsk) -> anyhow::Result<u32> {
        let is_it = |kind: &Kind| {
            kind.size == [drawn.size[0], drawn.size[1]]
                && kind.priority == drawn.priority
                && kind.partition == u32::from(drawn.is_other)
        };
        Ok(self.kinds.iter().position(is_it).context("the profile has no such ask")? as u32)
    }
}

/// Users in the order in which they come, and applications with their places.
fn applications(
    setup: &Setup,
    queues: &[QueuePlan],
) -> anyhow::Result<(Vec<UserPlan>, Vec<ApplicationPlan>)> {
    let numbers: FxHashMap<&str, u32> =
        queues.iter().enumerate().map(|(number, queue)| (queue.path.as_str(), number as u32)).collect();
    let (mut users, mut known, mut in_leaf) = (Vec::new(), FxHashMap::default(), vec![0; queues.len()]);
    let (mut applications, mut by_leaf) = (Vec::new(), vec![Vec::new(); queues.len()]);
    for (number, spec) in setup.applications().into_iter().enumerate() {
        let leaf = *numbers.get(spec.queue.as_str()).with_context(|| format!("no queue {}", spec.queue))?;
        let user = *known.entry((leaf, spec.user)).or_insert_with(|| {
            let place = in_leaf[leaf as usize];
            in_leaf[leaf as usize] += 1;
            users.push(UserPlan { leaf, place });
            users.len() as u32 - 1
        });
        by_leaf[leaf as usize].push((u32::MAX - spec.priority.unwrap_or(0), number));
        applications.push(ApplicationPlan { leaf, user, order: 0 });
    }
    for mut places in by_leaf {
        ensure!(places.len() < 1 << 24, "a leaf has too many applications for the yardstick");
        places.sort_unstable();
        for (order, (_, number)) in places.into_iter().enumerate() {
            applications[number].order = order as u32;
        }
    }
    Ok((users, applications))
}

fn kinds(setup: &Setup) -> Vec<Kind> {
    let profile = &setup.profile;
    let mut kinds = Vec::new();
    for partition in 0..PARTITIONS as u32 {
        for (size_number, size) in (0..).zip(profile.all_sizes()) {
            let kind = |priority| Kind { size: [size[0], size[1]], size_number, priority, partition };
            kinds.extend((0..profile.priorities()).map(kind));
        }
    }
    kinds
}
