//! Running a workload and handing out what came of it.

use std::io::Write;
use std::path::Path;

use apportion::config::EngineConfig;
use apportion::{LogSink, Mode};

use super::progress::Bar;
use super::{Failure, OutputArgs};
use crate::output::{LogFile, write_text};
use crate::report::{JsonReport, RunParameters, to_html, to_table};
use crate::sim::{RunRecord, SimError, SimOptions, simulate};
use crate::workload::Workload;

/// What `demo` and `replay` have in common.
pub(super) struct Job<'a> {
    pub(super) name: String,
    pub(super) workload: &'a Workload,
    pub(super) config: EngineConfig,
    pub(super) mode: Mode,
    pub(super) tick_ms: u64,
    pub(super) seed: u64,
}

/// Simulates, writes what is asked for, and says whether all is well.
pub(super) fn run(job: Job<'_>, output: &OutputArgs) -> Result<(), Failure> {
    let parameters = RunParameters { format: job.name, mode: job.mode, seed: job.seed };
    let (log, sink) = match &output.log {
        Some(path) => {
            let (log, sink) = LogFile::create(path)?;
            (Some(log), Some(Box::new(sink) as Box<dyn LogSink>))
        }
        None => (None, None),
    };
    let options = SimOptions { config: job.config, mode: job.mode, tick_ms: job.tick_ms, sink };
    let bar = Bar::new(job.workload.asks());
    let record = simulate(job.workload, options, &mut |progress| bar.show(progress)).map_err(to_failure)?;
    drop(bar);
    if let Some(error) = &record.log_error {
        return Err(Failure::run(format!("the log could not be written: {error}")));
    }
    if let Some(log) = log {
        log.finish()?;
    }
    hand_out(&parameters, &record, output)?;
    judge(&record)
}

fn hand_out(parameters: &RunParameters, record: &RunRecord, output: &OutputArgs) -> Result<(), Failure> {
    let prints_json = output.json.as_deref() == Some(Path::new("-"));
    if let Some(path) = &output.json {
        let json =
            serde_json::to_string_pretty(&JsonReport::new(parameters, record)).map_err(Failure::run)?;
        write_text(path, &json)?;
    }
    if !prints_json {
        writeln!(std::io::stdout(), "{}", to_table(record)).map_err(Failure::run)?;
    }
    if let Some(path) = &output.report {
        let html = to_html(parameters, record).map_err(Failure::run)?;
        write_text(path, &html)?;
        eprintln!("report: {}", path.display());
    }
    Ok(())
}

/// Whether every ask is accounted for and the audit is clean.
pub(super) fn judge(record: &RunRecord) -> Result<(), Failure> {
    if record.unaccounted() != 0 {
        return Err(Failure::run(format!("{} asks are not accounted for", record.unaccounted())));
    }
    match record.audit_violations.as_slice() {
        [] => Ok(()),
        violations => Err(Failure::run(format!("the audit found:\n{}", violations.join("\n")))),
    }
}

pub(super) fn to_failure(error: SimError) -> Failure {
    match error {
        SimError::Cluster(error) => Failure::input(error),
        SimError::Submit { .. } => Failure::input(error),
        error => Failure::run(error),
    }
}
