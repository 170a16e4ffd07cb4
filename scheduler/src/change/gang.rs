//! Descriptions of gangs that applications submit.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::AskSpec;
use crate::facts::{ExecutionType, GangStyle, GangTopology};
use crate::ids::ApplicationId;
use crate::label::counted;

/// The most members that may have to start together.
const MEMBERS_MAX: u64 = 100_000;

/// The most roles of a gang.
const ROLES_MAX: usize = 1_000;

/// A gang: asks of one application. A minimum of their containers starts at once or not at all.
///
/// The units above the minimum are ordinary asks from the start on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangSpec {
    /// The application that asks.
    pub application: ApplicationId,
    /// Its roles, such as master and worker: at least one. Each has a name of its own.
    pub roles: Vec<GangRole>,
    /// How long it may wait, in milliseconds; at least 1. `None`: for ever.
    pub timeout_ms: Option<u64>,
    /// Whether it fails after the timeout, or becomes ordinary asks.
    pub style: GangStyle,
    /// Where its minimum may start.
    pub topology: GangTopology,
    /// How long its placeholders may wait for real containers after the start, in milliseconds; at least 1. `None`:
    /// for ever. After it, the engine gives up the remaining placeholders. A hard gang fails then: its pending asks
    /// and those of its task groups are cancelled.
    #[serde(default)]
    pub placeholder_timeout_ms: Option<u64>,
    /// Whether the engine may hold room for it that becomes free while it waits. In each partition, only one gang
    /// holds room: the first that could gather.
    #[serde(default = "gathers")]
    pub gathers: bool,
}

/// A gang gathers unless its description says otherwise.
fn gathers() -> bool {
    true
}

/// One role of a gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangRole {
    /// Its name, at least one character and no control characters. Only errors and explanations show it. With
    /// placeholders it is the name of the task group, too.
    pub name: String,
    /// Its containers. Members that start together go to the nearest hosts and racks that they prefer without a delay,
    /// and use only nodes of their own partition.
    pub ask: AskSpec,
    /// The number of its members that must start together, at most the ask's `count`. It may be zero for some of the
    /// roles.
    pub minimum: u32,
    /// Whether its members are placeholders, which [real containers](crate::Handle::submit_ask_of_group) replace.
    #[serde(default)]
    pub is_placeholder: bool,
}

/// Why a description of a gang makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum InvalidGang {
    /// A gang without roles.
    #[error("a gang has at least one role")]
    NoRole,
    /// A gang with too many roles.
    #[error("a gang has {roles} roles; at most {ROLES_MAX} are possible")]
    TooManyRoles {
        /// The number of roles.
        roles: usize,
    },
    /// A name of a role that is empty, or would break a line.
    #[error(
        "role {number} of the gang{} is named {name:?}; a name has at least one character and no control characters",
        if *is_placeholder { ", a task group," } else { "" }
    )]
    RoleName {
        /// The place of the role, counted from 1.
        number: usize,
        /// Its name.
        name: String,
        /// Whether the role is a task group.
        is_placeholder: bool,
    },
    /// Two roles with the same name.
    #[error("two roles of the gang are named `{name}`; each role needs a name of its own")]
    DuplicateRole {
        /// The name.
        name: String,
    },
    /// A minimum that cannot be reached.
    #[error("role `{role}` asks for {}, but at least {minimum} must start together", counted((*count).into(), "member"))]
    MinimumAboveCount {
        /// The role.
        role: String,
        /// Its minimum.
        minimum: u32,
        /// Its number of members.
        count: u32,
    },
    /// A role whose members would be opportunistic: they do not start together.
    #[error("role `{role}` is opportunistic; the members of a gang are guaranteed")]
    OpportunisticRole {
        /// The role.
        role: String,
    },
    /// A gang without a minimum.
    #[error("no role of the gang has a minimum; submit plain asks instead")]
    NoMinimum,
    /// A gang with too many members that have to start together.
    #[error("{members} members would have to start together; at most {MEMBERS_MAX} can")]
    TooManyMembers {
        /// The sum of the minima.
        members: u64,
    },
    /// A timeout of zero.
    #[error("a gang with a timeout of 0 ms could never start; leave the timeout out to wait for ever")]
    ZeroTimeout,
    /// A timeout of zero for placeholders.
    #[error(
        "placeholders with a timeout of 0 ms could never be replaced; leave the timeout out to keep them for ever"
    )]
    ZeroPlaceholderTimeout,
    /// A timeout for placeholders, and no role has them.
    #[error("the gang has a timeout for placeholders, but no role with placeholders")]
    NoPlaceholders,
}

impl GangSpec {
    /// A gang without roles that starts anywhere, waits for ever and fails as a whole.
    #[must_use]
    pub fn new(application: ApplicationId) -> Self {
        Self {
            application,
            roles: Vec::new(),
            timeout_ms: None,
            style: GangStyle::default(),
            topology: GangTopology::default(),
            placeholder_timeout_ms: None,
            gathers: gathers(),
        }
    }

