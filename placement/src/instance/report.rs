//! A host's reports on applications.

use std::fmt;
use std::str::FromStr;

use apportion::nearest::nearest;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::definition::hint;
use super::host::Submission;
use super::name::InstanceName;

/// An application, numbered by its host; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AppId(pub u64);

/// How far an application is; what comes after [`Running`](Self::Running) is final (YARN's application states).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunState {
    /// The host has heard of it.
    New,
    /// The host writes it down.
    NewSaving,
    /// It waits to be looked at.
    Submitted,
    /// It waits for its master to run.
    Accepted,
    /// Its master runs.
    Running,
    /// It ended by itself or was stopped.
    Finished,
    /// It could not go on.
    Failed,
    /// A user ended it.
    Killed,
}

/// A word that is no state.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown state `{word}`{}", hint(nearest.as_deref()))]
pub struct UnknownRunState {
    /// The word.
    pub word: String,
    /// The state that was probably meant.
    pub nearest: Option<String>,
}

impl RunState {
    /// Every state, in order.
    pub const ALL: [Self; 8] = [
        Self::New,
        Self::NewSaving,
        Self::Submitted,
        Self::Accepted,
        Self::Running,
        Self::Finished,
        Self::Failed,
        Self::Killed,
    ];

    /// Whether the application is over for good.
    #[must_use]
    pub fn is_final(self) -> bool {
        self > Self::Running
    }

    /// Whether the application runs or is about to.
    #[must_use]
    pub fn is_running(self) -> bool {
        !self.is_final()
    }

    /// YARN's word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::NewSaving => "NEW_SAVING",
            Self::Submitted => "SUBMITTED",
            Self::Accepted => "ACCEPTED",
            Self::Running => "RUNNING",
            Self::Finished => "FINISHED",
            Self::Failed => "FAILED",
            Self::Killed => "KILLED",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl FromStr for RunState {
    type Err = UnknownRunState;

    fn from_str(word: &str) -> Result<Self, UnknownRunState> {
        let found = Self::ALL.into_iter().find(|state| state.word().eq_ignore_ascii_case(word));
        found.ok_or_else(|| UnknownRunState {
            word: word.to_owned(),
            nearest: nearest(&word.to_ascii_uppercase(), Self::ALL.map(Self::word)),
        })
    }
}

/// A host's report on one of its applications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationReport {
    /// Which.
    pub id: AppId,
    /// Whose.
    pub user: String,
    /// The instance's name.
    pub name: String,
    /// How far it is.
    pub state: RunState,
    /// When it was submitted.
    pub started_ms: u64,
    /// Where its master answers, if it does.
    pub host: Option<String>,
    /// On which port.
    pub rpc_port: Option<u16>,
    /// How it ended, in words.
    pub diagnostics: String,
    /// With which number it ended ([`ExitCode`](super::ExitCode)).
    pub exit_code: Option<i32>,
}

impl ApplicationReport {
    /// Of an application that its host has just taken and does not run yet.
    pub(crate) fn accepted(id: AppId, submission: &Submission<'_>) -> Self {
        Self {
            id,
            user: submission.user.to_owned(),
            name: submission.name.to_string(),
            state: RunState::Accepted,
            started_ms: submission.now_ms,
            host: None,
            rpc_port: None,
            diagnostics: String::new(),
            exit_code: None,
        }
    }

    /// Where its master can be asked (Slider model, "rpc-connection"); whether it answers shows in the asking.
    #[must_use]
    pub fn rpc_address(&self) -> Option<(&str, u16)> {
        let host = self.host.as_deref()?;
        self.rpc_port.filter(|port| *port != 0).map(|port| (host, port))
    }
}

/// The application that an instance's name stands for: the one that runs, else the one that was started last
/// (`slider.md` F5), which is the one with the highest number: clocks of those who start them need not agree.
#[must_use]
pub fn find_application<'a>(
    reports: &'a [ApplicationReport],
    name: &InstanceName,
) -> Option<&'a ApplicationReport> {
    let named = reports.iter().filter(|report| report.name == name.as_str());
    named.max_by_key(|report| (report.state.is_running(), report.id))
}
