//! `apportion-bench scenario`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use apportion::config::Semantics;
use clap::Args;
use serde::Serialize;

use super::Failure;
use crate::output::{OutputFile, check_distinct};
use crate::report::counted;
use crate::scenario::{
    BadScenario, RunSetting, Scenario, ScenarioRun, find_files, read_file, run as run_scenario,
};

/// Runs files that describe events in a cluster and the expected outcome.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Folders are searched for .yaml files; folders called `todo` are skipped unless they are named \
themselves. tests/scenarios/README.md describes the format.\n\nExit codes: 0 all scenarios passed; 1 a scenario failed; \
2 a file is malformed."
)]
pub(super) struct ScenarioArgs {
    /// Files, and folders of files.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only files whose path or description contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// List the scenarios, and run nothing.
    #[arg(long)]
    list: bool,
    /// Write the results as JSON to this file; `-` prints them instead of the text.
    #[arg(long, value_name = "FILE|-", conflicts_with = "list")]
    json: Option<PathBuf>,
}

/// The result of one file.
#[derive(Serialize)]
struct FileResult {
    file: String,
    about: Option<String>,
    /// The error in the file, if it is malformed.
    bad: Option<String>,
    runs: Vec<RunResult>,
}

#[derive(Serialize)]
struct RunResult {
    mode: String,
    /// `strict` or `yarn_compatible`; `None` if the scenario names none.
    semantics: Option<&'static str>,
    passed: bool,
    steps: usize,
    failure: Option<FailureResult>,
}

#[derive(Serialize)]
struct FailureResult {
    line: u64,
    step: String,
    differences: Vec<String>,
    state: String,
}

#[derive(Serialize)]
struct Results {
    scenarios: Vec<FileResult>,
    failed: usize,
    bad: usize,
}

pub(super) fn run(args: &ScenarioArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    let files = files(args)?;
    let inputs: Vec<(&str, &Path)> = files.iter().map(|file| ("PATH", file.as_path())).collect();
    let outputs: Vec<(&str, &Path)> = args.json.iter().map(|path| ("--json", path.as_path())).collect();
    check_distinct(&outputs, &inputs).map_err(Failure::input)?;
    let json = args.json.as_deref().map(OutputFile::create).transpose().map_err(Failure::input)?;
    let prints_text = args.json.as_deref() != Some(Path::new("-"));
    let mut scenarios = Vec::new();
    for file in &files {
        let scenario = read_file(file);
        if !is_wanted(args, file, scenario.as_ref().ok()) {
            continue;
        }
        let result = if args.list { listed(file, scenario) } else { play(file, scenario) };
        if prints_text {
            say(&if args.list { result.line() } else { result.to_text() })?;
        }
        scenarios.push(result);
    }
    if scenarios.is_empty() {
        return Err(Failure::input(nothing_found(args)));
    }
    let bad = scenarios.iter().filter(|result| result.bad.is_some()).count();
    let failed = scenarios.iter().filter(|result| result.has_failed()).count();
    let results = Results { scenarios, failed, bad };
    if let Some(file) = json {
        file.write_text(&serde_json::to_string_pretty(&results).map_err(Failure::run)?)?;
    }
    if prints_text && !args.list {
        say(&results.summary(begun.elapsed().as_secs_f64()))?;
    }
    results.verdict()
}

fn files(args: &ScenarioArgs) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in &args.paths {
        let found = find_files(path);
        files.extend(found.map_err(|error| Failure::input(format!("{}: {error}", path.display())))?);
    }
    Ok(files)
}

fn is_wanted(args: &ScenarioArgs, file: &Path, scenario: Option<&Scenario>) -> bool {
    args.filter.as_ref().is_none_or(|text| {
        file.display().to_string().contains(text)
            || scenario.is_some_and(|scenario| scenario.about().contains(text))
    })
}

fn nothing_found(args: &ScenarioArgs) -> String {
    let paths: Vec<String> = args.paths.iter().map(|path| path.display().to_string()).collect();
    match &args.filter {
        Some(text) => format!("no scenario in {} contains `{text}`", paths.join(", ")),
        None => format!("no scenario in {}; their files end in .yaml", paths.join(", ")),
    }
}

fn say(text: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{text}").map_err(Failure::output)
}

