//! The policy of a plan: that of the run whose log is read, with the values that options give.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use apportion::config::Percent;
use apportion::nearest::{hint, nearest};
use apportion::preempt::{PreemptionPlan, PreemptionPolicy, WithinQueueOrder, WithinQueuePolicy};
use apportion::view::View;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::cli::preemption::{RoundAmounts, part, percent};

const DEFAULT: &str = "--default-policy";

/// Without options, the policy of the run.
#[derive(Clone, Debug, Args)]
pub(super) struct PolicyOptions {
    /// Begin with YARN's default policy instead of the policy of the run.
    #[arg(long)]
    default_policy: bool,
    #[command(flatten)]
    amounts: RoundAmounts,
    /// Queues that lose nothing to other queues, by full path, with the queues below them.
    #[arg(long, value_name = "PATH,..", value_delimiter = ',')]
    exempt: Option<Vec<String>>,
    /// Applications that lose nothing, by name.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    exempt_application: Option<Vec<String>>,
    /// Containers with one of these tags lose nothing.
    #[arg(long, value_name = "TAG,..", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    exempt_tag: Option<Vec<String>>,
    /// Let the applications of a queue take from each other.
    #[arg(long, value_name = "ORDER", value_enum)]
    within_queue: Option<Order>,
    /// Within queues: leave queues alone that use less than this part of their guarantee.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    minimum_use: Option<Percent>,
    /// Within queues: the most that one round takes from a queue, as a part of its guarantee.
    #[arg(long, value_name = "PERCENT", value_parser = part)]
    max_part: Option<Percent>,
    /// Queues within which nothing is taken, by full path.
    #[arg(long, value_name = "PATH,..", value_delimiter = ',')]
    exempt_within: Option<Vec<String>>,
}

/// From whom an application may take within its queue.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    /// From applications with lower priority, of any user.
    PriorityFirst,
    /// From users above their user limits, and from own applications with lower priority.
    UserLimitFirst,
    /// From no application.
    Off,
}

impl Order {
    fn order(self) -> Option<WithinQueueOrder> {
        match self {
            Self::PriorityFirst => Some(WithinQueueOrder::PriorityFirst),
            Self::UserLimitFirst => Some(WithinQueueOrder::UserLimitFirst),
            Self::Off => None,
        }
    }
}

impl PolicyOptions {
    /// The policy for the plan, or the mistake in the options.
    pub(super) fn used(&self, view: &View<'_>) -> Result<UsedPolicy, String> {
        self.check_applications(view)?;
        let mut used = UsedPolicy::of_run(view);
        if self.default_policy {
            used.values = PreemptionPolicy::default();
            used.source = Source::Default;
        }
        used.options = self.given().collect();
        used.values = self.applied_to(used.values)?;
        Ok(used)
    }

    fn applied_to(&self, policy: PreemptionPolicy) -> Result<PreemptionPolicy, String> {
        let mut policy = self.amounts.applied_to(policy);
        replace(&mut policy.exempt, self.exempt.as_deref());
        replace(&mut policy.exempt_applications, self.exempt_application.as_deref());
        replace(&mut policy.exempt_tags, self.exempt_tag.as_deref());
        if let Some(order) = self.within_queue {
            let within = policy.within_queue.take().unwrap_or_default();
            policy.within_queue = order.order().map(|order| WithinQueuePolicy { order, ..within });
        }
        match &mut policy.within_queue {
            Some(within) => {
                within.minimum_use = self.minimum_use.unwrap_or(within.minimum_use);
                within.max_part = self.max_part.unwrap_or(within.max_part);
                replace(&mut within.exempt, self.exempt_within.as_deref());
            }
            None => {
                if let Some((option, _)) = self.given_within().into_iter().find(|(_, is_given)| *is_given) {
                    return Err(format!(
                        "{option}: the policy takes nothing within queues; give --within-queue priority-first or \
                         user-limit-first, too"
                    ));
                }
            }
        }
        Ok(policy)
    }

