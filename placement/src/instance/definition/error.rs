//! Errors in definitions.

use std::fmt;

use apportion::preempt::InvalidBudget;
use thiserror::Error;

use super::keys::ConfFile;
use crate::instance::ExitCode;

/// A place in a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The section for every component.
    Global(ConfFile),
    /// A component's section.
    Component(ConfFile, String),
}

impl Place {
    /// Returns its file.
    #[must_use]
    pub fn file(&self) -> ConfFile {
        match self {
            Self::Global(file) | Self::Component(file, _) => *file,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global(file) => write!(formatter, "{file}: global"),
            Self::Component(file, component) => write!(formatter, "{file}: component `{component}`"),
        }
    }
}

/// An error in a definition, with its place and a correct form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The text is not JSON, or an object has a name twice.
    #[error("{file}: {problem}")]
    Json {
        /// The file.
        file: ConfFile,
        /// The reader's message, with line and column.
        problem: String,
    },
    /// A required part is missing.
    #[error("{file}: `{root}` is missing")]
    MissingRoot {
        /// The file.
        file: ConfFile,
        /// The part.
        root: &'static str,
    },
    /// A part is unknown.
    #[error("{file}: unknown part `{root}`; the parts are schema, metadata, global and components")]
    UnknownRoot {
        /// The file.
        file: ConfFile,
        /// The part.
        root: String,
    },
    /// A part has the wrong type.
    #[error("{file}: {part} is {found}; it has to be {expected}")]
    WrongType {
        /// The file.
        file: ConfFile,
        /// The part.
        part: String,
        /// The value found.
        found: &'static str,
        /// The form expected.
        expected: &'static str,
    },
    /// The schema is not supported.
    #[error("{file}: schema `{schema}` is not supported; `{}` is", super::SCHEMA)]
    UnsupportedSchema {
        /// The file.
        file: ConfFile,
        /// The version found.
        schema: String,
    },
    /// A key is unknown.
    #[error("{place}: unknown key `{key}`{}", hint(nearest.as_deref()))]
    UnknownKey {
        /// The place.
        place: Place,
        /// The key.
        key: String,
        /// The nearest known key.
        nearest: Option<String>,
    },
    /// A key is in the wrong section.
    #[error("{place}: `{key}` has no effect here; it belongs in {belongs}")]
    MisplacedKey {
        /// The place found.
        place: Place,
        /// The key.
        key: &'static str,
        /// The right place.
        belongs: String,
    },
    /// A value is invalid.
    #[error("{place}: `{key}` = `{value}` has to be {expected}")]
    BadValue {
        /// The place.
        place: Place,
        /// The key.
        key: &'static str,
        /// The text found.
        value: String,
        /// The valid values.
        expected: String,
    },
    /// The number of instances is negative.
    #[error("{place}: `yarn.component.instances` = {count} has to be 0 or more")]
    NegativeInstances {
        /// The place.
        place: Place,
        /// The number.
        count: i64,
    },
    /// A component's name is empty.
    #[error("{}: a component's name is empty", ConfFile::Resources)]
    EmptyName,
    /// A group has too many instances with unique names.
    #[error(
        "{}: component `{component}` has {count} instances with names of their own; {most} at most",
        ConfFile::Resources
    )]
    TooManyNames {
        /// The component.
        component: String,
        /// The number.
        count: u32,
        /// The limit.
        most: u32,
    },
    /// More instances have to be available than are desired.
    #[error(
        "{}: component `{component}` has {instances} instances, but `yarn.component.disruption.min.available` = \
         {least} of them have to be available; it can never be met",
        ConfFile::Resources
    )]
    BudgetNeverMet {
        /// The component.
        component: String,
        /// The least number of available instances.
        least: u32,
        /// The desired number of instances.
        instances: u32,
    },
    /// A component has both kinds of limits.
    #[error(
        "{}: component `{component}` has `yarn.component.disruption.min.available` and \
         `yarn.component.disruption.max.unavailable`; leave one of them out",
        ConfFile::Resources
    )]
    TwoBudgets {
        /// The component.
        component: String,
    },
    /// The cluster manager would refuse the disruption budgets, for instance because there are too many.
    #[error("{}: {problem}; leave `yarn.component.disruption.*` out of some components", ConfFile::Resources)]
    InvalidBudgets {
        /// The manager's message.
        problem: InvalidBudget,
    },
    /// A component has no id.
    #[error(
        "{}: component `{component}` has no `yarn.role.priority`; give it a number from 1 that no other has",
        ConfFile::Resources
    )]
    MissingPriority {
        /// The component.
        component: String,
    },
    /// Two components have one id.
    #[error(
        "{}: components `{first}` and `{second}` both have `yarn.role.priority` {priority}; it has to be unique",
        ConfFile::Resources
    )]
    DuplicatePriority {
        /// The id.
        priority: u32,
        /// One component.
        first: String,
        /// The other.
        second: String,
    },
    /// An instance of a group with unique names has the name of another component.
    #[error(
        "{}: instances of `{group}` are called `{name}`, and so is another component; rename one of them",
        ConfFile::Resources
    )]
    DuplicateName {
        /// The name.
        name: String,
        /// The group.
        group: String,
    },
}

impl DefinitionError {
    /// Returns the exit code of the command (`slider.md` 4.2, `build`).
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::NegativeInstances { .. } => ExitCode::BadState,
            _ => ExitCode::BadConfiguration,
        }
    }
}

/// Returns the end of a message that suggests `nearest`.
pub(crate) fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
