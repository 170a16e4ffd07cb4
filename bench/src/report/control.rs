//! The results of the experiments with a job's containers.

use serde::Serialize;

use super::chart::{ChartError, percent};
use super::html::{Figure, document, figures_table, interrupted_first, plot_section, say, section, to_cards};
use super::plot::{Axis, Line, Plot, Unit};
use super::{NOT_BEGUN, count_text, counted, duration_text, interrupted_line};
use crate::control::{BUSY_PERCENT, ControlShape, Experiment, ExperimentRecord, FaultCounts};
use crate::interrupt::Interruption;

const MS_PER_S: f64 = 1_000.0;

/// Each experiment without faults and with faults, in the order of [`Experiment::ALL`]. Experiments to which a signal
/// left no time for a request are missing.
#[derive(Clone, Debug)]
pub struct ControlReport {
    shape: ControlShape,
    seed: u64,
    plain: Vec<ExperimentRecord>,
    with_faults: Vec<ExperimentRecord>,
}

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Clone, Debug, Serialize)]
pub struct ControlJson {
    seed: u64,
    nodes: u32,
    processors: u32,
    interrupted_at_s: Option<Interruption>,
    experiments: Vec<ExperimentJson>,
    experiments_with_faults: Vec<FaultyJson>,
}

#[derive(Clone, Debug, Serialize)]
struct ExperimentJson {
    name: &'static str,
    interrupted_at_s: Option<Interruption>,
    actions: u32,
    succeeded: u32,
    failed: u32,
    not_begun: u32,
    below_configured_max: u32,
    disruption_budget: u32,
    time_s: f64,
    used_part: f64,
    audit_violations: usize,
}

#[derive(Clone, Debug, Serialize)]
struct FaultyJson {
    #[serde(flatten)]
    experiment: ExperimentJson,
    requests: u32,
    terminal_answers: u32,
    below_configured_end: u32,
    whole_s: Option<f64>,
    starts_failed: u32,
    stops_failed: u32,
    nodes_lost: u32,
}

impl ControlReport {
    /// A report on these records: without faults, and with faults.
    #[must_use]
    pub fn new(shape: ControlShape, seed: u64, [plain, with_faults]: [Vec<ExperimentRecord>; 2]) -> Self {
        Self { shape, seed, plain, with_faults }
    }

    /// All records.
    pub fn records(&self) -> impl Iterator<Item = &ExperimentRecord> {
        self.plain.iter().chain(&self.with_faults)
    }

    /// The furthest time that an experiment had reached when a signal stopped it, or kept others from beginning.
    #[must_use]
    pub fn interruption(&self) -> Option<Interruption> {
        let is_all = self.records().count() == 2 * Experiment::ALL.len();
        let is_whole = is_all && self.records().all(|record| record.interrupted.is_none());
        let furthest = self.records().map(|record| record.took_ms).max().unwrap_or(0);
        (!is_whole).then_some(Interruption::Virtual(furthest))
    }

    /// All experiments without faults, and all with faults; `None` for those that had not begun.
    fn all(&self) -> [[Option<&ExperimentRecord>; 3]; 2] {
        let find =
            |records: &'_ [ExperimentRecord], one| records.iter().position(|record| record.experiment == one);
        [&self.plain, &self.with_faults]
            .map(|records| Experiment::ALL.map(|one| find(records, one).map(|place| &records[place])))
    }

