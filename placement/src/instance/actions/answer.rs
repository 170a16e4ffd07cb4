//! Answers of commands.

use super::diagnostics::Diagnostics;
use super::list::InstanceSummary;
use crate::client::NodeReport;
use crate::instance::ExitCode;
use crate::instance::report::AppId;
use crate::status::ServiceStatus;

/// The answer of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionAnswer {
    /// The exit code: success, or false for a negative answer.
    pub exit_code: ExitCode,
    /// The effect, in a sentence.
    pub message: String,
    /// Further data.
    pub detail: AnswerDetail,
}

/// The data of an answer beside its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerDetail {
    /// No data.
    None,
    /// The application that was started.
    Started(AppId),
    /// Whether anything changed.
    Changed(bool),
    /// Instances.
    Instances(Vec<InstanceSummary>),
    /// The status of a service.
    Status(Box<ServiceStatus>),
    /// Nodes.
    Nodes(Vec<NodeReport>),
    /// The diagnostics of one instance.
    Diagnostics(Box<Diagnostics>),
}

impl ActionAnswer {
    pub(super) fn success(message: impl Into<String>) -> Self {
        Self { exit_code: ExitCode::Success, message: message.into(), detail: AnswerDetail::None }
    }

    /// Creates a negative answer.
    pub(super) fn no(message: impl Into<String>) -> Self {
        Self { exit_code: ExitCode::False, message: message.into(), detail: AnswerDetail::None }
    }

    pub(super) fn with(mut self, detail: AnswerDetail) -> Self {
        self.detail = detail;
        self
    }

    /// Returns the exit code of the command.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        self.exit_code
    }
}
