//! A value in the file with its key, and the ways to read it.

use apportion::config::ConfigError;
use apportion::nearest::{hint, nearest};

use super::yaml::{Node, Pair, Value};
use crate::file::{Source, excerpt};
use crate::{ConfigFileError, NotCarriedOver};

/// A value with the key that leads to it.
#[derive(Clone, Debug)]
pub(super) struct Entry<'n> {
    source: &'n Source<'n>,
    /// The full key: `root.dev.resources.max.memory`.
    pub(super) path: String,
    pub(super) key: &'n str,
    pub(super) key_offset: usize,
    node: &'n Node,
}

impl<'n> Entry<'n> {
    pub(super) fn document(source: &'n Source<'n>, node: &'n Node) -> Self {
        Self { source, path: String::new(), key: "", key_offset: node.offset, node }
    }

    /// The same entry under a more familiar name.
    pub(super) fn named(&self, path: String) -> Self {
        Self { path, ..self.clone() }
    }

    /// The entries of a mapping, in the order of the file; none for an empty value.
    pub(super) fn entries(&self) -> Result<Vec<Entry<'n>>, ConfigFileError> {
        match &self.node.value {
            Value::Null => Ok(Vec::new()),
            Value::Mapping(pairs) => Ok(pairs.iter().map(|pair| self.entry(pair)).collect()),
            _ => Err(self.expected("a mapping")),
        }
    }

    fn entry(&self, pair: &'n Pair) -> Self {
        let path =
            if self.path.is_empty() { pair.key.clone() } else { format!("{}.{}", self.path, pair.key) };
        Self { source: self.source, path, key: &pair.key, key_offset: pair.key_offset, node: &pair.node }
    }

    /// The entries of a mapping; unknown keys are refused.
    pub(super) fn only(&self, known: &[&str]) -> Result<Vec<Entry<'n>>, ConfigFileError> {
        let entries = self.entries()?;
        match entries.iter().find(|entry| !known.contains(&entry.key)) {
            Some(unknown) => Err(unknown.unknown(nearest(unknown.key, known.iter().copied()))),
            None => Ok(entries),
        }
    }

    /// The error for a key that YuniKorn does not know, with the `nearest` known one.
    pub(super) fn unknown(&self, nearest: Option<String>) -> ConfigFileError {
        let above = &self.path[..self.path.len() - self.key.len()];
        let nearest = nearest.map(|key| format!("{above}{key}"));
        self.source.unknown_key(self.key_offset, &self.path, nearest)
    }

    /// The value of one key of a mapping; `None` without the key or with an empty value.
    pub(super) fn get(&self, key: &str) -> Option<Entry<'n>> {
        let Value::Mapping(pairs) = &self.node.value else { return None };
        let pair = pairs.iter().find(|pair| pair.key == key)?;
        (!matches!(pair.node.value, Value::Null)).then(|| self.entry(pair))
    }

    /// The items of a list; none for an empty value.
    pub(super) fn items(&self) -> Result<Vec<Entry<'n>>, ConfigFileError> {
        let items = match &self.node.value {
            Value::Null => return Ok(Vec::new()),
            Value::List(items) => items,
            _ => return Err(self.expected("a list")),
        };
        let item = |(position, node): (usize, &'n std::rc::Rc<Node>)| Self {
            path: format!("{}[{position}]", self.path),
            key_offset: node.offset,
            node,
            ..self.clone()
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The trimmed text; empty for an empty value.
    pub(super) fn text(&self) -> Result<&'n str, ConfigFileError> {
        match &self.node.value {
            Value::Null => Ok(""),
            Value::Text(text) => Ok(text.trim()),
            _ => Err(self.expected("a single value")),
        }
    }

    /// The text as written, with the spaces around it.
    pub(super) fn untrimmed(&self) -> Result<&'n str, ConfigFileError> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => self.text(),
        }
    }

    pub(super) fn switch(&self) -> Result<bool, ConfigFileError> {
        match self.text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Ok(true),
            "false" | "no" | "off" | "" => Ok(false),
            _ => Err(self.expected("true or false")),
        }
    }

    /// A whole number from 0.
    pub(super) fn count(&self) -> Result<u64, ConfigFileError> {
        let text = self.text()?;
        if text.strip_prefix('-').is_some_and(|rest| rest.parse::<u64>().is_ok()) {
            return Err(self.error(format!("{text} is negative")));
        }
        text.parse().map_err(|_| self.expected("a whole number from 0"))
    }

    /// The word among `words` that equals the value, in any case.
    pub(super) fn word(&self, words: &[&'static str]) -> Result<&'static str, ConfigFileError> {
        let text = self.text()?.to_ascii_lowercase();
        words.iter().find(|word| **word == text).copied().ok_or_else(|| {
            let text = excerpt(&text);
            let hint = hint(nearest(&text, words.iter().copied()).as_deref());
            let words: Vec<_> = words.iter().filter(|word| !word.is_empty()).copied().collect();
            self.error(format!("`{text}` is not one of {}{hint}", words.join(", ")))
        })
    }

    fn expected(&self, what: &str) -> ConfigFileError {
        let found = match &self.node.value {
            Value::Null => "nothing".to_owned(),
            Value::Text(text) => format!("`{}`", excerpt(text.trim())),
            Value::List(_) => "a list".to_owned(),
            Value::Mapping(_) => "a mapping".to_owned(),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// An error at the value.
    pub(super) fn error(&self, problem: impl Into<String>) -> ConfigFileError {
        let key = if self.path.is_empty() { "the file" } else { &self.path };
        self.source.value(self.node.offset, key, problem)
    }

    /// An error of the engine, at the key of this entry.
    pub(super) fn config_error(&self, error: ConfigError) -> ConfigFileError {
        self.source.config(self.key_offset, error)
    }

    /// The line of the key, counted from 1.
    pub(super) fn line(&self) -> usize {
        self.source.line(self.key_offset)
    }

    /// Reports that the entry has no effect, or another one than in YuniKorn: one line for each value.
    pub(super) fn report(&self, reason: &str, report: &mut Vec<NotCarriedOver>) {
        let (entries, items) = (self.entries().unwrap_or_default(), self.items().unwrap_or_default());
        let collections: Vec<_> =
            entries.into_iter().chain(items).filter(|entry| !entry.is_scalar() || !self.is_list()).collect();
        if collections.is_empty() && !matches!(self.node.value, Value::Null) {
            let value = excerpt(&self.flow());
            report.push(self.source.not_carried_over(self.key_offset, &self.path, &value, reason));
        }
        for entry in collections {
            entry.report(reason, report);
        }
    }

    fn is_list(&self) -> bool {
        matches!(self.node.value, Value::List(_))
    }

    fn is_scalar(&self) -> bool {
        matches!(self.node.value, Value::Null | Value::Text(_))
    }

    /// The text, or a list of texts on one line.
    fn flow(&self) -> String {
        match self.items() {
            Ok(items) if self.is_list() => {
                let texts: Vec<_> = items.iter().filter_map(|item| item.text().ok()).collect();
                format!("[{}]", texts.join(", "))
            }
            _ => self.text().unwrap_or_default().to_owned(),
        }
    }
}
