//! Which threads do an engine's work.

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use super::{Engine, PROPOSERS_MAX};

/// The threads that do the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The thread that calls [`Engine::run_until_quiet`]. No threads are started, and equal input gives an
    /// equal log.
    Serial,
    /// One thread that commits and proposes in turn, started by [`Engine::start`] and ended by [`Engine::shutdown`].
    /// Within each partition it decides in serial mode's order, while callers work beside it. Partitions take turns.
    ///
    /// On two processors it is at least as fast as parallel mode as long as proposing is not much more work than
    /// committing. The state stays with one processor, and passes and commits do not wait for each other.
    Background,
    /// One committing thread and this many proposing ones, started by [`Engine::start`] and ended by
    /// [`Engine::shutdown`].
    Parallel {
        /// The number of proposing threads, from 1 to [`PROPOSERS_MAX`].
        proposers: usize,
    },
}

impl Mode {
    /// `serial`, `background` or `parallel`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Background => "background",
            Self::Parallel { .. } => "parallel",
        }
    }

    /// The number of proposing threads.
    #[must_use]
    pub fn proposers(self) -> usize {
        if let Self::Parallel { proposers } = self { proposers } else { 0 }
    }
}

/// The name and, in parallel mode, the number of proposers.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.proposers() {
            0 => f.write_str(self.name()),
            1 => write!(f, "{}, 1 proposer", self.name()),
            proposers => write!(f, "{}, {proposers} proposers", self.name()),
        }
    }
}
