//! Directives: the containers that a node has to start, stop and keep.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::change::RunningContainer;
use crate::facts::ExecutionType;
use crate::ids::{ApplicationId, AskId, ContainerId};
use crate::resource::Resources;

/// The starts, stops and renames of a node since a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeDirectives {
    /// The version that the node has reached once it has carried these out. 0: nothing is known yet; ask again with 0.
    pub version: u64,
    /// Whether this is the full picture, and not only the difference. The node has to stop all containers that are not
    /// named here.
    pub is_complete: bool,
    /// Containers to start, by identifier. Placeholders are not among them: they only keep room.
    pub start: Vec<ContainerStart>,
    /// Containers to stop, by identifier.
    pub stop: Vec<ContainerId>,
    /// Containers that go on. Empty unless this is the full picture.
    pub keep: BTreeSet<ContainerId>,
    /// The engine's identifiers of containers that it adopted, by the identifiers that the node reported.
    pub adopted: BTreeMap<ContainerId, ContainerId>,
}

/// A container to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerStart {
    /// The container.
    pub container: ContainerId,
    /// Its application.
    pub application: ApplicationId,
    /// The ask that it was placed for.
    pub ask: AskId,
    /// The [number](crate::AskSpec::allocation_request_id) that the caller gave that ask.
    pub allocation_request_id: u64,
    /// Its present size.
    pub size: Resources,
    /// Whether that size is guaranteed or opportunistic.
    pub execution_type: ExecutionType,
}

/// The container as an agent reports it once it runs. Tags and devices are not part of a start.
impl From<&ContainerStart> for RunningContainer {
    fn from(start: &ContainerStart) -> Self {
        Self::new(start.application, start.size).with_allocation_request(start.allocation_request_id)
    }
}

impl NodeDirectives {
    /// Whether the node has nothing to do. An answer that names only containers to keep does nothing to a node that
    /// runs these.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start.is_empty() && self.stop.is_empty() && self.adopted.is_empty()
    }
}
