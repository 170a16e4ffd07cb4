//! Processors and their standbys (`samza.md`, "Terms").

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use apportion::Resources;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A processor id: Samza's `0`, `1`, ..., and `0-0`, `0-1` for the standbys of `0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProcessorId {
    active: Arc<str>,
    standby: Option<u32>,
}

/// A text that is not a processor id.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a processor id: expected letters, digits, `_` or `.`, with `-` and a number for a standby, such as `0` or `0-1`"
)]
pub struct BadProcessorId(pub String);

impl ProcessorId {
    /// Returns the processor itself, or the processor of a standby. Actions on these exclude each other.
    #[must_use]
    pub fn active(&self) -> Self {
        Self { active: self.active.clone(), standby: None }
    }

    /// Returns the id of the processor's standby with this number.
    #[must_use]
    pub fn standby(&self, number: u32) -> Self {
        Self { active: self.active.clone(), standby: Some(number) }
    }

    /// Returns whether it is this processor or one of its standbys.
    pub(super) fn is_of(&self, active: &Self) -> bool {
        self.active == active.active
    }

    /// Returns whether it is a standby.
    #[must_use]
    pub fn is_standby(&self) -> bool {
        self.standby.is_some()
    }

    /// Returns the number of a standby; `None` for a processor.
    #[must_use]
    pub fn standby_number(&self) -> Option<u32> {
        self.standby
    }
}

impl fmt::Display for ProcessorId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.standby {
            None => formatter.write_str(&self.active),
            Some(number) => write!(formatter, "{}-{number}", self.active),
        }
    }
}

impl FromStr for ProcessorId {
    type Err = BadProcessorId;

    fn from_str(text: &str) -> Result<Self, BadProcessorId> {
        let (active, standby) = match text.split_once('-') {
            None => (text, None),
            Some((active, number)) => (active, Some(number.parse::<u32>().ok())),
        };
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
        let is_named = !active.is_empty() && active.len() <= 128 && active.chars().all(is_letter);
        match (is_named, standby) {
            (true, None) => Ok(Self { active: active.into(), standby: None }),
            (true, Some(Some(number))) if number.to_string().len() + active.len() + 1 == text.len() => {
                Ok(Self { active: active.into(), standby: Some(number) })
            }
            _ => Err(BadProcessorId(text.chars().take(64).collect())),
        }
    }
}

impl TryFrom<String> for ProcessorId {
    type Error = BadProcessorId;

    fn try_from(text: String) -> Result<Self, BadProcessorId> {
        text.parse()
    }
}

impl From<ProcessorId> for String {
    fn from(id: ProcessorId) -> Self {
        id.to_string()
    }
}

/// A processor of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorSpec {
    /// Its id; not a standby's.
    pub id: ProcessorId,
    /// The size of its container and of each standby's.
    pub size: Resources,
    /// The version that its containers run; empty if versions do not matter.
    #[serde(default)]
    pub version: String,
    /// Whether it keeps state, which a container elsewhere has to read first.
    #[serde(default)]
    pub is_stateful: bool,
    /// The numbers of its standbys.
    #[serde(default)]
    pub standbys: BTreeSet<u32>,
}

impl ProcessorSpec {
    /// Creates a stateless processor without standbys.
    #[must_use]
    pub fn new(id: ProcessorId, size: Resources) -> Self {
        Self { id, size, version: String::new(), is_stateful: false, standbys: BTreeSet::new() }
    }
}
