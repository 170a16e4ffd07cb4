//! Names of instances.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The name of an application instance, unique for its user. It is a lower-case letter, then lower-case letters,
/// digits, `-` and `_` (Slider model, "Cluster name", and the `_` of its commands).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceName(String);

/// A text that is not an instance name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidName {
    /// The name is missing.
    #[error("the name of the instance is missing")]
    Missing,
    /// The name has an invalid character.
    #[error(
        "`{name}` is not an instance name because of {found:?} at position {position}. A name is a lower-case \
         letter, then lower-case letters, digits, `-` and `_`"
    )]
    Character {
        /// The text.
        name: String,
        /// The wrong character.
        found: char,
        /// Its position, counted in characters from 1.
        position: usize,
    },
}

impl InstanceName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InstanceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for InstanceName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        if text.is_empty() {
            return Err(InvalidName::Missing);
        }
        let may_stand = |position: usize, character: char| match character {
            'a'..='z' => true,
            '0'..='9' | '-' | '_' => position > 0,
            _ => false,
        };
        match text.chars().enumerate().find(|(position, character)| !may_stand(*position, *character)) {
            None => Ok(Self(text.to_owned())),
            Some((position, found)) => {
                Err(InvalidName::Character { name: text.to_owned(), found, position: position + 1 })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of Slider's own tests (spec 5, "Extra CLI run").
    #[test]
    fn valid_names_are_accepted_and_other_texts_rejected() {
        for valid in ["cluster1", "very-long-name", "c123", "a", "a_b", "a-", "z0_-9"] {
            assert!(valid.parse::<InstanceName>().is_ok(), "{valid}");
        }
        for wrong in ["", " ", "-x", "Title", "a[a", "b#", "1a", "_a", "aB", "a b", "a/b", "..", "a.b", "ä"]
        {
            assert!(wrong.parse::<InstanceName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_invalid_name_is_rejected_with_character_and_position() {
        let error = "a[a".parse::<InstanceName>().unwrap_err();
        assert!(error.to_string().contains("'[' at position 2"), "{error}");
    }
}
