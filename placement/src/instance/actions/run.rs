//! `start` (thaw) and `stop` (freeze).

use super::answer::{ActionAnswer, AnswerDetail};
use super::error::ActionError;
use super::{InstanceClient, Target};
use crate::instance::host::{HostError, Submission};
use crate::instance::locks::LockKind;
use crate::instance::report::{AppId, ApplicationReport, RunState};
use crate::instance::state::LifeState;

/// Options of `start`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartOptions {
    /// How long to wait until it runs; `None`: no wait.
    pub wait_ms: Option<u64>,
}

/// Options of `stop`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopOptions {
    /// Kills the application instead of asking it to end.
    pub force: bool,
    /// How long to wait until it has ended; `None`: no wait.
    pub wait_ms: Option<u64>,
    /// The reason, for the application's diagnostics.
    pub message: String,
}

impl InstanceClient {
    /// Runs an instance with its present definition. `now_ms` is milliseconds since the epoch.
    ///
    /// # Errors
    /// If it runs already or is not defined, if the host refuses it, or if it does not run at the end of
    /// the wait.
    pub fn start(&self, name: &str, options: StartOptions, now_ms: u64) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        target.may_become(LifeState::Submitted)?;
        let app = {
            // The lock keeps other clients from changing or removing the definition before it is submitted.
            let _lock = self.lock(&target, LockKind::Read)?;
            let definition = target.definition()?;
            let resolved = self.resolved(&definition)?;
            let history = target.directory.history_path();
            let submitted = self.host.submit(Submission {
                user: &self.user,
                name: &target.name,
                definition: &definition,
                resolved: &resolved,
                history: &history,
                now_ms,
            });
            submitted.map_err(|error| ActionError::host(&target.name, error))?
        };
        if let Some(wait_ms) = options.wait_ms {
            let state = self.host.wait_for(app, RunState::Running, wait_ms);
            let state = state.map_err(|error| ActionError::host(&target.name, error))?;
            self.check_started(&target, app, state)?;
        }
        let answer =
            ActionAnswer::success(format!("`{}` is submitted as application {}", target.name, app.0));
        Ok(answer.with(AnswerDetail::Started(app)))
    }

    fn check_started(&self, target: &Target, app: AppId, state: RunState) -> Result<(), ActionError> {
        let report = self.host.reports(&self.user).into_iter().find(|report| report.id == app);
        let ended_well = report.as_ref().is_some_and(|report| report.exit_code == Some(0));
        if state == RunState::Running || (state == RunState::Finished && ended_well) {
            return Ok(());
        }
        let diagnostics = report.map_or_else(String::new, |report| report.diagnostics);
        let diagnostics = if diagnostics.is_empty() { "it still waits".to_owned() } else { diagnostics };
        Err(ActionError::NotStarted { name: target.name.clone(), app, state, diagnostics })
    }

    /// Stops a running instance. Stopping an instance that does not run succeeds.
    ///
    /// The answer is negative if the application could not be asked, or had not ended at the end of the
    /// wait.
    ///
    /// # Errors
    /// If it is not defined.
    pub fn stop(&self, name: &str, options: &StopOptions) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        let name = &target.name;
        // A running application can be stopped even if its definition is gone or wrong.
        let Some(report) = target.report.as_ref().filter(|report| report.state.is_running()) else {
            return match target.definition() {
                Ok(_) | Err(ActionError::Definition(_)) => {
                    Ok(ActionAnswer::success(format!("`{name}` does not run")))
                }
                Err(error) => Err(error),
            };
        };
        let app = report.id.0;
        match self.end(report, options) {
            Ok(state) if options.wait_ms.is_some() && state.is_running() => {
                Ok(ActionAnswer::no(format!("`{name}`: application {app} is still {state}")))
            }
            Ok(_) => Ok(ActionAnswer::success(format!("`{name}`: application {app} is told to end"))),
            Err(HostError::NotLive { state, .. }) if state.is_final() => {
                Ok(ActionAnswer::success(format!("`{name}` has ended by itself")))
            }
            Err(error) => Ok(ActionAnswer::no(format!("`{name}` was not stopped: {error}"))),
        }
    }

    fn end(&self, report: &ApplicationReport, options: &StopOptions) -> Result<RunState, HostError> {
        if options.force || report.state < RunState::Running {
            self.host.kill(report.id, &options.message)?;
        } else {
            self.host.stop(report.id, &options.message)?;
        }
        match options.wait_ms {
            Some(wait_ms) => self.host.wait_for(report.id, RunState::Finished, wait_ms),
            None => Ok(report.state),
        }
    }
}
