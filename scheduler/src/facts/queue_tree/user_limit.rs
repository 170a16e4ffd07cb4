//! The limit of one user of a leaf. Proposers and the committer use this one test.
//!
//! The ceiling is guarantee times factor, at most the maximum. For types without a guarantee it is the maximum. Where
//! users have shares, the limit can be lower.

use super::{Queue, QueueTree};
use crate::config::{Factor, Percent};
use crate::facts::{LeafUser, PartitionShare};
use crate::ids::{LeafUserId, PartitionId, QueueId};
use crate::resource::{RESOURCE_TYPES_MAX, Resources, UNLIMITED};

/// The use of a leaf in a partition, as the caller sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafUse {
    /// Use by all of its users.
    pub(crate) all: Resources,
    /// Use by active users.
    pub(crate) active: Resources,
    /// The sum of the weights of its active users.
    pub(crate) active_weight_milli: u64,
}

impl Queue {
    /// Whether the limit of each user moves with the use of the others.
    pub(crate) fn shares_among_users(&self) -> bool {
        self.semantics.moves_user_limits() || self.config.user_limit_minimum < Percent::ALL
    }

    /// Counts the use of a user who became active or inactive. Does nothing where limits do not move.
    pub(in crate::facts) fn count_use_of(
        &mut self,
        user: &LeafUser,
        count: impl Fn(&mut Resources, Resources),
    ) {
        if self.shares_among_users() {
            self.quota
                .iter_mut()
                .zip(&user.used)
                .for_each(|(quota, used)| count(&mut quota.used_by_active, *used));
        }
    }
}

impl QueueTree {
    /// Whether the user, who uses `used`, may use `size` more. Other use in the leaf is computed only where it matters.
    pub(crate) fn user_may_grow(
        &self,
        id: LeafUserId,
        share: PartitionShare,
        used: &Resources,
        size: &Resources,
        leaf_use: impl FnOnce() -> LeafUse,
    ) -> bool {
        self.user_may_change(id, share, used, size, size, leaf_use)
    }

    /// Whether the user's use may change by `change`, whose last step is `container`.
    fn user_may_change(
        &self,
        id: LeafUserId,
        share: PartitionShare,
        used: &Resources,
        change: &Resources,
        container: &Resources,
        leaf_use: impl FnOnce() -> LeafUse,
    ) -> bool {
        let user = self.user(id);
        let queue = self.queue(user.leaf);
        if !queue.shares_among_users() && user.weight == Factor::ONE {
            return used.can_grow(change, self.user_ceiling(queue, share));
        }
        used.can_grow(change, &self.user_limit(id, share, container, leaf_use))
    }

    /// The bound for one user of the leaf, before its weight and regardless of other users.
    fn user_ceiling<'a>(&'a self, leaf: &'a Queue, share: PartitionShare) -> &'a Resources {
        self.limit_beyond_queues(share).unwrap_or(&leaf.quota(share.partition).user_limit)
    }

    /// The limit of all users of the leaf together.
    fn most_of_users<'a>(&'a self, queue: &'a Queue, share: PartitionShare) -> &'a Resources {
        self.limit_beyond_queues(share).unwrap_or(&queue.quota(share.partition).maximum)
    }

    /// The limit of a user who would use `size` more, at most the ceiling times the weight.
    ///
    /// In YARN's words: the current capacity is the guarantee or, where more is used, the use. A user may have the
    /// minimum percentage of it, or an equal share of the use of active users. YARN lets a user at or below the limit
    /// have one more container. Here the limit includes that container. It is added to the equal share and to the
    /// percentage of the use, the latter up to the percentage of the maximum.
    fn shared_user_limit(
        &self,
        queue: &Queue,
        share: PartitionShare,
        weight: Factor,
        ceiling: &Resources,
        used: &LeafUse,
        size: &Resources,
    ) -> Resources {
        let (quota, most) = (queue.quota(share.partition), self.most_of_users(queue, share));
        let weight = i128::from(weight.milli());
        let weights = i128::from(used.active_weight_milli).max(weight);
        let part = i128::from(queue.config.user_limit_minimum.millionths());
        let percentage = |amount: i64| i128::from(amount) * part * weight / 1_000_000_000;
        let mut limit = ceiling.scaled(weight as u64, Factor::ONE.milli());
        for i in (0..RESOURCE_TYPES_MAX).filter(|i| quota.guaranteed[*i] > 0) {
            let more = size[i].max(0);
            // One more container on top of the share: the user with the least use for its weight always gets one.
            let equal_share = i128::from(used.active[i]) * weight / weights + i128::from(more);
            let of_use = (percentage(used.all[i]) + i128::from(more)).min(percentage(most[i]));
            let of_capacity = of_use.max(percentage(quota.guaranteed[i]));
            limit.set(i, limit[i].min(i64::try_from(equal_share.max(of_capacity)).unwrap_or(UNLIMITED)));
        }
        limit
    }

