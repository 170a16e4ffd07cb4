//! Jobs whose containers start together, in the table for terminals.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::HOUR_MS;
use crate::report::chart::percent;
use crate::report::{count_text, counted, duration_ms_text};
use crate::sim::{GangGroup, GangRecord, RunRecord, WaitReason};
use crate::statistics::Summary;

pub(super) const HEAD: [&str; 10] = [
    "jobs",
    "finished",
    "queueing, median / 99 %",
    "queueing, mean",
    "too few free",
    "fragmented",
    "reserved",
    "completion, median / 99 %",
    "attempts lost",
    "hours lost",
];

/// An explanation of the columns.
pub(super) const NOTE: &str = "queueing: from submission until all containers of the job ran for the first time. The next \
three are mean waiting, also after a preemption. too few free: the whole cluster had less free than the job asked for. fragmented: \
it had enough, but in parts too small for the job. reserved: there was room, but reserved or held back for earlier asks. attempts \
lost: a container was preempted, and the job started again from its beginning.";

/// Rows of the run's table.
pub(in crate::report) fn rows(record: &RunRecord) -> Vec<(String, String)> {
    let Some(gangs) = &record.gangs else { return Vec::new() };
    let kind = if gangs.as_gangs { "as gangs" } else { "as plain asks" };
    let (with_room, several) = gangs.waited_with_room();
    let mut rows = vec![(format!("jobs on several nodes, {kind}"), count_text(gangs.of_several()))];
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    row(
        "waited at a quiet moment with room for them",
        format!("{}, {}", counted(several, "gang"), counted(with_room - several, "other job")),
    );
    row(
        "moments checked, waiting jobs checked",
        format!("{}, {}", count_text(gangs.moments), count_text(gangs.checked)),
    );
    let hours = |size_ms: u64| hours_text(gangs, size_ms);
    row("work done", hours(gangs.done_size_ms));
    if gangs.lost_size_ms > 0 {
        let part = gangs.lost_size_ms as f64 / (gangs.lost_size_ms as f64 + gangs.done_size_ms as f64);
        row("work lost to preemption", format!("{}, {}", hours(gangs.lost_size_ms), percent(part)));
    }
    if gangs.held_size_ms > 0 {
        row("held by members that waited for others", hours(gangs.held_size_ms));
    }
    rows
}

/// A row for each size.
pub(in crate::report) fn to_gang_table(record: &RunRecord) -> Option<String> {
    let gangs = record.gangs.as_ref()?;
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header([unit_text(gangs)].into_iter().chain(HEAD.map(str::to_owned)));
    for group in gangs.by_size(&record.outcomes).iter().chain([&gangs.all(&record.outcomes)]) {
        table.add_row([group.name.clone()].into_iter().chain(cells(group)));
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    Some(format!("{table}\n{NOTE}"))
}

/// The cells of a group below [`HEAD`].
pub(super) fn cells(group: &GangGroup) -> [String; 10] {
    let both = |summary: Option<Summary>| {
        summary.map_or_else(
            || "-".to_owned(),
            |summary| format!("{} / {}", duration_ms_text(summary.p50), duration_ms_text(summary.p99)),
        )
    };
    let queueing = group.queueing();
    [
        count_text(group.jobs),
        count_text(group.finished),
        both(queueing),
        queueing.map_or_else(|| "-".to_owned(), |summary| duration_ms_text(summary.mean)),
        duration_ms_text(group.waited_mean_ms(WaitReason::TooFewFree)),
        duration_ms_text(group.waited_mean_ms(WaitReason::Fragmented)),
        duration_ms_text(group.waited_mean_ms(WaitReason::Reserved)),
        both(group.completion()),
        count_text(group.attempts_lost),
        count_text((group.lost_size_ms as f64 / HOUR_MS).round() as u64),
    ]
}

/// The unit as a plural: `GPUs`.
pub(super) fn unit_text(gangs: &GangRecord) -> String {
    if gangs.unit == "gpu" { "GPUs".to_owned() } else { gangs.unit.clone() }
}

/// Size multiplied by time: `1,234 GPU hours`.
pub(super) fn hours_text(gangs: &GangRecord, size_ms: u64) -> String {
    let hours = count_text((size_ms as f64 / HOUR_MS).round() as u64);
    let unit = unit_text(gangs);
    format!("{hours} {} hours", unit.strip_suffix('s').unwrap_or(&unit))
}
