//! Transitions of the users of a leaf: their demand, their active applications, their groups.

use crate::facts::QueueTree;
use crate::facts::application::LeafUser;
use crate::ids::LeafUserId;

impl QueueTree {
    /// Changes the user's demand. The user may become active or inactive.
    pub(super) fn change_wants(&mut self, user: LeafUserId, change: impl FnOnce(&mut LeafUser)) {
        let user = &mut self.users[user.index()];
        let was_active = user.is_active();
        change(user);
        if was_active == user.is_active() {
            return;
        }
        let queue = &mut self.queues[user.leaf.index()];
        if was_active {
            queue.active.users -= 1;
            queue.active.weight_milli -= user.weight.milli();
            queue.count_use_of(user, |sum, used| *sum -= used);
        } else {
            queue.active.users += 1;
            queue.active.weight_milli += user.weight.milli();
            queue.count_use_of(user, |sum, used| *sum += used);
        }
        self.inactive.record_change();
    }

    /// Counts one more active application of the user, or with `sign` -1 one less.
    pub(super) fn count_active(&mut self, user: LeafUserId, sign: i32) {
        for limit_usage in &self.users[user.index()].limit_usages {
            let active = &mut self.limit_usages.all[limit_usage.index()].active;
            *active = active.wrapping_add_signed(sign);
        }
        self.count_active_by_user(user, sign);
    }

    /// A user gets other groups. Returns whether that changed its limit usages.
    pub(crate) fn transition_regroup(&mut self, id: LeafUserId, groups: &[String]) -> bool {
        let LeafUser { leaf, name, .. } = self.users[id.index()].clone();
        let limit_usages = self.limit_usages_for(leaf, &name, groups);
        let user = &mut self.users[id.index()];
        user.groups = groups.to_vec();
        if user.limit_usages == limit_usages {
            return false;
        }
        self.count_in_limit_usages(id, -1);
        self.users[id.index()].limit_usages = limit_usages;
        self.count_in_limit_usages(id, 1);
        self.inactive.record_change();
        true
    }
}
