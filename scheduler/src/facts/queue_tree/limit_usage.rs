//! Limit usages: the use of a user or group that counts against its limit in a queue, over all leaves below.
//!
//! They follow from the queues' configuration and from the users of leaves. A leaf user's list names the limit usages
//! against which its use counts. The list is empty if no queue above has such limits. A limit usage keeps its number
//! for the engine's life, so its amounts in flight are always taken back from it.
//!
//! The configuration or the groups of the user's latest application can change the list. The same change moves the
//! user's use from the old limit usages to the new ones. It counts as a move: amounts in flight stay in the old limit
//! usages, and every limit is checked again.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::QueueTree;
use crate::config::{EVERYBODY_ELSE, HolderLimit};
use crate::facts::LeafUser;
use crate::ids::{LeafUserId, LimitUsageId, PartitionId, QueueId};
use crate::resource::Resources;

/// The user or group that a limit usage belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    User(Arc<str>),
    Group(Arc<str>),
}

#[derive(Clone, Debug)]
pub(crate) struct LimitUsage {
    pub(crate) queue: QueueId,
    pub(crate) holder: Holder,
    /// By partition, reservations included.
    pub(crate) used: Vec<Resources>,
    /// The number of active applications.
    pub(crate) active: u32,
    /// The most that it may use in each partition.
    maximum: Resources,
    /// The most applications that may be active.
    pub(crate) parallel: Option<u32>,
}

/// A queue's limit for a holder.
struct LimitAtQueue {
    queue: QueueId,
    holder: Holder,
    limit: HolderLimit,
}

/// All limit usages so far, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct LimitUsages {
    pub(crate) all: Vec<LimitUsage>,
    ids: FxHashMap<(QueueId, Holder), LimitUsageId>,
}

impl LimitUsage {
    /// Whether it may use `more` on top of `level`.
    pub(crate) fn admits(&self, level: &Resources, more: &Resources) -> bool {
        level.can_grow(more, &self.maximum)
    }

    pub(crate) fn maximum(&self) -> Resources {
        self.maximum
    }

    /// The maximum of active applications, if it is reached.
    pub(super) fn reached(&self) -> Option<u32> {
        self.parallel.filter(|maximum| self.active >= *maximum)
    }
}

impl QueueTree {
    pub(crate) fn limit_usage(&self, id: LimitUsageId) -> &LimitUsage {
        &self.limit_usages.all[id.index()]
    }

    pub(crate) fn limit_usages(&self) -> &[LimitUsage] {
        &self.limit_usages.all
    }

    /// The first limit usage of the user that does not admit `more`.
    pub(crate) fn exhausted_limit_usage(
        &self,
        user: LeafUserId,
        more: &Resources,
        mut level: impl FnMut(LimitUsageId) -> Resources,
    ) -> Option<LimitUsageId> {
        let mut limit_usages = self.user(user).limit_usages.iter().copied();
        limit_usages.find(|id| !self.limit_usage(*id).admits(&level(*id), more))
    }

    /// Whether the user's limit usages admit `more` in the partition on top of their use.
    pub(crate) fn limit_usages_admit(
        &self,
        user: LeafUserId,
        partition: PartitionId,
        more: &Resources,
    ) -> bool {
        let used = |id| self.limit_usage(id).used[partition.index()];
        self.exhausted_limit_usage(user, more, used).is_none()
    }

    /// The limit usages of a user of the leaf in these groups, with the present limits.
    pub(in crate::facts) fn limit_usages_for(
        &mut self,
        leaf: QueueId,
        user: &Arc<str>,
        groups: &[String],
    ) -> Vec<LimitUsageId> {
        let limits = self.limits_for(leaf, user, groups);
        limits
            .into_iter()
            .map(|of_user| self.limit_usage_with(of_user.queue, of_user.holder, &of_user.limit))
            .collect()
    }

