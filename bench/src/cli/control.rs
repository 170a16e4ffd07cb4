//! `apportion-bench control`.

use clap::Args;
use rayon::prelude::*;

use super::Failure;
use super::outputs::Outputs;
use super::progress::parts_bar;
use crate::control::{ControlShape, Experiment, ExperimentRecord, run_experiment};
use crate::interrupt::{self, Interruptible};
use crate::report::counted;
use crate::report::{ControlReport, to_control_html, to_control_text};

/// Moves and restarts the containers of a job on a cluster that other jobs keep 60 % busy: how many are down meanwhile?
#[derive(Clone, Debug, Args)]
pub(super) struct ControlArgs {
    /// Seed of all random values.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of nodes, of 16 slots each; a tenth of them is drained.
    #[arg(long, default_value_t = ControlShape::default().nodes, value_parser = clap::value_parser!(u32).range(20..=10_000))]
    nodes: u32,
    /// Number of processors of the job, of 1 slot each, and of 2 once restarted; at most two per node on average.
    #[arg(long, default_value_t = ControlShape::default().processors, value_parser = clap::value_parser!(u32).range(20..=20_000))]
    processors: u32,
    /// Where faults are injected, the percentage of starts and of stops that fail.
    #[arg(long, default_value_t = ControlShape::default().fault_percent, value_parser = clap::value_parser!(u32).range(0..=50))]
    fault_percent: u32,
    /// Where faults are injected, the number of lost nodes.
    #[arg(long, default_value_t = ControlShape::default().lost_nodes, value_parser = clap::value_parser!(u32).range(0..=10))]
    lost_nodes: u32,
    #[command(flatten)]
    outputs: Outputs,
}

pub(super) fn run(args: &ControlArgs) -> Result<(), Failure> {
    let shape = args.shape()?;
    let outputs = args.outputs.open()?;
    let report = ControlReport::new(shape, args.seed, simulate(&shape, args.seed)?);
    if report.is_nothing() {
        return Err(Failure::nothing_to_report("a container was moved or restarted"));
    }
    outputs.write(&report.to_json(), || to_control_html(&report), || to_control_text(&report))?;
    let defects = report.defects();
    if defects.is_empty() {
        Failure::of_interruption(report.interruption())
    } else {
        Err(Failure::run(defects.join("; ")))
    }
}

/// Runs each experiment without faults, and then with faults. A signal stops the experiments where they are.
fn simulate(shape: &ControlShape, seed: u64) -> Result<[Vec<ExperimentRecord>; 2], Failure> {
    let runs: Vec<(Experiment, bool)> =
        [false, true].into_iter().flat_map(|faults| Experiment::ALL.map(|one| (one, faults))).collect();
    let bar = parts_bar("six experiments in parallel");
    let part = 1_000 / runs.len() as u64;
    let one = |(experiment, faults): &(Experiment, bool)| {
        let record = match interrupt::signal() {
            Some(_) => Ok(None),
            None => run_experiment(shape, *experiment, *faults, seed, &|| Interruptible::begin().flow()),
        };
        bar.inc(part);
        record
    };
    let records: anyhow::Result<Vec<Option<ExperimentRecord>>> = runs.par_iter().map(one).collect();
    bar.finish_and_clear();
    let mut records = records.map_err(|error| Failure::run(format!("{error:#}")))?;
    let with_faults = records.split_off(Experiment::ALL.len());
    Ok([records, with_faults].map(|records| records.into_iter().flatten().collect()))
}

impl ControlArgs {
    fn shape(&self) -> Result<ControlShape, Failure> {
        let Self { nodes, processors, fault_percent, lost_nodes, .. } = *self;
        if processors > 2 * nodes {
            return Err(Failure::input(format!(
                "--processors {processors}: in addition to the other jobs, the room of {} is enough for {}",
                counted(nodes.into(), "node"),
                2 * nodes
            )));
        }
        Ok(ControlShape { nodes, processors, fault_percent, lost_nodes })
    }
}
