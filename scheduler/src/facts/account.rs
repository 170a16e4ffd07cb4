//! Accounts: what a user, or a group, has in a queue that limits it, in whatever leaf below.
//!
//! They follow from the queues' configuration and from who the leaves' users are: a user's list says against which
//! accounts all that it has in its leaf counts. Nobody has any where no queue above has limits of that kind. An account
//! keeps its number for as long as the engine lives, so what is in flight for it is taken back from it.
//!
//! In prose an account is a *limit usage*. The configuration or the groups of the user's latest application can
//! change the list. In the same change, all that the user has goes from the old accounts to the new. That counts as
//! a move: amounts in flight stay counted in the old accounts, and every limit is looked at again.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Facts, LeafUser};
use crate::config::{EVERYBODY_ELSE, TenantLimit};
use crate::ids::{AccountId, LeafUserId, PartitionId, QueueId};
use crate::resource::Resources;

/// Whose account it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    User(Arc<str>),
    Group(Arc<str>),
}

#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) queue: QueueId,
    pub(crate) holder: Holder,
    /// By partition, reservations included.
    pub(crate) used: Vec<Resources>,
    /// Applications that are active.
    pub(crate) active: u32,
    /// What it may have in each partition.
    maximum: Resources,
    /// How many applications may be active.
    pub(crate) parallel: Option<u32>,
}

/// All accounts that ever were, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    pub(crate) all: Vec<Account>,
    ids: FxHashMap<(QueueId, Holder), AccountId>,
}

impl Account {
    /// Whether it may have so much more than `level`.
    pub(crate) fn admits(&self, level: &Resources, more: &Resources) -> bool {
        level.can_grow(more, &self.maximum)
    }

    pub(crate) fn maximum(&self) -> Resources {
        self.maximum
    }

    /// How many of its applications may be active, if not one more may.
    pub(super) fn reached(&self) -> Option<u32> {
        self.parallel.filter(|maximum| self.active >= *maximum)
    }
}

impl Facts {
    pub(crate) fn account(&self, id: AccountId) -> &Account {
        &self.accounts.all[id.index()]
    }

    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts.all
    }

    /// The first account of the user that may not have so much more.
    pub(crate) fn exhausted_account(
        &self,
        user: LeafUserId,
        more: &Resources,
        mut level: impl FnMut(AccountId) -> Resources,
    ) -> Option<AccountId> {
        let mut accounts = self.user(user).accounts.iter().copied();
        accounts.find(|id| !self.account(*id).admits(&level(*id), more))
    }

    /// Whether the user's accounts may have so much more in the partition than they use.
    pub(crate) fn accounts_admit(&self, user: LeafUserId, partition: PartitionId, more: &Resources) -> bool {
        let used = |id| self.account(id).used[partition.index()];
        self.exhausted_account(user, more, used).is_none()
    }

    /// The accounts of a user of the leaf who is in these groups, with the limits that hold now.
    pub(super) fn accounts_for(
        &mut self,
        leaf: QueueId,
        user: &Arc<str>,
        groups: &[String],
    ) -> Vec<AccountId> {
        let limits = self.limits_for(leaf, user, groups);
        limits.into_iter().map(|(queue, holder, limit)| self.account_with(queue, holder, &limit)).collect()
    }

    /// The limits for a user of the leaf who is in these groups, from the root to the leaf, and who has them.
    fn limits_for(
        &self,
        leaf: QueueId,
        user: &Arc<str>,
        groups: &[String],
    ) -> Vec<(QueueId, Holder, TenantLimit)> {
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
            all.extend(limits.map(|(holder, limit)| (id, holder, limit.clone())));
        }
        all
    }

    /// Whether the accounts of the user are those that it should have, with their limits.
    pub(crate) fn has_its_accounts(&self, user: &LeafUser) -> bool {
        let limits = self.limits_for(user.leaf, &user.name, &user.groups);
        let is_its = |(id, limit): (&AccountId, &(QueueId, Holder, TenantLimit))| {
            let (account, (queue, holder, limit)) = (self.account(*id), limit);
            (account.queue, &account.holder) == (*queue, holder)
                && (account.maximum, account.parallel) == (limit.amounts(), limit.parallel)
        };
        limits.len() == user.accounts.len() && user.accounts.iter().zip(&limits).all(is_its)
    }

    /// The one group for which a member of these counts.
    fn group_for(&self, chain: &[QueueId], groups: &[String]) -> Option<Arc<str>> {
        let configs = || chain.iter().rev().map(|queue| &self.queue(*queue).config);
        let named = configs().find_map(|config| config.first_limited_group(groups));
        let others = || configs().any(|config| config.limit_of_group(EVERYBODY_ELSE).is_some());
        named.or_else(|| others().then_some(EVERYBODY_ELSE)).map(Arc::from)
    }

    fn account_with(&mut self, queue: QueueId, holder: Holder, limit: &TenantLimit) -> AccountId {
        let Accounts { all, ids } = &mut self.accounts;
        let partitions = self.partitions.len();
        let id = *ids.entry((queue, holder)).or_insert_with_key(|(queue, holder)| {
            let (queue, holder) = (*queue, holder.clone());
            let used = vec![Resources::ZERO; partitions];
            all.push(Account { queue, holder, used, active: 0, maximum: Resources::ZERO, parallel: None });
            AccountId(all.len() as u32 - 1)
        });
        let account = &mut all[id.index()];
        (account.maximum, account.parallel) = (limit.amounts(), limit.parallel);
        id
    }

    /// Says anew who has which accounts, and counts them, after the configuration of queues has changed.
    pub(super) fn recount_accounts(&mut self) {
        for account in &mut self.accounts.all {
            account.used.fill(Resources::ZERO);
            account.active = 0;
        }
        for index in 0..self.users.len() {
            let LeafUser { leaf, name, groups, .. } = self.users[index].clone();
            self.users[index].accounts = self.accounts_for(leaf, &name, &groups);
            self.count_in_accounts(LeafUserId(index as u32), 1);
        }
    }

    /// All that the user has comes to its accounts, or with `sign` -1 leaves them.
    pub(super) fn count_in_accounts(&mut self, user: LeafUserId, sign: i32) {
        let user = &self.users[user.index()];
        for id in &user.accounts {
            let account = &mut self.accounts.all[id.index()];
            let sums = account.used.iter_mut().zip(&user.used);
            sums.for_each(|(sum, used)| *sum += used.times(i64::from(sign)));
            let active = (user.applications - user.inactive) as i32;
            account.active = account.active.wrapping_add_signed(active * sign);
        }
    }
}
