//! Transitions of applications: they enter a leaf, wait for activation, move, and leave.

use crate::facts::application::{Application, ApplicationEnd, Master};
use crate::facts::{Facts, Load, QueueTree};
use crate::ids::{ApplicationId, AskId, LeafUserId, PartitionId, QueueId};

impl Facts {
    /// An application enters its leaf and waits for activation.
    pub(crate) fn transition_submit_application(&mut self, id: ApplicationId, application: Application) {
        debug_assert!(!application.is_active, "{id} was not activated yet");
        self.tree.count_application(application.leaf, application.user, 1);
        self.tree.count_inactive(application.leaf, application.user, 1);
        self.tree.inactive.add(id, &application);
        self.applications.insert(id, application);
    }

    /// An inactive application becomes active.
    pub(crate) fn transition_activate(&mut self, id: ApplicationId) {
        let application = self.applications.at_mut(id);
        debug_assert!(!application.is_active, "{id} is active already");
        self.tree.inactive.remove(id, application);
        application.is_active = true;
        let Application { leaf, user, master, .. } = *application;
        self.tree.count_inactive(leaf, user, -1);
        self.tree.count_active(user, 1);
        self.tree.count_master(leaf, user, master, 1);
    }

    /// The use and demand of the application with these asks, by partition.
    pub(crate) fn loads_of(&self, id: ApplicationId, asks: &[AskId]) -> Vec<Load> {
        let mut loads = vec![Load::default(); self.tree.partitions.len()];
        for container in self.applications.at(id).containers.iter(&self.containers) {
            let shape = self.shapes.at(self.containers.at(container).shape);
            let load = &mut loads[shape.partition.index()];
            load.used += shape.need.resources;
            load.containers += 1;
        }
        for ask in asks.iter().map(|ask| self.asks.at(*ask)) {
            let shape = self.shapes.at(ask.shape);
            let load = &mut loads[shape.partition.index()];
            let reserved = shape.need.resources.times(ask.reservations().len() as i64);
            load.used += reserved;
            load.reserved += reserved;
            load.pending += shape.need.resources.times(i64::from(ask.outstanding()));
        }
        loads
    }

    /// An application moves to the leaf of this user, with its `loads` by partition and its `outstanding` units.
    pub(crate) fn transition_move(
        &mut self,
        id: ApplicationId,
        user: LeafUserId,
        loads: &[Load],
        outstanding: u64,
    ) {
        let leaf = self.user(user).leaf;
        let application = self.applications.at_mut(id);
        let (old_leaf, old_user) = (application.leaf, application.user);
        if !application.is_active {
            self.tree.inactive.remove(id, application);
        }
        (application.leaf, application.user) = (leaf, user);
        if !application.is_active {
            self.tree.inactive.add(id, application);
        }
        let Application { master, is_active, priority, .. } = *application;
        if outstanding > 0 {
            self.tree.end_demand(old_leaf, priority);
            self.tree.begin_demand(leaf, priority);
        }
        for (leaf, user, sign) in [(old_leaf, old_user, -1), (leaf, user, 1)] {
            self.tree.count_application(leaf, user, sign);
            if is_active {
                self.tree.count_active(user, sign);
                self.tree.count_master(leaf, user, master, i64::from(sign));
            } else {
                self.tree.count_inactive(leaf, user, sign);
            }
            for (partition, load) in loads.iter().enumerate() {
                self.tree.shift(leaf, user, PartitionId(partition as u32), load, i64::from(sign));
            }
            self.tree.change_wants(user, |user| {
                user.outstanding = user.outstanding.wrapping_add_signed(outstanding as i64 * i64::from(sign));
            });
        }
        self.tree.inactive.record_change();
    }

