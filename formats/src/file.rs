//! Errors in configuration files, with their places.

use apportion::config::ConfigError;
use thiserror::Error;

use crate::NotCarriedOver;

/// The largest configuration file in bytes; enough for some 50,000 queues.
const FILE_BYTES_MAX: usize = 16 << 20;
/// The length, in characters, to which a message cuts a key or a value.
const EXCERPT_CHARS: usize = 120;

/// Why a configuration file was refused. Shown as `file:line:column: problem`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file_name}:{line}:{column}: {problem}")]
pub struct ConfigFileError {
    /// The name that the caller gave to the file.
    pub file_name: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The character in that line, counted from 1.
    pub column: usize,
    /// The problem at this place.
    pub problem: ConfigFileProblem,
}

/// A problem at one place of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigFileProblem {
    /// The file is not in its format, or uses a part of the format that is refused.
    #[error("{message}")]
    Syntax {
        /// The reader's message.
        message: String,
    },
    /// An unknown key.
    #[error("unknown key `{key}`{}", apportion::nearest::hint(.nearest.as_deref()))]
    UnknownKey {
        /// The full key, with the keys around it.
        key: String,
        /// The nearest known key, in the same notation.
        nearest: Option<String>,
    },
    /// A value that is missing, or has the wrong type or range.
    #[error("{key}: {problem}")]
    Value {
        /// The full key, with the keys around it.
        key: String,
        /// The mistake, and a correct form.
        problem: String,
    },
    /// The file is well-formed, but its configuration is not valid.
    #[error(transparent)]
    Config(ConfigError),
}

/// The text of a file, with the positions of its lines.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    file_name: &'a str,
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(file_name: &'a str, text: &'a str) -> Result<Self, ConfigFileError> {
        let mut source = Self { file_name, text: "", line_starts: vec![0] };
        if text.len() > FILE_BYTES_MAX {
            let message = format!("the file has {} bytes; the maximum is {FILE_BYTES_MAX}", text.len());
            return Err(source.syntax(0, message));
        }
        source.text = text.strip_prefix('\u{feff}').unwrap_or(text);
        source.line_starts.extend(source.text.match_indices('\n').map(|(end, _)| end + 1));
        Ok(source)
    }

    pub(crate) fn file_name(&self) -> &'a str {
        self.file_name
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The line of the byte at `offset`, counted from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    pub(crate) fn error(&self, offset: usize, problem: ConfigFileProblem) -> ConfigFileError {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line(offset);
        let column = self.text[self.line_starts[line - 1]..offset].chars().count() + 1;
        ConfigFileError { file_name: self.file_name.to_owned(), line, column, problem }
    }

    pub(crate) fn syntax(&self, offset: usize, message: impl Into<String>) -> ConfigFileError {
        self.error(offset, ConfigFileProblem::Syntax { message: message.into() })
    }

    pub(crate) fn unknown_key(&self, offset: usize, key: &str, nearest: Option<String>) -> ConfigFileError {
        self.error(offset, ConfigFileProblem::UnknownKey { key: excerpt(key), nearest })
    }

    pub(crate) fn value(&self, offset: usize, key: &str, problem: impl Into<String>) -> ConfigFileError {
        self.error(offset, ConfigFileProblem::Value { key: excerpt(key), problem: problem.into() })
    }

    /// An entry of an importer's report, for the setting at `offset`.
    pub(crate) fn not_carried_over(
        &self,
        offset: usize,
        key: &str,
        value: &str,
        reason: impl Into<String>,
    ) -> NotCarriedOver {
        NotCarriedOver {
            file_name: self.file_name.to_owned(),
            line: self.line(offset),
            key: key.to_owned(),
            value: value.to_owned(),
            reason: reason.into(),
        }
    }

    pub(crate) fn config(&self, offset: usize, error: ConfigError) -> ConfigFileError {
        self.error(offset, ConfigFileProblem::Config(error))
    }
}

/// The start of `text` on one line, as long as a message may repeat it.
pub(crate) fn excerpt(text: &str) -> String {
    let mut excerpt = String::new();
    for (position, character) in text.chars().enumerate() {
        if position == EXCERPT_CHARS {
            excerpt.push('…');
            break;
        }
        if character.is_control() {
            excerpt.extend(character.escape_default());
        } else {
            excerpt.push(character);
        }
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let source = Source::new("f", "ab\nç=ü!\n").unwrap();
        let place = |offset| {
            let error = source.syntax(offset, "");
            (error.line, error.column)
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(2), (1, 3), "the line's end belongs to the line");
        assert_eq!(place(3), (2, 1));
        assert_eq!(place(5), (2, 2));
        assert_eq!(place(7), (2, 3), "inside a character: its start");
        assert_eq!(place(8), (2, 4));
        assert_eq!(place(999), (3, 1), "past the end: the end");
    }

    #[test]
    fn a_huge_file_is_refused_unread() {
        let text = "x".repeat(FILE_BYTES_MAX + 1);
        let error = Source::new("huge", &text).unwrap_err();
        assert_eq!(error.to_string(), "huge:1:1: the file has 16777217 bytes; the maximum is 16777216");
    }

    #[test]
    fn messages_stay_short_and_on_one_line() {
        assert_eq!(excerpt("a\nb"), "a\\nb");
        assert_eq!(excerpt(&"x".repeat(1_000)).chars().count(), EXCERPT_CHARS + 1);
    }
}
