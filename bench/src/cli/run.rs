//! Running a workload and writing its results.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use apportion::Mode;
use apportion::config::EngineConfig;
use apportion::log::LogSink;

use super::progress::Bar;
use super::{Failure, OutputArgs, note};
use crate::interrupt::Interruptible;
use crate::output::{LogFile, OutputFile};
use crate::report::{
    JsonReport, RunParameters, to_html, to_json_text, to_table, write_containers_csv, write_jobs_csv,
};
use crate::sim::{RunRecord, SimError, SimOptions, simulate};
use crate::workload::Workload;

/// The common parts of `demo` and `replay`.
pub(super) struct Job<'a> {
    pub(super) name: String,
    /// The name of the workload's source.
    pub(super) source: String,
    pub(super) workload: &'a Workload,
    pub(super) config: EngineConfig,
    pub(super) mode: Mode,
    pub(super) compress: f64,
    pub(super) compress_durations: f64,
    pub(super) tick_ms: u64,
    pub(super) seed: u64,
    /// See [`SimOptions::as_gangs`].
    pub(super) as_gangs: bool,
}

/// The output files, opened before anything runs.
struct Outputs {
    json: Option<OutputFile>,
    report: Option<OutputFile>,
    jobs: Option<OutputFile>,
    containers: Option<OutputFile>,
}

/// Simulates, writes the requested outputs, and returns whether the run is sound.
pub(super) fn run(job: Job<'_>, output: &OutputArgs) -> Result<(), Failure> {
    let parameters = RunParameters {
        format: job.name,
        mode: job.mode,
        seed: job.seed,
        compress: job.compress,
        compress_durations: job.compress_durations,
        tick_ms: job.tick_ms,
    };
    let open = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::create).transpose();
    let outputs = Outputs {
        json: open(&output.json).map_err(Failure::input)?,
        report: open(&output.report).map_err(Failure::input)?,
        jobs: open(&output.jobs_csv).map_err(Failure::input)?,
        containers: open(&output.containers_csv).map_err(Failure::input)?,
    };
    let log = output.log.as_deref().map(LogFile::create).transpose().map_err(Failure::input)?;
    let (log, sink) =
        log.map_or((None, None), |(log, sink)| (Some(log), Some(Box::new(sink) as Box<dyn LogSink>)));
    let options = SimOptions {
        config: job.config,
        mode: job.mode,
        tick_ms: job.tick_ms,
        sink,
        with_containers: outputs.containers.is_some(),
        as_gangs: job.as_gangs,
    };
    let interruptible = Interruptible::begin();
    let bar = Bar::new(job.workload.asks());
    let record = simulate(job.workload, options, &mut |progress| {
        bar.show(progress);
        interruptible.flow()
    });
    let record = record.map_err(|error| to_failure(&job.source, error))?;
    drop(bar);
    if let Some(error) = &record.log_error {
        return Err(Failure::run(format!("the log could not be written: {error}")));
    }
    if let Some(log) = log {
        log.finish()?;
    }
    let handed_out = hand_out(&parameters, job.workload, &record, outputs, !output.replaces_table());
    let is_file = |path: &&PathBuf| handed_out.is_ok() && *path != Path::new("-");
    if let Some(path) = output.report.as_ref().filter(is_file) {
        note(&format!("report: {}", path.display()));
    }
    check_record(&record)?;
    handed_out?;
    Failure::of_interruption(record.interrupted)
}

/// Writes every output, even if another output fails: the reader of a pipe may be gone.
fn hand_out(
    parameters: &RunParameters,
    workload: &Workload,
    record: &RunRecord,
    outputs: Outputs,
    prints_table: bool,
) -> Result<(), Failure> {
    let json = outputs.json.map(|file| {
        let json = to_json_text(&JsonReport::new(parameters, record)).map_err(Failure::run)?;
        Ok(file.write_text(&json)?)
    });
    let jobs = outputs
        .jobs
        .map(|file| Ok(file.write_with(|out| write_jobs_csv(workload, record, out).map_err(io_error))?));
    let containers = outputs.containers.map(|file| {
        Ok(file.write_with(|out| write_containers_csv(workload, record, out).map_err(io_error))?)
    });
    let report =
        outputs.report.map(|file| Ok(file.write_text(&to_html(parameters, record).map_err(Failure::run)?)?));
    let print = || writeln!(io::stdout(), "{}", to_table(record)).map_err(Failure::output);
    let all = [json, jobs, containers, report, prints_table.then(print)];
    all.into_iter()
        .flatten()
        .max_by_key(|result| result.as_ref().map_or_else(Failure::code, |()| 0))
        .unwrap_or(Ok(()))
}

/// The underlying file error, whose kind says whether the reader has closed the pipe.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Fails unless every ask is accounted for and the audit is clean.
pub(super) fn check_record(record: &RunRecord) -> Result<(), Failure> {
    if record.unaccounted() != 0 {
        return Err(Failure::run(format!("{} asks are not accounted for", record.unaccounted())));
    }
    match record.audit_violations.as_slice() {
        [] => Ok(()),
        violations => Err(Failure::run(format!("the audit found:\n{}", violations.join("\n")))),
    }
}

/// The failure of a run of a workload from `source`.
pub(super) fn to_failure(source: &str, error: SimError) -> Failure {
    match error {
        SimError::Cluster(_) | SimError::Submit { .. } => Failure::input(format!("{source}: {error}")),
        error => Failure::run(error),
    }
}
