//! The arguments of a program of models.

use thiserror::Error;

use super::Checker;

pub(super) const HELP: &str = "\
Checks models in many orders of their steps, each model in a process of its own.

Usage: cargo test --test <target> -- [options] [name]... [-- <arguments of the inner cargo>]

  --loom             every order up to a bound of preemptions (the default; APPORTION_CHECKER=<checker> sets another)
  --shuttle          random orders
  --once             one order on real threads, without a second build
  --preemptions <n>  loom's bound (default 2, or LOOM_MAX_PREEMPTIONS)
  --schedules <n>    the number of shuttle's orders (default 1000, or APPORTION_SCHEDULES)
  --replay <model>   runs the recorded failing order of this model alone
  --list             prints the models
  --help             prints this text

Names select the models that contain one of them. The models are built with the checker's flags, optimisation level
1 and a target folder beside `debug`, named after the checker. Features that the target needs go to the inner cargo:
`-- -- --features <name>`. RUST_MIN_STACK is the stack of each thread in bytes (default 1 MiB).";

/// The action that the arguments request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Run,
    List,
    Help,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) asked: Asked,
    pub(super) checker: Option<Checker>,
    pub(super) preemptions: Option<String>,
    pub(super) schedules: Option<String>,
    pub(super) replay: Option<String>,
    pub(super) names: Vec<String>,
    /// For the inner cargo.
    pub(super) cargo: Vec<String>,
}

/// An argument that the program does not take.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum OptionError {
    #[error("there is no option `{0}`; `--help` lists the options")]
    Unknown(String),
    #[error("`{0}` needs a value after it")]
    NoValue(&'static str),
    #[error("`{option}` is a whole number of at least {least}, not `{value}`")]
    NotANumber { option: &'static str, least: u64, value: String },
    #[error("APPORTION_CHECKER is `{0}`; it may be loom, shuttle or once")]
    Checker(String),
    #[error(
        "`--replay` runs a recorded order; an order on real threads is not recorded, so use --loom or --shuttle"
    )]
    ReplayOnce,
}

impl Options {
    pub(super) fn parse(arguments: &[String], default: Option<&str>) -> Result<Self, OptionError> {
        let mut options = Self::default_of(default)?;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (option, mut joined) = match argument.split_once('=') {
                Some((option, value)) => (option, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let mut value =
                |option| joined.take().or_else(|| rest.next().cloned()).ok_or(OptionError::NoValue(option));
            match option {
                "--loom" => options.checker = Some(Checker::Loom),
                "--shuttle" => options.checker = Some(Checker::Shuttle),
                "--once" => options.checker = Some(Checker::Once),
                "--preemptions" => {
                    let bound = value("--preemptions")?;
                    options.preemptions = Some(number("--preemptions", 0, bound)?);
                }
                "--schedules" => {
                    let orders = value("--schedules")?;
                    options.schedules = Some(number("--schedules", 1, orders)?);
                }
                "--replay" => options.replay = Some(value("--replay")?),
                "--list" => options.asked = Asked::List,
                "--help" | "-h" => options.asked = Asked::Help,
                // Each model prints to the terminal anyway.
                "--nocapture" => {}
                "--" => options.cargo = rest.by_ref().cloned().collect(),
                _ if argument.starts_with('-') => return Err(OptionError::Unknown(argument.clone())),
                _ => options.names.push(argument.clone()),
            }
        }
        match (&options.replay, options.checker) {
            (Some(_), Some(Checker::Once)) => Err(OptionError::ReplayOnce),
            _ => Ok(options),
        }
    }

    fn default_of(checker: Option<&str>) -> Result<Self, OptionError> {
        let named = |name: &str| {
            let all = [Checker::Loom, Checker::Shuttle, Checker::Once];
            all.into_iter()
                .find(|checker| checker.name() == name)
                .ok_or(OptionError::Checker(name.to_owned()))
        };
        Ok(Self {
            asked: Asked::Run,
            checker: checker.map(named).transpose()?,
            preemptions: None,
            schedules: None,
            replay: None,
            names: Vec::new(),
            cargo: Vec::new(),
        })
    }

    /// The same options as arguments of the inner program.
    pub(super) fn arguments(&self) -> Vec<String> {
        let pairs = [
            ("--preemptions", &self.preemptions),
            ("--schedules", &self.schedules),
            ("--replay", &self.replay),
        ];
        let set = pairs.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?)));
        let set = set.map(|(option, value)| format!("{option}={value}"));
        set.chain(self.names.iter().cloned()).collect()
    }

    pub(super) fn selects(&self, model: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| model.contains(name.as_str()))
    }
}

fn number(option: &'static str, least: u64, value: String) -> Result<String, OptionError> {
    match value.parse::<u64>() {
        Ok(number) if number >= least => Ok(value),
        _ => Err(OptionError::NotANumber { option, least, value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, OptionError> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments, None)
    }

    #[test]
    fn arguments_select_checker_bounds_and_models() {
        let options = parsed("--shuttle --schedules=7 --preemptions 3 one two -- --features x").unwrap();
        assert_eq!(options.checker, Some(Checker::Shuttle));
        assert_eq!((options.schedules.as_deref(), options.preemptions.as_deref()), (Some("7"), Some("3")));
        assert_eq!((options.names.len(), options.cargo.len()), (2, 2));
        assert!(options.selects("the_one") && options.selects("two") && !options.selects("three"));
        assert!(parsed("").unwrap().selects("three"));
        assert_eq!(parsed("--list --nocapture").unwrap().asked, Asked::List);
    }

    #[test]
    fn wrong_arguments_are_refused_with_what_is_wrong() {
        for (line, message) in [
            ("--threads 2", "there is no option `--threads`; `--help` lists the options"),
            ("--replay", "`--replay` needs a value after it"),
            ("--preemptions=two", "`--preemptions` is a whole number of at least 0, not `two`"),
            ("--schedules 0", "`--schedules` is a whole number of at least 1, not `0`"),
            ("--once --replay a", "`--replay` runs a recorded order"),
        ] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.starts_with(message), "{line}: {error}");
        }
        assert_eq!(Options::parse(&[], Some("miri")).unwrap_err(), OptionError::Checker("miri".to_owned()));
        assert_eq!(Options::parse(&[], Some("once")).unwrap().checker, Some(Checker::Once));
    }
}
