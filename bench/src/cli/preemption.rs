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

/// How much a round takes. The defaults are YARN's.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct RoundAmounts {
    /// A queue loses nothing while it exceeds its guarantee by at most this part.
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = percent)]
    dead_zone: Percent,
    /// The part of the owed amount that one round takes.
    #[arg(long, value_name = "PERCENT", default_value = "20%", value_parser = part)]
    natural_termination: Percent,
    /// The most that one round takes, as a part of the partition.
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = part)]
    per_round: Percent,
    /// Go on after every queue has its guarantee, until queues have equal parts of the rest.
    #[arg(long)]
    balances: bool,
}

impl RoundAmounts {
    /// The policy with these amounts, and the defaults for the rest.
    pub(in crate::cli) fn policy(&self) -> PreemptionPolicy {
        let &Self { dead_zone, natural_termination, per_round, balances } = self;
        PreemptionPolicy {
            dead_zone,
            natural_termination,
            per_round,
            balances,
            ..PreemptionPolicy::default()
        }
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
