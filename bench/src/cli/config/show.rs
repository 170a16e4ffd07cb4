//! The tree as a table and as JSON.

use apportion::config::{Bound, Capacity, EngineConfig, Maximum, Share};
use apportion::{ResourceTypes, Resources};
use apportion_formats::Imported;
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::{Value, json};

use super::read::Format;
use super::scaled::Scaled;
use super::tree::{Limit, Row, Tree};

/// One line for each queue and partition.
pub(super) fn table(config: &EngineConfig, tree: &Tree<'_>) -> String {
    let types = &config.resources;
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["queue", "capacity", "maximum", "partition", "effective minimum", "effective maximum"]);
    for row in &tree.rows {
        let name = format!("{}{}", "  ".repeat(row.depth), row.queue.name);
        if row.effective.is_empty() {
            add_configured(&mut table, config, row, &name);
        }
        for (partition, least, most) in &row.effective {
            let (capacity, maximum) = configured(row, types, partition);
            let partition = if partition.is_empty() { "(default)" } else { partition };
            let (least, most) = (figure(least, types, tree), figure(most, types, tree));
            table.add_row([&name, &capacity, &maximum, partition, &least, &most].map(printable));
        }
    }
    let mut text = table.to_string();
    for row in &tree.rows {
        text.extend(
            row.limits.iter().map(|limit| format!("\n{}", printable(&limit_text(row, limit, types, tree)))),
        );
    }
    for scaled in tree.scaled(types) {
        text.push('\n');
        text.push_str(&printable(&scaled_text(&scaled)));
    }
    if !config.non_exclusive_partitions.is_empty() {
        let names = printable(&config.non_exclusive_partitions.join(", "));
        text.push_str(&format!(
            "\nNon-exclusive, so idle nodes take asks for the default partition: {names}."
        ));
    }
    if tree.rows.iter().any(|row| row.effective.is_empty()) {
        text.push_str("\nWhat queues have in effect depends on the cluster: give --cluster or --nodes.");
    }
    text
}

/// A limit in words, with the key that decides it.
fn limit_text(row: &Row<'_>, limit: &Limit, types: &ResourceTypes, tree: &Tree<'_>) -> String {
    let whose = match limit.of {
        "user" => "one user at most ",
        "user_beside_others" => "one user while others want something: a share",
        "masters" => "masters at most ",
        _ => "at most ",
    };
    let most = limit.most.as_ref().map(|most| figure(most, types, tree)).unwrap_or_default();
    let partition = &limit.partition;
    let place = if partition.is_empty() { String::new() } else { format!(" in {partition}") };
    format!("{}{place}: {whose}{most}, by {}", row.path, limit.setting)
}

fn scaled_text(scaled: &Scaled<'_>) -> String {
    let Scaled { row, partition, resource, guaranteed, has, .. } = scaled;
    let place = if partition.is_empty() { String::new() } else { format!(" in {partition}") };
    format!(
        "{}{place}: {guaranteed} {resource} are guaranteed below it, and it has {has}: guarantees are scaled to {} %",
        row.path, scaled.percent,
    )
}

/// Adds the configured values, for all partitions and for single ones, of a queue whose amounts depend on the cluster.
fn add_configured(table: &mut Table, config: &EngineConfig, row: &Row<'_>, name: &str) {
    let (types, own) = (&config.resources, &row.queue.partitions);
    let (capacity, maximum) = configured(row, types, "");
    table.add_row([name, &capacity, &maximum, "", "", ""].map(printable));
    for partition in config.partitions.iter().filter(|name| !row.may_use(name) || own.contains_key(*name)) {
        let (capacity, maximum) = configured(row, types, partition);
        table.add_row([name, &capacity, &maximum, partition, "", ""].map(printable));
    }
}

/// The text with control characters escaped, so that a terminal does not interpret a name.
pub(in crate::cli) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

/// The configured capacity and maximum of a queue in a partition.
fn configured(row: &Row<'_>, types: &ResourceTypes, partition: &str) -> (String, String) {
    if !row.may_use(partition) {
        return ("no access".to_owned(), "no access".to_owned());
    }
    if row.depth == 0 {
        return ("all".to_owned(), "all".to_owned());
    }
    let (capacity, maximum) = (row.queue.capacity_in(partition), row.queue.maximum_in(partition));
    (capacity_text(&capacity, types), maximum_text(&maximum, types))
}

fn capacity_text(capacity: &Capacity, types: &ResourceTypes) -> String {
    let share = |share: Share| match share {
        Share::NONE => None,
        Share::Amount(amount) => Some(amount.to_string()),
        Share::Percent(percent) => Some(percent.to_string()),
        Share::Weight(weight) => Some(format!("{weight}w")),
    };
    match capacity {
        Capacity::Percent(percent) => percent.to_string(),
        Capacity::Weight(weight) => format!("{weight}w"),
        Capacity::Absolute(_) | Capacity::Mixed(_) => named(types, |index| share(capacity.share(index))),
    }
}

