//! Mistakes in messages.

use std::fmt;

use thiserror::Error;
use uuid::Uuid;

/// Why a message cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {problem}", Named(*.uuid))]
pub struct MessageError {
    /// The message's own uuid, if that much of it could be read: enough to answer it.
    pub uuid: Option<Uuid>,
    /// The mistake.
    pub problem: MessageProblem,
}

/// A mistake in a message. Bytes and columns count as their editors do: bytes from 0, lines and columns from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageProblem {
    /// It is no text.
    #[error("byte {byte} is not UTF-8; a message is JSON in UTF-8")]
    NotUtf8 {
        /// The first byte that is wrong.
        byte: usize,
    },
    /// It is no JSON.
    #[error("not JSON at line {line}, column {column}: {reason}; a message is one JSON object")]
    NotJson {
        /// Where it goes wrong.
        line: usize,
        /// Where in the line.
        column: usize,
        /// How.
        reason: String,
    },
    /// It is JSON, but no object.
    #[error("it is {found}; a message is one JSON object")]
    NotAnObject {
        /// The value found.
        found: &'static str,
    },
    /// A field is not there.
    #[error("the field `{field}` is missing; it is {expected}")]
    Missing {
        /// The field.
        field: &'static str,
        /// The form expected.
        expected: &'static str,
    },
    /// A field is something else than it should be.
    #[error("the field `{field}` is {found}; it should be {expected}")]
    WrongType {
        /// The field.
        field: &'static str,
        /// The form expected.
        expected: &'static str,
        /// The value found, cut short.
        found: String,
    },
    /// It is a message of another kind.
    #[error("`subType` is `{found}`; here only `{expected}` can be read")]
    UnknownSubType {
        /// The text found, cut short.
        found: String,
        /// The valid form.
        expected: &'static str,
    },
    /// It would be over before it began.
    #[error("`requestExpiry` is {found}; it is a number of milliseconds from 1 on, or is left out")]
    Expiry {
        /// The text found.
        found: i64,
    },
    /// It was written before the epoch.
    #[error("`timestamp` is {found}; it is a number of milliseconds since the epoch, from 0 on")]
    Timestamp {
        /// The text found.
        found: i64,
    },
    /// A text is too long.
    #[error("the text in `{field}` has {bytes} bytes; {max} are allowed")]
    TextTooLong {
        /// The field.
        field: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// Objects and lists are in each other too often.
    #[error("`parameters` has more than {max} levels of objects and lists; {max} are allowed")]
    TooDeep {
        /// How many are allowed.
        max: usize,
    },
    /// The whole message is too long. It was not looked into.
    #[error("the message has {bytes} bytes; {max} are allowed")]
    MessageTooLong {
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        max: usize,
    },
    /// It stands under a key that no request has.
    #[error("it stands under the key `{key}`; a request's key is `<uuid>.ContainerPlacementRequestMessage`")]
    Key {
        /// The key, cut short.
        key: String,
    },
    /// It stands under another request's key.
    #[error("it stands under the key of {key}; key and message should name the same uuid")]
    KeyOfAnother {
        /// The uuid in the key.
        key: Uuid,
    },
}

/// How a message is called in a sentence about it.
struct Named(Option<Uuid>);

impl fmt::Display for Named {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(uuid) => write!(formatter, "message {uuid}"),
            None => formatter.write_str("a message without a readable uuid"),
        }
    }
}

/// A foreign text as errors quote it: what is long is cut, so that an error is never as long as what it is about.
pub(super) fn excerpt(text: &str) -> String {
    const MAX: usize = 64;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
