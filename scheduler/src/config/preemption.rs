//! Preemption by a running engine.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Percent;

/// How a running engine preempts: in rounds, each with a [plan](crate::preempt) for the state of that moment.
///
/// A round announces the victims of its plan, as YARN marks containers for preemption. Until the announced time their
/// applications may give back other containers instead. A victim ends at the first round after that time in which
/// the plan still names it, in the same commit in which the container of the beneficiary starts. So a container that nobody
/// needs any more runs on, as with YARN's lazy preemption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PreemptionRounds {
    /// How much a round takes, and from whom.
    pub policy: PreemptionPolicy,
    /// The time between two rounds; at least 1.
    pub interval_ms: u64,
    /// The time between the announcement of a victim and its end; 0: it ends without an announcement.
    pub max_wait_before_kill_ms: u64,
    /// Whether rounds only announce nothing and end nothing: they record their plan.
    pub observe_only: bool,
}

/// YARN's defaults: a round every 3 seconds, and 15 seconds for a victim.
impl Default for PreemptionRounds {
    fn default() -> Self {
        Self {
            policy: PreemptionPolicy::default(),
            interval_ms: 3_000,
            max_wait_before_kill_ms: 15_000,
            observe_only: false,
        }
    }
}

/// How much preemption may take. The default is YARN's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PreemptionPolicy {
    /// A queue loses nothing of a resource type while it exceeds its guarantee by at most this part of it.
    pub dead_zone: Percent,
    /// The part of the owed amount that one round takes. The rest may become free by itself until the next round.
    pub natural_termination: Percent,
    /// The most that one round takes, as a part of the partition.
    pub per_round: Percent,
    /// Paths of queues that lose nothing to other queues. The queues below them lose nothing to others either. The plan
    /// names the paths that no queue has.
    pub exempt: BTreeSet<String>,
    /// Names of applications that lose nothing.
    pub exempt_applications: BTreeSet<String>,
    /// Containers whose ask has one of these tags lose nothing. Recovered containers keep their tags.
    pub exempt_tags: BTreeSet<String>,
    /// Whether preemption goes on after every queue has its guarantee, until queues have equal parts of the rest.
    pub balances: bool,
    /// Whether applications of one leaf may take from each other; not by default.
    pub within_queue: Option<WithinQueuePolicy>,
}

impl Default for PreemptionPolicy {
    fn default() -> Self {
        Self {
            dead_zone: Percent::whole(10),
            natural_termination: Percent::whole(20),
            per_round: Percent::whole(10),
            exempt: BTreeSet::new(),
            exempt_applications: BTreeSet::new(),
            exempt_tags: BTreeSet::new(),
            balances: false,
            within_queue: None,
        }
    }
}

/// How much the applications of a leaf may take from each other. The default is YARN's.
///
/// An application never loses anything to one of the same user with the same or a lower priority. Masters are never
/// taken within a queue. Leaves without a guarantee are left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WithinQueuePolicy {
    /// From whom an application may take.
    pub order: WithinQueueOrder,
    /// A leaf that uses less than this part of its guarantee is left alone. The type of which it uses most decides.
    pub minimum_use: Percent,
    /// The most that one round takes from a leaf, as a part of its guarantee. It includes what other queues take.
    pub max_part: Percent,
    /// Paths of queues within which nothing is taken. The same holds for the queues below them. As in YARN, these paths
    /// are independent of [`PreemptionPolicy::exempt`].
    pub exempt: BTreeSet<String>,
}

impl Default for WithinQueuePolicy {
    fn default() -> Self {
        Self {
            order: WithinQueueOrder::default(),
            minimum_use: Percent::whole(50),
            max_part: Percent::whole(20),
            exempt: BTreeSet::new(),
        }
    }
}

/// From whom an application may take within its leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WithinQueueOrder {
    /// From applications of other users, as far as these users exceed their user limits, while its own user stays
    /// within the limit. From applications of its own user with lower priority.
    #[default]
    UserLimitFirst,
    /// From applications with lower priority, of any user.
    PriorityFirst,
}
