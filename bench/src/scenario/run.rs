//! Running a scenario once.

use apportion::Mode;
use apportion::config::Semantics;
use serde_saphyr::Spanned;

use super::cluster::Cluster;
use super::problem::{BadScenario, Done, StepError};
use super::read::Scenario;
use super::state::to_tables;

/// The settings that may differ between runs of one scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSetting {
    /// By default those of the scenario's configuration.
    pub semantics: Option<Semantics>,
    /// The threads.
    pub mode: Mode,
}

/// The result of one run.
#[derive(Clone, Debug)]
pub struct ScenarioRun {
    /// The setting of the run.
    pub setting: RunSetting,
    /// Number of steps that went as expected.
    pub steps: usize,
    /// The failed step, if any; the run ended there.
    pub failure: Option<Failure>,
}

/// A step that did not go as expected.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The step's line in the file, counted from 1.
    pub line: u64,
    /// The step's name.
    pub step: String,
    /// Each difference, with actual and expected values.
    pub differences: Vec<String>,
    /// Queues, nodes, applications and pending asks at that moment.
    pub state: String,
}

/// Runs a scenario once, up to the first step that does not go as expected.
///
/// # Errors
/// When a step names a missing object, or is impossible.
pub fn run(scenario: &Scenario, setting: RunSetting) -> Result<ScenarioRun, BadScenario> {
    let bad =
        |line: u64, problem: String| BadScenario { file: scenario.file.clone(), line: line.max(1), problem };
    let mut config = scenario.config.clone();
    config.semantics = setting.semantics.unwrap_or(config.semantics);
    let mut cluster = Cluster::start(config, setting.mode).map_err(|error| bad(1, error.to_string()))?;
    let mut steps = 0;
    let failure = match play(&mut cluster, scenario, &mut steps) {
        Ok(()) => None,
        Err((line, step, StepError::Bad(problem))) => return Err(bad(line, format!("{step}: {problem}"))),
        Err((line, step, StepError::Failed(differences))) => {
            Some(Failure { line, step, differences, state: to_tables(&cluster) })
        }
    };
    cluster.engine.shutdown();
    Ok(ScenarioRun { setting, steps, failure })
}

/// The place of a failure: line and name of the step, and the failure.
type Stop = (u64, String, StepError);

fn play(cluster: &mut Cluster, scenario: &Scenario, steps: &mut usize) -> Result<(), Stop> {
    let form = &scenario.form;
    for node in &form.nodes {
        attempt(cluster, node, "node", |cluster, node| cluster.add_nodes(node))?;
    }
    for application in &form.applications {
        attempt(cluster, application, "application", |cluster, form| cluster.submit_application(form))?;
    }
    for step in &form.steps {
        attempt(cluster, step, step.value.name(), Cluster::perform)?;
        *steps += 1;
    }
    let last = form.steps.last().map_or(1, |step| step.referenced.line());
    audit(cluster).map_err(|error| (last, "audit at the end".into(), error))
}

/// Executes one node, application or step of the file, with its immediate effects.
fn attempt<T>(
    cluster: &mut Cluster,
    what: &Spanned<T>,
    name: &str,
    act: impl FnOnce(&mut Cluster, &T) -> Done,
) -> Result<(), Stop> {
    let done = act(cluster, &what.value).and_then(|()| cluster.commit_sent());
    let done = done.and_then(|()| cluster.expect_nothing_refused());
    done.map_err(|error| (what.referenced.line(), name.to_owned(), error))
}

fn audit(cluster: &mut Cluster) -> Done {
    cluster.await_answers()?;
    let report = cluster.engine.audit();
    if report.is_clean() { Ok(()) } else { Err(StepError::failed(report.to_string())) }
}
