//! What stands in an ask's way before any node is looked at: queues, user, application.

use serde::Serialize;

use super::Amounts;
use super::shortage::missing;
use crate::facts::{Ask, Locality};
use crate::ids::AskId;
use crate::resource::Resources;
use crate::state::State;

/// What keeps an ask from being looked at. Queues come first, root before leaf, then the user, then the application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Blocker {
    /// One container more would exceed a queue's maximum.
    QueueMaximum(LimitReached),
    /// One container more would exceed the user limit.
    UserLimit {
        /// Who is at the limit.
        user: String,
        /// In which leaf, and how.
        #[serde(flatten)]
        reached: LimitReached,
    },
    /// All that the ask wants is proposed and not decided.
    InFlight {
        /// How many containers that is.
        units: u32,
    },
    /// All that the ask wants has nodes kept for it, and it may not go anywhere else.
    Claims {
        /// How many nodes.
        nodes: usize,
    },
}

/// A limit that one container more would exceed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitReached {
    /// The path of the queue whose limit it is.
    pub queue: String,
    /// What containers and claims hold, of the types that are short.
    pub used: Amounts,
    /// What is proposed and not decided; it counts as used meanwhile.
    pub in_flight: Amounts,
    /// What may be used at most, of the types that are short.
    pub limit: Amounts,
    /// How much less would have to be used for one container more.
    pub missing: Amounts,
}

/// The first that stands in the way of one container more.
pub(super) fn first_blocker(state: &State, id: AskId, ask: &Ask) -> Option<Blocker> {
    let in_flight = state.in_flight.of_ask(id).load();
    let unclaimed = ask.outstanding() - ask.reservations.len() as u32;
    if unclaimed == 0 {
        // Charged already, so no limit stands in the way.
        let is_bound = ask.wishes.loosest() < Locality::OffSwitch;
        return is_bound.then_some(Blocker::Claims { nodes: ask.reservations.len() });
    }
    if in_flight >= unclaimed {
        return Some(Blocker::InFlight { units: in_flight });
    }
    first_limit(state, ask)
}

/// The first limit on the path that one container more would exceed, counting what is in flight as passes do.
pub(super) fn first_limit(state: &State, ask: &Ask) -> Option<Blocker> {
    let facts = &state.facts;
    let (shape, application) = (facts.shapes.at(ask.shape), facts.applications.at(ask.application));
    let (partition, size) = (shape.partition, &shape.need.resources);
    for &queue in &facts.queue(application.leaf).chain {
        let quota = facts.queue(queue).quota(partition);
        let in_flight = state.in_flight.of_queue(queue, partition).load();
        if !quota.admits(&(quota.used + in_flight), size) {
            let level = Level { used: quota.used, in_flight, limit: quota.maximum };
            return Some(Blocker::QueueMaximum(level.reached(state, &facts.queue(queue).path, size)));
        }
    }
    let (leaf, user) = (facts.queue(application.leaf), facts.user(application.user));
    let in_flight = state.in_flight.of_user(application.user, partition).load();
    let used = user.used[partition.index()];
    let leaf_use = || {
        let in_flight = state.in_flight.of_queue(user.leaf, partition).load();
        facts.leaf_use(user.leaf, partition, in_flight)
    };
    if facts.user_may_grow(application.user, partition, &(used + in_flight), size, leaf_use) {
        return None;
    }
    let limit = facts.user_limit(application.user, partition, size, leaf_use);
    let level = Level { used, in_flight, limit };
    Some(Blocker::UserLimit { user: user.name.to_string(), reached: level.reached(state, &leaf.path, size) })
}

/// What counts against a limit.
struct Level {
    used: Resources,
    in_flight: Resources,
    limit: Resources,
}

impl Level {
    fn reached(&self, state: &State, queue: &str, size: &Resources) -> LimitReached {
        let left = self.limit - self.used - self.in_flight;
        let short = missing(size, &left);
        let of_short = |amounts: &Resources| {
            let only = amounts.combine(&short, |amount, short| if short > 0 { amount } else { 0 });
            Amounts::new(&state.facts.config.resources, &only)
        };
        LimitReached {
            queue: queue.to_owned(),
            used: of_short(&self.used),
            in_flight: of_short(&self.in_flight),
            limit: of_short(&self.limit),
            missing: of_short(&short),
        }
    }
}
