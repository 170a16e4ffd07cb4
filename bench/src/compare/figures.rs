//! The compared figures, and their places in a result.

use std::collections::BTreeMap;

use serde_json::Value;

/// The quantity of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Numbers of containers or jobs.
    Count,
    /// Virtual time.
    Seconds,
    /// A part from 0 to 1.
    Part,
    /// A ratio or an index.
    Ratio,
}

impl Unit {
    /// The smallest difference that is visible in written figures.
    #[must_use]
    pub fn resolution(self) -> f64 {
        match self {
            Self::Count => 0.05,
            Self::Seconds | Self::Ratio => 0.000_5,
            Self::Part => 0.000_05,
        }
    }
}

/// A figure's name: its subject (empty for all jobs), and the figure itself.
pub(super) type Name = (String, String);

/// Values of several runs, each with its run's place.
pub(super) type Values = Vec<(usize, f64)>;

/// The place of a figure of all jobs, its name and its unit.
const FIGURES: [(&str, &str, Unit); 22] = [
    ("/placed", "placed", Unit::Count),
    ("/makespan_s", "virtual time", Unit::Seconds),
    ("/jobs/finished", "jobs finished", Unit::Count),
    ("/jobs/completion_s/mean", "completion, mean", Unit::Seconds),
    ("/jobs/completion_s/p50", "completion, median", Unit::Seconds),
    ("/jobs/completion_s/p99", "completion, 99 %", Unit::Seconds),
    ("/jobs/slowdown/mean", "slowdown, mean", Unit::Ratio),
    ("/jobs/slowdown/p50", "slowdown, median", Unit::Ratio),
    ("/jobs/slowdown/p99", "slowdown, 99 %", Unit::Ratio),
    ("/jobs/bounded_slowdown/mean", "bounded slowdown, mean", Unit::Ratio),
    ("/wait_ms/mean", "wait, mean", Unit::Seconds),
    ("/wait_ms/p50", "wait, median", Unit::Seconds),
    ("/wait_ms/p99", "wait, 99 %", Unit::Seconds),
    ("/fairness/queues", "Jain, queues that wait", Unit::Ratio),
    ("/fairness/users", "Jain, users that wait", Unit::Ratio),
    ("/fairness/queues_slowdown", "Jain, slowdown of queues", Unit::Ratio),
    ("/fairness/users_slowdown", "Jain, slowdown of users", Unit::Ratio),
    ("/fairness/queues_contended_s", "time in which queues wait", Unit::Seconds),
    ("/fairness/users_contended_s", "time in which users wait", Unit::Seconds),
    ("/reserved", "reservations", Unit::Count),
    ("/preemption/preempted", "preempted", Unit::Count),
    ("/preemption/lost_part", "work lost by preemption", Unit::Part),
];
/// The figures of each queue and each user, by place in its object.
const GROUP_FIGURES: [(&str, &str, Unit); 6] = [
    ("/finished", "jobs finished", Unit::Count),
    ("/completion_s/mean", "completion, mean", Unit::Seconds),
    ("/slowdown/mean", "slowdown, mean", Unit::Ratio),
    ("/waiting_s/mean", "wait, mean", Unit::Seconds),
    ("/share_in_demand", "share while it has demand", Unit::Part),
    ("/below", "missing to its guarantee", Unit::Part),
];

/// All figures that a run has, in reading order.
pub(super) fn figures_of(run: &Value) -> Vec<(Name, Unit, f64)> {
    let all_jobs = |name: &str| (String::new(), name.to_owned());
    let mut figures: Vec<(Name, Unit, f64)> = Vec::new();
    for (pointer, name, unit) in FIGURES {
        if let Some(value) = run.pointer(pointer).and_then(Value::as_f64) {
            let is_ms = pointer.starts_with("/wait_ms");
            figures.push((all_jobs(name), unit, if is_ms { value / 1_000.0 } else { value }));
        }
    }
    for (name, used) in run["utilisation"].as_object().into_iter().flatten() {
        for key in ["mean", "peak"] {
            if let Some(value) = used[key].as_f64() {
                figures.push((all_jobs(&format!("{name} in use, {key}")), Unit::Part, value));
            }
        }
    }
    for (list, key, what) in [("queues", "path", "queue"), ("users", "name", "user")] {
        for group in run[list].as_array().into_iter().flatten() {
            figures.extend(group_figures(group, key, what));
        }
    }
    figures
}

fn group_figures<'a>(
    group: &'a Value,
    key: &str,
    what: &str,
) -> impl Iterator<Item = (Name, Unit, f64)> + use<'a> {
    let about = format!("{what} {}", group[key].as_str().unwrap_or("?"));
    let figure = move |(pointer, name, unit): (&str, &str, Unit)| {
        let value = group.pointer(pointer)?.as_f64()?;
        Some(((about.clone(), name.to_owned()), unit, value))
    };
    GROUP_FIGURES.into_iter().filter_map(figure)
}

/// The values of each figure over several runs, and the names: all jobs first, then queues and users in the order of
/// the runs. A figure that some runs lack has fewer values, each with its run's place.
pub(super) fn columns(runs: &[&Value]) -> (Vec<(Name, Unit)>, BTreeMap<Name, Values>) {
    let (mut names, mut values) = (Vec::new(), BTreeMap::<Name, Values>::new());
    for (place, run) in runs.iter().enumerate() {
        for (name, unit, value) in figures_of(run) {
            let known = values.entry(name.clone()).or_default();
            if known.is_empty() {
                names.push((name, unit));
            }
            known.push((place, value));
        }
    }
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for ((about, _), _) in &names {
        let place = groups.len();
        groups.entry(about.clone()).or_insert(place);
    }
    let order_of =
        |known: &[(&str, &str, Unit)], name: &str| known.iter().position(|(_, known, _)| *known == name);
    names.sort_by_cached_key(|((about, name), _)| {
        let known = if about.is_empty() { &FIGURES[..] } else { &GROUP_FIGURES[..] };
        (groups[about], order_of(known, name).unwrap_or(known.len()))
    });
    (names, values)
}
