//! Matches the runs of one file with those of the other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::read::{ResultFile, Run};
use crate::report::counted;

/// The settings that distinguish the points of a sweep.
const CASE: [&str; 6] =
    ["queues_file", "node_order", "application_order", "preemption_option", "size", "compress"];
/// Other settings that may explain a difference.
const SETUP: [&str; 8] =
    ["format", "mode", "proposers", "nodes", "asks", "compress_durations", "tick_ms", "interrupted_at_s"];

/// Runs of both files that differ only in the seed.
pub(super) struct Pair<'a> {
    /// The settings that distinguish it from other points; empty if there is one point.
    pub(super) label: String,
    pub(super) first: Vec<&'a Run>,
    pub(super) second: Vec<&'a Run>,
    /// The settings in which its runs differ, in words.
    pub(super) setup: Vec<String>,
}

/// A point of a file: its values of the keys that vary, and its runs.
type Point<'a> = (Vec<String>, Vec<&'a Run>);

/// The points that both files have, and notes about points that one file lacks.
pub(super) fn pairs<'a>(first: &'a ResultFile, second: &'a ResultFile) -> (Vec<Pair<'a>>, Vec<String>) {
    let varied: Vec<&str> =
        CASE.into_iter().filter(|key| varies(first, key) || varies(second, key)).collect();
    let (of_first, of_second) = (points(first, &varied), points(second, &varied));
    let is_partial = |file: &&ResultFile| file.stopped > 0;
    let partial = [first, second].into_iter().filter(is_partial);
    let mut notes: Vec<String> = partial
        .map(|file| {
            format!(
                "{}: the sweep was interrupted; left out because they did not end: {}",
                file.name,
                counted(file.stopped as u64, "simulation")
            )
        })
        .collect();
    let mut pairs = Vec::new();
    for (values, runs) in &of_first {
        match of_second.iter().find(|(other, _)| other == values) {
            Some((_, others)) => pairs.push(Pair {
                label: label(&varied, values),
                setup: setup(runs[0], others[0], &varied),
                first: runs.clone(),
                second: others.clone(),
            }),
            None => notes.push(only_in(first, &varied, values)),
        }
    }
    let is_known = |point: &&Point<'_>| of_first.iter().any(|(values, _)| *values == point.0);
    notes.extend(
        of_second.iter().filter(|p| !is_known(p)).map(|(values, _)| only_in(second, &varied, values)),
    );
    (pairs, notes)
}

fn varies(file: &ResultFile, key: &str) -> bool {
    file.runs.iter().map(|run| text(&run.figures[key])).collect::<BTreeSet<_>>().len() > 1
}

fn points<'a>(file: &'a ResultFile, varied: &[&str]) -> Vec<Point<'a>> {
    let mut points: Vec<Point<'a>> = Vec::new();
    for run in &file.runs {
        let values: Vec<String> = varied.iter().map(|key| text(&run.figures[*key])).collect();
        match points.iter_mut().find(|(known, _)| *known == values) {
            Some((_, runs)) => runs.push(run),
            None => points.push((values, vec![run])),
        }
    }
    points
}

fn label(varied: &[&str], values: &[String]) -> String {
    let each = varied.iter().zip(values).map(|(key, value)| format!("{} {value}", key.replace('_', " ")));
    each.collect::<Vec<_>>().join(", ")
}

fn only_in(file: &ResultFile, varied: &[&str], values: &[String]) -> String {
    format!("only in {}: {}", file.name, label(varied, values))
}

/// Settings that differ between two runs, except those in the point's label.
fn setup(first: &Run, second: &Run, varied: &[&str]) -> Vec<String> {
    let keys = CASE.into_iter().chain(SETUP).filter(|key| !varied.contains(key));
    let difference = |key: &str| {
        let (one, other) = (&first.figures[key], &second.figures[key]);
        let is_comparable = key != "asks" || first.seed == second.seed;
        (one != other && is_comparable)
            .then(|| format!("{}: {} and {}", key.replace('_', " "), text(one), text(other)))
    };
    keys.filter_map(difference).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".into(),
        other => other.to_string(),
    }
}
