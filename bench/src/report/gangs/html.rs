//! Jobs whose containers start together, on the page of a run.

use super::text::{HEAD, NOTE, cells, hours_text, unit_text};
use crate::report::chart::ChartError;
use crate::report::html::{escape, plot_section, say, section};
use crate::report::plot::{Axis, Line, Plot, Unit};
use crate::report::run::TimeAxis;
use crate::report::{count_text, counted};
use crate::sim::{GangFigure, GangGroup, GangRecord, Interval, RunRecord};

/// The sections with plots, and the tables below them.
pub(in crate::report) fn to_gang_sections(record: &RunRecord) -> Result<Option<[String; 2]>, ChartError> {
    let Some(gangs) = &record.gangs else { return Ok(None) };
    let sizes = gangs.by_size(&record.outcomes);
    let plots = [
        queueing_section(gangs, &sizes)?,
        completion_section(gangs, &sizes)?,
        work_section(gangs)?,
        waiting_section(gangs)?,
    ];
    let tables = [check_section(gangs), size_section(record, gangs, sizes), leaf_section(record, gangs)];
    Ok(Some([plots.concat(), tables.concat()]))
}

fn queueing_section(gangs: &GangRecord, sizes: &[GangGroup]) -> Result<String, ChartError> {
    let unit = unit_text(gangs);
    let note = format!(
        "Virtual time from submission until all containers of a job ran for the first time, by size in {unit}. A \
         point is the part of jobs that queued at most this long. Each line begins at the part that did not queue.",
    );
    let lines = |of: fn(&GangGroup) -> &[u64]| curves(gangs, sizes, of);
    curve_section("Queueing by size", &note, "queueing, h", lines(|group| &group.queueing_ms))
}

fn completion_section(gangs: &GangRecord, sizes: &[GangGroup]) -> Result<String, ChartError> {
    let unit = unit_text(gangs);
    let note = format!(
        "Virtual time from submission to the end, by size in {unit}: the part of jobs that were done by then, of those that \
         finished."
    );
    let lines = curves(gangs, sizes, |group| &group.completion_ms);
    curve_section("Job completion by size", &note, "completion, h", lines)
}

fn curve_section(title: &str, note: &str, x: &str, lines: Vec<Line>) -> Result<String, ChartError> {
    if lines.is_empty() {
        return Ok(say(title, "All times are 0."));
    }
    let (x, y) = (Axis::logarithmic(x, Unit::Number), Axis::new("part of jobs", Unit::Percent));
    Ok(section(title, note, &Plot { x, y, lines, is_over_time: false }.to_html()?))
}

/// A line for each size with jobs: the part of times that is at most x. All lines have the same ends.
fn curves(gangs: &GangRecord, sizes: &[GangGroup], of: fn(&GangGroup) -> &[u64]) -> Vec<Line> {
    let hours = |ms: u64| ms as f64 / super::HOUR_MS;
    let positive = || sizes.iter().flat_map(|group| of(group).iter().filter(|ms| **ms > 0));
    let (Some(first), Some(last)) = (positive().min(), positive().max()) else { return Vec::new() };
    let (from, to) = (hours(*first) / 1.5, hours(*last) * 1.5);
    let unit = unit_text(gangs);
    let name_of = |group: &GangGroup| match &*group.name {
        "1" => format!("1 {}", unit.strip_suffix('s').unwrap_or(&unit)),
        name => format!("{name} {unit}"),
    };
    let curve = |group: &GangGroup| {
        let times = of(group);
        let part = |count: usize| 100.0 * count as f64 / times.len() as f64;
        let zeros = times.partition_point(|ms| *ms == 0);
        let last_of_value = |place: &usize| times.get(place + 1) != Some(&times[*place]);
        let steps =
            (zeros..times.len()).filter(last_of_value).map(|place| (hours(times[place]), part(place + 1)));
        Line::of_values(&name_of(group), [(from, part(zeros))].into_iter().chain(steps), to)
    };
    sizes.iter().filter(|group| !of(group).is_empty()).map(curve).collect()
}

