//! The run as a table for a terminal.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::chart::percent;
use super::gangs::{rows as gang_rows, to_gang_table};
use super::pending::to_pending_table;
use super::policy::{rows as policy_rows, to_policy_table};
use super::{count_text, duration_text};
use crate::sim::RunRecord;

/// The most important figures: placed containers, rates, waits, and leftovers.
#[must_use]
pub fn to_table(record: &RunRecord) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    for (name, value) in rows(record) {
        table.add_row([name, value]);
    }
    if let Some(values) = table.column_mut(1) {
        values.set_cell_alignment(CellAlignment::Right);
    }
    let pending = to_pending_table(&record.pending_longest).map(|pending| format!("\n{pending}"));
    let policy = to_policy_table(&record.outcomes).map(|policy| format!("\n{policy}"));
    let invented = record.invented.iter().map(|text| format!("\n{text}"));
    let gangs = to_gang_table(record).map(|gangs| format!("\n{gangs}"));
    let parts = [Some(table.to_string()), Some(invented.collect()), gangs, policy, pending];
    parts.into_iter().flatten().collect()
}

pub(super) fn rows(record: &RunRecord) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    if let Some(interruption) = record.interrupted {
        row("interrupted at", interruption.moment());
    }
    row("nodes", count_text(record.nodes as u64));
    row("containers asked for", count_text(record.asks));
    row("placed", count_text(record.placed));
    row("completed", count_text(record.completed));
    if let Some(preemption) = &record.preemption {
        row("preempted, and started again", count_text(preemption.containers));
        if preemption.given_back > 0 {
            row("given back with a preempted member", count_text(preemption.given_back));
        }
        row("rounds of preemption", count_text(preemption.rounds));
        let lost = duration_text(preemption.lost_container_ms);
        row("work lost", format!("{} of all, {lost} of containers", percent(preemption.lost_part)));
    }
    for (reason, count) in &record.unplaceable {
        row(&format!("unplaceable: {}", words(reason)), count_text(*count));
    }
    if record.cancelled > 0 {
        row("cancelled", count_text(record.cancelled));
    }
    for (reason, count) in &record.pending_at_end {
        row(&format!("pending at end: {}", words(reason)), count_text(*count));
    }
    row("allocations per second", count_text(record.allocations_per_second() as u64));
    row("rejected proposals", percent(record.stats.rejected_fraction()));
    row("reservations made", count_text(record.stats.reserved));
    row("virtual time", duration_text(record.makespan_ms));
    row("wall time", duration_text(record.elapsed.as_millis() as u64));
    let wait = |quantile| duration_text(record.wait_ms.value_at_quantile(quantile));
    row("waiting time, median", wait(0.5));
    row("waiting time, 99 %", wait(0.99));
    rows.extend(policy_rows(record));
    rows.extend(gang_rows(record));
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    if let Some(latency) = &record.ask_to_commit_us {
        let at = |quantile| format!("{} us", count_text(latency.value_at_quantile(quantile)));
        row("ask to commit, median", at(0.5));
        row("ask to commit, 99 %", at(0.99));
    }
    for (name, used) in record.resource_names.iter().zip(&record.utilisation) {
        let text = format!("mean {}, peak {}", percent(used.mean), percent(used.peak));
        row(&format!("{name} in use"), text);
    }
    if record.busy_ms > 0 {
        row("busy time: arriving or waiting", duration_text(record.busy_ms));
        for (name, used) in record.resource_names.iter().zip(&record.utilisation) {
            if let Some(mean) = used.busy_mean.filter(|_| used.peak > 0.0) {
                row(&format!("{name} in use, busy time"), format!("mean {}", percent(mean)));
            }
        }
    }
    row("audit violations", count_text(record.audit_violations.len() as u64));
    rows
}

/// A reason's label as words.
pub(super) fn words(label: &str) -> String {
    label.replace('_', " ")
}
