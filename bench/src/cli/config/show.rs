//! The tree as a table and as JSON.

use apportion::config::{Capacity, EngineConfig, Imported, Maximum};
use apportion::{ResourceTypes, Resources};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::{Value, json};

use super::read::Format;
use super::tree::{Row, Tree};

/// One line for each queue and partition.
pub(super) fn table(config: &EngineConfig, tree: &Tree<'_>) -> String {
    let types = &config.resources;
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["queue", "capacity", "maximum", "partition", "effective minimum", "effective maximum"]);
    for row in &tree.rows {
        let name = format!("{}{}", "  ".repeat(row.depth), row.queue.name);
        let (capacity, maximum) = configured(row, types);
        if row.effective.is_empty() {
            table.add_row([&name, &capacity, &maximum, "", "", ""].map(printable));
        }
        for (partition, least, most) in &row.effective {
            let partition = if partition.is_empty() { "(default)" } else { partition };
            let (least, most) = (figure(least, types, tree), figure(most, types, tree));
            table.add_row([&name, &capacity, &maximum, partition, &least, &most].map(printable));
        }
    }
    let mut text = table.to_string();
    if tree.rows.iter().any(|row| row.effective.is_empty()) {
        text.push_str("\nWhat queues have in effect depends on the cluster: give --cluster or --nodes.");
    }
    text
}

/// A name may hold anything; a terminal is not to obey it.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

fn configured(row: &Row<'_>, types: &ResourceTypes) -> (String, String) {
    if row.depth == 0 {
        return ("all".to_owned(), "all".to_owned());
    }
    let capacity = match &row.queue.capacity {
        Capacity::Percent(percent) => percent.to_string(),
        Capacity::Weight(weight) => format!("{weight}w"),
        Capacity::Absolute(amounts) => {
            named(types, |index| Some(amounts[index]).filter(|amount| *amount > 0))
        }
    };
    let maximum = match &row.queue.maximum {
        Maximum::Percent(percent) => percent.to_string(),
        Maximum::Absolute(amounts) => named(types, |index| amounts[index]),
    };
    (capacity, maximum)
}

/// Amounts by name, or the part of the whole where there is one.
fn figure(amounts: &Resources, types: &ResourceTypes, tree: &Tree<'_>) -> String {
    match &tree.whole {
        Some(whole) => format!("{} %", percent(amounts, whole, types)),
        None => named(types, |index| Some(amounts[index])),
    }
}

/// All types have the same part; devices come in whole ones, so another type tells it more exactly.
fn percent(amounts: &Resources, whole: &Resources, types: &ResourceTypes) -> f64 {
    let index = (0..types.len()).find(|index| types.device_type() != Some(*index)).unwrap_or(0);
    (amounts[index] as f64 * 1e6 / whole[index] as f64).round() / 1e4
}

fn named(types: &ResourceTypes, amount: impl Fn(usize) -> Option<i64>) -> String {
    let names = types.names().iter().enumerate();
    let pairs: Vec<_> = names.filter_map(|(i, name)| Some(format!("{name}={}", amount(i)?))).collect();
    if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") }
}

/// The keys are documented in `docs/json.md`.
pub(super) fn json(format: Format, imported: &Imported, tree: &Tree<'_>) -> Value {
    let config = &imported.config;
    let queues: Vec<_> = tree.rows.iter().map(|row| queue(row, &config.resources, tree)).collect();
    let entries: Vec<_> = imported
        .not_carried_over
        .iter()
        .map(|entry| {
            json!({
                "file": entry.file_name,
                "line": entry.line,
                "key": entry.key,
                "value": entry.value,
                "reason": entry.reason,
            })
        })
        .collect();
    json!({
        "format": format.name(),
        "resource_types": config.resources.names(),
        "partitions": config.partitions,
        "queues": queues,
        "not_carried_over": entries,
    })
}

fn queue(row: &Row<'_>, types: &ResourceTypes, tree: &Tree<'_>) -> Value {
    let (capacity, maximum) = configured(row, types);
    let figures = |amounts: &Resources| match &tree.whole {
        Some(whole) => json!({ "percent": percent(amounts, whole, types) }),
        None => types
            .names()
            .iter()
            .zip(amounts.amounts())
            .map(|(name, amount)| (name.clone(), json!(amount)))
            .collect(),
    };
    let effective: Vec<_> = row
        .effective
        .iter()
        .map(|(partition, least, most)| {
            json!({ "partition": partition, "minimum": figures(least), "maximum": figures(most) })
        })
        .collect();
    json!({
        "path": row.path,
        "leaf": row.queue.children.is_empty(),
        "capacity": capacity,
        "maximum": maximum,
        "effective": effective,
    })
}
