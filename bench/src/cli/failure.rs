//! How the program ends when it does not succeed.

use std::fmt;
use std::io;

use crate::interrupt::{self, Interruption};

/// A message and an exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// The input is wrong.
    pub(super) fn input(error: impl fmt::Display) -> Self {
        Self { code: 2, message: error.to_string() }
    }

    /// The run failed.
    pub(super) fn run(error: impl fmt::Display) -> Self {
        Self { code: 1, message: error.to_string() }
    }

    /// The compared results differ; the output says how.
    pub(super) fn difference() -> Self {
        Self { code: 1, message: String::new() }
    }

    /// A signal ended the run.
    pub(super) fn interrupted(message: impl fmt::Display) -> Self {
        let code = interrupt::signal().map_or(1, interrupt::exit_code);
        Self { code, message: message.to_string() }
    }

    /// A signal ended the run too early for a report. `before` names the step that it did not reach.
    pub(super) fn nothing_to_report(before: impl fmt::Display) -> Self {
        Self::interrupted(format!("interrupted before {before}; no report was written"))
    }

    /// The result of a run whose reports were written.
    pub(super) fn of_interruption(interruption: Option<Interruption>) -> Result<(), Self> {
        match interruption {
            Some(interruption) => {
                Err(Self::interrupted(format!("{interruption}; the figures cover the part done by then")))
            }
            None if interrupt::signal().is_some() => {
                Err(Self::interrupted("interrupted after the run had ended; everything was written"))
            }
            None => Ok(()),
        }
    }

    /// Output could not be printed. The reader may have closed the pipe.
    pub(super) fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { code: 0, message: String::new() };
        }
        Self::run(error)
    }

    /// Whether there is no message.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.message.is_empty()
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
        if let Some(closed) =
            error.downcast_ref::<io::Error>().filter(|e| e.kind() == io::ErrorKind::BrokenPipe)
        {
            return Self::output(closed.kind().into());
        }
        Self::run(format!("{error:#}"))
    }
}
