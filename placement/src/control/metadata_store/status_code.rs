//! The status of a request.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The status of a request: Samza's words and this crate's additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StatusCode {
    /// It is written; no control plane has read it yet.
    Created,
    /// It cannot be understood or carried out, now or later.
    BadRequest,
    /// The principal lacks permission.
    Unauthorized,
    /// It conflicts with another open request.
    Conflict,
    /// The job will carry it out.
    Accepted,
    /// The job carries it out.
    InProgress,
    /// It is done.
    Succeeded,
    /// It was tried and failed.
    Failed,
    /// It was cancelled before its end.
    Cancelled,
}

/// A word that is not a status.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "there is no status `{word}`; the words are CREATED, BAD_REQUEST, UNAUTHORIZED, CONFLICT, ACCEPTED, \
         IN_PROGRESS, SUCCEEDED, FAILED and CANCELLED"
)]
pub struct UnknownStatusCode {
    /// The word.
    pub word: String,
}

impl StatusCode {
    /// Every status, in the order in which a request passes them.
    pub const ALL: [Self; 9] = [
        Self::Created,
        Self::BadRequest,
        Self::Unauthorized,
        Self::Conflict,
        Self::Accepted,
        Self::InProgress,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns its word in messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::BadRequest => "BAD_REQUEST",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Conflict => "CONFLICT",
            Self::Accepted => "ACCEPTED",
            Self::InProgress => "IN_PROGRESS",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Returns whether the status is final: a request never leaves it.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Created | Self::Accepted | Self::InProgress)
    }

    /// Returns the HTTP status for an answer with this status.
    #[must_use]
    pub fn http(self) -> u16 {
        match self {
            Self::Created | Self::Accepted | Self::InProgress => 202,
            Self::Succeeded => 200,
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Conflict => 409,
            Self::Cancelled => 410,
            Self::Failed => 500,
        }
    }
}

impl fmt::Display for StatusCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.word())
    }
}

impl FromStr for StatusCode {
    type Err = UnknownStatusCode;

    fn from_str(text: &str) -> Result<Self, UnknownStatusCode> {
        let found = Self::ALL.into_iter().find(|code| code.word() == text);
        found.ok_or_else(|| UnknownStatusCode { word: super::message_error::excerpt(text) })
    }
}