    /// The same gang with one more role, all of whose members start together.
    #[must_use]
    pub fn with_role(self, name: impl Into<String>, ask: AskSpec) -> Self {
        let minimum = ask.count;
        self.with_role_of_at_least(name, ask, minimum)
    }

    /// The same gang with one more role. At least `minimum` of its members start together.
    #[must_use]
    pub fn with_role_of_at_least(mut self, name: impl Into<String>, ask: AskSpec, minimum: u32) -> Self {
        self.roles.push(GangRole { name: name.into(), ask, minimum, is_placeholder: false });
        self
    }

    /// The same gang with one more role, a task group: its members are placeholders. At least `minimum` of them start
    /// together.
    #[must_use]
    pub fn with_placeholders(mut self, name: impl Into<String>, ask: AskSpec, minimum: u32) -> Self {
        self.roles.push(GangRole { name: name.into(), ask, minimum, is_placeholder: true });
        self
    }

    /// The same gang, whose placeholders wait this long for real containers after the start.
    #[must_use]
    pub fn with_placeholder_timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.placeholder_timeout_ms = Some(timeout_ms);
        self
    }

    /// The same gang, which waits this long.
    #[must_use]
    pub fn with_timeout_ms(mut self, timeout_ms: u64, style: GangStyle) -> Self {
        (self.timeout_ms, self.style) = (Some(timeout_ms), style);
        self
    }

    /// The same gang, whose minimum starts on one rack.
    #[must_use]
    pub fn on_one_rack(mut self) -> Self {
        self.topology = GangTopology::SameRack;
        self
    }

    /// The same gang, whose minimum starts on one rack if one has room, and otherwise on few racks.
    #[must_use]
    pub fn on_nearest_racks(mut self) -> Self {
        self.topology = GangTopology::NearestRacks;
        self
    }

    /// The same gang, for which no room is held while it waits.
    #[must_use]
    pub fn without_gathering(mut self) -> Self {
        self.gathers = false;
        self
    }

    /// Checks everything that does not depend on an engine. The engine checks the [`AskSpec`]s.
    ///
    /// # Errors
    /// If the roles, their names, minima or timeout make no sense.
    pub fn check(&self) -> Result<(), InvalidGang> {
        self.check_names()?;
        self.check_but_names()
    }

    /// Only the submission of a gang checks names: logs may have gangs with any names.
    fn check_names(&self) -> Result<(), InvalidGang> {
        let is_wrong = |name: &str| name.is_empty() || name.contains(char::is_control);
        match self.roles.iter().position(|role| is_wrong(&role.name)) {
            Some(place) => Err(InvalidGang::RoleName {
                number: place + 1,
                name: self.roles[place].name.clone(),
                is_placeholder: self.roles[place].is_placeholder,
            }),
            None => Ok(()),
        }
    }

    /// The checks that a gang in a log has passed, too.
    pub(crate) fn check_but_names(&self) -> Result<(), InvalidGang> {
        if self.roles.is_empty() {
            return Err(InvalidGang::NoRole);
        }
        if self.roles.len() > ROLES_MAX {
            return Err(InvalidGang::TooManyRoles { roles: self.roles.len() });
        }
        let mut names = BTreeSet::new();
        if let Some(role) = self.roles.iter().find(|role| !names.insert(role.name.as_str())) {
            return Err(InvalidGang::DuplicateRole { name: role.name.clone() });
        }
        if let Some(GangRole { name, ask, minimum, .. }) =
            self.roles.iter().find(|role| role.minimum > role.ask.count)
        {
            let (role, minimum, count) = (name.clone(), *minimum, ask.count);
            return Err(InvalidGang::MinimumAboveCount { role, minimum, count });
        }
        self.check_placeholders()?;
        let is_opportunistic = |role: &&GangRole| role.ask.execution_type == ExecutionType::Opportunistic;
        if let Some(role) = self.roles.iter().find(is_opportunistic) {
            return Err(InvalidGang::OpportunisticRole { role: role.name.clone() });
        }
        let members: u64 = self.roles.iter().map(|role| u64::from(role.minimum)).sum();
        match members {
            0 => Err(InvalidGang::NoMinimum),
            1..=MEMBERS_MAX if self.timeout_ms == Some(0) => Err(InvalidGang::ZeroTimeout),
            1..=MEMBERS_MAX => Ok(()),
            _ => Err(InvalidGang::TooManyMembers { members }),
        }
    }

    fn check_placeholders(&self) -> Result<(), InvalidGang> {
        match self.placeholder_timeout_ms {
            Some(0) => Err(InvalidGang::ZeroPlaceholderTimeout),
            Some(_) if !self.roles.iter().any(|role| role.is_placeholder) => Err(InvalidGang::NoPlaceholders),
            _ => Ok(()),
        }
    }
}
