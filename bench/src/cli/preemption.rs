//! The options about preemption that several commands have.

use apportion::config::{Percent, PreemptionPolicy};
use clap::{Args, ValueEnum};

use crate::sweep::Preemption;

/// Whether the engine makes rounds of preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PreemptionArg {
    On,
    Off,
}

impl PreemptionArg {
    pub(super) fn kind(self) -> Preemption {
        match self {
            Self::On => Preemption::On,
            Self::Off => Preemption::Off,
        }
    }
}

/// How much a round takes. Without an option a value stays as it is in the policy that the command begins with.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct RoundAmounts {
    /// A queue loses nothing while it exceeds its guarantee by at most this part.
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true)]
    dead_zone: Option<Percent>,
    /// The part of the owed amount that one round takes.
    #[arg(long, value_name = "PERCENT", value_parser = part, allow_hyphen_values = true)]
    natural_termination: Option<Percent>,
    /// The most that one round takes, as a part of the partition.
    #[arg(long, value_name = "PERCENT", value_parser = part, allow_hyphen_values = true)]
    per_round: Option<Percent>,
    /// Go on after every queue has its guarantee, until queues have equal parts of the rest; `--balances=false` stops
    /// there.
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    balances: Option<bool>,
}

impl RoundAmounts {
    /// The policy with the amounts that were given.
    pub(in crate::cli) fn applied_to(&self, policy: PreemptionPolicy) -> PreemptionPolicy {
        PreemptionPolicy {
            dead_zone: self.dead_zone.unwrap_or(policy.dead_zone),
            natural_termination: self.natural_termination.unwrap_or(policy.natural_termination),
            per_round: self.per_round.unwrap_or(policy.per_round),
            balances: self.balances.unwrap_or(policy.balances),
            ..policy
        }
    }

    /// The options that were given.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static str> {
        let Self { dead_zone, natural_termination, per_round, balances } = self;
        let given = [
            ("--dead-zone", dead_zone.is_some()),
            ("--natural-termination", natural_termination.is_some()),
            ("--per-round", per_round.is_some()),
            ("--balances", balances.is_some()),
        ];
        given.into_iter().filter_map(|(option, is_given)| is_given.then_some(option))
    }
}

/// Reads the part that a round takes. With 0 % it would take nothing.
pub(super) fn part(text: &str) -> Result<Percent, String> {
    match percent(text)? {
        Percent::NONE => Err("with 0% a round takes nothing; a percentage above 0% is needed".to_owned()),
        part => Ok(part),
    }
}

/// Reads `20%`, `20 %` or `20`.
pub(super) fn percent(text: &str) -> Result<Percent, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent = number.parse().ok().filter(|percent| *percent <= Percent::ALL);
    percent.ok_or_else(|| "a percentage from 0% to 100% is needed".to_owned())
}
