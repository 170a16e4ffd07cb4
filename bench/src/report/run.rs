//! The page of one run.

use super::chart::{ChartError, bar_chart, percent};
use super::distribution::{CONTAINERS, Distribution};
use super::gangs::to_gang_sections;
use super::heat_map::heat_map;
use super::html::{document, escape, interrupted_first, plot_section, say, section, to_cards};
use super::pending::to_pending_section;
use super::plot::{Axis, Line, Plot, Unit};
use super::policy::to_policy_section;
use super::table::rows;
use super::{count_text, counted, duration_text};
use crate::report::RunParameters;
use crate::sim::{Figure, Interval, QueueUse, RunRecord};

/// The most bars; the JSON has all values.
const QUEUES_MAX: usize = 30;
/// The most lines that can be told apart.
const LINES_MAX: usize = 7;

/// A page with the most important figures, plots, and all figures.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn to_html(parameters: &RunParameters, record: &RunRecord) -> Result<String, ChartError> {
    let time = TimeAxis::new(record.makespan_ms);
    let gangs = to_gang_sections(record)?;
    let [gang_plots, gang_tables] = gangs.unwrap_or_default();
    let mut sections = vec![
        gang_plots,
        use_section(record, &time)?,
        load_section(record, &time)?,
        wait_section(record)?,
        queue_section(record)?,
    ];
    if record.queues.len() > 1 {
        sections.push(queues_over_time(record, &time)?);
    }
    if record.preemption.is_some() {
        sections.push(preemption_section(record, &time)?);
    }
    sections.push(node_section(record)?);
    if let Some(latency) = &record.ask_to_commit_us {
        let distribution = Distribution {
            title: "Latency",
            note: "Wall time from submitting an ask to the commit of its first container, where that was placed at the \
                   virtual time of the submission.",
            things: "asks",
            x: "ask to commit, microseconds of wall time",
            divisor: 1.0,
            text: |us| format!("{} us", count_text(us)),
        };
        sections.push(distribution.section(latency)?);
    }
    Ok(page(parameters, record, &sections.concat(), &gang_tables))
}

fn page(parameters: &RunParameters, record: &RunRecord, sections: &str, gang_tables: &str) -> String {
    let title = format!("Apportion: {}", escape(&parameters.format));
    let table: String = rows(record)
        .iter()
        .map(|(name, value)| format!("<tr><td>{}<td>{}", escape(name), escape(value)))
        .collect();
    let mode = format!("{}, seed {}", parameters.mode, parameters.seed);
    let sub = format!(
        "{}{}, {} asked for; {}; state {}",
        interrupted_first(record.interrupted),
        counted(record.nodes as u64, "node"),
        counted(record.asks, "container"),
        escape(&mode),
        record.state_digest,
    );
    let invented: String =
        record.invented.iter().map(|text| format!("<p class=sub>{}</p>", escape(text))).collect();
    let body = format!(
        "{invented}{}<main>{sections}<section><h2>All figures</h2><table>{table}</table></section></main>{gang_tables}{}{}",
        to_cards(&cards(record)),
        to_policy_section(&record.outcomes),
        to_pending_section(&record.pending_longest).unwrap_or_default()
    );
    document(&title, &sub, &body)
}

/// The most important figures. Containers that wait at the end are those in the plot; containers never asked for count
/// separately.
fn cards(record: &RunRecord) -> Vec<(String, &'static str)> {
    let never_asked = record.not_asked_yet();
    let waiting = record.pending_total() + record.unplaceable_total() - never_asked;
    let mut cards = vec![
        (count_text(record.placed), "containers placed"),
        (count_text(record.allocations_per_second() as u64), "allocations per second"),
        (duration_text(record.wait_ms.value_at_quantile(0.5)), "median wait"),
        (duration_text(record.makespan_ms), "virtual time"),
        (count_text(waiting), "waiting at the end"),
        (count_text(record.audit_violations.len() as u64), "audit violations"),
    ];
    if let Some(gangs) = &record.gangs {
        cards.push((count_text(gangs.waited_with_room().1), "gangs waited with room for them"));
    }
    if never_asked > 0 {
        cards.insert(5, (count_text(never_asked), "never asked for"));
    }
    cards
}

/// A unit that suits this length of virtual time.
pub(super) struct TimeAxis {
    name: &'static str,
    unit_ms: f64,
}

impl TimeAxis {
    pub(super) fn new(makespan_ms: u64) -> Self {
        let (name, unit_ms) = match makespan_ms {
            0..300_000 => ("virtual time, s", 1e3),
            300_000..18_000_000 => ("virtual time, min", 6e4),
            18_000_000..432_000_000 => ("virtual time, h", 3.6e6),
            _ => ("virtual time, days", 8.64e7),
        };
        Self { name, unit_ms }
    }

    /// A line of intervals, times `factor`.
    pub(super) fn line_of(&self, name: &str, intervals: impl Iterator<Item = Interval>, factor: f64) -> Line {
        Line::of_intervals(name, intervals, factor, self.unit_ms)
    }

    fn line(&self, record: &RunRecord, name: &str, figure: Figure, factor: f64) -> Line {
        self.line_of(name, record.over_time(figure), factor)
    }