    /// The limit as YARN computes it, in steps of the smallest container. The guarantee is at least one step. If it is
    /// used up, the current capacity is the use plus one step. The result is rounded up to steps, multiplied by the
    /// user's weight and rounded down.
    fn yarn_user_limit(
        &self,
        queue: &Queue,
        partition: PartitionId,
        weight: Factor,
        ceiling: Option<&Resources>,
        used: &LeafUse,
    ) -> Resources {
        let (quota, steps) = (queue.quota(partition), &self.config.allocation.minimum);
        let weights = i128::from(used.active_weight_milli.max(weight.milli()));
        let part = i128::from(queue.config.user_limit_minimum.millionths());
        let of_type = |i: usize| {
            let step = i128::from(steps[i].max(1));
            let (all, active) = (i128::from(used.all[i]), i128::from(used.active[i]));
            let capacity = i128::from(quota.guaranteed[i]).max(step);
            let current = if all < capacity { capacity } else { all + step };
            let share = ((active + step) * 1000).div_euclid(weights);
            let ceiling = match (ceiling, queue.config.user_limit_factor) {
                (Some(ceiling), _) => i128::from(ceiling[i]),
                (None, Some(factor)) => capacity * i128::from(factor.milli()) / 1000,
                (None, None) => i128::from(quota.maximum[i]),
            };
            let limit = share.max(current * part / 1_000_000).min(ceiling);
            let rounded = (limit + step - 1) / step * step;
            let weighted = rounded * i128::from(weight.milli()) / 1000 / step * step;
            i64::try_from(weighted).unwrap_or(UNLIMITED).min(UNLIMITED)
        };
        Resources::new(&std::array::from_fn::<_, RESOURCE_TYPES_MAX, _>(of_type))
    }

    /// The user's limit by shares alone, for `size` more; `None` where users have no shares.
    pub(crate) fn user_share(
        &self,
        id: LeafUserId,
        share: PartitionShare,
        size: &Resources,
        leaf_use: LeafUse,
    ) -> Option<Resources> {
        let user = self.user(id);
        let queue = self.queue(user.leaf);
        let boundless = Resources::all(UNLIMITED);
        let limit = if queue.semantics.uses_yarn_user_limits() {
            self.yarn_user_limit(queue, share.partition, user.weight, Some(&boundless), &leaf_use) + *size
        } else {
            self.shared_user_limit(queue, share, user.weight, &boundless, &leaf_use, size)
        };
        queue.shares_among_users().then_some(limit)
    }

    /// The most that the user may use if it asks for `size` more.
    pub(crate) fn user_limit(
        &self,
        id: LeafUserId,
        share: PartitionShare,
        size: &Resources,
        leaf_use: impl FnOnce() -> LeafUse,
    ) -> Resources {
        let user = self.user(id);
        let queue = self.queue(user.leaf);
        if queue.semantics.uses_yarn_user_limits() {
            // A user at or below the limit may have one more container.
            let ceiling = self.limit_beyond_queues(share);
            return self.yarn_user_limit(queue, share.partition, user.weight, ceiling, &leaf_use()) + *size;
        }
        let ceiling = self.user_ceiling(queue, share);
        if queue.shares_among_users() {
            return self.shared_user_limit(queue, share, user.weight, ceiling, &leaf_use(), size);
        }
        ceiling.scaled(user.weight.milli(), Factor::ONE.milli())
    }

    /// Whether the user's use may change by `change`, with containers of at most size `largest`. Moving limits are
    /// computed for the last container, after all others, so a request for several is admitted only if one by one they
    /// were.
    pub(crate) fn user_may_use(
        &self,
        id: LeafUserId,
        share: PartitionShare,
        change: &Resources,
        largest: &Resources,
    ) -> bool {
        let user = self.user(id);
        let leaf_use = || self.leaf_use(user.leaf, share.partition, *change - *largest);
        self.user_may_change(id, share, &user.used[share.partition.index()], change, largest, leaf_use)
    }

    /// The leaf's use, with `besides` about to be used by pending asks.
    pub(crate) fn leaf_use(&self, leaf: QueueId, partition: PartitionId, besides: Resources) -> LeafUse {
        let queue = self.queue(leaf);
        let quota = queue.quota(partition);
        let (all, active) = (quota.used + besides, quota.used_by_active + besides);
        LeafUse { all, active, active_weight_milli: queue.active.weight_milli }
    }
}
