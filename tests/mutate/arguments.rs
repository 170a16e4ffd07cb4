//! The command line of `cargo mutate`.

use apportion_tests::support::mutants::Mutant;

pub(crate) const HELP: &str = "\
Applies each deliberate defect of tests/mutants/ and runs the tests that should detect it.

cargo mutate [OPTIONS] [NAME]...

  NAME       only patches whose file name contains one of these
  --list     list the patches and run nothing
  --check    only check that each patch still applies
  --refresh  renew line numbers and context of the patches that no longer apply
  --verbose  print how each test turned red
  --help     this text

The output of each test is in target/mutants/output/. Exit codes: 0 if every patch was killed, 1 if not, 2 if the
program failed.
";

/// The task that the command line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Run,
    List,
    Check,
    Refresh,
    Help,
}

/// The parsed command line.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) task: Task,
    pub(crate) verbose: bool,
    names: Vec<String>,
}

impl Arguments {
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self { task: Task::Run, verbose: false, names: Vec::new() };
        for word in words {
            match word.as_str() {
                "--list" => arguments.task = Task::List,
                "--check" => arguments.task = Task::Check,
                "--refresh" => arguments.task = Task::Refresh,
                "--help" | "-h" => arguments.task = Task::Help,
                "--verbose" | "-v" => arguments.verbose = true,
                option if option.starts_with('-') => {
                    return Err(format!("unknown option `{option}`; see `cargo mutate --help`"));
                }
                _ => arguments.names.push(word),
            }
        }
        Ok(arguments)
    }

    /// Returns the named mutants, or all if none is named. A name that matches no patch is an error.
    pub(crate) fn choose(&self, mutants: Vec<Mutant>) -> Result<Vec<Mutant>, String> {
        let has = |mutant: &Mutant, name: &String| mutant.file.contains(name.as_str());
        for name in &self.names {
            if !mutants.iter().any(|mutant| has(mutant, name)) {
                return Err(format!(
                    "tests/mutants/ has no patch with `{name}` in its name; `cargo mutate --list` shows all"
                ));
            }
        }
        let is_chosen =
            |mutant: &Mutant| self.names.is_empty() || self.names.iter().any(|name| has(mutant, name));
        Ok(mutants.into_iter().filter(is_chosen).collect())
    }
}
