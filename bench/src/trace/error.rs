//! Errors of trace readers, with their places.

use std::fmt;
use std::io;

use apportion::nearest::nearest;
use thiserror::Error;

/// Length of the part of a name or value from a file that an error message repeats, in characters.
const SHOWN_CHARS: usize = 60;

/// A place in a trace; unknown parts are left out.
///
/// Shown as `FILE:LINE:COLUMN: KEY`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Display name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: Option<u64>,
    /// The offending byte of the line, or the last one of the offending token, from 1.
    pub column: Option<u64>,
    /// Column name of a table, or path of keys in a JSON document.
    pub key: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(out, ":{column}")?;
        }
        self.key.as_ref().map_or(Ok(()), |key| write!(out, ": {key}"))
    }
}

/// Why a trace could not be read.
#[derive(Debug, Error)]
#[error("{place}: {message}")]
pub struct TraceError {
    /// The place.
    pub place: Place,
    /// The mistake, and what would be right.
    pub message: String,
    /// The operating system's error, if reading itself failed.
    #[source]
    pub cause: Option<io::Error>,
}

impl TraceError {
    /// An error about the file as a whole.
    pub(super) fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        let place = Place { file: file.into(), ..Place::default() };
        Self { place, message: message.into(), cause: None }
    }

    /// The same error on this line, from 1.
    pub(super) fn on_line(mut self, line: u64) -> Self {
        self.place.line = Some(line);
        self
    }

    /// The same error at this column, from 1.
    pub(super) fn at_column(mut self, column: u64) -> Self {
        self.place.column = Some(column);
        self
    }

    /// The same error about this column of a table or this path of keys.
    pub(super) fn in_key(mut self, key: impl Into<String>) -> Self {
        self.place.key = Some(key.into());
        self
    }

    /// The same error with the operating system's error.
    pub(super) fn caused_by(mut self, cause: io::Error) -> Self {
        self.cause = Some(cause);
        self
    }
}

/// A mistake inside one JSON document, whose file and line the caller knows.
#[derive(Debug)]
pub(super) struct Mistake {
    /// Path of keys.
    pub(super) key: String,
    /// The mistake at that place.
    pub(super) message: String,
}

impl Mistake {
    /// The mistake of a required key that is missing.
    pub(super) fn missing(key: &str) -> Self {
        Self { key: key.to_owned(), message: "is missing".to_owned() }
    }

    /// The same mistake with an outer key in front of its path.
    pub(super) fn under(self, key: &str) -> Self {
        Self { key: format!("{key}.{}", self.key), ..self }
    }

    /// A mistake in one item of the list under this key.
    pub(super) fn in_item(key: &str, index: usize, message: String) -> Self {
        Self { key: format!("{key}[{index}]"), message }
    }

    /// Turns a message into a mistake in this key.
    pub(super) fn in_key(key: &str) -> impl FnOnce(String) -> Self {
        move |message| Self { key: key.to_owned(), message }
    }
}

/// The error for a name that is not a trace format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", unknown("trace format", .name, &super::Format::ALL.map(super::Format::name)))]
pub struct UnknownFormat {
    /// The given name.
    pub name: String,
}

/// The message for a name that is not one of `known`: it offers the nearest name, or else all of them.
pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = nearest(name, known.iter().copied()).map_or_else(
        || format!("known are `{}`", known.join("`, `")),
        |nearest| format!("did you mean `{nearest}`?"),
    );
    format!("unknown {what} `{}`; {hint}", shown(name))
}

/// Text from a file in the form that a message repeats: on one line and of limited length.
pub(super) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_parts_of_a_place_are_left_out() {
        let error = TraceError::new("a.json", "is empty");
        assert_eq!(error.to_string(), "a.json: is empty");
        assert_eq!(error.on_line(3).in_key("x[0]").to_string(), "a.json:3: x[0]: is empty");
        assert_eq!(TraceError::new("b", "bad").on_line(1).at_column(7).to_string(), "b:1:7: bad");
    }

    #[test]
    fn an_unknown_name_gets_its_neighbour_or_the_whole_list() {
        assert_eq!(
            unknown("key", "counts", &["count", "host"]),
            "unknown key `counts`; did you mean `count`?"
        );
        assert_eq!(unknown("key", "zzz", &["count", "host"]), "unknown key `zzz`; known are `count`, `host`");
    }

    #[test]
    fn repeated_text_stays_short_and_on_one_line() {
        assert_eq!(shown("a\nb"), "a\\nb");
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), SHOWN_CHARS + 1);
    }
}
