//! Leaves that return to a full cluster, with preemption and without, as text and as a page.

use apportion::Mode;

use super::chart::{ChartError, percent};
use super::html::{document, escape, interrupted_first, plot_section, say, to_cards};
use super::plot::{Axis, Line, Plot, Unit};
use super::{count_text, counted, duration_text, leaves_text};
use crate::steady::{Look, Reclaim, TakenFrom};

/// The window around the return that has its own plots.
const BEFORE_MS: u64 = 10_000;
const AFTER_MS: u64 = 300_000;
/// The most leaves in the table of those that lost most.
const LEAVES_MAX: usize = 10;

/// Two runs of the same load.
#[derive(Clone, Debug)]
pub struct ReclaimReport {
    /// Nodes of the cluster.
    pub nodes: usize,
    /// Its leaf queues.
    pub leaves: usize,
    /// Which threads did the engine's work.
    pub mode: Mode,
    /// The seed of all random values.
    pub seed: u64,
    /// Mean life of a container.
    pub mean_life_ms: u64,
    /// The run with preemption.
    pub with: Reclaim,
    /// The run without.
    pub without: Reclaim,
}

impl ReclaimReport {
    fn runs(&self) -> [(&'static str, &Reclaim); 2] {
        [("with preemption", &self.with), ("without preemption", &self.without)]
    }
}

/// The report as text for terminals.
#[must_use]
pub fn to_reclaim_text(report: &ReclaimReport) -> String {
    let mut text = format!("{}\n", sentence(report));
    for (name, run) in report.runs() {
        let interrupted =
            run.interrupted.map_or_else(String::new, |interruption| format!(", {interruption}"));
        text += &format!(
            "{name}{interrupted}: {}\n  {}\n  \
             since the return {} of these leaves completed, and {} of others; {} placed in all; audit: nothing \
             found\n",
            converged_text(run),
            lost_text(run),
            counted(run.completed_of_returning, "container"),
            count_text(run.completed_of_others),
            count_text(run.placed),
        );
    }
    text.trim_end().to_owned()
}

/// What happens in both runs.
fn sentence(report: &ReclaimReport) -> String {
    let run = &report.with;
    format!(
        "{} of {} on {} {} no demand from {} to {}; containers live for {} on average; {} mode, seed {}",
        count_text(run.returning.len() as u64),
        leaves_text(report.leaves as u64),
        counted(report.nodes as u64, "node"),
        if run.returning.len() == 1 { "has" } else { "have" },
        duration_text(run.leave_ms),
        duration_text(run.return_ms),
        duration_text(report.mean_life_ms),
        report.mode.name(),
        report.seed,
    )
}

fn converged_text(run: &Reclaim) -> String {
    let after = |ms: Option<u64>| match ms {
        Some(ms) => format!("after {}", duration_text(ms)),
        None => format!("not by {}", duration_text(run.end_ms)),
    };
    format!(
        "95 % of their guarantees ({} of the cluster) {}, 95 % of their fair shares ({}) {}",
        percent(run.guaranteed_at_end()),
        after(run.guaranteed_ms()),
        percent(run.fair_at_end()),
        after(run.converged_ms()),
    )
}

fn lost_text(run: &Reclaim) -> String {
    if run.preempted == 0 {
        return format!("nothing was preempted in {}", counted(run.rounds, "round"));
    }
    format!(
        "{} preempted in {}, which had run for {} together; {} of the work since the return was lost",
        counted(run.preempted, "container"),
        counted(run.rounds, "round"),
        duration_text(run.lost_container_ms),
        percent(run.lost_part),
    )
}

/// A page with the most important figures, plots and all figures.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn to_reclaim_html(report: &ReclaimReport) -> Result<String, ChartError> {
    let cards = [
        (after_text(report.with.guaranteed_ms()), "to 95 % of guarantees, with preemption"),
        (after_text(report.without.guaranteed_ms()), "to 95 % of guarantees, without"),
        (after_text(report.with.converged_ms()), "to 95 % of fair shares, with preemption"),
        (after_text(report.without.converged_ms()), "to 95 % of fair shares, without"),
        (count_text(report.with.preempted), "containers preempted"),
        (percent(report.with.lost_part), "of the work lost since the return"),
    ];
    let sections = [
        returning_section(report)?,
        owed_section(report)?,
        whole_section(report)?,
        taken_section(&report.with),
    ];
    let interruption = report.with.interrupted.max(report.without.interrupted);
    let sub = format!("{}{}", interrupted_first(interruption), escape(&sentence(report)));
    let body = format!("{}<main>{}{}</main>", to_cards(&cards), sections.concat(), figures(report));
    Ok(document("Apportion: leaves return to a full cluster", &sub, &body))
}

fn after_text(ms: Option<u64>) -> String {
    ms.map_or_else(|| "not yet".to_owned(), duration_text)
}

/// A line of readings in a window of virtual time, in percent of the cluster, over units of `unit_ms`.
fn line(name: &str, run: &Reclaim, window_ms: [u64; 2], unit_ms: f64, value: fn(&Look) -> f64) -> Line {
    let [from_ms, to_ms] = window_ms;
    let to_ms = to_ms.min(run.end_ms);
    let looks = run.looks.iter().filter(|look| (from_ms..=to_ms).contains(&look.at_ms));
    let values = looks.map(|look| (look.at_ms as f64 / unit_ms, 100.0 * value(look)));
    Line::of_values(name, values, to_ms as f64 / unit_ms)
}

