//! `diagnostics`: all available facts about an instance, for troubleshooting.

use super::InstanceClient;
use super::answer::{ActionAnswer, AnswerDetail};
use super::error::ActionError;
use crate::instance::directory::Presence;
use crate::instance::locks::LockHolder;
use crate::instance::report::ApplicationReport;
use crate::instance::state::LifeState;

/// All available facts about an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// Its state.
    pub state: LifeState,
    /// How complete its folder is.
    pub presence: Presence,
    /// The error in its definition.
    pub definition_problem: Option<String>,
    /// The holders of locks on its definition.
    pub locks: Vec<LockHolder>,
    /// Its present or last application.
    pub application: Option<ApplicationReport>,
    /// Whether its master answers.
    pub is_answering: bool,
    /// Failed checks in words: why its master does not answer, or its locks cannot be read.
    pub problems: Vec<String>,
}

impl InstanceClient {
    /// Collects all available facts about an instance.
    ///
    /// # Errors
    /// If the instance is unknown.
    pub fn diagnostics(&self, name: &str) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        let presence = target.directory.presence();
        if presence == Presence::Absent && target.report.is_none() {
            return Err(ActionError::Unknown(target.name));
        }
        let checked = target.definition().and_then(|definition| self.resolved(&definition));
        let mut problems = Vec::new();
        let locks = if presence == Presence::Absent { Ok(Vec::new()) } else { target.locks().holders() };
        let locks = locks.unwrap_or_else(|error| {
            problems.push(format!("locks cannot be read: {error}"));
            Vec::new()
        });
        let is_answering = target.report.as_ref().is_some_and(|report| self.host.is_answering(report));
        let silent = target.report.as_ref().filter(|report| report.state.is_running() && !is_answering);
        problems.extend(silent.map(|report| match self.host.status(report.id) {
            Err(error) => format!("its master does not answer: {error}"),
            Ok(_) => "its master has no address".to_owned(),
        }));
        let found = Diagnostics {
            state: target.state,
            presence,
            definition_problem: checked.err().map(|error| error.to_string()),
            locks,
            application: target.report,
            is_answering,
            problems,
        };
        let answer = ActionAnswer::success(format!("`{}` is {:?}", target.name, found.state));
        Ok(answer.with(AnswerDetail::Diagnostics(Box::new(found))))
    }

    /// Removes the locks of an owner that no longer lives, and returns their number. The caller has to make
    /// sure that the owner is gone.
    ///
    /// # Errors
    /// If the instance does not exist, or a lock cannot be removed.
    pub fn unlock(&self, name: &str, owner: &str) -> Result<usize, ActionError> {
        let target = self.target(name)?;
        if target.directory.presence() == Presence::Absent {
            return Err(ActionError::Unknown(target.name));
        }
        Ok(target.locks().take_from(owner)?)
    }
}
