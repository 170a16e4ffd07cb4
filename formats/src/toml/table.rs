//! Tables of a TOML file: their keys and the places of the keys.

use std::borrow::Cow;

use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};
use apportion::config::quoted_key;
use apportion::nearest::nearest;

use crate::ConfigFileError;
use crate::file::Source;

/// A table of the file, or the place where it could be.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    source: &'a Source<'a>,
    /// The keys that lead here, as written in a file; empty for the document.
    path: String,
    offset: usize,
    table: Option<&'a DeTable<'a>>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    source: &'a Source<'a>,
    path: String,
    pub(super) key: &'a Spanned<Cow<'a, str>>,
    pub(super) value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Section<'a> {
    pub(super) fn document(source: &'a Source<'a>, table: &'a DeTable<'a>) -> Self {
        Self { source, path: String::new(), offset: 0, table: Some(table) }
    }

    pub(super) fn is_given(&self) -> bool {
        self.table.is_some()
    }

    /// All entries in the order of the file.
    pub(super) fn entries(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<_> =
            self.table.into_iter().flatten().map(|(key, value)| self.entry(key, value)).collect();
        entries.sort_by_key(Entry::offset);
        entries
    }

    pub(super) fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.table?.get_key_value(key).map(|(key, value)| self.entry(key, value))
    }

    fn entry(&self, key: &'a Spanned<Cow<'a, str>>, value: &'a Spanned<DeValue<'a>>) -> Entry<'a> {
        Entry { source: self.source, path: joined(&self.path, key.get_ref()), key, value }
    }

    /// The value of a required key.
    pub(super) fn require(&self, key: &str) -> Result<Entry<'a>, ConfigFileError> {
        let missing = || self.source.value(self.offset, &joined(&self.path, key), "is missing");
        self.get(key).ok_or_else(missing)
    }

    /// Reads the value of `key` with `read`; `None` without that key.
    pub(super) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Entry<'a>) -> Result<T, ConfigFileError>,
    ) -> Result<Option<T>, ConfigFileError> {
        self.get(key).map(|entry| read(&entry)).transpose()
    }

    /// Refuses unknown keys.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ConfigFileError> {
        let unknown = self.entries().into_iter().find(|entry| !known.contains(&entry.key.get_ref().as_ref()));
        unknown.map_or(Ok(()), |entry| Err(self.unknown(&entry, known)))
    }

    fn unknown(&self, entry: &Entry<'a>, known: &[&str]) -> ConfigFileError {
        let nearest = nearest(entry.key.get_ref(), known.iter().copied());
        let nearest = nearest.map(|key| joined(&self.path, &key));
        self.source.unknown_key(entry.offset(), &entry.path, nearest)
    }

    /// The table under `key`, with known keys only; an empty section if the file has none.
    pub(super) fn section(&self, key: &str, known: &[&str]) -> Result<Section<'a>, ConfigFileError> {
        let Some(entry) = self.get(key) else {
            let path = joined(&self.path, key);
            return Ok(Section { source: self.source, path, offset: self.offset, table: None });
        };
        let section = entry.section()?;
        section.only(known)?;
        Ok(section)
    }

    /// An error at the table.
    pub(super) fn error(&self, problem: impl Into<String>) -> ConfigFileError {
        self.source.value(self.offset, &self.path, problem)
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn source(&self) -> &'a Source<'a> {
        self.source
    }
}

impl<'a> Entry<'a> {
    /// The position of the key.
    pub(super) fn offset(&self) -> usize {
        self.key.span().start
    }

    /// The value as a table.
    pub(super) fn section(&self) -> Result<Section<'a>, ConfigFileError> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.expected("a table"))?;
        Ok(Section {
            source: self.source,
            path: self.path.clone(),
            offset: self.offset(),
            table: Some(table),
        })
    }

    /// The value as an array of tables.
    pub(super) fn tables(&self) -> Result<Vec<Section<'a>>, ConfigFileError> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.expected("an array of tables"))?;
        let table = |(position, value): (usize, &'a Spanned<DeValue<'a>>)| {
            let path = format!("{}[{position}]", self.path);
            let table = value.get_ref().as_table().ok_or_else(|| self.item(value).expected("a table"))?;
            Ok(Section { source: self.source, path, offset: value.span().start, table: Some(table) })
        };
        array.iter().enumerate().map(table).collect()
    }

    /// The error for a value of the wrong type.
    pub(super) fn expected(&self, what: &str) -> ConfigFileError {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with decimals",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// An error at the value, or at the key of a table.
    pub(super) fn error(&self, problem: impl Into<String>) -> ConfigFileError {
        let offset = if self.value.get_ref().is_table() { self.offset() } else { self.value.span().start };
        self.source.value(offset, &self.path, problem)
    }

    /// An error at the key.
    pub(super) fn key_error(&self, problem: impl Into<String>) -> ConfigFileError {
        self.source.value(self.offset(), &self.path, problem)
    }

    /// The same entry for one item of the array.
    pub(super) fn item(&self, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self { value, ..self.clone() }
    }
}

/// A key below other keys, as written in a file.
pub(super) fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { quoted_key(key) } else { format!("{path}.{}", quoted_key(key)) }
}
