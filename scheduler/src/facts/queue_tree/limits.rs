//! Computes amounts from configured capacities, top down, whenever the cluster or the configuration changes. Compares
//! use with all limits, and computes headroom.

use super::QueueTree;
use super::queue::Queue;
use crate::config::{Bound, Capacity, Maximum, Percent, Share};
use crate::facts::{Application, PartitionShare};
use crate::ids::{LeafUserId, PartitionId, QueueId};
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

/// Recomputes guarantees, maxima and user limits of every queue in `partition`, which has this name and `total`.
fn resolve(queues: &mut [Queue], partition: PartitionId, name: &str, total: Resources) {
    let all = if queues[QueueId::ROOT.index()].may_use(partition) { total } else { Resources::ZERO };
    let root = &mut queues[QueueId::ROOT.index()].quota[partition.index()];
    root.guaranteed = all;
    root.maximum = all;
    // A parent has a smaller number than its children.
    for index in 0..queues.len() {
        resolve_children(queues, QueueId(index as u32), partition, name);
        resolve_user_limit(&mut queues[index], partition);
        let quota = &mut queues[index].quota[partition.index()];
        quota.share_base = quota.guaranteed.combine(&total, |own, all| if own > 0 { own } else { all });
    }
}

impl QueueTree {
    /// Computes guarantees, maxima and user limits of all queues from the partitions' totals.
    pub(crate) fn resolve_limits(&mut self) {
        for ((partition, totals), name) in
            self.partitions.iter().enumerate().zip(self.config.partition_names())
        {
            resolve(&mut self.queues, PartitionId(partition as u32), name, totals.capacity);
        }
        self.guaranteed = self.queue(QueueId::ROOT).quota.iter().map(|quota| quota.guaranteed).sum();
    }

    /// Whether the limits of queues, user and limit usages admit `change` on top of their use, with containers of at
    /// most size `largest`. Ignores amounts in flight.
    pub(crate) fn limits_admit(
        &self,
        user: LeafUserId,
        share: PartitionShare,
        change: &Resources,
        largest: &Resources,
    ) -> bool {
        let used = |queue: QueueId| &self.queue(queue).quota(share.partition).used;
        let mut chain = self.queue(self.user(user).leaf).chain.iter();
        chain.all(|queue| self.queue_admits(*queue, share, used(*queue), change))
            && self.limit_usages_admit(user, share.partition, change)
            && self.user_may_use(user, share, change, largest)
    }

    /// The resources that the user may still get below its user limit; negative where it exceeds the limit.
    pub(crate) fn user_headroom(&self, id: LeafUserId, partition: PartitionId) -> Resources {
        let user = self.user(id);
        let leaf_use = || self.leaf_use(user.leaf, partition, Resources::ZERO);
        self.user_limit(id, PartitionShare::own(partition), &Resources::ZERO, leaf_use)
            - user.used[partition.index()]
    }

    /// The smallest headroom of the application's user, its limit usages and the queues above it, in whole steps; zero
    /// where a limit is exceeded.
    pub(crate) fn headroom(&self, application: &Application, partition: PartitionId) -> Resources {
        let of_user = self.user_headroom(application.user, partition);
        let limit_usages = self.user(application.user).limit_usages.iter().map(|id| self.limit_usage(*id));
        let of_user = limit_usages.fold(of_user, |left, limit_usage| {
            left.min(&(limit_usage.maximum() - limit_usage.used[partition.index()]))
        });
        let path = self.queue(application.leaf).chain.iter().map(|queue| self.queue(*queue).quota(partition));
        let left = path.fold(of_user, |left, quota| left.min(&(quota.maximum - quota.used)));
        let steps = self.config.allocation.minimum;
        Resources::new(&std::array::from_fn::<_, RESOURCE_TYPES_MAX, _>(|i| {
            let left = left[i].max(0);
            left - left % steps[i].max(1)
        }))
    }
}

/// Computes the children's guarantees and maxima. Queues that may not use the partition get none of it.
fn resolve_children(queues: &mut [Queue], parent: QueueId, partition: PartitionId, name: &str) {
    let children = queues[parent.index()].children.clone();
    let above = *queues[parent.index()].quota(partition);
    let capacity_of = |child: &QueueId| match &queues[child.index()] {
        queue if queue.may_use(partition) => queue.config.capacity_in(name),
        _ => Capacity::Absolute(Resources::ZERO),
    };
    let capacities: Vec<Capacity> = children.iter().map(capacity_of).collect();
    let guarantees = divide(&above.guaranteed, &capacities);
    for (child, guaranteed) in children.into_iter().zip(guarantees) {
        let queue = &mut queues[child.index()];
        let maximum = match queue.may_use(partition) {
            true => maximum_below(&above.maximum, &queue.config.maximum_in(name)),
            false => Resources::ZERO,
        };
        let quota = &mut queue.quota[partition.index()];
        quota.guaranteed = guaranteed.min(&maximum);
        quota.maximum = maximum;
    }
}