fn around_return(run: &Reclaim) -> [u64; 2] {
    [run.return_ms.saturating_sub(BEFORE_MS), run.return_ms + AFTER_MS]
}

fn in_seconds(lines: Vec<Line>) -> Plot<'static> {
    let y = Axis::new("part of the cluster", Unit::Percent);
    Plot { x: Axis::time("virtual time, s", 1.0), y, lines, is_over_time: false }
}

fn returning_section(report: &ReclaimReport) -> Result<String, ChartError> {
    let window = around_return(&report.with);
    let share = |(name, run)| line(name, run, window, 1e3, |look| look.returning_share);
    let mut lines: Vec<Line> = report.runs().into_iter().map(share).collect();
    lines.push(line("fair", &report.with, window, 1e3, |look| look.returning_fair));
    lines.push(line("guaranteed", &report.with, window, 1e3, |look| look.returning_guaranteed));
    let note = "The use, the fair shares and the guarantees of the returning leaves. Fair shares are the weighted max-min \
                division of all use within the limits of queues and users. A fair share below the guarantee replaces it. Preemption \
                takes up to the guarantees; the rest comes from containers that end by themselves.";
    plot_section("The share of the returning leaves", note, &in_seconds(lines), "They used nothing.")
}

fn owed_section(report: &ReclaimReport) -> Result<String, ChartError> {
    let window = around_return(&report.with);
    let [with, without] = [&report.with, &report.without];
    let lines = vec![
        line("owed", with, window, 1e3, |look| look.owed),
        line("taken since the start", with, window, 1e3, |look| look.taken),
        line("owed without preemption", without, window, 1e3, |look| look.owed),
    ];
    let note = "owed: what all leaves together miss of their fair shares. taken: the sizes of all containers preempted so far.";
    plot_section(
        "Owed and taken",
        note,
        &in_seconds(lines),
        "No leaf missed anything, and nothing was taken.",
    )
}

fn whole_section(report: &ReclaimReport) -> Result<String, ChartError> {
    let all = [0, u64::MAX];
    let share = |(name, run)| line(name, run, all, 6e4, |look| look.returning_share);
    let lines = report.runs().into_iter().map(share).collect();
    let y = Axis::new("part of the cluster", Unit::Percent);
    let plot = Plot { x: Axis::time("virtual time, min", 60.0), y, lines, is_over_time: false };
    let note = "What the returning leaves use in the whole run.";
    plot_section("The whole run", note, &plot, "They used nothing.")
}

/// The leaves that lost most.
fn taken_section(run: &Reclaim) -> String {
    const TITLE: &str = "From whom it was taken";
    if run.taken_from.is_empty() {
        return say(TITLE, "From no leaf.");
    }
    let mut leaves: Vec<&TakenFrom> = run.taken_from.iter().collect();
    leaves.sort_by(|a, b| b.part.total_cmp(&a.part));
    let row = |leaf: &&TakenFrom| {
        let (containers, part) = (count_text(leaf.containers), percent(leaf.part));
        format!("<tr><td>{}<td>{containers}<td>{part}", escape(&leaf.path))
    };
    let rows: String = leaves.iter().take(LEAVES_MAX).map(row).collect();
    let all = leaves_text(leaves.len() as u64);
    let note = if leaves.len() > LEAVES_MAX {
        format!("The {LEAVES_MAX} that lost most, of {all}; --json has all.")
    } else {
        format!("{all}.")
    };
    format!(
        "<section><h2>{TITLE}</h2><p>{note}</p><table><tr><td><b>leaf</b><td><b>containers</b>\
         <td><b>of the cluster</b>{rows}</table></section>"
    )
}

/// All figures of both runs.
fn figures(report: &ReclaimReport) -> String {
    type Figure<'a> = (&'static str, &'a dyn Fn(&Reclaim) -> String);
    let all: [Figure<'_>; 11] = [
        ("to 95 % of the guarantees", &|run| after_text(run.guaranteed_ms())),
        ("guarantees of the returning leaves", &|run| percent(run.guaranteed_at_end())),
        ("to 95 % of the fair shares", &|run| after_text(run.converged_ms())),
        ("fair shares of the returning leaves", &|run| percent(run.fair_at_end())),
        ("rounds of preemption", &|run| count_text(run.rounds)),
        ("containers preempted", &|run| count_text(run.preempted)),
        ("container time lost", &|run| duration_text(run.lost_container_ms)),
        ("part of the work lost", &|run| percent(run.lost_part)),
        ("completed since the return, returning", &|run| count_text(run.completed_of_returning)),
        ("completed since the return, others", &|run| count_text(run.completed_of_others)),
        ("containers placed", &|run| count_text(run.placed)),
    ];
    let row = |(name, text): &Figure<'_>| {
        let [with, without] = report.runs().map(|(_, run)| text(run));
        format!("<tr><td>{name}<td>{}<td>{}", escape(&with), escape(&without))
    };
    let rows: String = all.iter().map(row).collect();
    format!(
        "<section><h2>All figures</h2><table><tr><td><td><b>with preemption</b><td><b>without</b>{rows}</table></section>"
    )
}
