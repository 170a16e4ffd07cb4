//! The configuration key that sets the limit in an ask's way.

use super::gang::GangWait;
use super::limits::{ActivationLimit, Blocker, LimitHolder, LimitReached};
use crate::config::{HolderLimit, PartitionAccess, QueueConfig, Setting, quoted_key, quoted_text};
use crate::facts::{Ask, Facts, Queue, Shape};
use crate::ids::QueueId;
use crate::state::State;

/// The configuration key that sets the blocker's limit. `None` if no key does: for the size of the cluster, blocked
/// headroom, reservations and amounts in flight.
pub(super) fn deciding_setting(state: &State, ask: &Ask, blocker: &Blocker) -> Option<Setting> {
    let facts = &state.facts;
    let types = &facts.config.resources;
    let shape = facts.shapes.at(ask.shape);
    let queue_of = |path: &str| facts.tree.queue_named(path).map(|id| (facts.queue(id), table(facts, id)));
    match blocker {
        Blocker::Inactive(limit) => activation_setting(limit, queue_of),
        Blocker::QueueMaximum(reached) => {
            let (queue, table) = queue_of(&reached.queue)?;
            let partition = shape.partition.index().checked_sub(1);
            let partition = partition.map_or("", |place| &facts.config.partitions[place]);
            queue.parent.is_some().then(|| match &queue.config.accessible_partitions {
                Some(PartitionAccess::Only(names)) if queue.config.is_kept_from(partition) => {
                    let names: Vec<_> = names.iter().map(|name| quoted_text(name)).collect();
                    Setting::new(&table, "accessible_partitions", format!("[{}]", names.join(", ")))
                }
                _ => Setting::maximum(&table, &queue.config, partition, types),
            })
        }
        Blocker::HolderLimit { holder, reached } => {
            let (queue, table) = queue_of(&reached.queue)?;
            let (number, limit) = limit_of(&queue.config, holder)?;
            Some(Setting::holder_maximum(&table, number, limit, types))
        }
        Blocker::UserLimit { user, reached } => {
            let (queue, table) = queue_of(&reached.queue)?;
            if is_share_smaller(state, ask, shape, reached) {
                return Some(Setting::user_limit_minimum(&table, &queue.config));
            }
            let weight = queue.config.user_limit_factor.is_none().then(|| user_weight(facts, queue, user));
            weight.flatten().or_else(|| Some(Setting::user_limit_factor(&table, &queue.config)))
        }
        Blocker::Gang(GangWait { limit: Some(limit), .. }) => deciding_setting(state, ask, limit),
        Blocker::Gang(_)
        | Blocker::BlockedHeadroom { .. }
        | Blocker::InFlight { .. }
        | Blocker::Reservations { .. } => None,
    }
}

/// The table of the queue, or of the template that made it.
fn table(facts: &Facts, id: QueueId) -> String {
    let queue = facts.queue(id);
    match facts.tree.auto_creation_at(id) {
        Some((maker, _)) if queue.is_auto_created => {
            let template = if queue.is_leaf { "leaf" } else { "parent" };
            format!("{}.auto_creation.{template}", Setting::table(&facts.queue(maker).path))
        }
        _ => Setting::table(&queue.path),
    }
}

/// The user's weight, if the leaf or a queue above it sets one.
fn user_weight(facts: &Facts, leaf: &Queue, user: &str) -> Option<Setting> {
    leaf.chain.iter().rev().find_map(|id| {
        let weight = facts.queue(*id).config.user_weights.get(user)?;
        Some(Setting::new(&table(facts, *id), format!("user_weights.{}", quoted_key(user)), weight))
    })
}

fn activation_setting<'f>(
    limit: &ActivationLimit,
    queue_of: impl Fn(&str) -> Option<(&'f Queue, String)>,
) -> Option<Setting> {
    let of_limit_holder = |queue: &Queue, table: &str, holder: &LimitHolder| {
        let (number, limit) = limit_of(&queue.config, holder)?;
        let key = format!("limits[{number}].maximum_parallel_applications");
        limit.parallel.map(|maximum| Setting::new(table, key, maximum))
    };
    match limit {
        ActivationLimit::Applications { queue, maximum } => {
            let (_, table) = queue_of(queue)?;
            Some(Setting::new(&table, "maximum_parallel_applications", maximum))
        }
        ActivationLimit::UserApplications { queue, user, maximum } => {
            let (queue, table) = queue_of(queue)?;
            let parallel = &queue.config.parallel;
            if parallel.by_user.get(user) == Some(maximum) {
                let key = format!("maximum_parallel_applications_by_user.{}", quoted_key(user));
                return Some(Setting::new(&table, key, maximum));
            }
            if parallel.of_user(user) == Some(*maximum) {
                return Some(Setting::new(&table, "maximum_parallel_applications_per_user", maximum));
            }
            of_limit_holder(queue, &table, &LimitHolder::User(user.clone()))
        }
        ActivationLimit::GroupApplications { queue, group, .. } => {
            let (queue, table) = queue_of(queue)?;
            of_limit_holder(queue, &table, &LimitHolder::Group(group.clone()))
        }
        ActivationLimit::MasterShare(reached) | ActivationLimit::UserMasterShare { reached, .. } => {
            let (queue, table) = queue_of(&reached.queue)?;
            Setting::master_share(&table, &queue.config)
        }
    }
}

/// The limit that holds for the holder, and its number.
fn limit_of<'q>(queue: &'q QueueConfig, holder: &LimitHolder) -> Option<(usize, &'q HolderLimit)> {
    let limit = match holder {
        LimitHolder::User(user) => queue.limit_of_user(user)?,
        LimitHolder::Group(group) => queue.limit_of_group(group)?,
    };
    let number = queue.limits.iter().position(|one| std::ptr::eq(one, limit))?;
    Some((number, limit))
}

/// Whether a share among the active users is the user's limit, and not the multiple of the leaf's guarantee.
fn is_share_smaller(state: &State, ask: &Ask, shape: &Shape, reached: &LimitReached) -> bool {
    let facts = &state.facts;
    let user = facts.applications.at(ask.application).user;
    let leaf = facts.user(user).leaf;
    let in_flight = state.in_flight.queues.load(leaf, shape.partition);
    let leaf_use = facts.tree.leaf_use(leaf, shape.partition, in_flight);
    let Some(share) = facts.tree.user_share(user, shape.share(), &shape.need.resources, leaf_use) else {
        return false;
    };
    let types = &facts.config.resources;
    let is_reached = |name: &str, limit: i64| types.index(name).is_ok_and(|index| share[index] <= limit);
    reached.missing.iter().any(|(name, _)| is_reached(name, reached.limit.get(name)))
}
