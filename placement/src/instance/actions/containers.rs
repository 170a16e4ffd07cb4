//! `kill-container` and `am-suicide`: faults that users inject to test a service.

use super::answer::ActionAnswer;
use super::error::ActionError;
use super::{InstanceClient, Target};
use crate::client::ContainerRef;
use crate::instance::definition::decode;
use crate::instance::host::HostError;
use crate::instance::report::{ApplicationReport, RunState};

impl InstanceClient {
    /// Ends one container of a running instance. The service replaces it: the number of instances stays.
    ///
    /// # Errors
    /// If the instance does not run, or has no such container.
    pub fn kill_container(&self, name: &str, container: Option<&str>) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        let id = container.filter(|text| !text.is_empty()).ok_or_else(|| {
            ActionError::Argument("the container is missing; `list` with containers shows them".to_owned())
        })?;
        let number = decode(id).and_then(|number| u64::try_from(number).ok());
        let number =
            number.ok_or_else(|| ActionError::Argument(format!("`{id}` is not a container's number")))?;
        let report = live(&target)?;
        let killed = self.host.kill_container(report.id, ContainerRef(number));
        killed.map_err(|error| match error {
            HostError::UnknownContainer(container) => ActionError::UnknownContainer {
                name: target.name.clone(),
                app: report.id,
                container: container.0,
            },
            error => ActionError::host(&target.name, error),
        })?;
        Ok(ActionAnswer::success(format!("container {number} of `{}` is told to end", target.name)))
    }

    /// Ends an instance's master only. The host restarts it; containers run on.
    ///
    /// # Errors
    /// If the instance does not run.
    pub fn kill_master(&self, name: &str) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        let report = live(&target)?;
        self.host.kill_master(report.id).map_err(|error| ActionError::host(&target.name, error))?;
        Ok(ActionAnswer::success(format!("the master of `{}` is told to end", target.name)))
    }
}

fn live(target: &Target) -> Result<&ApplicationReport, ActionError> {
    let report = target.application()?;
    if report.state == RunState::Running { Ok(report) } else { Err(target.not_live(report)) }
}
