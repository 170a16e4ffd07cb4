//! Limits that queues set for users and groups, over all leaves below.

use apportion::config::{HolderLimit, QueueConfig};

use super::amounts::{Amounts, NOTHING, may_add, plus};
use super::{Application, Books, Oracle};

/// A limit on a user of a leaf, and the users that share it.
struct Holding<'a> {
    queue: usize,
    /// The group whose members share the limit; `None` if it is the user's own.
    group: Option<&'a str>,
    limit: &'a HolderLimit,
}

impl Oracle {
    /// All limits on the user.
    fn holding(&self, leaf: usize, user: &str) -> Vec<Holding<'_>> {
        let group = self.counts_for(leaf, user);
        let mut all = Vec::new();
        for queue in self.tree.chain(leaf) {
            let limits = || self.tree.queues[queue].config.limits.iter();
            let for_user = |name: &str| limits().find(|limit| limit.users.iter().any(|own| own == name));
            if let Some(limit) = for_user(user).or_else(|| for_user("*")) {
                all.push(Holding { queue, group: None, limit });
            }
            let shared = limits().find(|limit| limit.groups.iter().any(|own| Some(own.as_str()) == group));
            if let Some(limit) = shared {
                all.push(Holding { queue, group, limit });
            }
        }
        all
    }

    /// The group whose limits the user of the leaf counts against.
    fn counts_for(&self, leaf: usize, user: &str) -> Option<&str> {
        let own = self.groups.get(&(leaf, user.to_owned()))?;
        let configs: Vec<&QueueConfig> =
            self.tree.chain(leaf).into_iter().map(|queue| &self.tree.queues[queue].config).collect();
        let named = || configs.iter().flat_map(|config| &config.limits).flat_map(|limit| &limit.groups);
        let first = named().find(|name| *name != "*" && own.contains(name));
        first.or_else(|| named().find(|name| *name == "*")).map(String::as_str)
    }

    /// Whether the use of `user` in `leaf` counts against this limit of the user `of`.
    fn shares(&self, holding: &Holding<'_>, of: &str, leaf: usize, user: &str) -> bool {
        let is_below = self.tree.chain(leaf).contains(&holding.queue);
        is_below
            && match holding.group {
                None => user == of,
                group => self.counts_for(leaf, user) == group,
            }
    }

    fn held(&self, books: &Books, partition: usize, holding: &Holding<'_>, of: &str) -> Amounts {
        let users = books
            .users
            .iter()
            .filter(|((there, leaf, user), _)| *there == partition && self.shares(holding, of, *leaf, user));
        users.fold(NOTHING, |sum, (_, used)| plus(&sum, used))
    }

    /// Whether limits of users and groups let the user have `more`.
    pub(super) fn holders_allow(
        &self,
        books: &Books,
        partition: usize,
        leaf: usize,
        user: &str,
        more: &Amounts,
    ) -> bool {
        self.holding(leaf, user).iter().all(|holding| {
            let most = holding.limit.maximum.map(|most| most.unwrap_or(i64::MAX));
            may_add(&self.held(books, partition, holding, user), more, &most)
        })
    }

    /// Whether every amount of the user that has grown is within its limits.
    pub(super) fn holder_limits_are_kept(
        &self,
        before: &Books,
        after: &Books,
        partition: usize,
        leaf: usize,
        user: &str,
    ) -> bool {
        self.holding(leaf, user).iter().all(|holding| {
            let held = |books| self.held(books, partition, holding, user);
            let (before, after) = (held(before), held(after));
            (0..after.len()).all(|i| {
                after[i] <= before[i] || holding.limit.maximum[i].is_none_or(|most| after[i] <= most)
            })
        })
    }

    /// Whether the limits allow one more active application of the user.
    pub(super) fn holders_may_run(&self, application: &Application) -> bool {
        let user = application.spec.user.as_str();
        self.holding(application.leaf, user).iter().all(|holding| {
            let counts = |other: &&Application| {
                other.is_active && self.shares(holding, user, other.leaf, &other.spec.user)
            };
            let active = self.applications.values().filter(counts).count();
            holding.limit.parallel.is_none_or(|most| active < most as usize)
        })
    }

    /// Records the groups of the user in the leaf.
    pub(super) fn record_groups(&mut self, leaf: usize, user: &str, groups: &[String]) {
        self.groups.insert((leaf, user.to_owned()), groups.to_vec());
    }
}
