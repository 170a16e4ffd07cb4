//! Decides which differences are more than noise.

use super::figures::{Name, Unit, Values, columns};
use super::points::{Pair, pairs};
use super::read::{ResultFile, Run};
use crate::report::counted;
use crate::statistics::{Difference, adjusted, paired, welch};

/// Two files, figure by figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The names of the files.
    pub files: [String; 2],
    /// Figures, point by point.
    pub rows: Vec<Row>,
    /// Whether runs with the same seed were compared with each other.
    pub is_paired: bool,
    /// The fewest runs of a point in either file.
    pub runs: usize,
    /// Relative differences up to this do not count.
    pub tolerance: f64,
    /// Further notes for the reader.
    pub notes: Vec<String>,
}

/// A figure in both files.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The point; empty if there is one.
    pub point: String,
    /// The subject of the figure: a queue or a user; empty for all jobs.
    pub about: String,
    /// The figure.
    pub figure: String,
    /// Its unit.
    pub unit: Unit,
    /// Its mean over the runs of each file.
    pub means: [f64; 2],
    /// The second mean minus the first, over runs that can be compared.
    pub difference: f64,
    /// The 95 % confidence interval of the difference; `None` for single runs.
    pub interval: Option<[f64; 2]>,
    /// The probability of such a difference by chance, adjusted for the number of figures; `None` for single runs.
    pub p: Option<f64>,
    /// Whether the difference counts.
    pub verdict: Verdict,
}

/// Whether a difference counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is no difference.
    Same,
    /// Chance may explain the difference, it is within the tolerance, or it is too small to be visible.
    Noise,
    /// The difference is more than noise.
    Differs,
}

/// At most this part of the reported differences is expected to be noise.
const FALSE_DISCOVERIES: f64 = 0.05;
/// The tolerance for single runs, which give no measure of noise.
const SINGLE_TOLERANCE: f64 = 0.05;
/// The most users in tables; each further user would add only noise.
const USERS_MAX: usize = 20;

impl Row {
    /// The difference as part of the larger mean.
    #[must_use]
    pub fn relative(&self) -> f64 {
        let larger = self.means[0].abs().max(self.means[1].abs());
        if larger > 0.0 { self.difference / larger } else { 0.0 }
    }
}

impl Comparison {
    /// Number of rows with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }
}

/// Compares two files; `None` if they have no point in common. The default `tolerance` is 0 where several runs give
/// a measure of noise, and 5 % elsewhere.
#[must_use]
pub fn compare(first: &ResultFile, second: &ResultFile, tolerance: Option<f64>) -> Option<Comparison> {
    let (pairs, mut notes) = pairs(first, second);
    let runs = pairs.iter().map(|pair| pair.first.len().min(pair.second.len())).min()?;
    let tolerance = tolerance.unwrap_or(if runs > 1 { 0.0 } else { SINGLE_TOLERANCE });
    let is_paired = pairs.iter().all(|pair| seeds(&pair.first) == seeds(&pair.second));
    notes.extend(pairs.iter().flat_map(setup_notes));
    let mut rows: Vec<Row> = pairs.iter().flat_map(|pair| rows_of(pair, &mut notes)).collect();
    verdict_of(&mut rows, tolerance);
    notes.dedup();
    notes.extend(survivors(&rows));
    let files = [first.name.clone(), second.name.clone()];
    Some(Comparison { files, rows, is_paired, runs, tolerance, notes })
}

fn setup_notes(pair: &Pair<'_>) -> Vec<String> {
    let at = if pair.label.is_empty() { String::new() } else { format!("{}: ", pair.label) };
    pair.setup.iter().map(|difference| format!("{at}the runs differ in {difference}")).collect()
}

/// A note if the files finished different jobs, so that their means are not comparable.
fn survivors(rows: &[Row]) -> Option<String> {
    let counts =
        |row: &&Row| row.about.is_empty() && ["placed", "jobs finished"].contains(&row.figure.as_str());
    let differing = rows.iter().filter(counts).find(|row| row.verdict != Verdict::Same)?;
    Some(format!(
        "{} is not the same in both files: completion, slowdown and waiting are of different jobs",
        differing.figure
    ))
}

/// The seeds of the runs, sorted; `None` if a seed occurs twice.
fn seeds(runs: &[&Run]) -> Option<Vec<u64>> {
    let mut seeds: Vec<u64> = runs.iter().map(|run| run.seed).collect();
    seeds.sort_unstable();
    let count = seeds.len();
    seeds.dedup();
    (seeds.len() == count).then_some(seeds)
}