fn work_section(gangs: &GangRecord) -> Result<String, ChartError> {
    let unit = unit_text(gangs);
    let note = format!(
        "working: {unit} of jobs all of whose containers run. held: {unit} of containers that wait for others of their job. \
         All jobs together did {}; {} of work were lost, and {} were held. {UNTIL}",
        hours_text(gangs, gangs.done_size_ms),
        hours_text(gangs, gangs.lost_size_ms),
        hours_text(gangs, gangs.held_size_ms),
    );
    let plot = plot_of(gangs, &[("working", GangFigure::Working), ("held", GangFigure::Held)]);
    plot_section(&format!("Work of {unit}"), &note, &plot, "No job ran.")
}

fn waiting_section(gangs: &GangRecord) -> Result<String, ChartError> {
    let unit = unit_text(gangs);
    let note = format!(
        "{unit} for which jobs wait, as a part of the cluster. too few free: fewer are free in the whole cluster than the job \
         asks for. fragmented: enough are free, but in parts too small for the job. reserved: there is room, but it is reserved or held back for earlier \
         asks. {UNTIL}"
    );
    let lines = [
        ("too few free", GangFigure::TooFewFree),
        ("fragmented", GangFigure::Fragmented),
        ("reserved", GangFigure::Reserved),
    ];
    plot_section("Why jobs wait", &note, &plot_of(gangs, &lines), "No job waited from one tick to the next.")
}

/// A long tail in which jobs only end would hide the time in which they wait.
const UNTIL: &str = "Until no more jobs came or waited.";

fn plot_of(gangs: &GangRecord, lines: &[(&str, GangFigure)]) -> Plot<'static> {
    let end_ms = gangs.busy_until_ms;
    let time = TimeAxis::new(end_ms);
    let line = |(name, figure): &(&str, GangFigure)| {
        let busy = gangs.over_time(*figure).take_while(|interval| interval.from_ms < end_ms);
        let cut = busy.map(|interval| Interval { to_ms: interval.to_ms.min(end_ms), ..interval });
        time.line_of(name, cut, 100.0)
    };
    let y = Axis::new("part of the cluster", Unit::Percent);
    Plot { is_over_time: false, ..time.plot(y, lines.iter().map(line).collect()) }
}

/// The sentence about the check that no gang waits with room for it.
fn check_section(gangs: &GangRecord) -> String {
    let (all, several) = gangs.waited_with_room();
    let kind = if gangs.as_gangs { "submitted as gangs" } else { "submitted as plain asks" };
    let sentence = format!(
        "{} of {} have containers on several nodes, {kind}. Whenever the engine was quiet after a change, the free room of all \
         nodes was computed without it, and each waiting job was checked: {} in {}. There was room within limits for {} and for \
         {}, which waited nevertheless.",
        count_text(gangs.of_several()),
        counted(gangs.jobs.len() as u64, "job"),
        counted(gangs.checked, "check"),
        counted(gangs.moments, "moment"),
        counted(several, "gang"),
        counted(all - several, "other job"),
    );
    say("Did a gang wait with room for it?", &sentence)
}

fn size_section(record: &RunRecord, gangs: &GangRecord, mut sizes: Vec<GangGroup>) -> String {
    sizes.push(gangs.all(&record.outcomes));
    section("Jobs by size", NOTE, &table_of(&unit_text(gangs), &sizes))
}

fn leaf_section(record: &RunRecord, gangs: &GangRecord) -> String {
    let note = "The columns are those of the table above. Shares against guarantees are in the table below.";
    section("Jobs by queue", note, &table_of("queue", &gangs.by_leaf(&record.outcomes)))
}

fn table_of(first: &str, groups: &[GangGroup]) -> String {
    let row = |group: &GangGroup| {
        let cells = cells(group).map(|cell| format!("<td>{}", escape(&cell))).concat();
        format!("<tr><td>{}{cells}", escape(&group.name))
    };
    let head = HEAD.map(|name| format!("<td><b>{name}</b>")).concat();
    let rows: String = groups.iter().map(row).collect();
    format!("<table><tr><td><b>{first}</b>{head}{rows}</table>")
}
