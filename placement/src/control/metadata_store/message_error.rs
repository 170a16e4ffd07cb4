//! Errors in messages.

use std::fmt;

use thiserror::Error;
use uuid::Uuid;

/// Why a message cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {problem}", Named(*.uuid))]
pub struct MessageError {
    /// The message's uuid if that could be read; it suffices for an answer.
    pub uuid: Option<Uuid>,
    /// The problem.
    pub problem: MessageProblem,
}

/// A problem in a message. Bytes count from 0, lines and columns from 1, as editors do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageProblem {
    /// The bytes are not UTF-8.
    #[error("byte {byte} is not UTF-8; a message is JSON in UTF-8")]
    NotUtf8 {
        /// The position of the first invalid byte.
        byte: usize,
    },
    /// The text is not JSON.
    #[error("not JSON at line {line}, column {column}: {reason}; a message is one JSON object")]
    NotJson {
        /// The line of the error.
        line: usize,
        /// The column of the error.
        column: usize,
        /// The reason.
        reason: String,
    },
    /// The JSON value is not an object.
    #[error("it is {found}; a message is one JSON object")]
    NotAnObject {
        /// The value found.
        found: &'static str,
    },
    /// A field is missing.
    #[error("the field `{field}` is missing; it is {expected}")]
    Missing {
        /// The field.
        field: &'static str,
        /// The form expected.
        expected: &'static str,
    },
    /// A field has the wrong type.
    #[error("the field `{field}` is {found}; it should be {expected}")]
    WrongType {
        /// The field.
        field: &'static str,
        /// The form expected.
        expected: &'static str,
        /// The value found, cut short.
        found: String,
    },
    /// The message is of another kind.
    #[error("`subType` is `{found}`; here only `{expected}` can be read")]
    UnknownSubType {
        /// The text found, cut short.
        found: String,
        /// The expected text.
        expected: &'static str,
    },
    /// The expiry is 0 or negative, so the request would expire before it begins.
    #[error("`requestExpiry` is {found}; it is a number of milliseconds from 1 on, or is left out")]
    Expiry {
        /// The value found.
        found: i64,
    },
    /// The timestamp is before the epoch.
    #[error("`timestamp` is {found}; it is a number of milliseconds since the epoch, from 0 on")]
    Timestamp {
        /// The value found.
        found: i64,
    },
    /// A text is too long.
    #[error("the text in `{field}` has {bytes} bytes; {max} are allowed")]
    TextTooLong {
        /// The field.
        field: &'static str,
        /// Its length in bytes.
        bytes: usize,
        /// The most bytes allowed.
        max: usize,
    },
    /// The parameters are nested too deep.
    #[error("`parameters` has more than {max} levels of objects and lists; {max} are allowed")]
    TooDeep {
        /// The most levels allowed.
        max: usize,
    },
    /// The whole message is too long. It was not parsed.
    #[error("the message has {bytes} bytes; {max} are allowed")]
    MessageTooLong {
        /// Its length in bytes.
        bytes: u64,
        /// The most bytes allowed.
        max: usize,
    },
    /// The message stands under a key that no request has.
    #[error(
        "it is stored under the key `{key}`; a request's key is `<uuid>.ContainerPlacementRequestMessage`"
    )]
    Key {
        /// The key, cut short.
        key: String,
    },
    /// The message stands under another request's key.
    #[error("it is stored under the key of {key}; key and message should name the same uuid")]
    KeyOfAnother {
        /// The uuid in the key.
        key: Uuid,
    },
}

/// Names a message in the text of an error.
struct Named(Option<Uuid>);

impl fmt::Display for Named {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(uuid) => write!(formatter, "message {uuid}"),
            None => formatter.write_str("a message without a readable uuid"),
        }
    }
}

/// Cuts a foreign text for use in an error: an error must not be as long as the message that it describes.
pub(super) fn excerpt(text: &str) -> String {
    const MAX: usize = 64;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
