//! The states of an instance, and how one follows another.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::directory::Presence;
use super::report::{ApplicationReport, RunState};

/// How far an instance is, in Slider's numbers (`slider.md` 3, last line).
///
/// It is kept nowhere: it follows from the folder and from what the host reports, so it cannot contradict them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LifeState {
    /// Its folder is there in part.
    Incomplete = 0,
    /// The host has taken it and does not run it yet.
    Submitted = 1,
    /// It is defined, and never ran.
    Created = 2,
    /// It runs.
    Live = 3,
    /// It ran, and may run again.
    Stopped = 4,
    /// There is no such instance.
    Destroyed = 5,
}

/// A step an instance cannot take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an instance that is {from:?} cannot become {to:?}")]
pub struct WrongTransition {
    /// What it is.
    pub from: LifeState,
    /// What it was to become.
    pub to: LifeState,
}

use LifeState::{Created, Destroyed, Incomplete, Live, Stopped, Submitted};

impl LifeState {
    /// The state of an instance whose folder is there so far, and of whose applications the host reports this one.
    #[must_use]
    pub fn observed(presence: &Presence, report: Option<&ApplicationReport>) -> Self {
        match (presence, report.map(|report| report.state)) {
            (_, Some(RunState::Running)) => Live,
            (_, Some(state)) if !state.is_final() => Submitted,
            (Presence::Absent, _) => Destroyed,
            (Presence::Incomplete { .. }, _) => Incomplete,
            (Presence::Complete, None) => Created,
            (Presence::Complete, Some(_)) => Stopped,
        }
    }

    /// Whether its host runs it or is about to (Slider model, "slider-app-running").
    #[must_use]
    pub fn is_running(self) -> bool {
        matches!(self, Submitted | Live)
    }

    /// It is defined.
    ///
    /// # Errors
    /// When there is one already.
    pub fn transition_to_created(self) -> Result<Self, WrongTransition> {
        self.to(Created, &[Destroyed])
    }

    /// It is handed to the host.
    ///
    /// # Errors
    /// When it runs, or is not defined.
    pub fn transition_to_submitted(self) -> Result<Self, WrongTransition> {
        self.to(Submitted, &[Created, Stopped])
    }

    /// The host runs it.
    ///
    /// # Errors
    /// When the host was not asked to.
    pub fn transition_to_live(self) -> Result<Self, WrongTransition> {
        self.to(Live, &[Submitted])
    }

    /// The host runs it no more.
    ///
    /// # Errors
    /// When the host did not.
    pub fn transition_to_stopped(self) -> Result<Self, WrongTransition> {
        self.to(Stopped, &[Submitted, Live])
    }

    /// Nothing is left of it. Once more is no mistake.
    ///
    /// # Errors
    /// When it runs.
    pub fn transition_to_destroyed(self) -> Result<Self, WrongTransition> {
        self.to(Destroyed, &[Incomplete, Created, Stopped, Destroyed])
    }

    fn to(self, to: Self, from: &[Self]) -> Result<Self, WrongTransition> {
        if from.contains(&self) { Ok(to) } else { Err(WrongTransition { from: self, to }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [LifeState; 6] = [Incomplete, Submitted, Created, Live, Stopped, Destroyed];

    #[test]
    fn what_runs_is_neither_started_nor_destroyed() {
        for state in ALL {
            assert_eq!(state.transition_to_stopped().is_ok(), state.is_running(), "{state:?}");
            assert_eq!(state.transition_to_destroyed().is_err(), state.is_running(), "{state:?}");
            assert!(!(state.is_running() && state.transition_to_submitted().is_ok()), "{state:?}");
            assert!(!(state.is_running() && state.transition_to_created().is_ok()), "{state:?}");
            assert_eq!(state.transition_to_live().is_ok(), state == Submitted, "{state:?}");
        }
    }

    #[test]
    fn numbers_are_those_of_slider() {
        assert_eq!(ALL.map(|state| state as i32), [0, 1, 2, 3, 4, 5]);
    }
}
