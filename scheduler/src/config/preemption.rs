//! Settings of preemption rounds, and their checks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::queue_mapping::list_paths;
use super::{ConfigError, Percent, QueueConfig, is_queue_name};
use crate::nearest::{hint, nearest};

/// How a running engine preempts: in rounds, each with a [plan](crate::preempt) for the state of that moment.
///
/// A round announces the victims of its plan, as YARN marks containers for preemption. Until the announced time their
/// applications may give back other containers instead. A victim ends at the first round after that time in which the
/// plan still names it. The commit that ends the victim also starts the beneficiary's container. So a container whose
/// room is no longer needed runs on, as with YARN's lazy preemption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PreemptionRounds {
    /// How much a round takes, and from whom.
    pub policy: PreemptionPolicy,
    /// The time between two rounds; at least 1.
    pub interval_ms: u64,
    /// The time between the announcement of a victim and its end; 0: it ends without an announcement.
    pub max_wait_before_kill_ms: u64,
    /// Whether rounds announce and end nothing, and only record their plan.
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
    /// Paths of queues that lose nothing to other queues. The queues below them lose nothing to others either. In a
    /// configuration they must exist, or a queue above them must create queues. The plan names the paths that no
    /// queue has.
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
/// An application loses nothing to an application of the same user with the same or a lower priority. Masters lose
/// nothing within a queue, nor do leaves without a guarantee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WithinQueuePolicy {
    /// From whom an application may take.
    pub order: WithinQueueOrder,
    /// A leaf that uses less than this part of its guarantee is spared. The type with the largest part in use
    /// decides.
    pub minimum_use: Percent,
    /// The most that one round takes from a leaf, as a part of its guarantee. Amounts for other queues count too.
    pub max_part: Percent,
    /// Paths of queues whose applications take nothing from each other, with the queues below. As in YARN, these
    /// paths are independent of [`PreemptionPolicy::exempt`].
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
    /// From other users above their user limit, while the own user is within it. Only the types that the asking
    /// application lacks count. From the own user's applications with lower priority.
    #[default]
    UserLimitFirst,
    /// From applications with lower priority, of any user.
    PriorityFirst,
}

/// Checks the interval, that a round may take something, and that each exempt queue exists or may be created.
pub(super) fn check(rounds: &PreemptionRounds, root: &QueueConfig) -> Result<(), ConfigError> {
    let refused = |key, problem| Err(ConfigError::Value { key, problem });
    if rounds.interval_ms == 0 {
        return refused("engine.preemption.interval_ms", "must be at least 1".to_owned());
    }
    check_parts(&rounds.policy)?;
    let names = [
        ("engine.preemption.exempt_applications", &rounds.policy.exempt_applications),
        ("engine.preemption.exempt_tags", &rounds.policy.exempt_tags),
    ];
    if let Some((key, _)) = names.into_iter().find(|(_, names)| names.contains("")) {
        return refused(key, "a name is empty and would exempt nothing; leave it out".to_owned());
    }
    let within = rounds.policy.within_queue.iter().flat_map(|within| &within.exempt);
    let within = within.map(|path| ("engine.preemption.within_queue.exempt", path));
    let exempt = rounds.policy.exempt.iter().map(|path| ("engine.preemption.exempt", path));
    let Some((key, path)) = exempt.chain(within).find(|(_, path)| !may_exist(path, root)) else {
        return Ok(());
    };
    let mut known = Vec::new();
    list_paths(root, &root.name, &mut known);
    let hint = hint(nearest(path, known.iter().map(String::as_str)).as_deref());
    refused(key, format!("unknown queue `{path}`{hint}"))
}

/// Refuses parts of 0 % with which rounds never take anything.
fn check_parts(policy: &PreemptionPolicy) -> Result<(), ConfigError> {
    let within = policy.within_queue.as_ref().map(|within| within.max_part);
    // Within a leaf, rounds take something even if this part is zero.
    let of_queues = within.is_none().then_some(policy.natural_termination);
    let [of_all, of_leaf] = ["leave out [engine.preemption]", "leave out [engine.preemption.within_queue]"];
    let parts = [
        ("engine.preemption.per_round", Some(policy.per_round), of_all),
        ("engine.preemption.natural_termination", of_queues, of_all),
        ("engine.preemption.within_queue.max_part", within, of_leaf),
    ];
    match parts.into_iter().find(|(_, part, _)| *part == Some(Percent::NONE)) {
        Some((key, _, instead)) => {
            let problem = format!("with 0 % a round takes nothing; give more than 0 %, or {instead}");
            Err(ConfigError::Value { key, problem })
        }
        None => Ok(()),
    }
}

