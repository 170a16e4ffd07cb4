//! The outputs of commands that print lines of text: the same figures as JSON, and as a report with plots.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::Failure;
use crate::output::{OutputFile, check_distinct};

/// The output files.
#[derive(Clone, Debug, Args)]
pub(super) struct Outputs {
    /// Write the figures as JSON to this file; `-` prints them instead of the lines of text.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// Write a report with plots, one HTML file that opens without a network; `-` prints it instead of the text lines.
    #[arg(long, value_name = "FILE.html|-")]
    report: Option<PathBuf>,
}

/// The output files, ready to be written.
#[derive(Debug)]
pub(super) struct OpenOutputs {
    json: Option<OutputFile>,
    report: Option<OutputFile>,
    prints_text: bool,
}

impl Outputs {
    /// Checks before the work begins that the files can be written.
    pub(super) fn open(&self) -> Result<OpenOutputs, Failure> {
        self.open_beside(None)
    }

    /// The same with the option and the path of another output of the command, which must differ from these.
    pub(super) fn open_beside(&self, other: Option<(&str, &Path)>) -> Result<OpenOutputs, Failure> {
        let outputs = [("--json", &self.json), ("--report", &self.report)];
        let outputs = outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
        let given: Vec<(&str, &Path)> = outputs.chain(other).collect();
        check_distinct(&given, &[]).map_err(Failure::input)?;
        let open = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::create).transpose();
        Ok(OpenOutputs {
            json: open(&self.json).map_err(Failure::input)?,
            report: open(&self.report).map_err(Failure::input)?,
            prints_text: given.iter().all(|(_, path)| *path != Path::new("-")),
        })
    }
}

impl OpenOutputs {
    /// Writes the files, and prints the lines of text unless standard output takes a file.
    pub(super) fn write<E: Display>(
        self,
        json: &impl Serialize,
        html: impl FnOnce() -> Result<String, E>,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if let Some(file) = self.json {
            file.write_text(&serde_json::to_string_pretty(json).map_err(Failure::run)?)?;
        }
        if let Some(file) = self.report {
            file.write_text(&html().map_err(Failure::run)?)?;
        }
        if self.prints_text {
            writeln!(std::io::stdout(), "{}", text()).map_err(Failure::output)?;
        }
        Ok(())
    }
}
