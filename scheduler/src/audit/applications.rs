//! Checks of the sums over applications, in their users and queues.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::AuditReport;
use crate::facts::{Facts, Master, PendingPriorities};
use crate::ids::{QueueId, SlotId};
use crate::resource::Resources;

/// The part of I2, I12 and I13 that follows from applications and their asks.
pub(super) fn check(facts: &Facts, report: &mut AuditReport) {
    check_active_users(facts, report);
    check_limit_usages(facts, report);
    check_activation(facts, report);
    check_masters(facts, report);
    check_demand(facts, report);
}

/// I2: the outstanding units of each user equal the sums over its asks, and leaves count their active users and their
/// use.
fn check_active_users(facts: &Facts, report: &mut AuditReport) {
    let mut outstanding = vec![0; facts.tree.users.len()];
    for (_, ask) in facts.asks.iter() {
        if let Some(application) = facts.applications.get(ask.application) {
            outstanding[application.user.index()] += u64::from(ask.outstanding());
        }
    }
    for (user, outstanding) in facts.tree.users.iter().zip(&outstanding) {
        report.check(user.outstanding == *outstanding, "I2", || {
            format!("user {} has {outstanding}", user.name)
        });
    }
    for queue in &facts.tree.queues {
        let active = queue.users.values().map(|id| facts.user(*id)).filter(|user| user.is_active());
        let sums =
            active.clone().fold((0, 0), |(users, weights), user| (users + 1, weights + user.weight.milli()));
        let is_equal = sums == (queue.active.users, queue.active.weight_milli);
        report.check(is_equal, "I2", || format!("{} has active users {sums:?}", queue.path));
        for (partition, quota) in queue.quota.iter().enumerate() {
            let counted = active.clone().filter(|_| queue.shares_among_users());
            let used: Resources = counted.map(|user| user.used[partition]).sum();
            let path = &queue.path;
            report.check(used == quota.used_by_active, "I2", || format!("{path}: active users use {used:?}"));
        }
    }
}

/// I2: each limit usage equals the sums over the leaf users that count for it.
fn check_limit_usages(facts: &Facts, report: &mut AuditReport) {
    let nothing = (vec![Resources::ZERO; facts.tree.partitions.len()], 0);
    let mut held = vec![nothing; facts.tree.limit_usages().len()];
    for user in &facts.tree.users {
        let name = &user.name;
        report.check(facts.tree.has_its_limit_usages(user), "I2", || {
            format!("user {name} counts for {:?}", user.limit_usages)
        });
        for limit_usage in &user.limit_usages {
            let (used, active) = &mut held[limit_usage.index()];
            used.iter_mut().zip(&user.used).for_each(|(sum, used)| *sum += *used);
            *active += user.applications - user.inactive;
        }
    }
    for (limit_usage, (used, active)) in facts.tree.limit_usages().iter().zip(held) {
        let (holder, is_equal) =
            (&limit_usage.holder, (&limit_usage.used, limit_usage.active) == (&used, active));
        report.check(is_equal, "I2", || format!("{holder:?} has {:?}, its users {used:?}", limit_usage.used));
    }
}

/// I2: the counts of inactive applications, and of active applications by user, equal the sums over applications. I12:
/// all inactive applications are in a line. I13: no application waits that could be active.
fn check_activation(facts: &Facts, report: &mut AuditReport) {
    let mut waiting = BTreeSet::new();
    let mut by_queue = vec![(0, FxHashMap::default()); facts.tree.queues.len()];
    let mut by_user = vec![0; facts.tree.users.len()];
    for (id, application) in facts.applications.iter() {
        let user = facts.user(application.user);
        if !application.is_active {
            waiting.insert(id);
            by_user[application.user.index()] += 1;
        }
        for level in &facts.queue(application.leaf).chain {
            let (inactive, active) = &mut by_queue[level.index()];
            if !application.is_active {
                *inactive += 1;
            } else if facts.queue(*level).config.parallel.limits_users() {
                *active.entry(Arc::clone(&user.name)).or_default() += 1;
            }
        }
    }
    for (user, count) in facts.tree.users.iter().zip(by_user) {
        report.check(user.inactive == count, "I2", || format!("user {}: {count} wait", user.name));
    }
    for (queue, (inactive, active)) in facts.tree.queues.iter().zip(by_queue) {
        let is_equal = queue.inactive == inactive && queue.active_by_user == active;
        report
            .check(is_equal, "I2", || format!("{}: {inactive} wait, active by user: {active:?}", queue.path));
    }
    let listed: BTreeSet<_> = facts.tree.inactive.iter().collect();
    report.check(listed == waiting, "I12", || format!("lines list {listed:?}, inactive are {waiting:?}"));
    if listed == waiting {
        let next = facts.tree.next_to_activate(&facts.applications);
        report.check(next.is_none(), "I13", || format!("{next:?} may be activated but waits"));
    }
}

/// I2: the master amounts of users and leaves equal the sums over active applications.
fn check_masters(facts: &Facts, report: &mut AuditReport) {
    let nothing = vec![Resources::ZERO; facts.tree.partitions.len()];
    let mut of_users = vec![nothing.clone(); facts.tree.users.len()];
    let mut of_leaves = vec![nothing; facts.tree.queues.len()];
    for (_, application) in facts.applications.iter().filter(|(_, application)| application.is_active) {
        if let Some(Master { size, partition }) = application.master {
            of_users[application.user.index()][partition.index()] += size;
            of_leaves[application.leaf.index()][partition.index()] += size;
        }
    }
    for (user, masters) in facts.tree.users.iter().zip(of_users) {
        let is_equal = user.masters == masters;
        report.check(is_equal, "I2", || format!("user {}: masters need {masters:?}", user.name));
    }
    for (queue, masters) in facts.tree.queues.iter().zip(of_leaves) {
        report.check(queue.masters == masters, "I2", || format!("{}: masters need {masters:?}", queue.path));
    }
}

/// I2: the demand priorities of queues follow from their applications with outstanding units.
fn check_demand(facts: &Facts, report: &mut AuditReport) {
    let slots = facts.applications.iter().map(|(id, _)| id.index() + 1).max().unwrap_or_default();
    let mut wanted = vec![(0, Resources::ZERO); slots];
    for (_, ask) in facts.asks.iter() {
        let (units, demand): &mut (u64, Resources) = &mut wanted[ask.application.index()];
        *units += u64::from(ask.outstanding());
        *demand += facts.shapes.at(ask.shape).need.resources.times(i64::from(ask.outstanding()));
    }
    for (_, container) in facts.containers.iter() {
        wanted[container.application.index()].1 += facts.shapes.at(container.shape).need.resources;
    }
    let mut demands = vec![PendingPriorities::default(); facts.tree.queues.len()];
    for (id, application) in facts.applications.iter() {
        let (units, demand) = wanted[id.index()];
        let is_equal = (units, demand) == (application.outstanding, application.demand);
        report.check(is_equal, "I2", || {
            format!("{id} has {units} outstanding units and the demand {demand:?}")
        });
        if units > 0 {
            demands[application.leaf.index()].add(application.priority);
        }
    }
    for (index, (queue, demand)) in facts.tree.queues.iter().zip(demands).enumerate() {
        let priority = facts.tree.computed_demand_priority(QueueId(index as u32));
        let known = facts.tree.demand_priority(QueueId(index as u32));
        let is_equal = (&queue.demand, known) == (&demand, priority);
        report.check(is_equal, "I2", || format!("{} has priority {priority} by {demand:?}", queue.path));
    }
}
