//! `apportion-bench sweep`.

use std::io::Write;
use std::path::{Path, PathBuf};

use apportion::Mode;
use apportion::config::EngineConfig;
use clap::Args;
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::Failure;
use super::run::{judge, to_failure};
use super::trace::{TraceArgs, compression};
use crate::output::{OutputFile, check_distinct};
use crate::report::{JsonReport, RunParameters, SweepPoint, to_sweep_html, to_sweep_table};
use crate::sim::{RunRecord, SimOptions, simulate};
use crate::workload::Workload;

/// A trace at several loads.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: from when on do pods wait?\n  apportion-bench sweep --format openb --nodes nodes.csv.gz \
--workload pods.csv.gz --compress 1000,10000,100000 --report sweep.html"
)]
pub(super) struct SweepArgs {
    #[command(flatten)]
    trace: TraceArgs,
    /// What submission times are divided by, one run for each, separated by commas.
    #[arg(long, value_name = "X,X,..", required = true, value_delimiter = ',', value_parser = compression)]
    compress: Vec<f64>,
    /// How many runs at a time; as many as there are processors if not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Write the runs' figures as a JSON array to this file; `-` prints them instead of the table.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// Write a report with plots over the load, one HTML file that opens without a network.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

pub(super) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let given = [("--json", &args.json), ("--report", &args.report)];
    let given: Vec<(&str, &Path)> =
        given.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect();
    check_distinct(&given, &args.trace.inputs()).map_err(Failure::input)?;
    let open = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::create).transpose();
    let json = open(&args.json).map_err(Failure::input)?;
    let report = open(&args.report).map_err(Failure::input)?;
    let (workload, config) = args.trace.read()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0) as usize);
    let pool = pool.build().map_err(Failure::run)?;
    let bar = ProgressBar::new(args.compress.len() as u64);
    let one = |&compress: &f64| {
        let record = run_one(&args.trace, &workload, &config, compress);
        bar.inc(1);
        record.map(|record| SweepPoint { compress, record })
    };
    let points: Result<Vec<SweepPoint>, Failure> =
        pool.install(|| args.compress.par_iter().map(one).collect());
    bar.finish_and_clear();
    hand_out(args, &points?, json, report)
}

/// One run in serial mode: its figures are the same however many run beside it.
fn run_one(
    trace: &TraceArgs,
    workload: &Workload,
    config: &EngineConfig,
    compress: f64,
) -> Result<RunRecord, Failure> {
    let mut workload = workload.clone();
    workload.compress(compress);
    let options = SimOptions { config: config.clone(), mode: Mode::Serial, tick_ms: trace.tick, sink: None };
    let record =
        simulate(&workload, options, &mut |_| {}).map_err(|error| to_failure(&trace.source(), error))?;
    judge(&record)?;
    Ok(record)
}

fn hand_out(
    args: &SweepArgs,
    points: &[SweepPoint],
    json: Option<OutputFile>,
    report: Option<OutputFile>,
) -> Result<(), Failure> {
    let format = args.trace.format.to_string();
    if let Some(file) = json {
        let report = |point: &SweepPoint| {
            let parameters =
                RunParameters { format: format.clone(), mode: Mode::Serial, seed: args.trace.seed };
            JsonReport::new(&parameters, &point.record).compressed(point.compress)
        };
        let reports: Vec<JsonReport> = points.iter().map(report).collect();
        file.write_text(&serde_json::to_string_pretty(&reports).map_err(Failure::run)?)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        writeln!(std::io::stdout(), "{}", to_sweep_table(points)).map_err(Failure::run)?;
    }
    if let Some(file) = report {
        file.write_text(&to_sweep_html(&format, points).map_err(Failure::run)?)?;
    }
    Ok(())
}
