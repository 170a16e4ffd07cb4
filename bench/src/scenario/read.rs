//! Reads a scenario file, and describes it without running it.

use std::path::Path;

use apportion::Mode;
use apportion::config::{EngineConfig, Semantics};
use apportion::nearest::nearest;
use serde_saphyr::Error;

use super::configuration::config_of;
use super::form::{ModeForm, ScenarioForm, SemanticsForm, Step};
use super::problem::BadScenario;
use super::run::RunSetting;
use crate::text::read_text;

/// The largest scenario file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Number of proposers in parallel mode.
const PROPOSERS: [usize; 4] = [1, 2, 3, 4];

/// A scenario that is ready to run.
#[derive(Debug)]
pub struct Scenario {
    pub(super) file: String,
    pub(super) form: ScenarioForm,
    pub(super) config: EngineConfig,
}

impl Scenario {
    /// The file that it was read from.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Its description, on one line.
    #[must_use]
    pub fn about(&self) -> String {
        self.form.about.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The settings of its runs.
    #[must_use]
    pub fn settings(&self) -> Vec<RunSetting> {
        let semantics = match &self.form.semantics {
            None => vec![None],
            Some(forms) => forms.value.0.iter().map(|form| Some((*form).into())).collect(),
        };
        let of = |semantics| self.modes().into_iter().map(move |mode| RunSetting { semantics, mode });
        semantics.into_iter().flat_map(of).collect()
    }

    fn modes(&self) -> Vec<Mode> {
        let is_wanted = |mode| self.form.modes.value.contains(&mode);
        let serial = is_wanted(ModeForm::Serial).then_some(Mode::Serial);
        let threads = PROPOSERS.map(|proposers| Mode::Parallel { proposers });
        let threads = threads.into_iter().chain([Mode::Background]);
        serial.into_iter().chain(threads.filter(|_| is_wanted(ModeForm::Parallel))).collect()
    }
}

/// Reads a scenario.
///
/// # Errors
/// When the file cannot be read, is not YAML, or has unknown content. When it has a configuration that no
/// engine can run on, or requires something that parallel mode cannot do.
pub fn read_file(path: &Path) -> Result<Scenario, BadScenario> {
    let file = path.display().to_string();
    let bad = |line: u64, problem: String| BadScenario { file: file.clone(), line: line.max(1), problem };
    let text =
        read_text(path, FILE_BYTES_MAX).map_err(|error| bad(error.line.unwrap_or(1), error.problem))?;
    let form: ScenarioForm = serde_saphyr::from_str_with_options(&text, options())
        .map_err(|error| bad(line_of(&error), problem_of(error.without_snippet())))?;
    check_modes(&form).map_err(|(line, problem)| bad(line, problem))?;
    let config = config_of(&form, path)?;
    if let Some(semantics) = &form.semantics {
        check_semantics(&semantics.value.0, &config)
            .map_err(|problem| bad(semantics.referenced.line(), problem))?;
    }
    Ok(Scenario { form, config, file })
}

/// Limits of the parser that no scenario of that size reaches, so that aliases of aliases end soon.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 1_000, max_anchors: 100, max_nodes: 100_000, max_depth: 32 },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000, max_replay_stack_depth: 8 },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        strict_booleans: true,
    }
}

fn line_of(error: &Error) -> u64 {
    error.location().map_or(1, |location| location.line())
}

fn problem_of(error: &Error) -> String {
    match error {
        Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
        Error::SerdeUnknownVariant { variant, expected, .. } => unknown("word", variant, expected),
        Error::SerdeMissingField { field, .. } => format!("`{field}` is missing"),
        Error::InvalidScalar { ty: "i64" | "u64" | "u32" | "u16" | "u8", .. } => {
            "a whole number belongs here".into()
        }
        Error::Message { msg, .. } => msg.clone(),
        // Without the place, which the message already gives.
        other => {
            let text = other.to_string();
            let problem = text.lines().next().unwrap_or_default();
            problem.split(" at line ").next().unwrap_or(problem).to_owned()
        }
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
    let all = || format!("known here: {}", known.join(", "));
    format!("unknown {what} `{name}`; {}", near.unwrap_or_else(all))
}

/// Either the scenario or its configuration names the semantics. A configuration that names the default goes unnoticed.
fn check_semantics(forms: &[SemanticsForm], config: &EngineConfig) -> Result<(), String> {
    if forms.is_empty() {
        return Err(
            "`semantics` is empty; name `strict`, `yarn_compatible` or both, or remove the key".into()
        );
    }
    if let Some((_, twice)) = forms.iter().enumerate().find(|(place, form)| forms[..*place].contains(form)) {
        return Err(format!("`semantics` names `{}` twice; name it once", Semantics::from(*twice).word()));
    }
    if config.semantics != Semantics::default() {
        return Err("the configuration says `semantics` as well; say it in one place".into());
    }
    Ok(())
}

/// Parallel mode has no single passes, and expectations are reliable only when the engine is quiet.
fn check_modes(form: &ScenarioForm) -> Result<(), (u64, String)> {
    if form.modes.value.is_empty() {
        return Err((
            form.modes.referenced.line(),
            "`modes` is empty; name `serial`, `parallel` or both".into(),
        ));
    }
    if form.steps.is_empty() {
        return Err((
            1,
            "a scenario without steps shows nothing; add at least an `expect` to `steps`".into(),
        ));
    }
    if !form.modes.value.contains(&ModeForm::Parallel) {
        return Ok(());
    }
    let mut is_quiet = false;
    for step in &form.steps {
        let name = step.value.name();
        let problem = match step.value {
            Step::Pass(_) | Step::Prepare(_) | Step::Commit(_) => Some("is possible only in serial mode"),
            Step::Expect(_) | Step::PlanPreemption(_) if !is_quiet => {
                Some("comes right after `run_until_quiet` where modes has `parallel`")
            }
            _ => None,
        };
        if let Some(problem) = problem {
            return Err((step.referenced.line(), format!("`{name}` {problem}")));
        }
        let changes_nothing = matches!(step.value, Step::Expect(_) | Step::PlanPreemption(_));
        is_quiet = matches!(step.value, Step::RunUntilQuiet) || is_quiet && changes_nothing;
    }
    Ok(())
}
