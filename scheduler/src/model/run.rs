//! The main function of a program of models.

use std::collections::BTreeSet;
use std::fmt;
use std::process::ExitCode;

use thiserror::Error;

use super::cargo::{self, CargoError};
use super::options::{Asked, HELP, OptionError, Options};
use super::order::NotRecorded;
use super::supervise::{self, WORKER};
use super::{Checker, check};

/// A closure to check, with its name.
pub struct Model {
    name: String,
    body: Box<dyn Fn() + Send + Sync>,
}

impl Model {
    /// A model of this name. See the [rules](super#rules-for-models) for `body`.
    pub fn new(name: impl Into<String>, body: impl Fn() + Send + Sync + 'static) -> Self {
        Self { name: name.into(), body: Box::new(body) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn check(self) {
        check(&self.name, self.body);
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why no model was checked.
#[derive(Debug, Error)]
pub(super) enum RunError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error(transparent)]
    Cargo(#[from] CargoError),
    #[error("two models are named `{0}`; give each its own name")]
    SameName(String),
    #[error("there is no model `{name}`; the models are: {names}")]
    NoModel { name: String, names: String },
    #[error("this program is built for {built}, not for {asked}")]
    OtherChecker { built: Checker, asked: Checker },
    #[error(transparent)]
    NotRecorded(#[from] NotRecorded),
    #[error("the model `{model}` cannot be started in a process of its own: {cause}")]
    Worker { model: String, cause: std::io::Error },
}

/// Checks models as the program's arguments say, in builds for a checker that this function starts.
///
/// Call it in the main function of a test target without the default harness, of an example or of a binary, which
/// cargo runs. `--help` lists the arguments. The exit code is 0 if every model holds in all orders tried, another
/// number if one fails, and 2 if an argument is wrong.
#[must_use = "the exit code says whether the models hold"]
pub fn run(models: impl IntoIterator<Item = Model>) -> ExitCode {
    match run_as_asked(models.into_iter().collect()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("models: {error}");
            ExitCode::from(2)
        }
    }
}

fn run_as_asked(models: Vec<Model>) -> Result<ExitCode, RunError> {
    let mut names = BTreeSet::new();
    if let Some(twice) = models.iter().find(|model| !names.insert(model.name())) {
        return Err(RunError::SameName(twice.name.clone()));
    }
    if let Ok(name) = std::env::var(WORKER) {
        pick(models, &name)?.check();
        return Ok(ExitCode::SUCCESS);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = Options::parse(&arguments, std::env::var(cargo::CHECKER).ok().as_deref())?;
    match options.asked {
        Asked::Help => println!("{HELP}"),
        Asked::List => models.iter().for_each(|model| println!("{}: test", model.name)),
        Asked::Run => return check_selected(models, &options),
    }
    Ok(ExitCode::SUCCESS)
}

fn check_selected(models: Vec<Model>, options: &Options) -> Result<ExitCode, RunError> {
    let asked = options.checker.unwrap_or(if Checker::BUILT == Checker::Once {
        Checker::Loom
    } else {
        Checker::BUILT
    });
    if let Some(name) = &options.replay {
        let model = pick(models, name)?;
        return check_under(asked, &[model], options);
    }
    let all = list(&models);
    let selected: Vec<Model> = models.into_iter().filter(|model| options.selects(&model.name)).collect();
    if selected.is_empty() {
        // The filter of `cargo test <filter>` goes to every test program.
        println!("no model's name contains `{}`; the models are: {all}", options.names.join("` or `"));
        return Ok(ExitCode::SUCCESS);
    }
    check_under(asked, &selected, options)
}

fn check_under(asked: Checker, models: &[Model], options: &Options) -> Result<ExitCode, RunError> {
    match (Checker::BUILT, asked) {
        (built, asked) if built == asked => supervise::check_all(models, options),
        (Checker::Once, checker) => Ok(cargo::run_again(checker, options)?),
        (built, asked) => Err(RunError::OtherChecker { built, asked }),
    }
}

fn pick(models: Vec<Model>, name: &str) -> Result<Model, RunError> {
    let names = list(&models);
    let found = models.into_iter().find(|model| model.name == name);
    found.ok_or_else(|| RunError::NoModel { name: name.to_owned(), names })
}

fn list(models: &[Model]) -> String {
    models.iter().map(Model::name).collect::<Vec<_>>().join(", ")
}
