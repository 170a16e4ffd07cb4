//! What became of a mutant.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use apportion_tests::support::mutants::Mutant;

/// What a mutant's test said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The test turned red, and this is how.
    Killed(String),
    /// The test is green: it does not notice the defect.
    Survived,
    /// The damaged code does not compile, which proves nothing.
    Broken(String),
    /// The test did not end, and the patch does not say that this is how it notices.
    Hung,
    /// No test has the name.
    NoTest,
}

impl Verdict {
    /// Of a test that ended with `status`, or did not end, and wrote `said`.
    pub(crate) fn of(mutant: &Mutant, status: Option<ExitStatus>, said: &str) -> Self {
        let Some(status) = status else {
            return if mutant.hangs { Self::Killed("it does not end".to_owned()) } else { Self::Hung };
        };
        if said.contains("running 0 tests") {
            return Self::NoTest;
        }
        match status.signal() {
            None if status.success() => Self::Survived,
            None => Self::Killed(reason(said)),
            Some(signal) => Self::Killed(format!("{}; ended by signal {signal}", reason(said))),
        }
    }

    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Killed(_) => "killed",
            Self::Survived => "SURVIVED",
            Self::Broken(_) => "BROKEN",
            Self::Hung => "HUNG",
            Self::NoTest => "NO TEST",
        }
    }

    /// What else there is to say.
    pub(crate) fn detail(&self, verbose: bool) -> Option<&str> {
        match self {
            Self::Killed(how) => verbose.then_some(how),
            Self::Broken(how) => Some(how),
            Self::Survived => Some("nothing notices it: a test is missing"),
            Self::Hung => Some("the test does not end; if that is how it notices, say `Red by: hang`"),
            Self::NoTest => Some("there is no test of that name"),
        }
    }
}

/// What the first panic said.
fn reason(said: &str) -> String {
    let mut lines = said.lines().skip_while(|line| !line.contains("panicked at"));
    let place = lines.next().and_then(|line| line.split("panicked at ").nth(1));
    let message: Vec<&str> = lines.take(3).map(str::trim).take_while(|line| !line.is_empty()).collect();
    let whole = format!("{} {}", place.unwrap_or("no panic"), message.join(" "));
    whole.chars().take(300).collect()
}
