//! The form of a scenario file. Names are looked up when a step is executed.

mod expect;
mod gang;
mod one_or_many;
mod preempt;
mod step;

use std::collections::BTreeMap;
use std::path::PathBuf;

use apportion::ExecutionType;
use apportion::config::Semantics;
use serde::Deserialize;
use serde_saphyr::Spanned;

pub(super) use expect::{
    ApplicationWanted, AskWanted, ExpectForm, NodeStateWord, NodeWanted, QueueStatusWord, QueueWanted,
    ReservationWanted, UserWanted,
};
pub(super) use gang::{GangForm, GangState, GangWanted, RoleForm};
pub(super) use one_or_many::OneOrMany;
pub(super) use preempt::{
    BudgetForm, BudgetsForm, CostForm, CostValue, PlanForm, PlanWanted, PolicyForm, UnhelpedForm,
    WithinQueueForm,
};
pub(super) use step::{
    AnsweredForm, BlacklistForm, CommitForm, ContainersForm, MoveForm, PassForm, PrepareForm,
    ReconfigureForm, RecoverForm, RequestForm, ResizeContainersForm, ResizeForm, RunningForm, ShareForm,
    Step, UpdateQueueForm, Verdict,
};

/// Amounts by the name of the resource type, with or without its unit.
pub(super) type Amounts = BTreeMap<String, i64>;
/// A name, a range of names (`n0..n9`), or a list of both.
pub(super) type NamesForm = OneOrMany<String>;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioForm {
    /// The behaviour that it shows, in a sentence or two.
    pub(super) about: String,
    /// The configuration: the text of a native TOML file.
    pub(super) config: Option<Spanned<String>>,
    /// The same in a separate file next to this one, native TOML or YARN's XML.
    pub(super) config_file: Option<Spanned<PathBuf>>,
    /// The modes of the runs; only serial mode by default.
    #[serde(default = "serial_only")]
    pub(super) modes: Spanned<Vec<ModeForm>>,
    /// The semantics of the runs; by default only those of the configuration.
    pub(super) semantics: Option<Spanned<OneOrMany<SemanticsForm>>>,
    #[serde(default)]
    pub(super) nodes: Vec<Spanned<NodeForm>>,
    #[serde(default)]
    pub(super) applications: Vec<Spanned<ApplicationForm>>,
    pub(super) steps: Vec<Spanned<Step>>,
}

fn serial_only() -> Spanned<Vec<ModeForm>> {
    let nowhere = serde_saphyr::Location::UNKNOWN;
    Spanned { value: vec![ModeForm::Serial], referenced: nowhere, defined: nowhere }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ModeForm {
    Serial,
    Parallel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SemanticsForm {
    Strict,
    YarnCompatible,
}

impl From<SemanticsForm> for Semantics {
    fn from(form: SemanticsForm) -> Self {
        match form {
            SemanticsForm::Strict => Self::Strict,
            SemanticsForm::YarnCompatible => Self::YarnCompatible,
        }
    }
}

/// A node, or several equal ones.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeForm {
    /// Its name, or a range of names.
    pub(super) name: String,
    pub(super) resources: Amounts,
    pub(super) rack: Option<String>,
    #[serde(default)]
    pub(super) partition: String,
    #[serde(default)]
    pub(super) devices: u8,
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, String>,
    /// Part of the expected refusal message.
    pub(super) refused: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplicationForm {
    pub(super) name: String,
    /// The requested queue; empty if mapping rules decide without a request.
    #[serde(default)]
    pub(super) queue: String,
    #[serde(default = "any_user")]
    pub(super) user: String,
    /// The user's groups, the primary one first.
    #[serde(default)]
    pub(super) groups: OneOrMany<String>,
    #[serde(default)]
    pub(super) tags: BTreeMap<String, String>,
    pub(super) priority: Option<u32>,
    pub(super) lifetime_ms: Option<u64>,
    pub(super) master: Option<MasterForm>,
    pub(super) refused: Option<String>,
}

/// The needs of the container that runs an application.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MasterForm {
    pub(super) size: Amounts,
    #[serde(default)]
    pub(super) partition: String,
}

fn any_user() -> String {
    "user".into()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskForm {
    pub(super) application: String,
    /// Its name in steps and expectations.
    pub(super) name: String,
    pub(super) size: Amounts,
    #[serde(default = "one")]
    pub(super) count: u32,
    #[serde(default)]
    pub(super) priority: u32,
    pub(super) partition: Option<String>,
    #[serde(default)]
    pub(super) hosts: NamesForm,
    #[serde(default)]
    pub(super) racks: NamesForm,
    /// Only the named hosts and racks are allowed.
    #[serde(default)]
    pub(super) strict: bool,
    /// The ask is for the application master.
    #[serde(default)]
    pub(super) master: bool,
    pub(super) devices: Option<DevicesForm>,
    /// A condition on the node's attributes; with `attributes`, all conditions must hold.
    pub(super) attribute: Option<AttributeForm>,
    #[serde(default)]
    pub(super) attributes: Vec<AttributeForm>,
    /// The tags of its containers.
    #[serde(default)]
    pub(super) tags: OneOrMany<String>,
    #[serde(default)]
    pub(super) tag_limits: Vec<TagLimitForm>,
    /// Its containers are real ones of this task group.
    pub(super) task_group: Option<String>,
    /// Whether its containers are guaranteed or opportunistic.
    #[serde(default)]
    pub(super) execution: ExecutionType,
    pub(super) refused: Option<String>,
}

fn one() -> u32 {
    1
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DevicesForm {
    pub(super) count: u8,
    pub(super) milli: u16,
}

/// A limit on the number of containers with the tag on a node or rack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TagLimitForm {
    pub(super) tag: String,
    pub(super) most: u32,
    pub(super) per: ScopeForm,
    /// The applications whose containers count; all by default.
    #[serde(default)]
    pub(super) of: NamespaceForm,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScopeForm {
    Node,
    Rack,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NamespaceForm {
    #[default]
    All,
    Application,
}

/// A condition on an attribute; exactly one of the three tests is given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttributeForm {
    pub(super) name: String,
    pub(super) one_of: Option<OneOrMany<String>>,
    pub(super) none_of: Option<OneOrMany<String>>,
    pub(super) present: Option<bool>,
}