/// Whether the tree has a queue with this path, or may get one because its nearest queue above creates queues.
fn may_exist(path: &str, root: &QueueConfig) -> bool {
    let mut names = path.split('.');
    if names.next() != Some(&root.name) {
        return false;
    }
    let mut queue = root;
    while let Some(name) = names.clone().next() {
        let Some(child) = queue.children.iter().find(|child| child.name == name) else { break };
        queue = child;
        names.next();
    }
    let missing: Vec<_> = names.collect();
    let creates =
        |depth| queue.auto_creation.as_ref().is_some_and(|creation| depth <= creation.depth_max as usize);
    missing.is_empty() || missing.iter().all(|name| is_queue_name(name)) && creates(missing.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AutoCreation, Capacity, EngineConfig, Factor};
    use crate::resource::ResourceTypes;

    /// `root.a` is a leaf, and queues of up to two levels may be created below `root.users`.
    fn config() -> EngineConfig {
        let leaf = |name| QueueConfig::leaf(name, Capacity::Weight(Factor::ONE));
        let users = leaf("users").with_auto_creation(AutoCreation::default());
        EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf("a"), users]))
    }

    fn error(policy: PreemptionPolicy) -> Option<String> {
        let preemption = Some(PreemptionRounds { policy, ..PreemptionRounds::default() });
        EngineConfig { preemption, ..config() }.validate().err().map(|error| error.to_string())
    }

    #[test]
    fn an_exempt_name_is_not_empty() {
        let names: BTreeSet<String> = ["a".to_owned(), String::new()].into();
        let problem = "a name is empty and would exempt nothing; leave it out";
        let applications =
            PreemptionPolicy { exempt_applications: names.clone(), ..PreemptionPolicy::default() };
        let expected = format!("engine.preemption.exempt_applications: {problem}");
        assert_eq!(error(applications), Some(expected));
        let tags = PreemptionPolicy { exempt_tags: names, ..PreemptionPolicy::default() };
        assert_eq!(error(tags), Some(format!("engine.preemption.exempt_tags: {problem}")));
    }

    #[test]
    fn rounds_that_take_nothing_are_refused() {
        let (none, policy) = (Percent::NONE, PreemptionPolicy::default());
        let within = WithinQueuePolicy::default();
        let refused = |key: &str, table: &str| {
            Some(format!(
                "engine.preemption.{key}: with 0 % a round takes nothing; give more than 0 %, or leave out \
                 [engine.preemption{table}]"
            ))
        };
        let of_queues = PreemptionPolicy { natural_termination: none, ..policy.clone() };
        assert_eq!(error(PreemptionPolicy { per_round: none, ..policy.clone() }), refused("per_round", ""));
        assert_eq!(error(of_queues.clone()), refused("natural_termination", ""));
        let only_within = PreemptionPolicy { within_queue: Some(within.clone()), ..of_queues };
        assert_eq!(error(only_within), None, "applications of one leaf still take from each other");
        let within = WithinQueuePolicy { max_part: none, ..within };
        let of_leaf = PreemptionPolicy { within_queue: Some(within), ..policy };
        assert_eq!(error(of_leaf), refused("within_queue.max_part", ".within_queue"));
    }

    #[test]
    fn an_exempt_queue_exists_or_may_be_created() {
        for (path, message) in [
            ("root", None),
            ("root.a", None),
            ("root.users.ann", None),
            ("root.users.ann.trial", None),
            ("root.users.ann.trial.deep", Some("unknown queue `root.users.ann.trial.deep`")),
            ("root.users.", Some("unknown queue `root.users.`; did you mean `root.users`?")),
            ("root.user", Some("unknown queue `root.user`; did you mean `root.users`?")),
            ("root.a.b", Some("unknown queue `root.a.b`; did you mean `root.a`?")),
            ("a", Some("unknown queue `a`")),
        ] {
            let exempt: BTreeSet<String> = [path.to_owned()].into();
            let within = WithinQueuePolicy { exempt: exempt.clone(), ..WithinQueuePolicy::default() };
            let within = PreemptionPolicy { within_queue: Some(within), ..PreemptionPolicy::default() };
            let between = PreemptionPolicy { exempt, ..PreemptionPolicy::default() };
            let expected = |key: &str| message.map(|message| format!("{key}: {message}"));
            assert_eq!(error(between), expected("engine.preemption.exempt"), "{path}");
            assert_eq!(error(within), expected("engine.preemption.within_queue.exempt"), "{path}");
        }
    }
}