    fn given_within(&self) -> [(&'static str, bool); 3] {
        [
            ("--minimum-use", self.minimum_use.is_some()),
            ("--max-part", self.max_part.is_some()),
            ("--exempt-within", self.exempt_within.is_some()),
        ]
    }

    /// The options that were given.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let lists = [
            (DEFAULT, self.default_policy),
            ("--exempt", self.exempt.is_some()),
            ("--exempt-application", self.exempt_application.is_some()),
            ("--exempt-tag", self.exempt_tag.is_some()),
            ("--within-queue", self.within_queue.is_some()),
        ];
        let others = lists.into_iter().chain(self.given_within());
        others.filter_map(|(option, is_given)| is_given.then_some(option)).chain(self.amounts.given())
    }

    /// An exempt application that is not there would go unnoticed.
    fn check_applications(&self, view: &View<'_>) -> Result<(), String> {
        for name in self.exempt_application.iter().flatten() {
            let known = || view.applications().map(|(_, application)| application.name());
            if known().all(|known| known != name) {
                return Err(format!("no application `{name}`{}", hint(nearest(name, known()).as_deref())));
            }
        }
        Ok(())
    }

    /// An error if an option names a queue that is not there. Queues that the run's policy names may come later.
    pub(super) fn check_queues(&self, plan: &PreemptionPlan) -> Result<(), String> {
        let named: BTreeSet<&String> = self.exempt.iter().chain(&self.exempt_within).flatten().collect();
        match plan.unknown_exempt.iter().find(|unknown| named.contains(&unknown.path)) {
            Some(unknown) => {
                let hint = hint(unknown.nearest.as_deref());
                Err(format!("there is no queue `{}`{hint}", unknown.path))
            }
            None => Ok(()),
        }
    }
}

fn replace(values: &mut BTreeSet<String>, given: Option<&[String]>) {
    if let Some(given) = given {
        *values = given.iter().cloned().collect();
    }
}

/// A policy, and where it comes from.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct UsedPolicy {
    source: Source,
    /// The options that were given. Their values replace those of the source.
    options: Vec<&'static str>,
    /// Whether the rounds of the run end nothing.
    observe_only: bool,
    pub(in crate::cli) values: PreemptionPolicy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Source {
    /// `[engine.preemption]` of the run's configuration.
    Run,
    Default,
}

impl UsedPolicy {
    /// The policy of the run, or the default if its configuration has none.
    pub(in crate::cli) fn of_run(view: &View<'_>) -> Self {
        let rounds = view.preemption_rounds();
        Self {
            source: if rounds.is_some() { Source::Run } else { Source::Default },
            options: Vec::new(),
            observe_only: rounds.is_some_and(|rounds| rounds.observe_only),
            values: rounds.map(|rounds| rounds.policy.clone()).unwrap_or_default(),
        }
    }
}

/// `Policy: that of the run, except --per-round: dead zone 10 %, natural termination 20 %, per round 100 %`.
impl Display for UsedPolicy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let others: Vec<&str> = self.options.iter().copied().filter(|option| *option != DEFAULT).collect();
        f.write_str(match self.source {
            Source::Run => "Policy: that of the run",
            Source::Default if others.len() < self.options.len() => {
                "Policy: the default, as --default-policy says"
            }
            Source::Default => {
                "Policy: the default, because the configuration of the run has no [engine.preemption]"
            }
        })?;
        if !others.is_empty() {
            write!(f, ", except {}", others.join(", "))?;
        }
        let PreemptionPolicy { dead_zone, natural_termination, per_round, .. } = &self.values;
        write!(
            f,
            ": dead zone {dead_zone}, natural termination {natural_termination}, per round {per_round}"
        )?;
        if self.values.balances {
            f.write_str(", balances")?;
        }
        let list = |f: &mut Formatter<'_>, what: &str, names: &BTreeSet<String>| match names.is_empty() {
            true => Ok(()),
            false => write!(f, "; {what} {}", names.iter().cloned().collect::<Vec<_>>().join(", ")),
        };
        list(f, "exempt queues:", &self.values.exempt)?;
        list(f, "exempt applications:", &self.values.exempt_applications)?;
        list(f, "exempt tags:", &self.values.exempt_tags)?;
        if let Some(WithinQueuePolicy { order, minimum_use, max_part, exempt }) = &self.values.within_queue {
            let order = match order {
                WithinQueueOrder::PriorityFirst => "priority first",
                WithinQueueOrder::UserLimitFirst => "user limit first",
                _ => "an order that this program does not know",
            };
            write!(f, "; within queues {order}, minimum use {minimum_use}, at most {max_part}")?;
            list(f, "not within queues:", exempt)?;
        }
        f.write_str(if self.observe_only { ". The rounds of the run only observe." } else { "." })
    }
}
