//! `apportion-bench throughput`.

mod args;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) use args::ThroughputArgs;
use args::WorkloadName;

use super::Failure;
use super::progress::parts_bar;
use crate::output::OutputFile;
use crate::report::{Measured, ThroughputReport, to_throughput_html};
use crate::throughput::{Churn, Record, Setup, fill};
use crate::yardstick::Yardstick;

/// How long the yardstick runs between two runs of the engine.
const LIMIT_SLICE: Duration = Duration::from_secs(1);
/// How long a cluster churns before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);
/// How long a run takes if nothing is said, in seconds.
const RUN_S: f64 = 1.0;

pub(super) fn run(args: &ThroughputArgs) -> Result<(), Failure> {
    args.check()?;
    let open = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::create).transpose();
    let json = open(&args.json).map_err(Failure::input)?;
    let page = open(&args.report).map_err(Failure::input)?;
    let measured = match args.workload {
        WorkloadName::Fill => measure_fill(args, &args.setup())?,
        _ => measure_churn(args, &args.setup())?,
    };
    if measured.records.iter().any(|record| record.placed == 0) {
        return Err(Failure::input(
            "a run placed no container, so no rate was measured; let it take longer with --seconds",
        ));
    }
    let report = ThroughputReport::new(args.parameters(), &measured);
    if let Some(file) = json {
        file.write_text(&serde_json::to_string_pretty(&report).map_err(Failure::run)?)?;
    }
    if let Some(file) = page {
        file.write_text(&to_throughput_html(&report, &measured).map_err(Failure::run)?)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        writeln!(std::io::stdout(), "{}", report.to_text()).map_err(Failure::output)?;
    }
    Ok(())
}

/// A cluster of its own for each run; the first run warms up.
fn measure_fill(args: &ThroughputArgs, setup: &Setup) -> Result<Measured, Failure> {
    let asks = args.asks().unwrap_or_default() as usize;
    let memory = fill(setup, asks)?.memory;
    let (records, limits) = take_turns(args, setup, || Ok(fill(setup, asks)?))?;
    Ok(Measured { records, limits, memory })
}

/// One cluster for all runs.
fn measure_churn(args: &ThroughputArgs, setup: &Setup) -> Result<Measured, Failure> {
    let bar = parts_bar("filling the cluster");
    let mut churn = Churn::filled(setup, &mut |part| bar.set_position((part * 1e3) as u64))?;
    bar.finish_and_clear();
    churn.run(WARM_UP)?;
    let duration = Duration::from_secs_f64(args.seconds.unwrap_or(RUN_S));
    let (records, limits) = take_turns(args, setup, || match args.rate {
        Some(rate) => Ok(churn.run_at(f64::from(rate), duration)?),
        None => Ok(churn.run(duration)?),
    })?;
    churn.expect_sound()?;
    let memory = churn.memory();
    Ok(Measured { records, limits, memory })
}

/// The runs that count, each with a slice of the yardstick behind it.
fn take_turns(
    args: &ThroughputArgs,
    setup: &Setup,
    mut run: impl FnMut() -> Result<Record, Failure>,
) -> Result<(Vec<Record>, Vec<f64>), Failure> {
    let shape = setup.shape;
    let mut yardstick = args.with_limit.then(|| Yardstick::new(shape.nodes, shape.leaves, args.seed));
    let bar = parts_bar("measuring");
    bar.set_length(u64::from(args.repeat));
    let (mut records, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..args.repeat {
        records.push(run()?);
        limits.extend(yardstick.as_mut().map(|yardstick| yardstick.run(LIMIT_SLICE).per_second()));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((records, limits))
}
