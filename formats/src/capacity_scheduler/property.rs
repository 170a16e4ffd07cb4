//! Properties with Hadoop's rule: the last one of a name counts, unless an earlier one is final.

use std::collections::BTreeMap;

use crate::file::Source;
use crate::{ConfigFileError, NotCarriedOver};

/// One `<property>`, trimmed, with the offsets of its texts.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) key: String,
    /// `None` if the element is missing.
    pub(super) value: Option<String>,
    /// Whether the value was written with a space before it.
    pub(super) is_indented: bool,
    pub(super) is_final: bool,
    pub(super) key_offset: usize,
    pub(super) value_offset: usize,
}

/// A property with a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'p> {
    /// The file of the property.
    pub(super) source: &'p Source<'p>,
    pub(super) key: &'p str,
    pub(super) value: &'p str,
    /// Whether the value was written with a leading space, which matters in access lists.
    pub(super) is_indented: bool,
    pub(super) key_offset: usize,
    value_offset: usize,
    is_final: bool,
}

impl<'p> Setting<'p> {
    fn of(source: &'p Source<'p>, property: &'p Property) -> Option<Self> {
        let Property { key, value, is_indented, is_final, key_offset, value_offset } = property;
        Some(Self {
            source,
            key,
            value: value.as_deref()?,
            is_indented: *is_indented,
            key_offset: *key_offset,
            value_offset: *value_offset,
            is_final: *is_final,
        })
    }
}

impl Setting<'_> {
    /// The place of the setting, as seen from `other`.
    fn place_from(&self, other: &Self) -> String {
        let line = self.source.line(self.key_offset);
        if std::ptr::eq(self.source, other.source) {
            format!("line {line}")
        } else {
            format!("{}:{line}", self.source.file_name())
        }
    }
}

/// One of the files that Hadoop reads into one configuration.
#[derive(Debug)]
pub(super) struct File<'p> {
    pub(super) source: Source<'p>,
    pub(super) properties: Vec<Property>,
}

/// The effective properties, by key.
#[derive(Debug)]
pub(super) struct Settings<'p> {
    /// The file with the queues.
    source: &'p Source<'p>,
    by_key: BTreeMap<&'p str, Setting<'p>>,
}

impl<'p> Settings<'p> {
    /// Decides which properties are effective; the others are added to `report`. The file with the queues is the
    /// last.
    pub(super) fn new(
        others: &'p [File<'p>],
        queues: &'p File<'p>,
        report: &mut Vec<NotCarriedOver>,
    ) -> Self {
        let mut settings = Self { source: &queues.source, by_key: BTreeMap::new() };
        let files = others.iter().chain([queues]);
        let properties =
            files.flat_map(|file| file.properties.iter().map(|property| (&file.source, property)));
        for (source, property) in properties {
            let Some(setting) = Setting::of(source, property) else {
                let reason = "it has no <value>, so Hadoop ignores it";
                report.push(source.not_carried_over(property.key_offset, &property.key, "", reason));
                continue;
            };
            let (winner, loser) = match settings.get(setting.key) {
                Some(earlier) if earlier.is_final => (earlier, Some(setting)),
                earlier => (setting, earlier),
            };
            if let Some(loser) = loser {
                let why = if winner.is_final { ", which is final" } else { "" };
                let place = winner.place_from(&loser);
                report.push(settings.not_carried_over(&loser, format!("overridden by {place}{why}")));
            }
            settings.by_key.insert(winner.key, winner);
        }
        settings
    }

    /// The file with the queues, for errors without a setting.
    pub(super) fn source(&self) -> &'p Source<'p> {
        self.source
    }

    pub(super) fn get(&self, key: &str) -> Option<Setting<'p>> {
        self.by_key.get(key).copied()
    }

    /// The settings whose keys have this prefix, in the order of their keys.
    pub(super) fn below<'k>(&self, prefix: &'k str) -> impl Iterator<Item = Setting<'p>> + use<'_, 'k, 'p> {
        let from = (std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded);
        let settings = self.by_key.range::<str, _>(from).map(|(_, setting)| *setting);
        settings.take_while(move |setting| setting.key.starts_with(prefix))
    }

    /// All settings, by their position in a file. Settings of different files are mixed.
    pub(super) fn in_order(&self) -> Vec<Setting<'p>> {
        let mut settings: Vec<_> = self.by_key.values().copied().collect();
        settings.sort_by_key(|setting| setting.key_offset);
        settings
    }

    /// An entry of the report, for a setting without effect or with another effect than written.
    pub(super) fn not_carried_over(
        &self,
        setting: &Setting<'_>,
        reason: impl Into<String>,
    ) -> NotCarriedOver {
        setting.source.not_carried_over(setting.key_offset, setting.key, setting.value, reason)
    }

    /// The error for an invalid value.
    pub(super) fn refused(&self, setting: &Setting<'_>, problem: impl Into<String>) -> ConfigFileError {
        setting.source.value(setting.value_offset, setting.key, problem)
    }

    /// The value of an imported key; variables are refused.
    pub(super) fn value<'v>(&self, setting: &Setting<'v>) -> Result<&'v str, ConfigFileError> {
        if setting.value.contains("${") {
            return Err(self.refused(setting, "variables are not expanded; write the value itself"));
        }
        Ok(setting.value)
    }

    /// Reads `true` or `false` in any case; `default` without the key.
    pub(super) fn switch(&self, key: &str, default: bool) -> Result<bool, ConfigFileError> {
        let Some(setting) = self.get(key) else { return Ok(default) };
        match self.value(&setting)?.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.refused(&setting, "expected true or false")),
        }
    }
}
