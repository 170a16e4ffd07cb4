//! The effective value of a key: the section's own, otherwise that of `global`, otherwise the default.

use super::error::{DefinitionError, Place};
use super::keys::{ConfFile, Key, Kind};
use super::number::{bounded, decode, flag};
use super::tree::{ConfTree, Options};

/// A section with the values that it inherits.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    place: Place,
    own: Option<&'a Options>,
    global: &'a Options,
}

impl<'a> Values<'a> {
    /// Values for the service as a whole.
    pub(crate) fn global(file: ConfFile, tree: &'a ConfTree) -> Self {
        Self { place: Place::Global(file), own: None, global: &tree.global }
    }

    /// Values for a component.
    pub(crate) fn component(file: ConfFile, tree: &'a ConfTree, name: &str) -> Self {
        let place = Place::Component(file, name.to_owned());
        Self { place, own: tree.components.get(name), global: &tree.global }
    }

    /// Returns the place of the section.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the value of the key; empty if it has neither value nor default.
    pub(crate) fn text(&self, key: &Key) -> &'a str {
        let own = self.own.and_then(|own| own.get(key.name));
        own.or_else(|| self.global.get(key.name)).map_or(key.default, |value| value.trim())
    }

    /// Returns the value as a number within the key's bounds.
    pub(crate) fn number(&self, key: &Key) -> Result<i64, DefinitionError> {
        let (least, most) = match key.kind {
            Kind::Number(least, most) => (least, most),
            _ => (i64::MIN, i64::MAX),
        };
        bounded(key, self.text(key), &self.place, least, most)
    }

    /// Returns the value as a number that is not negative.
    pub(crate) fn unsigned<N: TryFrom<i64>>(&self, key: &Key) -> Result<N, DefinitionError> {
        N::try_from(self.number(key)?).map_err(|_| key.wrong(self.text(key), &self.place))
    }

    /// Returns the value, in seconds, as milliseconds.
    pub(crate) fn seconds_as_ms(&self, key: &Key) -> Result<u64, DefinitionError> {
        let seconds: u64 = self.unsigned(key)?;
        Ok(seconds.saturating_mul(1_000))
    }

    /// Returns the value as a truth value.
    pub(crate) fn flag(&self, key: &Key) -> Result<bool, DefinitionError> {
        flag(self.text(key)).ok_or_else(|| key.wrong(self.text(key), &self.place))
    }

    /// Returns the value as an amount; `max` stands for this maximum.
    pub(crate) fn amount(&self, key: &Key, max: i64) -> Result<i64, DefinitionError> {
        let text = self.text(key);
        if text == "max" {
            return Ok(max);
        }
        decode(text).filter(|amount| *amount >= 0).ok_or_else(|| key.wrong(text, &self.place))
    }
}

/// Checks that every key of a file is known, is in the right section, and has a valid value.
pub(crate) fn check_keys(file: ConfFile, tree: &ConfTree) -> Result<(), DefinitionError> {
    check_section(&Place::Global(file), &tree.global)?;
    for (name, options) in &tree.components {
        check_section(&Place::Component(file, name.clone()), options)?;
    }
    Ok(())
}

fn check_section(place: &Place, options: &Options) -> Result<(), DefinitionError> {
    for (name, value) in options {
        let key = Key::find(name, place)?;
        if !super::master::is_master_only(key, value, place)? {
            key.check(value.trim(), place)?;
        }
    }
    Ok(())
}
