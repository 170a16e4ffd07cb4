//! The limits that block an ask before any node is checked: queues, user, application.

use serde::{Deserialize, Serialize};

use super::gang::{GangWait, awaited_gang};
use super::headroom::headroom_blocker;
use super::nodes::NodeFilter;
use crate::facts::{Ask, HeldBack, Holder, Locality, Master, PartitionShare, Shape, WaitingGang};
use crate::ids::{AskId, GangId, LeafUserId, PartitionId};
use crate::resource::{Amounts, Resources, missing};
use crate::state::State;

/// The first obstacle of an ask that is not a node. The order is activation, gang, reservations, units in flight,
/// queues from root to leaf, user and group limits in queues, user limit, and blocked headroom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Blocker {
    /// The application waits for activation.
    Inactive(ActivationLimit),
    /// One more container would exceed a queue's maximum.
    QueueMaximum(LimitReached),
    /// One more container would exceed the limit of a user or a group in a queue.
    HolderLimit {
        /// The holder of the limit.
        #[serde(flatten)]
        holder: LimitHolder,
        /// The queue and the amounts.
        #[serde(flatten)]
        reached: LimitReached,
    },
    /// One more container would exceed the user limit.
    UserLimit {
        /// The user at the limit.
        user: String,
        /// The leaf and the amounts.
        #[serde(flatten)]
        reached: LimitReached,
    },
    /// An earlier queue blocks the headroom that one more container would take.
    BlockedHeadroom {
        /// The path of the queue that blocks it.
        blocked_for: String,
        /// The queue and the amounts; the limit is reduced by the blocked headroom.
        #[serde(flatten)]
        reached: LimitReached,
    },
    /// All outstanding containers are proposed and not decided.
    InFlight {
        /// The number of those containers.
        units: u32,
    },
    /// Its gang has not started.
    Gang(GangWait),
    /// All outstanding containers have reserved nodes, and the ask may not go anywhere else.
    Reservations {
        /// The number of reserved nodes.
        nodes: usize,
    },
}

/// The holder of a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitHolder {
    /// This user.
    User(String),
    /// All users that count for this group; `*`: for no group that a limit names.
    Group(String),
}

/// The limit that keeps an application inactive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "held_back_by", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActivationLimit {
    /// The queue is at its limit of active applications.
    Applications {
        /// The queue's path.
        queue: String,
        /// The limit.
        maximum: u32,
    },
    /// The queue is at the user's limit of active applications.
    UserApplications {
        /// The queue's path.
        queue: String,
        /// The user.
        user: String,
        /// The limit.
        maximum: u32,
    },
    /// The queue is at the group's limit of active applications.
    GroupApplications {
        /// The queue's path.
        queue: String,
        /// The group.
        group: String,
        /// The limit.
        maximum: u32,
    },
    /// Masters would exceed their part of the leaf.
    MasterShare(LimitReached),
    /// The user's masters would exceed their part of the leaf.
    UserMasterShare {
        /// The user.
        user: String,
        /// The leaf and the amounts.
        #[serde(flatten)]
        reached: LimitReached,
    },
}

/// A limit that one more container would exceed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitReached {
    /// The path of the queue whose limit it is.
    pub queue: String,
    /// Use by containers and reservations, for the types that are short.
    pub used: Amounts,
    /// Amounts in flight, which count as used until they are decided.
    pub in_flight: Amounts,
    /// The limit, for the types that are short.
    pub limit: Amounts,
    /// The amount that must be freed for one more container.
    pub missing: Amounts,
}

/// The first obstacle to one more container. The limits and the headroom of the ask's own partition are none if it may
/// borrow a node.
pub(super) fn first_blocker(filter: &NodeFilter<'_>, id: AskId) -> Option<Blocker> {
    let NodeFilter { state, ask, .. } = filter;
    if let Some(held_back) = held_back(state, ask) {
        return Some(held_back);
    }
    if let Some(gang) = awaited_gang(state, id) {
        return Some(gang);
    }
    let in_flight = state.in_flight.of_ask(id).load();
    let unreserved = ask.outstanding().saturating_sub(ask.reservations().len() as u32);
    if unreserved == 0 {
        // Reserved units are charged already, so no limit blocks them.
        let is_bound = ask.preference().loosest() < Locality::OffSwitch;
        return is_bound.then_some(Blocker::Reservations { nodes: ask.reservations().len() });
    }
    if in_flight >= unreserved {
        return Some(Blocker::InFlight { units: in_flight });
    }
    filter.unless_lent(first_limit(state, ask).or_else(|| headroom_blocker(state, ask)))
}

