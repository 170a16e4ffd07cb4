//! Jobs, queues and users in tables for a terminal and for a page.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use crate::report::chart::percent;
use crate::report::html::{escape, section};
use crate::report::{count_text, counted, duration_ms_text, duration_text, ratio_text};
use crate::sim::{GroupOutcome, Outcomes, RunRecord};
use crate::statistics::Summary;

/// The most queues and users in the table for terminals; `--json` has all of them.
const QUEUES_MAX: usize = 12;
const USERS_MAX: usize = 5;
/// The most on a page.
const PAGE_MAX: usize = 100;

const HEAD: [&str; 8] =
    ["guaranteed", "used", "missing", "below for", "wait", "completion", "slowdown", "finished"];
/// An explanation of the columns.
const NOTE: &str = "used, missing: means over the time in which the queue had containers running or waiting, as parts of the cluster.
missing: shortfall against the guarantee, or against the demand if that is less. below for: the longest time in which
more was missing than both 2 % of the guarantee and the largest container. wait, slowdown: means. completion: median.
Users: the users slowed down most.";

/// Figures over all jobs, as rows of the run's table.
pub(in crate::report) fn rows(record: &RunRecord) -> Vec<(String, String)> {
    let Outcomes { total, fairness, .. } = &record.outcomes;
    let mut rows = vec![(
        "jobs finished".to_owned(),
        format!("{} of {}", count_text(total.finished), count_text(total.jobs)),
    )];
    let mut row = |name: &str, text: Option<String>| rows.extend(text.map(|text| (name.to_owned(), text)));
    let both =
        |summary: Summary, text: fn(f64) -> String| format!("{} / {}", text(summary.p50), text(summary.p99));
    row(
        "job completion, median / 99 %",
        total.completion_ms.map(|completion| both(completion, duration_ms_text)),
    );
    row("slowdown, median / 99 %", total.slowdown.map(|slowdown| both(slowdown, ratio_text)));
    row("slowdown, mean", total.slowdown.map(|slowdown| ratio_text(slowdown.mean)));
    let index = |index: Option<f64>, contended_ms: u64| {
        index.map(|index| format!("{index:.3} over {}", duration_text(contended_ms)))
    };
    row("Jain's index of queues that wait", index(fairness.queues, fairness.queues_contended_ms));
    row("Jain's index of users that wait", index(fairness.users, fairness.users_contended_ms));
    rows
}

/// A row for each queue, and for the users slowed down most; empty if there is one queue and one user.
pub(in crate::report) fn to_policy_table(outcomes: &Outcomes) -> Option<String> {
    if outcomes.queues.len() < 2 && outcomes.users.len() < 2 {
        return None;
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["queue or user"].into_iter().chain(HEAD));
    let (groups, left_out) = shown(outcomes, QUEUES_MAX, USERS_MAX);
    for group in groups {
        table.add_row(cells(group));
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let more = more_text(left_out).map(|text| format!("\n{text}")).unwrap_or_default();
    Some(format!("{table}\n{NOTE}{more}"))
}

/// The same as a section of a page.
pub(in crate::report) fn to_policy_section(outcomes: &Outcomes) -> String {
    let (groups, left_out) = shown(outcomes, PAGE_MAX, PAGE_MAX);
    let row = |cells: Vec<String>| {
        let cells = cells.iter().map(|cell| format!("<td>{}", escape(cell)));
        format!("<tr>{}", cells.collect::<String>())
    };
    let head: String = HEAD.iter().map(|name| format!("<td><b>{name}</b>")).collect();
    let body: String = groups.into_iter().map(|group| row(cells(group))).collect();
    let more = more_text(left_out).map(|text| format!("<p>{text}</p>")).unwrap_or_default();
    section(
        "Queues and users",
        NOTE,
        &format!("<table><tr><td><b>queue or user</b>{head}{body}</table>{more}"),
    )
}

/// The number of queues and users that the table leaves out, as text.
fn more_text(left_out: [usize; 2]) -> Option<String> {
    let [queues, users] = left_out.map(|count| count as u64);
    let parts = [(queues, "more queue"), (users, "more user")];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun)).collect();
    (!parts.is_empty()).then(|| format!("In --json: {}.", parts.join(", ")))
}

/// Leaves that had demand, and users by slowdown, with the numbers left out. If there are too many leaves, those with
/// the most missing share come first.
fn shown(outcomes: &Outcomes, queues_max: usize, users_max: usize) -> (Vec<&GroupOutcome>, [usize; 2]) {
    let had_demand = |group: &&GroupOutcome| group.asked > 0;
    let mut queues: Vec<&GroupOutcome> = outcomes.queues.iter().filter(had_demand).collect();
    let mut users: Vec<&GroupOutcome> = outcomes.users.iter().filter(had_demand).collect();
    let count = [queues.len(), users.len()];
    if queues.len() > queues_max {
        let missing = |queue: &GroupOutcome| queue.deviation.map_or(0.0, |deviation| deviation.below);
        queues.sort_by(|a, b| missing(b).total_cmp(&missing(a)));
        queues.truncate(queues_max);
    }
    let slowdown = |user: &GroupOutcome| user.slowdown.map_or(f64::MAX, |slowdown| slowdown.mean);
    users.sort_by(|a, b| slowdown(b).total_cmp(&slowdown(a)));
    users.truncate(users_max);
    let left_out = [count[0] - queues.len(), count[1] - users.len()];
    (queues.into_iter().chain(users).collect(), left_out)
}

fn cells(group: &GroupOutcome) -> Vec<String> {
    let of = |deviation: Option<String>| deviation.unwrap_or_default();
    let mean = |summary: Option<Summary>, text: fn(f64) -> String| {
        summary.map_or_else(|| "-".to_owned(), |summary| text(summary.mean))
    };
    vec![
        group.name.clone(),
        of(group.deviation.map(|deviation| percent(deviation.guaranteed))),
        percent(group.share_in_demand),
        of(group.deviation.map(|deviation| percent(deviation.below))),
        of(group.deviation.map(|deviation| duration_text(deviation.below_longest_ms))),
        mean(group.waiting_ms, duration_ms_text),
        group.completion_ms.map_or_else(|| "-".to_owned(), |completion| duration_ms_text(completion.p50)),
        mean(group.slowdown, ratio_text),
        format!("{} of {}", count_text(group.finished), count_text(group.jobs)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_left_out_are_counted_by_kind() {
        assert_eq!(more_text([0, 0]), None);
        assert_eq!(more_text([1, 12]).unwrap(), "In --json: 1 more queue, 12 more users.");
        assert_eq!(more_text([0, 3]).unwrap(), "In --json: 3 more users.");
    }
}
