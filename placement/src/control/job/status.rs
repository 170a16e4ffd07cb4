//! How a job stands.

use apportion::Resources;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::processor::ProcessorId;
use super::{Job, StepTally};
use crate::client::{ClusterClient, ContainerRef};
use crate::component::ComponentId;
use crate::history::InstanceState;

/// How a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// Its name.
    pub name: String,
    /// How many containers it should have, standbys included.
    pub configured: u32,
    /// How many of them do not run.
    pub below_configured: u64,
    /// Requests that are not over, and what came of their containers so far.
    pub requests: Vec<(Uuid, StepTally)>,
    /// Its processors and standbys, in the order in which they are asked for.
    pub processors: Vec<ProcessorStatus>,
    /// Hosts that were drained.
    pub hosts_kept_free: Vec<String>,
    /// Why it ended, if it did.
    pub failure: Option<String>,
}

/// How a processor or a standby stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessorStatus {
    /// Which.
    pub processor: ProcessorId,
    /// Its container, if it has one.
    pub container: Option<ContainerRef>,
    /// What that does.
    pub state: Option<InstanceState>,
    /// Where.
    pub host: Option<String>,
    /// The version of what runs in it.
    pub version: String,
    /// The size of its container.
    pub size: Resources,
    /// Whether it failed too often, and the job goes on without it.
    pub is_given_up: bool,
    /// Of a standby: whether it has read all state.
    pub is_caught_up: bool,
    /// The request that goes on with it, or with one that stands by for it.
    pub request: Option<Uuid>,
    /// Requests that wait for that one to end.
    pub queued: usize,
}

impl<C: ClusterClient> Job<C> {
    /// How the job stands.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        JobStatus {
            name: self.spec.name.clone(),
            configured: u32::try_from(self.components.len()).unwrap_or(u32::MAX),
            below_configured: self.service.state().missing(),
            requests: self.progress().collect(),
            processors: self.components.keys().filter_map(|id| self.component_status(*id)).collect(),
            hosts_kept_free: self.spec.hosts_kept_free.iter().cloned().collect(),
            failure: self.service.state().failure().map(|failure| failure.message.clone()),
        }
    }

    /// How one of its processors or standbys stands; `None` if there is none of this name.
    #[must_use]
    pub fn processor_status(&self, processor: &ProcessorId) -> Option<ProcessorStatus> {
        self.component_status(*self.numbers.get(processor)?)
    }

    fn component_status(&self, component: ComponentId) -> Option<ProcessorStatus> {
        let known = self.components.get(&component)?;
        let processor = self.processor_of(component)?;
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
            is_caught_up: self.has_caught_up(component),
            request: self.busy.get(&group).copied(),
            queued: self.queued.get(&group).map_or(0, std::collections::VecDeque::len),
            processor,
        })
    }
}