    /// Whether no experiment had achieved anything before a signal stopped it.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let is_nothing = |record: &ExperimentRecord| record.steps.succeeded + record.steps.failed == 0;
        self.interruption().is_some() && self.records().all(is_nothing)
    }

    /// The defects of the results: audit violations, and requests without exactly one final answer. Without faults,
    /// also containers that were not moved or restarted, or a broken budget.
    #[must_use]
    pub fn defects(&self) -> Vec<String> {
        let mut defects = Vec::new();
        for record in self.records() {
            let name = record.experiment.name();
            if record.audit_violations > 0 {
                defects.push(format!("{name}: the audit found {} violations", record.audit_violations));
            }
            if record.terminal_answers != record.requests && record.interrupted.is_none() {
                defects.push(format!(
                    "{name}: {} requests, {} final answers",
                    record.requests, record.terminal_answers
                ));
            }
        }
        for record in &self.plain {
            let (name, down) = (record.experiment.name(), record.below_configured_max());
            let undone = record.steps.steps.saturating_sub(record.steps.succeeded);
            if undone > 0 && record.interrupted.is_none() {
                defects.push(format!(
                    "{name}: not done, though there were no faults: {}",
                    counted(undone.into(), "container")
                ));
            }
            if !keeps_budget(record) {
                defects.push(format!(
                    "{name}: {} down at once, which is beyond the budget",
                    counted(down.into(), "container")
                ));
            }
        }
        defects
    }

    /// The report as JSON.
    #[must_use]
    pub fn to_json(&self) -> ControlJson {
        ControlJson {
            seed: self.seed,
            nodes: self.shape.nodes,
            processors: self.shape.processors,
            interrupted_at_s: self.interruption(),
            experiments: self.plain.iter().map(experiment_json).collect(),
            experiments_with_faults: self.with_faults.iter().map(faulty_json).collect(),
        }
    }
}

fn keeps_budget(record: &ExperimentRecord) -> bool {
    record.below_configured_max() <= record.experiment.pace().disruption_budget.get()
}

fn experiment_json(record: &ExperimentRecord) -> ExperimentJson {
    ExperimentJson {
        name: record.experiment.name(),
        interrupted_at_s: record.interrupted,
        actions: record.steps.steps,
        succeeded: record.steps.succeeded,
        failed: record.steps.failed,
        not_begun: record.steps.steps.saturating_sub(record.steps.succeeded + record.steps.failed),
        below_configured_max: record.below_configured_max(),
        disruption_budget: record.experiment.pace().disruption_budget.get(),
        time_s: record.took_ms as f64 / MS_PER_S,
        used_part: record.used_part,
        audit_violations: record.audit_violations,
    }
}

fn faulty_json(record: &ExperimentRecord) -> FaultyJson {
    FaultyJson {
        experiment: experiment_json(record),
        requests: record.requests,
        terminal_answers: record.terminal_answers,
        below_configured_end: record.below_configured_end(),
        whole_s: record.whole_ms.map(|ms| ms as f64 / MS_PER_S),
        starts_failed: record.faults.starts_failed,
        stops_failed: record.faults.stops_failed,
        nodes_lost: record.faults.nodes_lost,
    }
}

fn title(experiment: Experiment) -> String {
    experiment.name().replace('_', " ")
}

/// The report as text for terminals.
#[must_use]
pub fn to_control_text(report: &ControlReport) -> String {
    let used = report.plain.iter().map(|record| record.used_part).sum::<f64>();
    let used = match report.plain.len() {
        0 => "an unknown part".to_owned(),
        runs => percent(used / runs as f64),
    };
    let [plain, with_faults] = report.all();
    let mut text = format!(
        "{}{}, {} in use; a job of {}\n",
        interrupted_line(report.interruption()),
        counted(report.shape.nodes.into(), "node"),
        used,
        counted(report.shape.processors.into(), "processor"),
    );
    for (experiment, record) in Experiment::ALL.into_iter().zip(plain) {
        let outcome = record.map_or_else(|| NOT_BEGUN.to_owned(), outcome_text);
        text += &format!("{:>16}: {outcome}\n", title(experiment));
    }
    text += "with failed starts and stops and lost nodes:\n";
    for (experiment, record) in Experiment::ALL.into_iter().zip(with_faults) {
        let outcome = record.map_or_else(|| NOT_BEGUN.to_owned(), outcome_with_faults_text);
        text += &format!("{:>16}: {outcome}\n", title(experiment));
    }
    text.trim_end().to_owned()
}

