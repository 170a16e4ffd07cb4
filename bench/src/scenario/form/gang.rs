//! Gangs in a scenario file.

use std::collections::BTreeMap;

use apportion::ExecutionType;
use apportion::gang::{GangStyle, GangTopology};
use serde::Deserialize;

use super::{Amounts, AskForm, NamesForm, one};

/// A gang to submit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct GangForm {
    pub(in crate::scenario) application: String,
    /// Its name in steps and expectations.
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) roles: Vec<RoleForm>,
    pub(in crate::scenario) timeout_ms: Option<u64>,
    #[serde(default)]
    pub(in crate::scenario) style: GangStyle,
    #[serde(default)]
    pub(in crate::scenario) topology: GangTopology,
    pub(in crate::scenario) placeholder_timeout_ms: Option<u64>,
    /// Whether room may be held for it while it waits.
    #[serde(default = "gathers")]
    pub(in crate::scenario) gathers: bool,
    /// Part of the expected refusal message.
    pub(in crate::scenario) refused: Option<String>,
}

fn gathers() -> bool {
    true
}

/// One role. Its ask is called `GANG.ROLE` in steps and expectations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct RoleForm {
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) size: Amounts,
    #[serde(default = "one")]
    pub(in crate::scenario) count: u32,
    /// The members that start together; all by default.
    pub(in crate::scenario) minimum: Option<u32>,
    /// Its members are placeholders.
    #[serde(default)]
    pub(in crate::scenario) placeholders: bool,
    #[serde(default)]
    pub(in crate::scenario) priority: u32,
    pub(in crate::scenario) partition: Option<String>,
    #[serde(default)]
    pub(in crate::scenario) hosts: NamesForm,
    #[serde(default)]
    pub(in crate::scenario) racks: NamesForm,
    #[serde(default)]
    pub(in crate::scenario) strict: bool,
    #[serde(default)]
    pub(in crate::scenario) tags: NamesForm,
}

impl RoleForm {
    /// The ask of the role.
    pub(in crate::scenario) fn ask(&self, gang: &GangForm) -> AskForm {
        AskForm {
            application: gang.application.clone(),
            name: format!("{}.{}", gang.name, self.name),
            size: self.size.clone(),
            count: self.count,
            priority: self.priority,
            partition: self.partition.clone(),
            hosts: self.hosts.clone(),
            racks: self.racks.clone(),
            strict: self.strict,
            master: false,
            devices: None,
            attribute: None,
            attributes: Vec::new(),
            tags: self.tags.clone(),
            tag_limits: Vec::new(),
            task_group: None,
            execution: ExecutionType::Guaranteed,
            refused: None,
        }
    }
}

/// The expectations of a gang.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct GangWanted {
    pub(in crate::scenario) state: Option<GangState>,
    /// Running placeholders, by task group.
    #[serde(default)]
    pub(in crate::scenario) placeholders: BTreeMap<String, usize>,
    /// Pending placeholders, by task group.
    #[serde(default)]
    pub(in crate::scenario) pending_placeholders: BTreeMap<String, u32>,
    /// The number of racks with its containers, real ones of its task groups not counted.
    pub(in crate::scenario) racks: Option<usize>,
}

/// The state of a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::scenario) enum GangState {
    Waiting,
    Refused,
    Started,
    /// Its timeout passed before it could start.
    TimedOut,
    Cancelled,
    /// It ended with its application.
    ApplicationEnded,
    /// It started, and placeholders were not replaced in time.
    PlaceholdersTimedOut,
    /// The same for a hard gang.
    Failed,
}

impl GangState {
    /// The word in the file.
    pub(in crate::scenario) fn text(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Refused => "refused",
            Self::Started => "started",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::ApplicationEnded => "application_ended",
            Self::PlaceholdersTimedOut => "placeholders_timed_out",
            Self::Failed => "failed",
        }
    }
}