    /// The limits for a user of the leaf in these groups, from the root to the leaf.
    fn limits_for(&self, leaf: QueueId, user: &Arc<str>, groups: &[String]) -> Vec<LimitAtQueue> {
        let chain = &self.queue(leaf).chain;
        let limited = || chain.iter().filter(|queue| !self.queue(**queue).config.limits.is_empty());
        let Some(_) = limited().next() else { return Vec::new() };
        let group = self.group_for(chain, groups);
        let mut all = Vec::new();
        for &id in limited() {
            let config = &self.queue(id).config;
            let of_user = config.limit_of_user(user).map(|limit| (Holder::User(Arc::clone(user)), limit));
            let of_group = group
                .as_ref()
                .and_then(|group| Some((Holder::Group(Arc::clone(group)), config.limit_of_group(group)?)));
            let limits = of_user.into_iter().chain(of_group);
            all.extend(limits.map(|(holder, limit)| LimitAtQueue {
                queue: id,
                holder,
                limit: limit.clone(),
            }));
        }
        all
    }

    /// Whether the user has the limit usages that follow from the configuration, with their limits.
    pub(crate) fn has_its_limit_usages(&self, user: &LeafUser) -> bool {
        let limits = self.limits_for(user.leaf, &user.name, &user.groups);
        let is_its = |(id, expected): (&LimitUsageId, &LimitAtQueue)| {
            let (limit_usage, limit) = (self.limit_usage(*id), &expected.limit);
            (limit_usage.queue, &limit_usage.holder) == (expected.queue, &expected.holder)
                && (limit_usage.maximum, limit_usage.parallel) == (limit.amounts(), limit.parallel)
        };
        limits.len() == user.limit_usages.len() && user.limit_usages.iter().zip(&limits).all(is_its)
    }

    /// The one group against whose limits a member of `groups` counts.
    fn group_for(&self, chain: &[QueueId], groups: &[String]) -> Option<Arc<str>> {
        let configs = || chain.iter().rev().map(|queue| &self.queue(*queue).config);
        let named = configs().find_map(|config| config.first_limited_group(groups));
        let others = || configs().any(|config| config.limit_of_group(EVERYBODY_ELSE).is_some());
        named.or_else(|| others().then_some(EVERYBODY_ELSE)).map(Arc::from)
    }

    fn limit_usage_with(&mut self, queue: QueueId, holder: Holder, limit: &HolderLimit) -> LimitUsageId {
        let LimitUsages { all, ids } = &mut self.limit_usages;
        let partitions = self.partitions.len();
        let id = *ids.entry((queue, holder)).or_insert_with_key(|(queue, holder)| {
            let (queue, holder) = (*queue, holder.clone());
            let used = vec![Resources::ZERO; partitions];
            all.push(LimitUsage { queue, holder, used, active: 0, maximum: Resources::ZERO, parallel: None });
            LimitUsageId(all.len() as u32 - 1)
        });
        let limit_usage = &mut all[id.index()];
        (limit_usage.maximum, limit_usage.parallel) = (limit.amounts(), limit.parallel);
        id
    }

    /// Recomputes the limit usages of all users and their sums, after the configuration of queues has changed.
    pub(super) fn recount_limit_usages(&mut self) {
        for limit_usage in &mut self.limit_usages.all {
            limit_usage.used.fill(Resources::ZERO);
            limit_usage.active = 0;
        }
        for index in 0..self.users.len() {
            let LeafUser { leaf, name, groups, .. } = self.users[index].clone();
            self.users[index].limit_usages = self.limit_usages_for(leaf, &name, &groups);
            self.count_in_limit_usages(LeafUserId(index as u32), 1);
        }
    }

    /// Adds the user's use and active applications to its limit usages, or with `sign` -1 subtracts them.
    pub(in crate::facts) fn count_in_limit_usages(&mut self, user: LeafUserId, sign: i32) {
        let user = &self.users[user.index()];
        for id in &user.limit_usages {
            let limit_usage = &mut self.limit_usages.all[id.index()];
            let sums = limit_usage.used.iter_mut().zip(&user.used);
            sums.for_each(|(sum, used)| *sum += used.times(i64::from(sign)));
            let active = (user.applications - user.inactive) as i32;
            limit_usage.active = limit_usage.active.wrapping_add_signed(active * sign);
        }
    }
}
