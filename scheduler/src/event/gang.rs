//! Why a gang was refused, with numbers.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Refusal;
use crate::facts::GangTopology;
use crate::ids::GangId;
use crate::label::counted;
use crate::nearest::hint;
use crate::resource::Amounts;

/// Why the engine refused a gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GangRefusal {
    /// The reason needs no numbers.
    #[error(transparent)]
    Refused(Refusal),
    /// Its minimum is above the maximum of a queue on its path.
    #[error("the gang's minimum needs {needed} at once, and queue `{queue}` has a maximum of {maximum}")]
    AboveMaximum {
        /// The path of the queue.
        queue: String,
        /// What the minimum needs, over all roles, of the types that are short.
        needed: Amounts,
        /// The queue's maximum of these types.
        maximum: Amounts,
    },
    /// The nodes that meet a role's conditions could not hold its minimum if they were empty.
    #[error(
        "role `{role}` starts with {}, and {} {possible} of them",
        counted((*minimum).into(), "member"), holders(*.topology)
    )]
    AboveCluster {
        /// The role.
        role: String,
        /// The members that must start together.
        minimum: u32,
        /// The most members that the nodes, or the nodes of one rack, hold.
        possible: u32,
        /// Where the members may start.
        topology: GangTopology,
    },
    /// One of its task groups has the name of a task group that another gang of the application uses.
    #[error(
        "task group `{name}` is in use by {gang} of the application, which {}; use another name, or wait until \
         those placeholders are replaced or released", used_by(*.placeholders, *.is_waiting)
    )]
    TaskGroupInUse {
        /// The task group.
        name: String,
        /// The gang that uses it.
        gang: GangId,
        /// The placeholders of that gang, in all of its task groups, that run or are pending.
        placeholders: u64,
        /// Whether that gang has not started.
        is_waiting: bool,
    },
    /// The nodes could hold each role, but have less than the roles need together.
    #[error("the gang's minimum needs {needed} at once, and {} {capacity}", owners(*.topology))]
    AboveCapacity {
        /// What the minimum needs, over all roles.
        needed: Amounts,
        /// The capacity of the nodes, or of the largest rack.
        capacity: Amounts,
        /// Where the members may start.
        topology: GangTopology,
    },
}

/// Why the engine refused an ask of a task group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskGroupRefusal {
    /// The reason needs no names.
    #[error(transparent)]
    Refused(Refusal),
    /// No gang of the application has a task group with this name.
    #[error("unknown task group `{name}`; {}{}", known_groups(.known), hint(.nearest.as_deref()))]
    Unknown {
        /// The name given.
        name: String,
        /// The known name closest to it.
        nearest: Option<String>,
        /// The task groups of the application.
        known: Vec<String>,
    },
}

impl TaskGroupRefusal {
    /// The reason without names, as events have it.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => *refusal,
            Self::Unknown { .. } => Refusal::UnknownTaskGroup,
        }
    }
}

fn known_groups(known: &[String]) -> String {
    match known {
        [] => "the application has none: submit a gang with placeholders first".into(),
        known => format!("the application has {}", known.join(", ")),
    }
}

impl GangRefusal {
    /// The reason without numbers, as events have it.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => *refusal,
            Self::TaskGroupInUse { .. } => Refusal::TaskGroupInUse,
            Self::AboveMaximum { .. } => Refusal::GangAboveMaximum,
            Self::AboveCluster { .. } | Self::AboveCapacity { .. } => Refusal::GangAboveCluster,
        }
    }
}

impl From<Refusal> for GangRefusal {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<GangRefusal> for Refusal {
    fn from(refusal: GangRefusal) -> Self {
        refusal.refusal()
    }
}

fn used_by(placeholders: u64, is_waiting: bool) -> String {
    let placeholders = counted(placeholders, "placeholder");
    if is_waiting {
        format!("waits to start with {placeholders}")
    } else {
        format!("has {placeholders} left")
    }
}

const fn holders(topology: GangTopology) -> &'static str {
    match topology {
        GangTopology::Anywhere | GangTopology::NearestRacks => "all nodes together, empty, hold",
        GangTopology::SameRack => "no rack, empty, holds more than",
    }
}

const fn owners(topology: GangTopology) -> &'static str {
    match topology {
        GangTopology::Anywhere | GangTopology::NearestRacks => "all nodes together have",
        GangTopology::SameRack => "no rack has that much; the largest has",
    }
}
