//! How the program ends when it does not end well.

use std::fmt;

/// A message and an exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// Something about the input is wrong.
    pub(super) fn input(error: impl fmt::Display) -> Self {
        Self { code: 2, message: error.to_string() }
    }

    /// The run failed.
    pub(super) fn run(error: impl fmt::Display) -> Self {
        Self { code: 1, message: error.to_string() }
    }

    /// The exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::run(format!("{error:#}"))
    }
}