fn maximum_below(above: &Resources, maximum: &Maximum) -> Resources {
    let amounts = std::array::from_fn::<_, RESOURCE_TYPES_MAX, _>(|i| match maximum.bound(i) {
        Bound::Percent(part) => percent_of(above[i], part),
        Bound::Amount(amount) => amount.min(above[i]),
    });
    Resources::new(&amounts)
}

/// Computes one user's limit: a multiple of the guarantee, at most the maximum. For a type without guarantee, and
/// without a factor, it is the maximum.
fn resolve_user_limit(queue: &mut Queue, partition: PartitionId) {
    let factor = queue.config.user_limit_factor;
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

/// Divides a parent's guarantee among its children, each resource type by itself.
fn divide(total: &Resources, capacities: &[Capacity]) -> Vec<Resources> {
    let mut divided = vec![Resources::ZERO; capacities.len()];
    // If the parent has nothing of a type, its children have nothing either.
    for i in (0..RESOURCE_TYPES_MAX).filter(|i| total[*i] > 0) {
        let parts = Parts::of(total[i], capacities.iter().map(|capacity| capacity.share(i)));
        for (own, capacity) in divided.iter_mut().zip(capacities) {
            own.set(i, parts.part(capacity.share(i)));
        }
    }
    divided
}

/// How an amount is divided: absolute amounts first (scaled down together if they exceed the total), percentages of the
/// remainder, and the rest by weight. Rounded down.
struct Parts {
    total: i64,
    absolute: i64,
    after_absolute: i64,
    after_percent: i64,
    weights_milli: u64,
}

impl Parts {
    fn of(total: i64, shares: impl Iterator<Item = Share> + Clone) -> Self {
        let (mut absolute, mut weights_milli) = (0, 0);
        for share in shares.clone() {
            match share {
                Share::Amount(amount) => absolute += amount,
                Share::Weight(weight) => weights_milli += weight.milli(),
                Share::Percent(_) => {}
            }
        }
        let after_absolute = (total - absolute).max(0);
        let percent =
            |share| if let Share::Percent(part) = share { percent_of(after_absolute, part) } else { 0 };
        let after_percent = (after_absolute - shares.map(percent).sum::<i64>()).max(0);
        Self { total, absolute, after_absolute, after_percent, weights_milli }
    }

    fn part(&self, share: Share) -> i64 {
        match share {
            Share::Amount(amount) if self.absolute > self.total => {
                fraction(amount, self.total as u64, self.absolute as u64)
            }
            Share::Amount(amount) => amount,
            Share::Percent(part) => percent_of(self.after_absolute, part),
            Share::Weight(weight) => fraction(self.after_percent, weight.milli(), self.weights_milli),
        }
    }
}

fn percent_of(amount: i64, part: Percent) -> i64 {
    fraction(amount, u64::from(part.millionths()), u64::from(Percent::ALL.millionths()))
}

/// A part that is no larger than the whole, rounded down.
fn fraction(amount: i64, numerator: u64, denominator: u64) -> i64 {
    let product = i128::from(amount) * i128::from(numerator) / i128::from(denominator.max(1));
    i64::try_from(product).unwrap_or(amount)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Factor;

    fn units(amounts: &[Resources]) -> Vec<i64> {
        amounts.iter().map(|amount| amount[0]).collect()
    }

    /// The case of YARN's design for mixed capacities.
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

    #[test]
    fn each_type_is_divided_by_itself() {
        let percent = |whole| Share::Percent(Percent::whole(whole));
        let weight = |whole| Share::Weight(Factor::whole(whole));
        let capacities = [
            Capacity::mixed(&[percent(50), weight(2), Share::Amount(4)]),
            Capacity::mixed(&[Share::Amount(20), weight(1), percent(100)]),
            Capacity::Weight(Factor::ONE),
        ];
        let total = Resources::new(&[100, 40, 10, 0]);
        let expected = [&[40, 20, 4][..], &[20, 10, 6], &[40, 10, 0]].map(Resources::new);
        assert_eq!(divide(&total, &capacities), expected);
    }
}