fn maximum_text(maximum: &Maximum, types: &ResourceTypes) -> String {
    let bound = |bound: Bound| match bound {
        Bound::NONE => None,
        Bound::Amount(amount) => Some(amount.to_string()),
        Bound::Percent(percent) => Some(percent.to_string()),
    };
    match maximum {
        Maximum::Percent(percent) => percent.to_string(),
        Maximum::Absolute(_) | Maximum::Mixed(_) => named(types, |index| bound(maximum.bound(index))),
    }
}

/// Amounts by name, or the parts of the whole if there is one.
fn figure(amounts: &Resources, types: &ResourceTypes, tree: &Tree<'_>) -> String {
    match tree.whole.as_ref().map(|whole| Part::of(amounts, whole, types)) {
        Some(Part::OfAll(percent)) => format!("{percent} %"),
        Some(Part::OfEach(percents)) => named(types, |index| Some(format!("{} %", percents[index]))),
        None => named(types, |index| Some(amounts[index].to_string())),
    }
}

/// A part of the whole, in percent.
enum Part {
    /// The same part for all types.
    OfAll(f64),
    OfEach(Vec<f64>),
}

impl Part {
    /// Devices are whole numbers, so another type gives the part more exactly.
    fn of(amounts: &Resources, whole: &Resources, types: &ResourceTypes) -> Self {
        let percent = |index: usize| (amounts[index] as f64 * 1e6 / whole[index] as f64).round() / 1e4;
        let percents: Vec<f64> = (0..types.len()).map(percent).collect();
        let exact = (0..types.len()).filter(|index| types.len() == 1 || types.device_type() != Some(*index));
        let mut exact = exact.map(|index| percents[index]);
        let first = exact.next().unwrap_or(0.0);
        if exact.all(|other| other == first) { Self::OfAll(first) } else { Self::OfEach(percents) }
    }
}

fn named(types: &ResourceTypes, text_of: impl Fn(usize) -> Option<String>) -> String {
    let names = types.names().iter().enumerate();
    let pairs: Vec<_> = names.filter_map(|(i, name)| Some(format!("{name}={}", text_of(i)?))).collect();
    if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") }
}

/// The JSON of `config check`; `docs/json.md` documents its keys.
pub(super) fn json(format: Format, imported: &Imported, tree: &Tree<'_>) -> Value {
    let config = &imported.config;
    let scaled = tree.scaled(&config.resources);
    let queues: Vec<_> = tree.rows.iter().map(|row| queue(row, &scaled, &config.resources, tree)).collect();
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
        "non_exclusive_partitions": config.non_exclusive_partitions,
        "queues": queues,
        "not_carried_over": entries,
    })
}

fn queue(row: &Row<'_>, scaled: &[Scaled<'_>], types: &ResourceTypes, tree: &Tree<'_>) -> Value {
    let (capacity, maximum) = configured(row, types, "");
    let by_type = |figures: &[Value]| -> Value {
        types.names().iter().zip(figures).map(|(name, figure)| (name.clone(), figure.clone())).collect()
    };
    let figures = |amounts: &Resources| match tree.whole.as_ref().map(|whole| Part::of(amounts, whole, types))
    {
        Some(Part::OfAll(percent)) => json!({ "percent": percent }),
        Some(Part::OfEach(percents)) => {
            json!({ "percent": by_type(&percents.into_iter().map(Value::from).collect::<Vec<_>>()) })
        }
        None => by_type(&amounts.amounts().map(Value::from)),
    };
    let effective: Vec<_> = row
        .effective
        .iter()
        .map(|(partition, least, most)| {
            json!({ "partition": partition, "minimum": figures(least), "maximum": figures(most) })
        })
        .collect();
    let own = |partition: &String| {
        let (capacity, maximum) = configured(row, types, partition);
        (partition.clone(), json!({ "capacity": capacity, "maximum": maximum }))
    };
    let partitions: serde_json::Map<_, _> = row.queue.partitions.keys().map(own).collect();
    let limits = row.limits.iter().map(|limit| {
        json!({
            "partition": limit.partition,
            "of": limit.of,
            "most": limit.most.as_ref().map(figures),
            "key": limit.setting.key,
            "value": limit.setting.value,
        })
    });
    let limits: Vec<_> = limits.collect();
    let scaled = scaled.iter().filter(|scaled| std::ptr::eq(scaled.row, row));
    let scaled = scaled.map(|Scaled { partition, resource, guaranteed, has, percent, .. }| {
        json!({
            "partition": partition, "type": resource, "guaranteed": guaranteed, "has": has, "percent": percent,
        })
    });
    let scaled: Vec<_> = scaled.collect();
    json!({
        "path": row.path,
        "leaf": row.queue.is_leaf(),
        "capacity": capacity,
        "maximum": maximum,
        "partitions": partitions,
        "accessible_partitions": row.access.as_ref().map(|names| names.iter().collect::<Vec<_>>()),
        "default_partition": row.queue.default_partition,
        "effective": effective,
        "limits": limits,
        "scaled_below": scaled,
    })
}
