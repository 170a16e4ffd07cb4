//! `--mode` and `--proposers`.

use apportion::Mode;
use clap::ValueEnum;

use super::Failure;

/// The threads that do the engine's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ModeArg {
    /// The program's own thread; the same log for the same input.
    Serial,
    /// One thread that commits and proposes in turn, in serial mode's order within each partition. Slower than serial
    /// mode on virtual time, where each step waits for the thread.
    Background,
    /// A committing thread and proposers. As slow on virtual time.
    Parallel,
}

/// The default in parallel mode.
const PROPOSERS: u32 = 2;

impl ModeArg {
    /// The mode with this number of proposers, which only parallel mode has.
    pub(super) fn with(self, proposers: Option<u32>) -> Result<Mode, Failure> {
        let mode = match self {
            Self::Serial => Mode::Serial,
            Self::Background => Mode::Background,
            Self::Parallel => Mode::Parallel { proposers: proposers.unwrap_or(PROPOSERS) as usize },
        };
        match proposers {
            Some(proposers) if self != Self::Parallel => Err(Failure::input(format!(
                "--proposers {proposers}: {} mode has no proposers; add --mode parallel",
                mode.name()
            ))),
            _ => Ok(mode),
        }
    }

    /// The given mode; without one, parallel mode if there is a number of proposers, and otherwise `default`.
    pub(super) fn or(given: Option<Self>, proposers: Option<u32>, default: Self) -> Result<Mode, Failure> {
        given.unwrap_or(if proposers.is_some() { Self::Parallel } else { default }).with(proposers)
    }
}
