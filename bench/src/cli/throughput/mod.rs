//! `apportion-bench throughput`.

mod args;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use apportion_load::{Churn, CycleRate, CycleYardstick, GoOn, Memory, Record, Setup, fill};
pub(super) use args::ThroughputArgs;
use args::WorkloadName;

use super::Failure;
use super::progress::parts_bar;
use crate::interrupt::{Interruptible, Interruption};
use crate::report::{Measured, ThroughputReport, to_throughput_html};
use crate::yardstick::Yardstick;

/// How long the yardstick runs between two runs of the engine.
const LIMIT_SLICE: Duration = Duration::from_secs(1);
/// How long a cluster churns before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);
/// Default duration of a run, in seconds.
const RUN_S: f64 = 1.0;

pub(super) fn run(args: &ThroughputArgs) -> Result<(), Failure> {
    args.check()?;
    let setup = args.setup()?;
    let outputs = args.outputs.open()?;
    let measured = match args.workload {
        WorkloadName::Fill => measure_fill(args, &setup)?,
        _ => measure_churn(args, &setup)?,
    };
    if measured.records.is_empty() {
        return Err(Failure::nothing_to_report("a run had placed a container"));
    }
    if measured.records.iter().any(|record| record.placed == 0) {
        return Err(Failure::input(
            "a run placed no container, so no rate was measured; let it take longer with --seconds",
        ));
    }
    let report = ThroughputReport::new(args.parameters(&setup), &measured);
    outputs.write(&report, || to_throughput_html(&report, &measured), || report.to_text())?;
    Failure::of_interruption(measured.interruption)
}

/// Measures each run on a new cluster; the first run warms up. A run has no steps: a signal during the first counted
/// run ends the program, and a signal during a later run abandons that run.
fn measure_fill(args: &ThroughputArgs, setup: &Setup) -> Result<Measured, Failure> {
    let (setup, asks) = (*setup, args.asks().unwrap_or_default() as usize);
    let memory = fill(&setup, asks)?.memory;
    let mut interruptible: Option<Interruptible> = None;
    let measured = take_turns(args, &setup, || {
        let run = match interruptible {
            Some(interruptible) => interruptible.unless_stopped(move || fill(&setup, asks)),
            None => Some(fill(&setup, asks)),
        };
        interruptible = Some(Interruptible::begin());
        Ok(run.transpose()?)
    })?;
    Ok(Measured { memory, ..measured })
}

/// Measures all runs on one cluster.
fn measure_churn(args: &ThroughputArgs, setup: &Setup) -> Result<Measured, Failure> {
    let bar = parts_bar("filling the cluster");
    let mut churn = Churn::filled(setup, &mut |part| bar.set_position((part * 1e3) as u64))?;
    bar.finish_and_clear();
    churn.run(WARM_UP, &|| ControlFlow::Continue(()))?;
    let duration = Duration::from_secs_f64(args.seconds.unwrap_or(RUN_S));
    let interruptible = Interruptible::begin();
    let go_on = || interruptible.flow();
    let measured = take_turns(args, setup, || match args.rate {
        Some(rate) => Ok(Some(churn.run_at(f64::from(rate), duration, &go_on)?)),
        None => Ok(Some(churn.run(duration, &go_on)?)),
    })?;
    churn.expect_sound()?;
    Ok(Measured { memory: churn.memory(), ..measured })
}

/// The counted runs, each followed by a slice of each yardstick. A run that a signal cut short counts only if it is the
/// first.
fn take_turns(
    args: &ThroughputArgs,
    setup: &Setup,
    mut run: impl FnMut() -> Result<Option<Record>, Failure>,
) -> Result<Measured, Failure> {
    let mut yardsticks = args.with_limit.then(|| Yardsticks::new(args, setup)).transpose()?;
    let bar = parts_bar("measuring");
    bar.set_length(u64::from(args.repeat));
    let begun = Instant::now();
    let mut measured = Measured {
        records: Vec::new(),
        limits: Vec::new(),
        cycles: Vec::new(),
        memory: Memory::default(),
        interruption: None,
    };
    for _ in 0..args.repeat {
        let record = run()?;
        let interruptible = Interruptible::begin();
        let is_stopped = interruptible.is_stopped();
        let counts = |record: &Record| !is_stopped || (measured.records.is_empty() && record.placed > 0);
        let record = record.filter(counts);
        measured.records.extend(record);
        if let Some(yardsticks) = yardsticks.as_mut().filter(|_| !is_stopped) {
            let (limit, cycle) = yardsticks.run(&|| interruptible.flow());
            if !interruptible.is_stopped() || measured.limits.is_empty() {
                measured.limits.push(limit);
                measured.cycles.push(cycle);
            }
        }
        if interruptible.is_stopped() {
            measured.interruption = Some(Interruption::measured_since(begun));
            break;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(measured)
}

/// Both yardsticks, on the cluster of a workload.
struct Yardsticks {
    stripped: Yardstick,
    cycle: CycleYardstick,
}

impl Yardsticks {
    fn new(args: &ThroughputArgs, setup: &Setup) -> Result<Self, Failure> {
        let plain = Setup { profile: setup.profile.for_yardstick(), ..*setup };
        let cycle = match args.workload {
            WorkloadName::Fill => CycleYardstick::fill(&plain, args.asks().unwrap_or_default() as usize)?,
            _ => CycleYardstick::churn(&plain)?,
        };
        Ok(Self { stripped: Yardstick::new(setup.shape.nodes, setup.shape.leaves, args.seed), cycle })
    }

    /// A slice of each.
    fn run(&mut self, go_on: GoOn<'_>) -> (f64, CycleRate) {
        let limit = self.stripped.run_while(LIMIT_SLICE, go_on).per_second();
        (limit, self.cycle.run_while(LIMIT_SLICE, go_on))
    }
}