/// The limit that keeps the ask's application inactive, if any.
fn held_back(state: &State, ask: &Ask) -> Option<Blocker> {
    let facts = &state.facts;
    let application = facts.applications.at(ask.application);
    if application.is_active {
        return None;
    }
    let (leaf, user) = (facts.queue(application.leaf), facts.user(application.user));
    let path = |queue| facts.queue(queue).path.to_string();
    let reached = |masters: &[Resources], limit| {
        let nothing = Master { size: Resources::ZERO, partition: PartitionId::DEFAULT };
        let Master { size, partition } = application.master.unwrap_or(nothing);
        let level = Level { used: masters[partition.index()], in_flight: Resources::ZERO, limit };
        level.reached(state, &leaf.path, &size)
    };
    let name = || user.name.to_string();
    let limit = match facts.tree.held_back(application)? {
        HeldBack::Applications { queue, maximum } => {
            ActivationLimit::Applications { queue: path(queue), maximum }
        }
        HeldBack::UserApplications { queue, maximum } => {
            ActivationLimit::UserApplications { queue: path(queue), user: name(), maximum }
        }
        HeldBack::LimitUsage { limit_usage, maximum } => {
            let limit_usage = facts.tree.limit_usage(limit_usage);
            let queue = path(limit_usage.queue);
            match holder(&limit_usage.holder) {
                LimitHolder::User(user) => ActivationLimit::UserApplications { queue, user, maximum },
                LimitHolder::Group(group) => ActivationLimit::GroupApplications { queue, group, maximum },
            }
        }
        HeldBack::MasterShare { limit } => ActivationLimit::MasterShare(reached(&leaf.masters, limit)),
        HeldBack::UserMasterShare { limit } => {
            ActivationLimit::UserMasterShare { user: name(), reached: reached(&user.masters, limit) }
        }
    };
    Some(Blocker::Inactive(limit))
}

/// The first limit on the path that one more container would exceed. Amounts in flight count, as in passes.
pub(super) fn first_limit(state: &State, ask: &Ask) -> Option<Blocker> {
    first_limit_of(state, ask, state.facts.shapes.at(ask.shape))
}

/// The same for the ask placed as `shape`, which may be a variant for borrowed nodes.
pub(super) fn first_limit_of(state: &State, ask: &Ask, shape: &Shape) -> Option<Blocker> {
    let facts = &state.facts;
    let application = facts.applications.at(ask.application);
    let (partition, size) = (shape.partition, &shape.need.resources);
    for &queue in &facts.queue(application.leaf).chain {
        let quota = facts.queue(queue).quota(partition);
        let in_flight = state.in_flight.queues.load(queue, partition);
        if !facts.tree.queue_admits(queue, shape.share(), &(quota.used + in_flight), size) {
            let level = Level { used: quota.used, in_flight, limit: quota.maximum };
            return Some(Blocker::QueueMaximum(level.reached(state, &facts.queue(queue).path, size)));
        }
    }
    limit_of_user(state, application.user, shape)
}

/// The limit that one more container of the shape would exceed: the user's in its leaf, or one of its limit usages.
pub(super) fn limit_of_user(state: &State, id: LeafUserId, shape: &Shape) -> Option<Blocker> {
    let facts = &state.facts;
    let (partition, size) = (shape.partition, &shape.need.resources);
    if let Some(blocker) = holder_limit(state, id, partition, size) {
        return Some(blocker);
    }
    let user = facts.user(id);
    let leaf = facts.queue(user.leaf);
    let in_flight = state.in_flight.users.load(id, partition);
    let used = user.used[partition.index()];
    let leaf_use = || {
        let in_flight = state.in_flight.queues.load(user.leaf, partition);
        facts.tree.leaf_use(user.leaf, partition, in_flight)
    };
    if facts.tree.user_may_grow(id, shape.share(), &(used + in_flight), size, leaf_use) {
        return None;
    }
    let limit = facts.tree.user_limit(id, shape.share(), size, leaf_use);
    let level = Level { used, in_flight, limit };
    Some(Blocker::UserLimit { user: user.name.to_string(), reached: level.reached(state, &leaf.path, size) })
}