fn outcome_with_faults_text(record: &ExperimentRecord) -> String {
    let FaultCounts { starts_failed, stops_failed, nodes_lost } = record.faults;
    let down = record.below_configured_end();
    format!(
        "{}; {} and {} failed, {} lost; {} of {} {} a final answer, {} {} down in the end",
        outcome_text(record),
        counted(starts_failed.into(), "start"),
        counted(stops_failed.into(), "stop"),
        counted(nodes_lost.into(), "node"),
        record.terminal_answers,
        counted(record.requests.into(), "request"),
        if record.requests == 1 { "has" } else { "have" },
        counted(down.into(), "container"),
        if down == 1 { "is" } else { "are" },
    )
}

fn outcome_text(record: &ExperimentRecord) -> String {
    format!(
        "{}{} of {} done in {}, {} failed; at most {} of {} were down, with a budget of {}",
        record.interrupted.map_or_else(String::new, |interruption| format!("{interruption}; ")),
        count_text(record.steps.succeeded.into()),
        counted(record.steps.steps.into(), "container"),
        duration_text(record.took_ms),
        record.steps.failed,
        record.below_configured_max(),
        count_text(record.configured.into()),
        record.experiment.pace().disruption_budget,
    )
}

/// A page with the most important figures, plots and all figures.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn to_control_html(report: &ControlReport) -> Result<String, ChartError> {
    let done: u32 = report.plain.iter().map(|record| record.steps.succeeded).sum();
    let failed: u32 = report.plain.iter().map(|record| record.steps.failed).sum();
    let faults: u32 = report.with_faults.iter().map(|record| record.faults.total()).sum();
    let down: u32 = report.with_faults.iter().map(ExperimentRecord::below_configured_end).sum();
    let budget = match report.plain.iter().all(keeps_budget) {
        _ if report.plain.is_empty() => "not known",
        true => "kept",
        false => "broken",
    };
    let known = |records: &[ExperimentRecord], count: u32| match records {
        [] => "not known".to_owned(),
        _ => count_text(count.into()),
    };
    let cards = [
        (count_text(done.into()), "containers moved or restarted"),
        (known(&report.plain, failed), "failed, where no fault was injected"),
        (budget.to_owned(), "disruption budget, without faults"),
        (count_text(faults.into()), "faults injected in the runs with faults"),
        (known(&report.with_faults, down), "containers down in the end, with faults"),
    ];
    let mut sections = String::new();
    for experiment in Experiment::ALL {
        let runs = [&report.with_faults, &report.plain]
            .map(|records| records.iter().find(|record| record.experiment == experiment));
        sections += &down_over_time(experiment, runs)?;
        sections += &done_over_time(experiment, runs)?;
    }
    let sub = format!(
        "{}{} that other jobs keep {BUSY_PERCENT} % busy, a job of {}; with faults {} % of starts and of stops fail, and \
         {} lost; seed {}",
        interrupted_first(report.interruption()),
        counted(report.shape.nodes.into(), "node"),
        counted(report.shape.processors.into(), "processor"),
        report.shape.fault_percent,
        match report.shape.lost_nodes {
            1 => "1 node is".to_owned(),
            nodes => format!("{nodes} nodes are"),
        },
        report.seed
    );
    Ok(document(
        "Apportion: containers move without outages",
        &sub,
        &format!("{}<main>{sections}</main>{}", to_cards(&cards), table(report)),
    ))
}

/// An experiment with faults and without; `None` where it had not begun.
type Runs<'a> = [Option<&'a ExperimentRecord>; 2];

