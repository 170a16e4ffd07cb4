//! `list`: lists instances.

use serde::Serialize;

use super::answer::{ActionAnswer, AnswerDetail};
use super::error::ActionError;
use super::{InstanceClient, Target};
use crate::instance::directory::Presence;
use crate::instance::host::HostedContainer;
use crate::instance::report::{ApplicationReport, RunState};
use crate::instance::state::LifeState;

/// Filters and contents of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListOptions<'a> {
    /// Only instances that run or are about to.
    pub live: bool,
    /// Only instances whose application is in this state.
    pub state: Option<&'a str>,
    /// Whether to list containers as well.
    pub containers: bool,
}

/// An instance in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstanceSummary {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: LifeState,
    /// Its present or last application.
    pub application: Option<ApplicationReport>,
    /// Its containers, if requested.
    pub containers: Vec<HostedContainer>,
}

/// A condition on an instance for `list` and `exists`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    Any,
    Live,
    State(RunState),
}

impl Filter {
    pub(super) fn new(live: bool, state: Option<&str>) -> Result<Self, ActionError> {
        match (live, state) {
            (true, Some(_)) => Err(ActionError::Argument("give a state or `--live`, not both".to_owned())),
            (true, None) => Ok(Self::Live),
            (false, Some(state)) => Ok(Self::State(state.parse()?)),
            (false, None) => Ok(Self::Any),
        }
    }

    pub(super) fn holds(self, report: Option<&ApplicationReport>) -> bool {
        match self {
            Self::Any => true,
            Self::Live => report.is_some_and(|report| report.state.is_running()),
            Self::State(state) => report.is_some_and(|report| report.state == state),
        }
    }
}

impl InstanceClient {
    /// Lists the user's instances, or the named one. The answer is negative if the named one does not
    /// match.
    ///
    /// # Errors
    /// If the name is unknown, the options contradict each other, or the host does not return containers.
    pub fn list(&self, name: Option<&str>, options: ListOptions<'_>) -> Result<ActionAnswer, ActionError> {
        if options.containers && name.is_none() {
            return Err(ActionError::Argument("containers are listed of one instance: name it".to_owned()));
        }
        let filter = Filter::new(options.live, options.state)?;
        let targets = match name {
            None => self.directories.names()?.into_iter().map(|name| self.look_at(name)).collect(),
            Some(name) => vec![self.known(name)?],
        };
        let found: Vec<InstanceSummary> = targets
            .into_iter()
            .filter(|target| filter.holds(target.report.as_ref()))
            .map(|target| self.summary(target, options.containers))
            .collect::<Result<_, _>>()?;
        let answer = if found.is_empty() && name.is_some() {
            ActionAnswer::no("the instance is not as asked for")
        } else {
            ActionAnswer::success(format!("{} instances", found.len()))
        };
        Ok(answer.with(AnswerDetail::Instances(found)))
    }

    /// Finds the named instance. An incomplete folder counts as no instance, unless the instance runs.
    fn known(&self, name: &str) -> Result<Target, ActionError> {
        let target = self.target(name)?;
        if !target.state.is_running() || target.directory.presence() == Presence::Absent {
            target.complete()?;
        }
        Ok(target)
    }

    fn summary(&self, target: Target, with_containers: bool) -> Result<InstanceSummary, ActionError> {
        let app = target.report.as_ref().filter(|_| with_containers).map(|report| report.id);
        let containers = app.map(|app| self.host.containers(app)).transpose();
        Ok(InstanceSummary {
            containers: containers
                .map_err(|error| ActionError::host(&target.name, error))?
                .unwrap_or_default(),
            name: target.name.to_string(),
            state: target.state,
            application: target.report,
        })
    }
}
