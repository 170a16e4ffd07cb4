//! `--preemption`.

use clap::ValueEnum;

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