fn listed(file: &Path, scenario: Result<Scenario, BadScenario>) -> FileResult {
    let (about, bad) = match scenario {
        Ok(scenario) => (Some(scenario.about()), None),
        Err(bad) => (None, Some(bad.to_string())),
    };
    FileResult { file: file.display().to_string(), about, bad, runs: Vec::new() }
}

/// Runs a scenario in each of its settings.
fn play(file: &Path, scenario: Result<Scenario, BadScenario>) -> FileResult {
    let runs = scenario.as_ref().map_or_else(
        |bad| Err(bad.clone()),
        |scenario| {
            scenario
                .settings()
                .into_iter()
                .map(|setting| run_scenario(scenario, setting))
                .collect::<Result<Vec<_>, _>>()
        },
    );
    let mut result = listed(file, scenario);
    match runs {
        Ok(runs) => result.runs = runs.into_iter().map(RunResult::of).collect(),
        Err(bad) => result.bad = Some(bad.to_string()),
    }
    result
}

impl RunResult {
    fn of(run: ScenarioRun) -> Self {
        let failure = run.failure.map(|failure| FailureResult {
            line: failure.line,
            step: failure.step,
            differences: failure.differences,
            state: failure.state,
        });
        let RunSetting { mode, semantics } = run.setting;
        Self {
            mode: mode.to_string(),
            semantics: semantics.map(Semantics::word),
            passed: failure.is_none(),
            steps: run.steps,
            failure,
        }
    }
}

impl FileResult {
    fn has_failed(&self) -> bool {
        self.runs.iter().any(|run| !run.passed)
    }

    fn line(&self) -> String {
        match (&self.bad, &self.about) {
            (Some(bad), _) => format!("bad   {bad}"),
            (None, about) => format!("{}: {}", self.file, about.as_deref().unwrap_or_default()),
        }
    }

    /// The semantics, if the scenario names any, then the modes, which are the same with each.
    fn settings(&self) -> String {
        let mut semantics: Vec<&str> = self.runs.iter().filter_map(|run| run.semantics).collect();
        semantics.dedup();
        let of_first = self.runs.iter().filter(|run| run.semantics == self.runs[0].semantics);
        let modes: Vec<&str> = of_first.map(|run| run.mode.as_str()).collect();
        let semantics = if semantics.is_empty() { String::new() } else { semantics.join(" and ") + ": " };
        semantics + &modes.join("; ")
    }

    fn to_text(&self) -> String {
        if self.bad.is_some() {
            return self.line();
        }
        let mut text = String::new();
        for run in &self.runs {
            if let Some(failure) = &run.failure {
                let setting =
                    run.semantics.into_iter().chain([run.mode.as_str()]).collect::<Vec<_>>().join(", ");
                text += &format!("FAIL  {}:{}: {} ({setting})\n", self.file, failure.line, failure.step);
                text += &failure.differences.iter().map(|it| format!("  {it}\n")).collect::<String>();
                text += &format!("\n{}\n\n", indented(&failure.state));
            }
        }
        if text.is_empty() {
            return format!("ok    {} ({})", self.file, self.settings());
        }
        text.trim_end().to_owned()
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

impl Results {
    fn summary(&self, seconds: f64) -> String {
        let runs: usize = self.scenarios.iter().map(|result| result.runs.len()).sum();
        let files = self.scenarios.len();
        let passed = files - self.failed - self.bad;
        let (files, runs) = (counted(files as u64, "scenario"), counted(runs as u64, "run"));
        let rest = match (self.failed, self.bad) {
            (0, 0) => String::new(),
            (failed, bad) => format!(", {failed} failed, {bad} bad"),
        };
        format!("{files}, {runs}: {passed} passed{rest} in {seconds:.1} s")
    }

    fn verdict(&self) -> Result<(), Failure> {
        match (self.failed, self.bad) {
            (0, 0) => Ok(()),
            (failed, 0) => Err(Failure::run(format!(
                "{failed} of {} failed",
                counted(self.scenarios.len() as u64, "scenario")
            ))),
            (_, bad) => {
                let are = if bad == 1 { "is" } else { "are" };
                Err(Failure::input(format!(
                    "{bad} of {} {are} wrong",
                    counted(self.scenarios.len() as u64, "file")
                )))
            }
        }
    }
}
