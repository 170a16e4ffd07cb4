//! Queue paths in which names may depend on the application.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Queues, Submission};
use crate::nearest::{hint, nearest};

/// A queue path in which whole names may be variables: `root.users.%user`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePath {
    parts: Vec<PathPart>,
}

/// One part of a [`QueuePath`], between two dots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PathPart {
    /// A fixed name.
    Name(String),
    /// `%user`: the user.
    User,
    /// `%primary_group`: the user's first group.
    PrimaryGroup,
    /// `%secondary_group`: the first of the user's other groups that has a queue here.
    SecondaryGroup,
    /// `%application`: the name of the application.
    Application,
    /// `%default`: the default queue.
    Default,
    /// `%specified`: the requested queue as written; empty for `default`. From YARN.
    Specified,
    /// `%provided`: the requested queue. It is one name, or a whole path if it starts at the root. From YuniKorn.
    Provided,
    /// `%tag(name)`: the value of a tag, read as `%provided` is.
    Tag(String),
}

/// The variables that are single words.
const WORDS: [(&str, PathPart); 7] = [
    ("%user", PathPart::User),
    ("%primary_group", PathPart::PrimaryGroup),
    ("%secondary_group", PathPart::SecondaryGroup),
    ("%application", PathPart::Application),
    ("%default", PathPart::Default),
    ("%specified", PathPart::Specified),
    ("%provided", PathPart::Provided),
];

/// The error for a text that is not a queue path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum ParsePathError {
    /// A name between dots, or the whole text, is empty.
    #[error("a name in the queue path is empty")]
    EmptyName,
    /// An unknown variable.
    #[error("unknown variable `{name}`{}", hint(.nearest.as_deref()))]
    UnknownVariable {
        /// The variable as written.
        name: String,
        /// The nearest known variable.
        nearest: Option<String>,
    },
}

impl QueuePath {
    /// A path of these parts.
    #[must_use]
    pub fn new(parts: Vec<PathPart>) -> Self {
        Self { parts }
    }

    /// The parts, from the root down.
    #[must_use]
    pub fn parts(&self) -> &[PathPart] {
        &self.parts
    }

    /// The fixed names at the start, joined by dots, and whether they are the whole path.
    #[must_use]
    pub fn fixed(&self) -> (String, bool) {
        let names = self.parts.iter().map_while(|part| match part {
            PathPart::Name(name) => Some(name.as_str()),
            _ => None,
        });
        let names: Vec<_> = names.collect();
        (names.join("."), names.len() == self.parts.len())
    }

    /// The path for this application; `None` if a variable has no value.
    pub(super) fn resolve(
        &self,
        submission: &Submission<'_>,
        default: Option<&str>,
        queues: &impl Queues,
    ) -> Option<String> {
        let mut path = String::new();
        for part in &self.parts {
            let value = part.value(submission, default, &path, queues)?;
            if part.is_of_its_own(&value) {
                path.clear();
            }
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&value);
        }
        (!path.is_empty()).then_some(path)
    }
}

impl PathPart {
    fn value(
        &self,
        submission: &Submission<'_>,
        default: Option<&str>,
        above: &str,
        queues: &impl Queues,
    ) -> Option<String> {
        let value = match self {
            Self::Name(name) => name.clone(),
            Self::User => one_name(submission.user),
            Self::PrimaryGroup => one_name(submission.groups.first()?),
            Self::SecondaryGroup => secondary_group(submission.groups, above, queues)?,
            Self::Application => one_name(submission.application),
            Self::Default => default?.to_owned(),
            Self::Specified => submission.specified().to_owned(),
            Self::Provided => one_name_or_path(submission.queue),
            Self::Tag(name) => one_name_or_path(submission.tags.get(name)?),
        };
        (!value.is_empty()).then_some(value)
    }

    /// Whether the value is a whole path, which replaces everything before it.
    fn is_of_its_own(&self, value: &str) -> bool {
        matches!(self, Self::Provided | Self::Tag(_)) && is_from_root(value)
    }
}

fn is_from_root(path: &str) -> bool {
    path.starts_with("root.")
}

/// YARN and YuniKorn both escape dots in this way.
fn one_name(name: &str) -> String {
    name.trim().replace('.', "_dot_")
}

fn one_name_or_path(value: &str) -> String {
    if is_from_root(value) { value.to_owned() } else { one_name(value) }
}

fn secondary_group(groups: &[String], above: &str, queues: &impl Queues) -> Option<String> {
    let path = |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
    let names = groups.iter().skip(1).map(|group| one_name(group));
    names.into_iter().find(|name| !name.is_empty() && queues.find(&path(name)).is_some())
}

impl FromStr for QueuePath {
    type Err = ParsePathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (part, after) = first_part(rest)?;
            parts.push(part);
            match after {
                Some(after) => rest = after,
                None => return Ok(Self { parts }),
            }
        }
    }
}

/// The part before the first dot and the text after it. The name of a tag may contain dots.
fn first_part(text: &str) -> Result<(PathPart, Option<&str>), ParsePathError> {
    if let Some((name, after)) = text.strip_prefix("%tag(").and_then(|rest| rest.split_once(')')) {
        let after = match after.strip_prefix('.') {
            None if after.is_empty() => None,
            Some(after) => Some(after),
            None => return Err(unknown_variable(text)),
        };
        if name.is_empty() {
            return Err(ParsePathError::EmptyName);
        }
        return Ok((PathPart::Tag(name.to_owned()), after));
    }
    let (word, after) = text.split_once('.').map_or((text, None), |(word, after)| (word, Some(after)));
    if word.trim().is_empty() {
        return Err(ParsePathError::EmptyName);
    }
    if !word.starts_with('%') {
        return Ok((PathPart::Name(word.to_owned()), after));
    }
    let known = WORDS.iter().find(|(known, _)| *known == word);
    known.map(|(_, part)| (part.clone(), after)).ok_or_else(|| unknown_variable(word))
}

fn unknown_variable(word: &str) -> ParsePathError {
    let name = word.chars().take(40).collect::<String>();
    let known = WORDS.iter().map(|(known, _)| *known).chain(["%tag(name)"]);
    ParsePathError::UnknownVariable { nearest: nearest(&name, known), name }
}

impl fmt::Display for QueuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, part) in self.parts.iter().enumerate() {
            if position > 0 {
                f.write_str(".")?;
            }
            match part {
                PathPart::Name(name) => f.write_str(name)?,
                PathPart::Tag(name) => write!(f, "%tag({name})")?,
                part => {
                    let word = WORDS.iter().find(|(_, known)| known == part);
                    f.write_str(word.map_or("", |(word, _)| word))?;
                }
            }
        }
        Ok(())
    }
}