/// The first limit on the path that does not admit the minimum of a gang. A limit that is not below the size of the
/// partition only says that there is too little room, and is left out.
pub(super) fn limit_of_gang(state: &State, id: GangId, gang: &WaitingGang) -> Option<Blocker> {
    let facts = &state.facts;
    let limit = |partition| {
        // What the gang holds is charged already.
        let size = facts.minimum_of(gang, partition) - facts.held_by(id, partition);
        limit_of_members(state, gang, partition, &size)
    };
    facts.partitions_wanted(gang).into_iter().find_map(limit)
}

fn limit_of_members(
    state: &State,
    gang: &WaitingGang,
    partition: PartitionId,
    size: &Resources,
) -> Option<Blocker> {
    let facts = &state.facts;
    let application = facts.applications.at(gang.application);
    let chain = &facts.queue(application.leaf).chain;
    let capacity = facts.tree.partitions[partition.index()].capacity;
    let level = |used: &Resources, limit: &Resources| {
        let short = missing(size, &(*limit - *used));
        let is_limit = size.types().any(|i| short[i] > 0 && limit[i] < capacity[i]);
        is_limit.then_some(Level { used: *used, in_flight: Resources::ZERO, limit: *limit })
    };
    for queue in chain.iter().map(|id| facts.queue(*id)) {
        let quota = queue.quota(partition);
        if let Some(level) = level(&quota.used, &quota.maximum) {
            return Some(Blocker::QueueMaximum(level.reached(state, &queue.path, size)));
        }
    }
    let user = facts.user(application.user);
    for usage in user.limit_usages.iter().map(|id| facts.tree.limit_usage(*id)) {
        if let Some(level) = level(&usage.used[partition.index()], &usage.maximum()) {
            let reached = level.reached(state, &facts.queue(usage.queue).path, size);
            return Some(Blocker::HolderLimit { holder: holder(&usage.holder), reached });
        }
    }
    let share = PartitionShare::own(partition);
    let largest = facts.largest_of(gang, partition);
    if facts.tree.user_may_use(application.user, share, size, &largest) {
        return None;
    }
    let leaf_use = || facts.tree.leaf_use(application.leaf, partition, *size - largest);
    let limit = facts.tree.user_limit(application.user, share, &largest, leaf_use);
    let level = level(&user.used[partition.index()], &limit)?;
    let reached = level.reached(state, &facts.queue(application.leaf).path, size);
    Some(Blocker::UserLimit { user: user.name.to_string(), reached })
}

fn holder_limit(
    state: &State,
    user: LeafUserId,
    partition: PartitionId,
    size: &Resources,
) -> Option<Blocker> {
    let facts = &state.facts;
    let in_flight = |id| state.in_flight.limit_usages.load(id, partition);
    let used = |id| facts.tree.limit_usage(id).used[partition.index()];
    let id = facts.tree.exhausted_limit_usage(user, size, |id| used(id) + in_flight(id))?;
    let limit_usage = facts.tree.limit_usage(id);
    let level = Level { used: used(id), in_flight: in_flight(id), limit: limit_usage.maximum() };
    let reached = level.reached(state, &facts.queue(limit_usage.queue).path, size);
    Some(Blocker::HolderLimit { holder: holder(&limit_usage.holder), reached })
}

fn holder(holder: &Holder) -> LimitHolder {
    match holder {
        Holder::User(name) => LimitHolder::User(name.to_string()),
        Holder::Group(name) => LimitHolder::Group(name.to_string()),
    }
}

/// The amounts that count against a limit.
pub(super) struct Level {
    pub(super) used: Resources,
    pub(super) in_flight: Resources,
    pub(super) limit: Resources,
}

impl Level {
    pub(super) fn reached(&self, state: &State, queue: &str, size: &Resources) -> LimitReached {
        let left = self.limit - self.used - self.in_flight;
        let short = missing(size, &left);
        let of_short =
            |amounts: &Resources| state.facts.config.resources.amounts(&amounts.of_types_in(&short));
        LimitReached {
            queue: queue.to_owned(),
            used: of_short(&self.used),
            in_flight: of_short(&self.in_flight),
            limit: of_short(&self.limit),
            missing: of_short(&short),
        }
    }
}
