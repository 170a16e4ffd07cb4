//! The forms of identifiers outside the engine: their text, and what serde writes.
//!
//! Formats for people, such as JSON, have the text (`node-3`), which also works as a key. Other formats have the
//! numbers: a log of a million containers is a third of the size.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Implements serde and [`FromStr`] for an identifier of a slot and its generation.
macro_rules! generational_form {
    ($name:ident, $prefix:literal) => {
        /// Parses the displayed form; the prefix can be omitted.
        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let numbers = text.strip_prefix($prefix).unwrap_or(text);
                let (index, generation) = numbers.split_once('.').unwrap_or((numbers, "0"));
                let example = concat!("`", $prefix, "12`, or `", $prefix, "12.3` for a reused slot");
                match (form::number(index), form::number(generation)) {
                    (Some(index), Some(generation)) => Ok(Self { index, generation }),
                    _ => Err(InvalidId { text: text.to_owned(), example }),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                form::serialize(self, (self.index, self.generation), serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                form::deserialize(deserializer, |(index, generation)| Self { index, generation })
            }
        }
    };
}

/// Implements serde and [`FromStr`] for an identifier that is a number.
macro_rules! dense_form {
    ($name:ident, $prefix:literal) => {
        /// Parses the displayed form; the prefix can be omitted.
        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let number = form::number(text.strip_prefix($prefix).unwrap_or(text));
                let example = concat!("`", $prefix, "12`");
                number.map(Self).ok_or_else(|| InvalidId { text: text.to_owned(), example })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                form::serialize(self, self.0, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                form::deserialize(deserializer, Self)
            }
        }
    };
}
pub(super) use {dense_form, generational_form};

/// A number of digits only.
pub(super) fn number(digits: &str) -> Option<u32> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Writes the text into formats for people, and the number into all others.
pub(crate) fn serialize<S: Serializer>(
    text: &impl Display,
    number: impl Serialize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() { serializer.collect_str(text) } else { number.serialize(serializer) }
}

/// Reads what [`serialize`] wrote.
pub(crate) fn deserialize<'de, T, N, D>(deserializer: D, from_number: fn(N) -> T) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    N: Deserialize<'de>,
    D: Deserializer<'de>,
{
    if deserializer.is_human_readable() {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    } else {
        N::deserialize(deserializer).map(from_number)
    }
}
