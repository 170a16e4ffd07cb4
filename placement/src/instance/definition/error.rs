//! Mistakes in definitions.

use std::fmt;

use thiserror::Error;

use super::keys::ConfFile;
use crate::instance::ExitCode;

/// Where in a definition something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the section that holds for every component.
    Global(ConfFile),
    /// In a component's section.
    Component(ConfFile, String),
}

impl Place {
    /// The file it is in.
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

/// A mistake in a definition, its place, and a correct form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// Not JSON at all, or a name twice in one object.
    #[error("{file}: {problem}")]
    Json {
        /// The file.
        file: ConfFile,
        /// The reader's message, with line and column.
        problem: String,
    },
    /// A part every definition has to have.
    #[error("{file}: `{root}` is missing")]
    MissingRoot {
        /// The file.
        file: ConfFile,
        /// The part.
        root: &'static str,
    },
    /// A part no definition has.
    #[error("{file}: unknown part `{root}`; the parts are schema, metadata, global and components")]
    UnknownRoot {
        /// The file.
        file: ConfFile,
        /// The part.
        root: String,
    },
    /// A part of another kind than it has to be.
    #[error("{file}: {part} is {found}; it has to be {expected}")]
    WrongType {
        /// The file.
        file: ConfFile,
        /// Which part.
        part: String,
        /// The value found.
        found: &'static str,
        /// The form expected.
        expected: &'static str,
    },
    /// A version nobody here can read.
    #[error("{file}: schema `{schema}` is not supported; `{}` is", super::SCHEMA)]
    UnsupportedSchema {
        /// The file.
        file: ConfFile,
        /// The version found.
        schema: String,
    },
    /// A key nobody reads.
    #[error("{place}: unknown key `{key}`{}", hint(nearest.as_deref()))]
    UnknownKey {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// The known key that was probably meant.
        nearest: Option<String>,
    },
    /// A key that is read elsewhere.
    #[error("{place}: `{key}` has no effect here; it belongs in {belongs}")]
    MisplacedKey {
        /// Where it is.
        place: Place,
        /// The key.
        key: &'static str,
        /// Where it should be.
        belongs: String,
    },
    /// A value that cannot be used.
    #[error("{place}: `{key}` = `{value}` has to be {expected}")]
    BadValue {
        /// Where.
        place: Place,
        /// The key.
        key: &'static str,
        /// The text found.
        value: String,
        /// The valid texts.
        expected: String,
    },
    /// Fewer instances than none.
    #[error("{place}: `yarn.component.instances` = {count} has to be 0 or more")]
    NegativeInstances {
        /// Where.
        place: Place,
        /// How many.
        count: i64,
    },
    /// A component without a name.
    #[error("{}: a component's name is empty", ConfFile::Resources)]
    EmptyName,
    /// More instances with names of their own than anybody can tell apart.
    #[error(
        "{}: component `{component}` has {count} instances with names of their own; {most} at most",
        ConfFile::Resources
    )]
    TooManyNames {
        /// The component.
        component: String,
        /// How many.
        count: u32,
        /// How many there may be.
        most: u32,
    },
    /// A component without a number.
    #[error(
        "{}: component `{component}` has no `yarn.role.priority`; give it a number from 1 that no other has",
        ConfFile::Resources
    )]
    MissingPriority {
        /// The component.
        component: String,
    },
    /// Two components with one number.
    #[error(
        "{}: components `{first}` and `{second}` both have `yarn.role.priority` {priority}; it has to be unique",
        ConfFile::Resources
    )]
    DuplicatePriority {
        /// The number.
        priority: u32,
        /// One component.
        first: String,
        /// The other.
        second: String,
    },
    /// A component that would be called like another one, because each instance of a group has a name of its own.
    #[error(
        "{}: instances of `{group}` are called `{name}`, and so is another component; rename one of them",
        ConfFile::Resources
    )]
    DuplicateName {
        /// The name.
        name: String,
        /// Whose instances have it.
        group: String,
    },
}

impl DefinitionError {
    /// With what number a command ends for it (`slider.md` 4.2, `build`).
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::NegativeInstances { .. } => ExitCode::BadState,
            _ => ExitCode::BadConfiguration,
        }
    }
}

/// The end of a message that offers `nearest`.
pub(crate) fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
