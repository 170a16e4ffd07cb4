//! The verdict on a mutant.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use apportion_tests::support::mutants::Mutant;

/// The result of a mutant's tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All of them turned red; the reason of the first one.
    Killed(String),
    /// These tests are green: they do not notice the defect.
    Survived(String),
    /// The damaged code does not compile, which proves nothing.
    Broken(String),
    /// A test did not end, and the patch does not say `Red by: hang`.
    Hung,
    /// No test has this name.
    NoTest(String),
}

impl Verdict {
    /// The verdict for `tests` that ended with `status` (`None` if they hung) and wrote `said`.
    pub(crate) fn of(mutant: &Mutant, tests: &[String], status: Option<ExitStatus>, said: &str) -> Self {
        let Some(status) = status else {
            return if mutant.hangs { Self::Killed("it does not end".to_owned()) } else { Self::Hung };
        };
        if let Some(signal) = status.signal() {
            return Self::Killed(format!("{}; ended by signal {signal}", reason(said)));
        }
        if let Some(absent) = tests.iter().find(|test| is_red(test, said).is_none()) {
            return Self::NoTest(absent.clone());
        }
        let is_green = |test: &&String| is_red(test, said) == Some(false);
        let green: Vec<&str> = tests.iter().filter(is_green).map(String::as_str).collect();
        if green.is_empty() { Self::Killed(reason(said)) } else { Self::Survived(green.join(", ")) }
    }

    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Killed(_) => "killed",
            Self::Survived(_) => "SURVIVED",
            Self::Broken(_) => "BROKEN",
            Self::Hung => "HUNG",
            Self::NoTest(_) => "NO TEST",
        }
    }

    /// Details to print below the verdict.
    pub(crate) fn detail(&self, verbose: bool) -> Option<String> {
        match self {
            Self::Killed(how) => verbose.then(|| how.clone()),
            Self::Broken(how) => Some(how.clone()),
            Self::Survived(tests) => Some(format!("SURVIVED by {tests}: green, so a test is missing")),
            Self::Hung => Some(
                "a test does not end; if it detects the defect this way, write `Red by: hang` in the patch"
                    .to_owned(),
            ),
            Self::NoTest(test) => Some(format!("there is no test `{test}`")),
        }
    }
}

/// Returns whether the test of this name was red, from libtest's line for it; `None` without such a line. The name
/// may lack its first modules.
pub(crate) fn is_red(test: &str, said: &str) -> Option<bool> {
    let verdicts = said.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let is_it = |path: &str| {
        path.strip_suffix(test).is_some_and(|before| before.is_empty() || before.ends_with("::"))
    };
    let own = verdicts.map(|(path, verdict)| (path.split(' ').next().unwrap_or(path), verdict));
    own.filter(|(path, _)| is_it(path)).map(|(_, verdict)| verdict != "ok").reduce(|one, other| one || other)
}

/// The message of the first panic.
fn reason(said: &str) -> String {
    let mut lines = said.lines().skip_while(|line| !line.contains("panicked at"));
    let place = lines.next().and_then(|line| line.split("panicked at ").nth(1));
    let message: Vec<&str> = lines.take(3).map(str::trim).take_while(|line| !line.is_empty()).collect();
    let whole = format!("{} {}", place.unwrap_or("no panic"), message.join(" "));
    whole.chars().take(300).collect()
}