    /// An application gets another priority.
    pub(crate) fn transition_set_priority(&mut self, id: ApplicationId, priority: u32) {
        let application = self.applications.at_mut(id);
        let (leaf, old) = (application.leaf, application.priority);
        let is_wanting = application.outstanding > 0;
        if application.is_active {
            application.priority = priority;
        } else {
            self.tree.inactive.remove(id, application);
            application.priority = priority;
            self.tree.inactive.add(id, application);
        }
        if is_wanting {
            self.tree.end_demand(leaf, old);
            self.tree.begin_demand(leaf, priority);
        }
    }

    /// An application is ending: it stays until its last container has ended.
    pub(crate) fn transition_ending(&mut self, id: ApplicationId, end: ApplicationEnd) {
        self.applications.at_mut(id).ending = Some(end);
    }

    /// An application without asks and containers leaves.
    pub(crate) fn transition_end_application(&mut self, id: ApplicationId) {
        let application = self.applications.remove(id).expect("the caller checked that it is alive");
        debug_assert!(application.asks == 0 && application.used.is_zero(), "{id} still holds something");
        self.disruption.forget_application(id);
        if self.has_task_groups() {
            self.transition_forget_names(id);
        }
        let Application { leaf, user, master, .. } = application;
        self.tree.count_application(leaf, user, -1);
        if application.is_active {
            self.tree.count_active(user, -1);
            self.tree.count_master(leaf, user, master, -1);
        } else {
            self.tree.inactive.remove(id, &application);
            self.tree.count_inactive(leaf, user, -1);
        }
        self.tree.inactive.record_change();
    }
}

impl QueueTree {
    /// Adds a load to a leaf and its user, or with `sign` -1 subtracts it.
    pub(super) fn shift(
        &mut self,
        leaf: QueueId,
        user: LeafUserId,
        partition: PartitionId,
        load: &Load,
        sign: i64,
    ) {
        let used = load.used.times(sign);
        let of_user = &mut self.users[user.index()];
        of_user.used[partition.index()] += used;
        for limit_usage in &of_user.limit_usages {
            self.limit_usages.all[limit_usage.index()].used[partition.index()] += used;
        }
        let of_leaf = &mut self.queues[leaf.index()];
        let quota = &mut of_leaf.quota[partition.index()];
        quota.pending += load.pending.times(sign);
        if of_leaf.shares_among_users() && of_user.is_active() {
            of_leaf.quota[partition.index()].used_by_active += used;
        }
        for level in of_leaf.chain.clone() {
            let quota = &mut self.queues[level.index()].quota[partition.index()];
            quota.used += used;
            quota.reserved += load.reserved.times(sign);
            quota.containers = quota.containers.wrapping_add_signed(load.containers * sign);
        }
    }

    /// Counts one application more, or with `sign` -1 one less, in the leaf, in the queues above it and at the user.
    fn count_application(&mut self, leaf: QueueId, user: LeafUserId, sign: i32) {
        let change = |count: &mut u32| *count = count.wrapping_add_signed(sign);
        change(&mut self.users[user.index()].applications);
        let mut level = Some(leaf);
        while let Some(queue) = level {
            let queue = &mut self.queues[queue.index()];
            change(&mut queue.applications);
            level = queue.parent;
        }
    }

    /// Counts one more application that waits for activation, or with `sign` -1 one less.
    fn count_inactive(&mut self, leaf: QueueId, user: LeafUserId, sign: i32) {
        let change = |count: &mut u32| *count = count.wrapping_add_signed(sign);
        for level in self.queues[leaf.index()].chain.clone() {
            change(&mut self.queues[level.index()].inactive);
        }
        self.change_wants(user, |user| change(&mut user.inactive));
    }

    /// Adds the master of an active application, or with `sign` -1 subtracts it.
    fn count_master(&mut self, leaf: QueueId, user: LeafUserId, master: Option<Master>, sign: i64) {
        let Some(Master { size, partition }) = master else { return };
        self.queues[leaf.index()].masters[partition.index()] += size.times(sign);
        self.users[user.index()].masters[partition.index()] += size.times(sign);
    }
}
