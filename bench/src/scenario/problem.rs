//! Problems of a scenario: a malformed file, or an engine that does not meet an expectation.

use apportion::engine::{NotSerial, SubmitError};
use apportion::nearest::nearest;
use apportion::resource::ResourceError;
use thiserror::Error;

/// A file that is not a scenario, or names a missing object. Shown as `file:line: problem`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}")]
pub struct BadScenario {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: u64,
    /// The mistake, and what would be right.
    pub problem: String,
}

/// Why a step did not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepError {
    /// The file is wrong.
    Bad(String),
    /// The engine did not meet an expectation: one line for each difference.
    Failed(Vec<String>),
}

/// The result of a step.
pub(super) type Done<T = ()> = Result<T, StepError>;

impl StepError {
    pub(super) fn bad(problem: impl Into<String>) -> Self {
        Self::Bad(problem.into())
    }

    pub(super) fn failed(difference: impl Into<String>) -> Self {
        Self::Failed(vec![difference.into()])
    }

    /// A name that stands for no object.
    pub(super) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Bad(unknown(what, name, known))
    }
}

/// A submission that is impossible in any state is a mistake in the file.
impl From<SubmitError> for StepError {
    fn from(error: SubmitError) -> Self {
        Self::Bad(error.to_string())
    }
}

impl From<ResourceError> for StepError {
    fn from(error: ResourceError) -> Self {
        Self::Bad(error.to_string())
    }
}

impl From<NotSerial> for StepError {
    fn from(error: NotSerial) -> Self {
        Self::Bad(error.to_string())
    }
}

/// The message about a name that stands for no object.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let hint = nearest(name, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("unknown {what} `{name}`{hint}")
}
