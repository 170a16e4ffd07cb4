//! Turns configured capacities into amounts, top down, whenever the cluster or the configuration changes.

use super::queue::Queue;
use crate::config::{Capacity, Maximum, Percent};
use crate::ids::{PartitionId, QueueId};
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

/// Recomputes guarantees, maxima and user limits of every queue in `partition`, which has `total`.
pub(crate) fn resolve(queues: &mut [Queue], partition: PartitionId, total: Resources) {
    let root = &mut queues[0].quota[partition.index()];
    root.guaranteed = total;
    root.maximum = total;
    // Depth-first numbering: a parent always comes before its children.
    for index in 0..queues.len() {
        resolve_children(queues, QueueId(index as u32), partition);
        resolve_user_limit(&mut queues[index], partition);
        let quota = &mut queues[index].quota[partition.index()];
        quota.share_base = quota.guaranteed.combine(&total, |own, all| if own > 0 { own } else { all });
    }
}

fn resolve_children(queues: &mut [Queue], parent: QueueId, partition: PartitionId) {
    let children = queues[parent.index()].children.clone();
    let above = *queues[parent.index()].quota(partition);
    let capacities: Vec<Capacity> = children.iter().map(|child| queues[child.index()].capacity).collect();
    let guarantees = divide(&above.guaranteed, &capacities);
    for (child, guaranteed) in children.into_iter().zip(guarantees) {
        let queue = &mut queues[child.index()];
        let maximum = match queue.maximum {
            Maximum::Percent(part) => percent_of(&above.maximum, part),
            Maximum::Absolute(amounts) => {
                Resources::new(&amounts.map(|a| a.unwrap_or(i64::MAX))).min(&above.maximum)
            }
        };
        let quota = &mut queue.quota[partition.index()];
        quota.guaranteed = guaranteed.min(&maximum);
        quota.maximum = maximum;
    }
}

/// One user's limit: a multiple of the guarantee, at most the maximum. Of a type with no guarantee, and
/// without a factor, the maximum itself (`capacity-scheduler.md` 2.8: ceiling).
fn resolve_user_limit(queue: &mut Queue, partition: PartitionId) {
    let factor = queue.user_limit_factor;
    let quota = &mut queue.quota[partition.index()];
    quota.user_limit = match factor {
        None => quota.maximum,
        Some(factor) => quota
            .guaranteed
            .combine(&quota.guaranteed.scaled(factor.milli(), 1000), |guaranteed, limit| {
                if guaranteed == 0 { i64::MAX } else { limit }
            })
            .min(&quota.maximum),
    };
}

/// Divides what a parent is guaranteed: absolute amounts first (scaled down together where they exceed what
/// there is), percentages of what those leave, and the rest by weight. Rounded down.
fn divide(total: &Resources, capacities: &[Capacity]) -> Vec<Resources> {
    let absolute: Resources = capacities.iter().filter_map(absolute_amount).sum();
    let after_absolute = total.saturating_sub(&absolute);
    let percent: Resources =
        capacities.iter().filter_map(percent_part).map(|part| percent_of(&after_absolute, part)).sum();
    let after_percent = after_absolute.saturating_sub(&percent);
    let weights: u64 = capacities.iter().filter_map(weight_milli).sum();
    let each = |capacity: &Capacity| match capacity {
        Capacity::Absolute(amounts) => shrink(amounts, total, &absolute),
        Capacity::Percent(part) => percent_of(&after_absolute, *part),
        Capacity::Weight(weight) => after_percent.scaled(weight.milli(), weights),
    };
    capacities.iter().map(each).collect()
}

fn shrink(amounts: &Resources, total: &Resources, wanted: &Resources) -> Resources {
    let mut result = *amounts;
    for i in 0..RESOURCE_TYPES_MAX {
        if wanted[i] > total[i] {
            let product = i128::from(amounts[i]) * i128::from(total[i].max(0)) / i128::from(wanted[i]);
            result.set(i, i64::try_from(product).unwrap_or(0));
        }
    }
    result
}

fn percent_of(total: &Resources, part: Percent) -> Resources {
    total.scaled(u64::from(part.millionths()), u64::from(Percent::ALL.millionths()))
}

fn absolute_amount(capacity: &Capacity) -> Option<Resources> {
    if let Capacity::Absolute(amounts) = capacity { Some(*amounts) } else { None }
}

fn percent_part(capacity: &Capacity) -> Option<Percent> {
    if let Capacity::Percent(part) = capacity { Some(*part) } else { None }
}

fn weight_milli(capacity: &Capacity) -> Option<u64> {
    if let Capacity::Weight(weight) = capacity { Some(weight.milli()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Factor;

    fn units(amounts: &[Resources]) -> Vec<i64> {
        amounts.iter().map(|amount| amount[0]).collect()
    }

    /// `capacity-scheduler.md` section 6, case 23.
    #[test]
    fn percent_applies_to_what_absolute_siblings_leave_over() {
        let gib = |n| Resources::new(&[n, n]);
        let root = [
            Capacity::Weight(Factor::whole(1)),
            Capacity::Absolute(gib(16)),
            Capacity::Percent(Percent::whole(75)),
        ];
        assert_eq!(units(&divide(&gib(32), &root)), [4, 16, 12]);
        let test_1 = [
            Capacity::Percent(Percent::whole(50)),
            Capacity::Weight(Factor::whole(2)),
            Capacity::Absolute(gib(12)),
        ];
        assert_eq!(units(&divide(&gib(16), &test_1)), [2, 2, 12]);
    }

    #[test]
    fn absolute_guarantees_shrink_together_when_nodes_are_lost() {
        let capacities =
            [Capacity::Absolute(Resources::new(&[30])), Capacity::Absolute(Resources::new(&[10]))];
        assert_eq!(units(&divide(&Resources::new(&[20]), &capacities)), [15, 5]);
        assert_eq!(units(&divide(&Resources::ZERO, &capacities)), [0, 0]);
    }
}
