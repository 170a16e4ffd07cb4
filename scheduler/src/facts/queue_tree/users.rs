//! The users of leaves: they come with their first application, and the configuration gives them weights.

use std::sync::Arc;

use super::{ActiveUsers, QueueTree};
use crate::config::Factor;
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
    fn user_weight(&self, leaf: QueueId, name: &str) -> Factor {
        let chain = self.queue(leaf).chain.iter().rev();
        chain
            .map(|id| self.queue(*id))
            .find_map(|queue| queue.config.user_weights.get(name).copied())
            .unwrap_or(Factor::ONE)
    }

    /// Recomputes the weights and counts of a leaf's users, after its configuration or that of a queue above has
    /// changed.
    pub(crate) fn recount_users(&mut self, id: QueueId) {
        for user in self.queue(id).users.values().copied().collect::<Vec<_>>() {
            self.users[user.index()].weight = self.user_weight(id, &self.user(user).name);
        }
        let queue = &mut self.queues[id.index()];
        queue.active = ActiveUsers::default();
        queue.quota.iter_mut().for_each(|quota| quota.used_by_active = Resources::ZERO);
        let users: Vec<_> = queue.users.values().map(|user| &self.users[user.index()]).collect();
        for user in users.into_iter().filter(|user| user.is_active()) {
            queue.active.users += 1;
            queue.active.weight_milli += user.weight.milli();
            queue.count_use_of(user, |sum, used| *sum += used);
        }
        self.inactive.record_change();
    }
}
