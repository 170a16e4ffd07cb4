//! Queues with their amounts, computed from the configuration. Only settings that the workloads have are supported.

use anyhow::bail;
use apportion::config::{Bound, Percent, QueueConfig, Share};

use super::amounts::Amounts;

/// The default partition and the other one.
pub(super) const PARTITIONS: usize = 2;
/// No queue: the parent of the root.
pub(super) const NO_QUEUE: u32 = u32::MAX;

/// The limits of a queue in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueLimits {
    pub(super) guaranteed: Amounts,
    pub(super) maximum: Amounts,
    /// The limit of one user of the queue.
    pub(super) user: Amounts,
    /// The divisor of its share: the guarantee, or for a type without guarantee the partition's total.
    pub(super) share_base: Amounts,
}

#[derive(Clone, Debug)]
pub(super) struct QueuePlan {
    pub(super) path: String,
    /// `NO_QUEUE` for the root.
    pub(super) parent: u32,
    /// Its place among its siblings.
    pub(super) place: u32,
    pub(super) depth: u32,
    /// The number of its children.
    pub(super) children: usize,
    pub(super) limits: [QueueLimits; PARTITIONS],
}

/// The queues of this tree in a cluster with these totals, parents before their children.
pub(super) fn plan_queues(
    root: &QueueConfig,
    totals: &[Amounts; PARTITIONS],
) -> anyhow::Result<Vec<QueuePlan>> {
    let limits =
        totals.map(|total| QueueLimits { guaranteed: total, maximum: total, user: total, share_base: total });
    let mut queues = Vec::new();
    let plan = QueuePlan {
        path: "root".to_owned(),
        parent: NO_QUEUE,
        place: 0,
        depth: 0,
        children: root.children.len(),
        limits,
    };
    add(root, plan, totals, &mut queues)?;
    Ok(queues)
}

/// Adds a queue and everything below it.
fn add(
    config: &QueueConfig,
    plan: QueuePlan,
    totals: &[Amounts; PARTITIONS],
    queues: &mut Vec<QueuePlan>,
) -> anyhow::Result<()> {
    let parent = queues.len() as u32;
    queues.push(plan);
    let weights = config.children.iter().map(weight_milli).sum::<anyhow::Result<i64>>()?;
    for (place, child) in config.children.iter().enumerate() {
        let above = &queues[parent as usize];
        let mut limits = above.limits;
        for (limits, total) in limits.iter_mut().zip(totals) {
            *limits = limits_below(limits, child, weights, *total)?;
        }
        let plan = QueuePlan {
            path: format!("{}.{}", above.path, child.name),
            parent,
            place: place as u32,
            depth: above.depth + 1,
            children: child.children.len(),
            limits,
        };
        add(child, plan, totals, queues)?;
    }
    Ok(())
}

/// The limits of a queue below one with the limits `above`, whose children's weights sum to `weights_milli`.
fn limits_below(
    above: &QueueLimits,
    config: &QueueConfig,
    weights_milli: i64,
    total: Amounts,
) -> anyhow::Result<QueueLimits> {
    let weight_milli = weight_milli(config)?;
    let mut limits = QueueLimits { guaranteed: [0; 2], maximum: [0; 2], user: [0; 2], share_base: total };
    for i in 0..total.len() {
        let Bound::Percent(part) = config.maximum.bound(i) else {
            bail!("the yardstick knows no maximum in amounts, as that of {}", config.name)
        };
        let all = i64::from(Percent::ALL.millionths());
        limits.maximum[i] = fraction(above.maximum[i], i64::from(part.millionths()), all);
        limits.guaranteed[i] =
            fraction(above.guaranteed[i], weight_milli, weights_milli).min(limits.maximum[i]);
        limits.user[i] = match (config.user_limit_factor, limits.guaranteed[i]) {
            (None, _) | (_, 0) => limits.maximum[i],
            (Some(factor), guaranteed) => {
                fraction(guaranteed, factor.milli() as i64, 1_000).min(limits.maximum[i])
            }
        };
        if limits.guaranteed[i] > 0 {
            limits.share_base[i] = limits.guaranteed[i];
        }
    }
    Ok(limits)
}

fn weight_milli(config: &QueueConfig) -> anyhow::Result<i64> {
    match config.capacity.share(0) {
        Share::Weight(weight) => Ok(weight.milli() as i64),
        _ => bail!("the yardstick knows no capacity but weights, as that of {}", config.name),
    }
}

/// Rounded down.
fn fraction(amount: i64, numerator: i64, denominator: i64) -> i64 {
    (i128::from(amount) * i128::from(numerator) / i128::from(denominator.max(1))) as i64
}
