//! The states of an instance, and their transitions.

use serde::{Deserialize, Serialize};

use super::directory::Presence;
use super::report::{ApplicationReport, RunState};

/// The state of an instance, with Slider's numbers (`slider.md` 3, last line).
///
/// It is not stored. It follows from the folder and from the host's report, so it cannot contradict them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LifeState {
    /// Its folder is incomplete.
    Incomplete = 0,
    /// The host has accepted it and does not run it yet.
    Submitted = 1,
    /// It is defined and never ran.
    Created = 2,
    /// It runs.
    Live = 3,
    /// It ran and may run again.
    Stopped = 4,
    /// There is no such instance.
    Destroyed = 5,
}

use LifeState::{Created, Destroyed, Incomplete, Live, Stopped, Submitted};

impl LifeState {
    /// Derives the state from the folder and the host's report.
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

    /// Returns whether its host runs it or is about to (Slider model, "slider-app-running").
    #[must_use]
    pub fn is_running(self) -> bool {
        matches!(self, Submitted | Live)
    }

    /// Returns whether the transition is allowed. Destroying twice is allowed.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        match next {
            Incomplete => false,
            Created => self == Destroyed,
            Submitted => matches!(self, Created | Stopped),
            Live => self == Submitted,
            Stopped => self.is_running(),
            Destroyed => !self.is_running(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [LifeState; 6] = [Incomplete, Submitted, Created, Live, Stopped, Destroyed];

    #[test]
    fn a_running_instance_is_neither_started_nor_destroyed() {
        for state in ALL {
            assert_eq!(state.may_become(Stopped), state.is_running(), "{state:?}");
            assert_eq!(state.may_become(Destroyed), !state.is_running(), "{state:?}");
            assert!(!(state.is_running() && state.may_become(Submitted)), "{state:?}");
            assert!(!(state.is_running() && state.may_become(Created)), "{state:?}");
            assert_eq!(state.may_become(Live), state == Submitted, "{state:?}");
            assert!(!state.may_become(Incomplete), "{state:?}");
        }
    }

    #[test]
    fn numbers_are_those_of_slider() {
        assert_eq!(ALL.map(|state| state as i32), [0, 1, 2, 3, 4, 5]);
    }
}
