//! Reading results.

use std::path::Path;

use serde_json::Value;
use thiserror::Error;

/// Why a file is not a result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: {problem}")]
pub struct ReadError {
    file: String,
    problem: String,
}

/// The runs in a file, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultFile {
    /// Its path, as shown in reports.
    pub name: String,
    /// The runs in order.
    pub runs: Vec<Run>,
    /// Simulations of a sweep that a signal stopped: their figures are not comparable.
    pub stopped: usize,
}

/// One simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The whole JSON object.
    pub figures: Value,
    /// The seed of the random values.
    pub seed: u64,
}

/// Keys that every run has.
const NUMBERS: [&str; 5] = ["seed", "nodes", "asks", "placed", "makespan_s"];
/// Keys that only other commands write.
const OTHERS: [(&str, &str); 7] = [
    ("workload", "throughput"),
    ("any_size", "fairness"),
    ("with_reservations", "starvation"),
    ("returned_fraction", "services"),
    ("experiments", "control"),
    ("changes", "verify"),
    ("resource_types", "config check"),
];

impl ResultFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or is not a result.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        let wrong = |problem: String| ReadError { file: name.clone(), problem };
        let no_result =
            |problem| wrong(format!("{problem}; `replay --json FILE` and `sweep --json FILE` write results"));
        let bytes = std::fs::read(path).map_err(|error| no_result(format!("cannot be read: {error}")))?;
        let value =
            serde_json::from_slice(&bytes).map_err(|error| no_result(format!("is not JSON: {error}")))?;
        Self::of(name.clone(), value).map_err(wrong)
    }

    /// The runs in a file with this content, or the mistake in it.
    fn of(name: String, value: Value) -> Result<Self, String> {
        let Value::Array(all) = value else {
            return Ok(Self { name, runs: vec![run_of(value)?], stopped: 0 });
        };
        let numbered = all.into_iter().enumerate();
        let read = |(place, run)| run_of(run).map_err(|problem| format!("run {}: {problem}", place + 1));
        let mut runs: Vec<Run> = numbered.map(read).collect::<Result<_, _>>()?;
        let all = runs.len();
        runs.retain(|run| run.figures["interrupted_at_s"].is_null());
        if runs.is_empty() {
            let ended = if all > 0 { " that ended" } else { "" };
            return Err(format!("is an array without a run{ended}"));
        }
        Ok(Self { name, stopped: all - runs.len(), runs })
    }
}

fn run_of(figures: Value) -> Result<Run, String> {
    const WANTED: &str = "results of `replay`, `demo` and `sweep` can be compared";
    let Some(keys) = figures.as_object() else {
        return Err(format!("is not a result: an object is needed, or an array of them; {WANTED}"));
    };
    if let Some((_, command)) = OTHERS.iter().find(|(key, _)| keys.contains_key(*key)) {
        return Err(format!("is a result of `{command}`; {WANTED}"));
    }
    let number = |key: &&&str| keys.get(**key).and_then(Value::as_f64).is_none();
    if let Some(missing) = NUMBERS.iter().find(number) {
        return Err(format!("is not a result: it has no number `{missing}`; {WANTED}"));
    }
    let seed = keys["seed"].as_u64().ok_or("is not a result: its `seed` is not a whole number")?;
    Ok(Run { figures, seed })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_that_are_no_results_are_refused() {
        let run = json!({"seed": 1, "nodes": 1, "asks": 2, "placed": 2, "makespan_s": 1.5});
        let read = |value: Value| ResultFile::of("a.json".into(), value).map(|file| file.runs.len());
        assert_eq!(read(run.clone()), Ok(1));
        assert_eq!(read(json!([run, run])), Ok(2));
        let mut stopped = run.clone();
        stopped["interrupted_at_s"] = json!(0.5);
        assert_eq!((read(stopped.clone()), read(json!([run, stopped]))), (Ok(1), Ok(1)));
        for (value, part) in [
            (json!([]), "an array without a run"),
            (json!([stopped]), "an array without a run that ended"),
            (json!(3), "an object is needed"),
            (json!({}), "it has no number `seed`"),
            (json!([run, {"seed": 1}]), "run 2: is not a result: it has no number `nodes`"),
            (json!({"seed": -1, "nodes": 1, "asks": 2, "placed": 2, "makespan_s": 1}), "not a whole number"),
            (json!({"workload": "fill", "seed": 1}), "a result of `throughput`"),
        ] {
            let problem = read(value).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
