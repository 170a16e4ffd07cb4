//! What users and applications get when they enter a leaf.

use std::sync::Arc;

use super::QueueTree;
use crate::config::{Factor, Lifetimes};
use crate::facts::LeafUser;
use crate::ids::{LeafUserId, QueueId};
use crate::resource::Resources;

impl QueueTree {
    /// Returns the leaf user with this name; creates it in these groups if it is new.
    pub(crate) fn intern_user(&mut self, leaf: QueueId, name: &str, groups: &[String]) -> LeafUserId {
        if let Some(&user) = self.queue(leaf).users.get(name) {
            return user;
        }
        let user = LeafUserId(self.users.len() as u32);
        let name: Arc<str> = name.into();
        let used = vec![Resources::ZERO; self.partitions.len()];
        let weight = self.user_weight(leaf, &name);
        let limit_usages = self.limit_usages_for(leaf, &name, groups);
        self.users.push(LeafUser {
            name: Arc::clone(&name),
            leaf,
            masters: used.clone(),
            used,
            applications: 0,
            inactive: 0,
            outstanding: 0,
            weight,
            groups: groups.to_vec(),
            limit_usages,
        });
        self.queues[leaf.index()].users.insert(name, user);
        user
    }

    /// The user's weight in the nearest queue at or above the leaf that names the user.
    pub(super) fn user_weight(&self, leaf: QueueId, name: &str) -> Factor {
        let chain = self.queue(leaf).chain.iter().rev();
        chain
            .map(|id| self.queue(*id))
            .find_map(|queue| queue.config.user_weights.get(name).copied())
            .unwrap_or(Factor::ONE)
    }

    /// The priority of an application in the leaf: the wanted one or the leaf's default, at most the maximum.
    pub(crate) fn priority_of(&self, wanted: Option<u32>, leaf: QueueId) -> u32 {
        let priority = wanted.unwrap_or(self.queue(leaf).config.default_application_priority);
        self.config.maximum_application_priority.map_or(priority, |maximum| priority.min(maximum))
    }

    /// How long an application in the leaf may live: its own lifetime or else the default, at most the maximum. Default
    /// and maximum are those of the nearest queue, from the leaf up, that sets them.
    pub(crate) fn application_lifetime_ms(&self, wanted_ms: Option<u64>, leaf: QueueId) -> Option<u64> {
        let said = |what: fn(&Lifetimes) -> Option<u64>| {
            self.queue(leaf).chain.iter().rev().find_map(|id| what(&self.queue(*id).config.lifetimes))
        };
        let wanted_ms = wanted_ms.or_else(|| said(|lifetimes| lifetimes.default_ms));
        [wanted_ms, said(|lifetimes| lifetimes.maximum_ms)].into_iter().flatten().min()
    }
}
