//! `exists`, `status`, `nodes`: queries.

use super::InstanceClient;
use super::answer::{ActionAnswer, AnswerDetail};
use super::error::ActionError;
use super::list::Filter;
use crate::client::NodeReport;
use crate::instance::host::HostError;

/// The state that an instance has to be in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExistsOptions<'a> {
    /// Its application runs or is about to.
    pub live: bool,
    /// Its application is in this state.
    pub state: Option<&'a str>,
}

impl InstanceClient {
    /// Tells whether an instance exists and matches the options.
    ///
    /// # Errors
    /// If the name is unknown, or the folder is incomplete.
    pub fn exists(&self, name: &str, options: ExistsOptions<'_>) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        let filter = Filter::new(options.live, options.state)?;
        target.complete()?;
        if filter.holds(target.report.as_ref()) {
            return Ok(ActionAnswer::success(format!("`{}` is there", target.name)));
        }
        Ok(ActionAnswer::no(match &target.report {
            Some(report) => format!("`{}` is there, and its application is {}", target.name, report.state),
            None => format!("`{}` is there, and never ran", target.name),
        }))
    }

    /// Returns the status of a running instance.
    ///
    /// # Errors
    /// If it does not run, or its master does not answer.
    pub fn status(&self, name: &str) -> Result<ActionAnswer, ActionError> {
        let target = self.target(name)?;
        let report = target.application()?;
        if report.state.is_final() {
            return Err(target.not_live(report));
        }
        let status = self.host.status(report.id).map_err(|error| match error {
            HostError::NotLive { state, .. } if state.is_final() => target.not_live(report),
            error => ActionError::host(&target.name, error),
        })?;
        let answer = ActionAnswer::success(format!("`{}` is {}", target.name, report.state));
        Ok(answer.with(AnswerDetail::Status(Box::new(status))))
    }

    /// Returns the nodes of the cluster.
    ///
    /// # Errors
    /// If the host cannot be reached.
    pub fn nodes(&self) -> Result<ActionAnswer, ActionError> {
        self.host.nodes().map(nodes_answer).map_err(ActionError::Cluster)
    }

    /// Returns the nodes of the cluster that take containers.
    ///
    /// # Errors
    /// If the host cannot be reached.
    pub fn usable_nodes(&self) -> Result<ActionAnswer, ActionError> {
        let mut nodes = self.host.nodes().map_err(ActionError::Cluster)?;
        nodes.retain(|node| node.is_usable);
        Ok(nodes_answer(nodes))
    }
}

fn nodes_answer(nodes: Vec<NodeReport>) -> ActionAnswer {
    let answer = ActionAnswer::success(format!("{} nodes", nodes.len()));
    answer.with(AnswerDetail::Nodes(nodes))
}
