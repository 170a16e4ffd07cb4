//! The form of a scenario file. Names are looked up when a step is carried out.

mod expect;
mod one_or_many;
mod step;

use std::collections::BTreeMap;
use std::path::PathBuf;

use apportion::config::Semantics;
use serde::Deserialize;
use serde_saphyr::Spanned;

pub(super) use expect::{
    ApplicationWanted, AskWanted, ExpectForm, NodeStateWord, NodeWanted, QueueStatusWord, QueueWanted,
    ReservationWanted, UserWanted,
};
pub(super) use one_or_many::OneOrMany;
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
    /// What it shows, in a sentence or two.
    pub(super) about: String,
    /// The configuration: the text of a native TOML file.
    pub(super) config: Option<Spanned<String>>,
    /// The same in a file of its own, native TOML or YARN's XML, beside this one.
    pub(super) config_file: Option<Spanned<PathBuf>>,
    /// How it is run; in serial mode alone if not said.
    #[serde(default = "serial_only")]
    pub(super) modes: Spanned<Vec<ModeForm>>,
    /// With which semantics; with those of the configuration alone if not said.
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

/// A node, or several alike.
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
    /// Part of the message with which it is refused.
    pub(super) refused: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplicationForm {
    pub(super) name: String,
    /// What it requests; nothing if there are placement rules that do without.
    #[serde(default)]
    pub(super) queue: String,
    #[serde(default = "somebody")]
    pub(super) user: String,
    /// The user's, the primary one first.
    #[serde(default)]
    pub(super) groups: OneOrMany<String>,
    #[serde(default)]
    pub(super) tags: BTreeMap<String, String>,
    pub(super) priority: Option<u32>,
    pub(super) lifetime_ms: Option<u64>,
    pub(super) master: Option<MasterForm>,
    pub(super) refused: Option<String>,
}

/// What the container needs that runs an application.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MasterForm {
    pub(super) size: Amounts,
    #[serde(default)]
    pub(super) partition: String,
}

fn somebody() -> String {
    "user".into()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskForm {
    pub(super) application: String,
    /// What steps and expectations call it.
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
    /// Nothing but the hosts and racks named will do.
    #[serde(default)]
    pub(super) strict: bool,
    /// It is for what runs the application.
    #[serde(default)]
    pub(super) master: bool,
    pub(super) devices: Option<DevicesForm>,
    /// A condition on the node's attributes, or several, of which all have to hold.
    pub(super) attribute: Option<AttributeForm>,
    #[serde(default)]
    pub(super) attributes: Vec<AttributeForm>,
    /// What its containers are called.
    #[serde(default)]
    pub(super) tags: OneOrMany<String>,
    #[serde(default)]
    pub(super) tag_limits: Vec<TagLimitForm>,
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

/// At most so many containers with the tag on a node or rack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TagLimitForm {
    pub(super) tag: String,
    pub(super) most: u32,
    pub(super) per: ScopeForm,
    /// Whose are counted; everybody's if not said.
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

/// One of the three says what has to be true of the attribute.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttributeForm {
    pub(super) name: String,
    pub(super) one_of: Option<OneOrMany<String>>,
    pub(super) none_of: Option<OneOrMany<String>>,
    pub(super) present: Option<bool>,
}