    pub(super) fn plot(&self, y: Axis<'static>, lines: Vec<Line>) -> Plot<'static> {
        Plot { x: Axis::time(self.name, self.unit_ms / 1e3), y, lines, is_over_time: true }
    }
}

fn use_section(record: &RunRecord, time: &TimeAxis) -> Result<String, ChartError> {
    let lines = record.resource_names.iter().enumerate();
    let lines = lines.map(|(i, name)| time.line(record, name, Figure::Use(i), 100.0));
    let (used, idle): (Vec<Line>, Vec<Line>) = lines.partition(|line| line.highest() > 0.0);
    let mut note =
        "Allocated part of the cluster, by resource type: the mean as a line, the range from minimum to \
                    maximum as a band."
            .to_owned();
    if record.busy_ms > 0 {
        let busy = duration_text(record.busy_ms);
        let means = record.resource_names.iter().zip(&record.utilisation);
        let means = means.filter(|(_, used)| used.peak > 0.0);
        let means: Vec<String> =
            means.filter_map(|(name, used)| Some(format!("{name} {}", percent(used.busy_mean?)))).collect();
        note += &format!(
            " Mean of the {busy} from the first arrival to the last, or with anything waiting: {}.",
            means.join(", ")
        );
    }
    if !idle.is_empty() && !used.is_empty() {
        let names: Vec<&str> = idle.iter().map(|line| line.name.as_str()).collect();
        note += &format!(" Not in use at any time: {}.", names.join(", "));
    }
    let plot = time.plot(Axis::new("in use", Unit::Percent), used);
    plot_section("Use over time", &note, &plot, "Nothing was in use at any time.")
}

fn load_section(record: &RunRecord, time: &TimeAxis) -> Result<String, ChartError> {
    let running = time.line(record, "running", Figure::Running, 1.0);
    let waiting = time.line(record, "waiting", Figure::Pending, 1.0);
    let (lines, note) = if waiting.highest() > 0.0 {
        let note = "Containers that run, and containers asked for that are not placed yet.";
        (vec![running, waiting], note)
    } else {
        (vec![running], "Containers that run. No container waited from one tick to the next.")
    };
    let plot = time.plot(Axis::new("containers", Unit::Count), lines);
    plot_section("Running and waiting", note, &plot, "No container ran, and none waited.")
}

fn wait_section(record: &RunRecord) -> Result<String, ChartError> {
    let (x, divisor) = match record.wait_ms.max() {
        0..10_000 => ("waiting time, ms", 1.0),
        10_000..36_000_000 => ("waiting time, s", 1e3),
        _ => ("waiting time, h", 3.6e6),
    };
    let distribution = Distribution {
        title: "Waiting time",
        note: "Virtual time from ask to placement: the part of containers that waited at most this long.",
        things: CONTAINERS,
        x,
        divisor,
        text: duration_text,
    };
    distribution.section(&record.wait_ms)
}

fn queue_section(record: &RunRecord) -> Result<String, ChartError> {
    const TITLE: &str = "Queues: share against guarantee";
    if let [queue] = record.queues.as_slice() {
        let QueueUse { path, guaranteed_share, mean_share, .. } = queue;
        let (guaranteed, used) = (percent(*guaranteed_share), percent(*mean_share));
        let sentence = format!("{path} is the only queue: guaranteed {guaranteed}, used {used} on average.");
        return Ok(say(TITLE, &sentence));
    }
    if record.queues.iter().all(|queue| queue.mean_share == 0.0) {
        return Ok(say(TITLE, "No queue used anything."));
    }
    let bar =
        |queue: &QueueUse| (queue.path.clone(), 100.0 * queue.guaranteed_share, 100.0 * queue.mean_share);
    let bars: Vec<_> = record.queues.iter().take(QUEUES_MAX).map(bar).collect();
    let axis = "dominant share of the cluster: guaranteed (grey), mean use (blue)";
    let mut note =
        "Mean over the run. A queue may use more than its guarantee while others leave room.".to_owned();
    if record.queues.len() > QUEUES_MAX {
        note += &format!(" The first {QUEUES_MAX} of {}; --json has all.", record.queues.len());
    }
    Ok(section(TITLE, &note, &bar_chart(&bars, Axis::new(axis, Unit::Percent))?))
}

fn queues_over_time(record: &RunRecord, time: &TimeAxis) -> Result<String, ChartError> {
    let mut busiest: Vec<usize> = (0..record.queues.len()).collect();
    busiest.sort_by(|a, b| record.queues[*b].mean_share.total_cmp(&record.queues[*a].mean_share));
    busiest.truncate(LINES_MAX);
    let line = |leaf: usize| time.line(record, &record.queues[leaf].path, Figure::LeafShare(leaf), 100.0);
    let lines = busiest.into_iter().map(line).collect();
    let note = if record.queues.len() > LINES_MAX {
        format!("Dominant share of the cluster, the {LINES_MAX} busiest of {} leaves.", record.queues.len())
    } else {
        "Dominant share of the cluster.".to_owned()
    };
    let plot = time.plot(Axis::new("share", Unit::Percent), lines);
    plot_section("Queues over time", &note, &plot, "No queue used anything at any time.")
}

/// The plot that shows whether preemption gives leaves what they miss.
fn preemption_section(record: &RunRecord, time: &TimeAxis) -> Result<String, ChartError> {
    let note = "owed: what all leaves together miss of their guarantees, or of their demands where these are less. taken: the \
                sizes of all containers preempted since the start. Both are parts of the cluster.";
    let lines = [("owed", Figure::Owed), ("taken", Figure::Taken)];
    let lines = lines.map(|(name, figure)| time.line(record, name, figure, 100.0));
    let plot = time.plot(Axis::new("part of the cluster", Unit::Percent), lines.into());
    plot_section("Owed and taken", note, &plot, "No leaf missed anything at any time, and nothing was taken.")
}

fn node_section(record: &RunRecord) -> Result<String, ChartError> {
    if record.node_use.iter().all(|node| node.mean_share == 0.0) {
        return Ok(say("Nodes", "No node was in use for any time."));
    }
    let note = "Each node's mean use, in order of registration. Point at a square to see its nodes.";
    Ok(section("Nodes", note, &heat_map(&record.node_use)?))
}
