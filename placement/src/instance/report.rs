//! A host's reports on applications.

use std::fmt;
use std::str::FromStr;

use apportion::nearest::nearest;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::definition::hint;
use super::host::Submission;
use super::name::InstanceName;

/// The id of an application, given by its host; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AppId(pub u64);

/// The state of an application. States after [`Running`](Self::Running) are final (YARN's application
/// states).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunState {
    /// The host has received it.
    New,
    /// The host is saving it.
    NewSaving,
    /// It waits to be accepted.
    Submitted,
    /// It waits for its master to run.
    Accepted,
    /// Its master runs.
    Running,
    /// It ended by itself or was stopped.
    Finished,
    /// It failed.
    Failed,
    /// A user killed it.
    Killed,
}

/// A word that is not a state.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown state `{word}`{}", hint(nearest.as_deref()))]
pub struct UnknownRunState {
    /// The word.
    pub word: String,
    /// The nearest known state.
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

    /// Returns whether the application has ended.
    #[must_use]
    pub fn is_final(self) -> bool {
        self > Self::Running
    }

    /// Returns whether the application runs or is about to.
    #[must_use]
    pub fn is_running(self) -> bool {
        !self.is_final()
    }

    /// Returns YARN's word for it.
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
    /// The application.
    pub id: AppId,
    /// Its user.
    pub user: String,
    /// The instance's name.
    pub name: String,
    /// Its state.
    pub state: RunState,
    /// The submission time.
    pub started_ms: u64,
    /// The host of its master, if the master answers.
    pub host: Option<String>,
    /// The port of its master.
    pub rpc_port: Option<u16>,
    /// How it ended, in words.
    pub diagnostics: String,
    /// Its exit code ([`ExitCode`](super::ExitCode)).
    pub exit_code: Option<i32>,
}

impl ApplicationReport {
    /// Creates the report of an application that its host has just accepted.
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

    /// Returns the address of its master (Slider model, "rpc-connection"), which may still not answer.
    #[must_use]
    pub fn rpc_address(&self) -> Option<(&str, u16)> {
        let host = self.host.as_deref()?;
        self.rpc_port.filter(|port| *port != 0).map(|port| (host, port))
    }
}

/// Finds the application of an instance: the running one, otherwise the last started one, which has the
/// highest id (`slider.md` F5). It ignores start times, because clients' clocks may differ.
#[must_use]
pub fn find_application<'a>(
    reports: &'a [ApplicationReport],
    name: &InstanceName,
) -> Option<&'a ApplicationReport> {
    let named = reports.iter().filter(|report| report.name == name.as_str());
    named.max_by_key(|report| (report.state.is_running(), report.id))
}
