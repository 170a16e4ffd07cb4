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
    /// All is well, or the answer is no.
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
    /// Nothing.
    None,
    /// The application that was started.
    Started(AppId),
    /// Whether anything is other than it was.
    Changed(bool),
    /// Instances.
    Instances(Vec<InstanceSummary>),
    /// How a service stands.
    Status(Box<ServiceStatus>),
    /// Nodes.
    Nodes(Vec<NodeReport>),
    /// All that can be found out about one instance.
    Diagnostics(Box<Diagnostics>),
}

impl ActionAnswer {
    pub(super) fn success(message: impl Into<String>) -> Self {
        Self { exit_code: ExitCode::Success, message: message.into(), detail: AnswerDetail::None }
    }

    /// The answer is no.
    pub(super) fn no(message: impl Into<String>) -> Self {
        Self { exit_code: ExitCode::False, message: message.into(), detail: AnswerDetail::None }
    }

    pub(super) fn with(mut self, detail: AnswerDetail) -> Self {
        self.detail = detail;
        self
    }

    /// The number the command ends with.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        self.exit_code
    }
}
