//! The asks that stayed pending at the end, and why.

use apportion::explain::WhyPending;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};

use super::html::{escape, section};
use super::{count_text, duration_text};
use crate::pending::PendingKind;

/// Columns and rows of the table for terminals.
const WIDTH: u16 = 110;
const ROWS_MAX: usize = 3;
const NOTE: &str =
    "For each size and queue the ask that waited longest; counts cover all nodes of the cluster.";

/// One row of either table.
struct Row {
    ask: String,
    queue: String,
    waited: String,
    containers: String,
    /// The reason first, then further explanations.
    why: Vec<String>,
    /// The key that decides the limit.
    limit: Option<String>,
}

fn rows(kinds: &[PendingKind]) -> Vec<Row> {
    let row = |kind: &PendingKind| {
        let (longest, why) = (&kind.longest, kind.longest.pending()?);
        let asks = if kind.asks > 1 { format!(" of {} asks", count_text(kind.asks)) } else { String::new() };
        Some(Row {
            ask: format!("{} of {}", longest.ask, why.application_name),
            queue: why.queue.clone(),
            waited: duration_text(longest.now_ms.saturating_sub(why.since_ms)),
            containers: format!("{}{asks}, each {}", count_text(kind.containers), why.one_container()),
            why: sentences(why),
            limit: why.setting.as_ref().map(|setting| format!("{}: the limit is {setting}", longest.ask)),
        })
    };
    kinds.iter().filter_map(row).collect()
}

fn sentences(why: &WhyPending) -> Vec<String> {
    let shortage = why.shortage.as_ref().map(ToString::to_string);
    [Some(why.to_string()), Some(why.funnel.to_string()), shortage].into_iter().flatten().collect()
}

/// A table for a terminal; empty if no ask is pending.
pub(super) fn to_pending_table(kinds: &[PendingKind]) -> Option<String> {
    if kinds.is_empty() {
        return None;
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(["still pending", "for", "wants", "why"]);
    let mut rows = rows(kinds);
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    // The keys are listed below the table, so that they stay in one piece.
    let mut limits = String::new();
    for Row { ask, queue, waited, containers, why, limit } in rows {
        limits.extend(limit.map(|limit| format!("\n{limit}")));
        table.add_row([format!("{ask} in {queue}"), waited, containers, why.join(" ")]);
    }
    let more = if left_out > 0 { format!("\n{left_out} more in --report and --json") } else { String::new() };
    Some(format!("{table}{limits}{more}"))
}

/// A section of a page; empty if no ask is pending.
pub(super) fn to_pending_section(kinds: &[PendingKind]) -> Option<String> {
    if kinds.is_empty() {
        return None;
    }
    let row = |Row { ask, queue, waited, containers, mut why, limit }: Row| {
        why.extend(limit);
        let (first, rest) =
            why.split_first().map_or((String::new(), &[][..]), |(first, rest)| (escape(first), rest));
        let rest: String = rest.iter().map(|line| format!("<small>{}</small>", escape(line))).collect();
        format!(
            "<tr><td>{}<small>{}</small><td>{}<td>{}<td>{first}{rest}",
            escape(&ask),
            escape(&queue),
            escape(&waited),
            escape(&containers)
        )
    };
    let body: String = rows(kinds).into_iter().map(row).collect();
    let table = format!("<table class=why><tr><th>ask<th>pending for<th>containers<th>why{body}</table>");
    Some(section("Still pending at the end", NOTE, &table))
}
