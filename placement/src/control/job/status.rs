//! The status of a job.

use apportion::Resources;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::processor::ProcessorId;
use super::{Job, StepTally};
use crate::client::{ClusterClient, ContainerRef};
use crate::component::ComponentId;
use crate::history::InstanceState;

/// The status of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// Its name.
    pub name: String,
    /// The number of containers that it should have, standbys included.
    pub configured: u32,
    /// The number of containers that do not run.
    pub below_configured: u64,
    /// Open requests with their step counts.
    pub requests: Vec<(Uuid, StepTally)>,
    /// Its processors and standbys, in the order in which containers are requested.
    pub processors: Vec<ProcessorStatus>,
    /// Drained hosts.
    pub hosts_kept_free: Vec<String>,
    /// The reason of its end; `None` while it runs.
    pub failure: Option<String>,
}

/// The status of a processor or a standby.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessorStatus {
    /// Its id.
    pub processor: ProcessorId,
    /// Its container, if it has one.
    pub container: Option<ContainerRef>,
    /// The state of the container.
    pub state: Option<InstanceState>,
    /// The host of the container.
    pub host: Option<String>,
    /// The version that the container runs.
    pub version: String,
    /// The size of its container.
    pub size: Resources,
    /// Whether it failed too often and was given up, while the job runs on.
    pub is_given_up: bool,
    /// Whether a standby has read all state.
    pub is_caught_up: bool,
    /// The request that works on the processor or one of its standbys.
    pub request: Option<Uuid>,
    /// The number of requests that wait behind that one.
    pub queued: usize,
}

impl<C: ClusterClient> Job<C> {
    /// Returns the status of the job.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        JobStatus {
            name: self.processors.spec().name.clone(),
            configured: u32::try_from(self.processors.components().len()).unwrap_or(u32::MAX),
            below_configured: self.service.state().missing(),
            requests: self.progress().collect(),
            processors: self
                .processors
                .components()
                .keys()
                .filter_map(|id| self.component_status(*id))
                .collect(),
            hosts_kept_free: self.processors.spec().hosts_kept_free.iter().cloned().collect(),
            failure: self.service.state().failure().map(|failure| failure.message.clone()),
        }
    }

    /// Returns the status of a processor or standby; `None` if it is unknown.
    #[must_use]
    pub fn processor_status(&self, processor: &ProcessorId) -> Option<ProcessorStatus> {
        self.component_status(self.processors.number(processor)?)
    }

    fn component_status(&self, component: ComponentId) -> Option<ProcessorStatus> {
        let known = self.processors.components().get(&component)?;
        let processor = self.processors.processor_of(component)?;
        let state = self.service.state();
        let container = state.container_of(component).and_then(|container| state.container(container));
        let group = processor.active();
        Some(ProcessorStatus {
            container: container.as_ref().map(|found| found.container),
            state: container.as_ref().map(|found| found.state),
            host: container.as_ref().map(|found| found.host.clone()),
            version: container.map_or_else(|| known.version.clone(), |found| found.version),
            size: known.size,
            is_given_up: state.is_given_up(component),
            is_caught_up: self.look().has_caught_up(component),
            request: self.plans.busy.get(&group).copied(),
            queued: self.plans.queued_for(&group),
            processor,
        })
    }
}
