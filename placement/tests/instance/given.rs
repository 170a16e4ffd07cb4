//! Initial states, and commands in each.

use std::fs;

use apportion_placement::instance::{
    ActionAnswer, ActionError, DestroyOptions, ExitCode, HostFault, StopOptions,
};

use super::support::{AT_ONCE, Bed, Outcome, code};

/// The state of the instance before a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    Nothing,
    Built,
    Accepted,
    Running,
    Stopped,
    /// The creation of its folder was interrupted.
    Incomplete,
    /// It ran and has been destroyed.
    Destroyed,
}

pub(crate) use Given::{Accepted, Built, Destroyed, Incomplete, Nothing, Running, Stopped};

impl Given {
    pub(crate) fn bed(self) -> Result<Bed, Box<dyn std::error::Error>> {
        let bed = if self == Nothing { Bed::new()? } else { Bed::with_web(false)? };
        if self == Accepted {
            bed.host.misbehave(HostFault::StaysAccepted);
        }
        if matches!(self, Accepted | Running | Stopped | Destroyed) {
            bed.client.start("web", AT_ONCE, 1)?;
        }
        if matches!(self, Stopped | Destroyed) {
            bed.client.stop("web", &StopOptions::default())?;
        }
        if self == Destroyed {
            bed.client.destroy("web", DestroyOptions { force: true })?;
        }
        if self == Incomplete {
            fs::remove_file(bed.folder.path().join("ann/cluster/web/internal.json"))?;
        }
        Ok(bed)
    }
}

pub(crate) type Command = fn(&Bed) -> Result<ActionAnswer, ActionError>;

/// Runs the command in each of these states.
#[track_caller]
pub(crate) fn check(row: &str, command: Command, cases: &[(Given, ExitCode)]) -> Outcome {
    for (given, expected) in cases {
        let bed = given.bed()?;
        let result = command(&bed);
        assert_eq!(code(&result), *expected, "{row}, {given:?}: {result:?}");
    }
    Ok(())
}