fn rows_of(pair: &Pair<'_>, notes: &mut Vec<String>) -> Vec<Row> {
    let sorted = |runs: &[&Run]| {
        let mut runs: Vec<Run> = runs.iter().map(|run| (*run).clone()).collect();
        runs.sort_by_key(|run| run.seed);
        runs
    };
    let (first, second) = (sorted(&pair.first), sorted(&pair.second));
    let figures = |runs: &[Run]| columns(&runs.iter().map(|run| &run.figures).collect::<Vec<_>>());
    let ((names, of_first), (others, of_second)) = (figures(&first), figures(&second));
    let is_paired = seeds(&pair.first).is_some() && seeds(&pair.first) == seeds(&pair.second);
    let missing = names.iter().filter(|(name, _)| !of_second.contains_key(name));
    let missing = missing.chain(others.iter().filter(|(name, _)| !of_first.contains_key(name))).count();
    if missing > 0 {
        notes.push(format!(
            "in only one of the files, and not compared: {}",
            counted(missing as u64, "figure")
        ));
    }
    let left_out = users_beyond(&names);
    if left_out.1 > 0 {
        notes.push(format!("the first {USERS_MAX} users are compared, and others are not: {}", left_out.1));
    }
    let row = |(name, unit): &(Name, Unit)| {
        let (a, b) = (of_first.get(name)?, of_second.get(name)?);
        let is_shown = left_out.0.as_ref().is_none_or(|last| !name.0.starts_with("user ") || name.0 <= *last);
        is_shown.then(|| row_of(&pair.label, name, *unit, a, b, is_paired))
    };
    names.iter().filter_map(row).collect()
}

/// The last compared user if there are too many, and the number of users beyond it.
fn users_beyond(names: &[(Name, Unit)]) -> (Option<String>, usize) {
    let mut users: Vec<&String> =
        names.iter().map(|((about, _), _)| about).filter(|about| about.starts_with("user ")).collect();
    users.sort();
    users.dedup();
    (users.get(USERS_MAX - 1).map(|last| (*last).clone()), users.len().saturating_sub(USERS_MAX))
}

fn row_of(point: &str, name: &Name, unit: Unit, a: &Values, b: &Values, is_paired: bool) -> Row {
    let values = |column: &Values| column.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    let both: (Vec<f64>, Vec<f64>) = if is_paired {
        // For a figure that a run lacks, only seeds that have it in both files.
        let other = |place: usize| b.iter().find(|(at, _)| *at == place).map(|(_, value)| *value);
        a.iter().filter_map(|(place, value)| Some((*value, other(*place)?))).unzip()
    } else {
        (values(a), values(b))
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let tested = if is_paired { paired(&both.0, &both.1) } else { welch(&both.0, &both.1) };
    let means = [mean(&both.0), mean(&both.1)];
    let is_same = a == b;
    Row {
        point: point.to_owned(),
        about: name.0.clone(),
        figure: name.1.clone(),
        unit,
        means,
        difference: means[1] - means[0],
        interval: tested.map(|Difference { mean, half_width, .. }| [mean - half_width, mean + half_width]),
        p: tested.map(|tested| tested.p),
        verdict: if is_same { Verdict::Same } else { Verdict::Noise },
    }
}

/// Decides for each row whether its difference counts. The figures of all jobs are one family of trials; those of
/// queues and users, which are many more, are another.
fn verdict_of(rows: &mut [Row], tolerance: f64) {
    for is_of_all in [true, false] {
        // A figure that is the same in all runs does not depend on chance, so it is not a trial.
        let is_trial = |row: &&mut Row| {
            row.about.is_empty() == is_of_all && row.verdict != Verdict::Same && row.p.is_some()
        };
        let trials: Vec<&mut Row> = rows.iter_mut().filter(is_trial).collect();
        let p_values = adjusted(&trials.iter().filter_map(|row| row.p).collect::<Vec<_>>());
        for (row, p) in trials.into_iter().zip(p_values) {
            row.p = Some(p);
        }
    }
    for row in rows.iter_mut().filter(|row| row.verdict != Verdict::Same) {
        let is_sure = row.p.is_none_or(|p| p <= FALSE_DISCOVERIES);
        // A figure of a single run has no measure of noise, even if other figures of its file have one.
        let tolerance = if row.p.is_none() && tolerance == 0.0 { SINGLE_TOLERANCE } else { tolerance };
        let is_visible = row.difference.abs() >= row.unit.resolution();
        if is_sure && is_visible && row.relative().abs() > tolerance {
            row.verdict = Verdict::Differs;
        }
    }
}

#[cfg(test)]
mod tests;
