//! JSON values that may be written as a number or as a string, as YARN's simulator accepts them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, Visitor};

use super::error::unknown;
use super::number::{decimal, whole};

/// A value that is parsed from text.
pub(super) trait FromText: Sized {
    /// The expected content, for error messages.
    const EXPECTED: &'static str;

    /// Parses the value.
    ///
    /// # Errors
    /// A description of the mistake in the text.
    fn from_text(text: &str) -> Result<Self, String>;
}

/// A whole number, see [`whole`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole(pub(super) u64);

/// A number that is not negative, see [`decimal`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decimal(pub(super) f64);

/// Text; a number is accepted too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text(pub(super) String);

impl FromText for Whole {
    const EXPECTED: &'static str = "a whole number";

    fn from_text(text: &str) -> Result<Self, String> {
        whole(text).map(Self)
    }
}

impl FromText for Decimal {
    const EXPECTED: &'static str = "a number";

    fn from_text(text: &str) -> Result<Self, String> {
        decimal(text).map(Self)
    }
}

impl FromText for Text {
    const EXPECTED: &'static str = "a string";

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }
}

/// The value with this name, in upper or lower case.
///
/// # Errors
/// When there is no such value; the message names the nearest.
pub(super) fn one_of<T: Copy>(what: &str, name: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        unknown(what, name, &names)
    })
}

/// Reads a number or a string as the text in the file.
pub(super) fn read_scalar<'de, T: FromText, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Scalar(PhantomData))
}

/// Makes a [`FromText`] type usable as a field of a [`record!`](super::record::record).
macro_rules! json_scalar {
    ($($name:ty),+) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::trace::field::read_scalar(deserializer)
            }
        }
    )+};
}
pub(super) use json_scalar;

json_scalar!(Whole, Decimal, Text);

struct Scalar<T>(PhantomData<T>);

// Checks run inside the visitor because the JSON parser adds line and column to errors from there.
impl<T: FromText> Visitor<'_> for Scalar<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}
