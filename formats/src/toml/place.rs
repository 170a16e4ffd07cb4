//! Finds the place in the file for an error of the engine.

use apportion::config::ConfigError;

use super::table::Section;
use crate::ConfigFileError;

/// The error with its place: the nearest table or key that the file has.
pub(super) fn refused(document: &Section<'_>, error: ConfigError) -> ConfigFileError {
    let offset = match &error {
        ConfigError::Queue { path, .. } | ConfigError::UnknownQueue { path, .. } => queue(document, path),
        ConfigError::Value { key, .. } => deepest(document, key.split('.')),
        ConfigError::QueueMapping { rule, .. } => placement_rule(document, *rule),
        ConfigError::Resource(_) => deepest(document, ["resources"].into_iter()),
        // The error concerns the file as a whole.
        _ => 0,
    };
    document.source().config(offset, error)
}

fn deepest<'k>(document: &Section<'_>, keys: impl Iterator<Item = &'k str>) -> usize {
    let (mut section, mut offset) = (Some(document.clone()), 0);
    for key in keys {
        let Some(entry) = section.and_then(|section| section.get(key)) else { break };
        offset = entry.offset();
        section = entry.section().ok();
    }
    offset
}

/// The place of the rule's table.
fn placement_rule(document: &Section<'_>, rule: usize) -> usize {
    let rules = document.get("placement").and_then(|entry| entry.section().ok()?.get("rules"));
    let tables = rules.and_then(|entry| entry.tables().ok()).unwrap_or_default();
    tables.get(rule - 1).map_or(0, Section::offset)
}

/// The place of the queue's table, or of the first table that implies the queue.
fn queue(document: &Section<'_>, path: &str) -> usize {
    let Some(entry) = document.get("queues") else { return 0 };
    let tables = entry.section().map(|queues| queues.entries()).unwrap_or_default();
    let is_below = |other: &str| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    let table = tables
        .iter()
        .find(|table| table.key.get_ref() == path)
        .or_else(|| tables.iter().find(|table| is_below(table.key.get_ref())));
    table.map_or(entry.offset(), |table| table.offset())
}