/// Lines in which each value lasts until the next one, and the last one to the end of the plot, shortly after the last
/// change.
fn lines(runs: Runs<'_>, points: fn(&ExperimentRecord) -> &[(u64, u32)]) -> Vec<Line> {
    let seconds = |at_ms: u64| at_ms as f64 / MS_PER_S;
    let named =
        || ["with faults", "without"].into_iter().zip(runs).filter_map(|(name, run)| Some((name, run?)));
    let last = named().filter_map(|(_, run)| points(run).last()).map(|(at_ms, _)| seconds(*at_ms));
    let end = last.fold(1.0, f64::max) * 1.03;
    let line = |(name, run)| {
        let values = points(run).iter().map(|(at_ms, value)| (seconds(*at_ms), f64::from(*value)));
        Line::of_values(name, values, end)
    };
    named().map(line).collect()
}

fn plot(y: &'static str, lines: Vec<Line>) -> Plot<'static> {
    let (x, y) = (Axis::time("virtual time, s", 1.0), Axis::new(y, Unit::Count));
    Plot { x, y, lines, is_over_time: false }
}

fn down_over_time(experiment: Experiment, runs: Runs<'_>) -> Result<String, ChartError> {
    let budget = f64::from(experiment.pace().disruption_budget.get());
    let mut lines = lines(runs, |record| &record.below_configured);
    let title = format!("{}: containers that are down", sentence(experiment));
    let Some(end) = lines.first().map(|line| line.end) else {
        return Ok(say(&title, "Interrupted before the experiment began."));
    };
    if plot("containers down", lines.clone()).is_nothing() {
        return Ok(say(&title, "No container was down at any time."));
    }
    lines.push(Line::of_values("disruption budget", [(0.0, budget)], end));
    let note = "Containers below the configured number. Faults take down some besides, so the budget only holds back \
                what is asked for.";
    Ok(section(&title, note, &plot("containers down", lines).to_html()?))
}

fn done_over_time(experiment: Experiment, runs: Runs<'_>) -> Result<String, ChartError> {
    let lines = lines(runs, |record| &record.done);
    let title = format!("{}: containers done", sentence(experiment));
    if lines.is_empty() {
        return Ok(say(&title, "Interrupted before the experiment began."));
    }
    let [faulty, plain] = runs.map(|run| run.map_or(NOT_BEGUN.to_owned(), |run| duration_text(run.took_ms)));
    let note = format!("{plain} without faults, {faulty} with them.");
    plot_section(&title, &note, &plot("containers done", lines), "No container was moved or restarted.")
}

fn sentence(experiment: Experiment) -> String {
    let name = title(experiment);
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn table(report: &ControlReport) -> String {
    let rows: [(&str, Figure<ExperimentRecord>); 11] = [
        ("interrupted at", |record| record.interrupted.map_or_else(|| "no".to_owned(), Interruption::moment)),
        ("requests", |record| count_text(record.requests.into())),
        ("final answers", |record| count_text(record.terminal_answers.into())),
        ("containers to act on", |record| count_text(record.steps.steps.into())),
        ("succeeded", |record| count_text(record.steps.succeeded.into())),
        ("failed", |record| count_text(record.steps.failed.into())),
        ("most down at once", |record| count_text(record.below_configured_max().into())),
        ("disruption budget", |record| record.experiment.pace().disruption_budget.to_string()),
        ("time", |record| duration_text(record.took_ms)),
        ("all run again after", |record| {
            let none = if record.interrupted.is_some() { "not yet" } else { "never" };
            record.whole_ms.map_or_else(|| none.to_owned(), duration_text)
        }),
        ("audit violations", |record| count_text(record.audit_violations as u64)),
    ];
    let names = ["", ", faults"]
        .map(|faults| Experiment::ALL.map(|experiment| format!("{}{faults}", title(experiment))));
    let columns: Vec<_> = names.into_iter().flatten().zip(report.all().into_iter().flatten()).collect();
    // The first row is about interrupted runs.
    let first = usize::from(report.interruption().is_none());
    figures_table(&rows[first..], &columns)
}

#[cfg(test)]
mod tests;
