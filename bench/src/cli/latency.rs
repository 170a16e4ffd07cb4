//! `apportion-bench latency`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use apportion::Mode;
use apportion_load::{Churn, ClusterShape, Setup};
use clap::Args;

use super::Failure;
use super::limit::seconds;
use super::mode::ModeArg;
use super::outputs::{OpenOutputs, Outputs};
use super::progress::parts_bar;
use crate::interrupt::{Interruptible, Interruption};
use crate::output::OutputFile;
use crate::report::{
    LatencyPoint, LatencyReport, LatencyRun, to_latency_html, to_latency_svg, to_latency_text,
};

/// Waiting times on the machine's own clock.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: background and parallel mode at seven rates, about two minutes, and one mode at two rates\n  \
apportion-bench latency --report latency.html\n  \
apportion-bench latency --mode background --rates 100000,500000 --seconds 3\n\n\
A rate that a mode cannot keep up with has no waiting time: its asks pile up."
)]
pub(super) struct LatencyArgs {
    /// Asks per second, separated by commas.
    #[arg(long, value_name = "R,R", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000_000),
          default_values_t = [10_000, 20_000, 50_000, 100_000, 200_000, 400_000, 600_000])]
    rates: Vec<u32>,
    /// Which threads do the engine's work, separated by commas: each mode is measured.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [ModeArg::Background, ModeArg::Parallel])]
    mode: Vec<ModeArg>,
    /// Number of proposer threads; parallel mode only [default: 1].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=apportion::engine::PROPOSERS_MAX as i64))]
    proposers: Option<u32>,
    /// Number of nodes, a tenth in another partition.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    nodes: u32,
    /// Number of applications.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    apps: u32,
    /// Number of leaf queues.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    leaves: u32,
    /// Duration of a run in seconds.
    #[arg(long, value_name = "S", default_value_t = 1.5, value_parser = seconds)]
    seconds: f64,
    /// Number of runs of each mode at each rate, in turns; their medians count.
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeat: u32,
    /// Seed of all random values.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
    /// Write the plot alone; `-` prints it instead of the lines of text.
    #[arg(long, value_name = "FILE.svg|-")]
    plot: Option<PathBuf>,
}

/// How long a cluster churns before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// Fewer asks in a run say nothing about the slowest hundredth.
const ASKS_MIN: f64 = 100.0;

/// A cluster for each mode. Only one is busy at a time.
type Clusters = Vec<(Mode, Churn)>;

impl LatencyArgs {
    /// The files of `--json` and `--report`, and that of `--plot`.
    fn outputs(&self) -> Result<(OpenOutputs, Option<OutputFile>), Failure> {
        let outputs = self.outputs.open_beside(self.plot.as_deref().map(|path| ("--plot", path)))?;
        let plot = self.plot.as_deref().map(OutputFile::create).transpose().map_err(Failure::input)?;
        Ok((outputs, plot))
    }

    /// The rates in rising order, each once.
    fn rates(&self) -> Result<BTreeSet<u32>, Failure> {
        let rates: BTreeSet<u32> = self.rates.iter().copied().collect();
        let asks = |rate: u32| f64::from(rate) * self.seconds;
        match rates.first().filter(|rate| asks(**rate) < ASKS_MIN) {
            Some(rate) => Err(Failure::input(format!(
                "--rates {rate}: a run of {} s would have {} asks, and the slowest hundredth of them is measured; \
                 give it at least {ASKS_MIN} asks with a higher rate or more --seconds",
                self.seconds,
                asks(*rate) as u64,
            ))),
            None => Ok(rates),
        }
    }

    /// The modes in the order given, each once.
    fn modes(&self) -> Result<Vec<Mode>, Failure> {
        let has_proposers = self.mode.contains(&ModeArg::Parallel);
        let mut modes = Vec::new();
        for mode in &self.mode {
            let proposers = match mode {
                ModeArg::Parallel => self.proposers.or(Some(1)),
                _ => self.proposers.filter(|_| !has_proposers),
            };
            let mode = mode.with(proposers)?;
            if !modes.contains(&mode) {
                modes.push(mode);
            }
        }
        Ok(modes)
    }

    /// Fills a cluster for each mode and warms it up.
    fn clusters(&self, modes: &[Mode]) -> Result<Clusters, Failure> {
        let shape = ClusterShape {
            nodes: self.nodes as usize,
            leaves: self.leaves as usize,
            applications: self.apps as usize,
        };
        let bar = parts_bar("filling the clusters");
        let mut clusters = Clusters::new();
        for (number, &mode) in modes.iter().enumerate() {
            let mut show =
                |part: f64| bar.set_position(((number as f64 + part) / modes.len() as f64 * 1e3) as u64);
            let setup = Setup { seed: self.seed, ..Setup::new(shape, mode) };
            let mut churn = Churn::filled(&setup, &mut show)?;
            churn.run(WARM_UP, &|| ControlFlow::Continue(()))?;
            clusters.push((mode, churn));
        }
        bar.finish_and_clear();
        Ok(clusters)
    }
}

pub(super) fn run(args: &LatencyArgs) -> Result<(), Failure> {
    let (modes, rates) = (args.modes()?, args.rates()?);
    let (outputs, plot) = args.outputs()?;
    let mut clusters = args.clusters(&modes)?;
    let (runs, interruption) = measure(args, &rates, &mut clusters)?;
    if runs.is_empty() {
        return Err(Failure::nothing_to_report("a run had ended"));
    }
    clusters.iter().try_for_each(|(_, churn)| churn.expect_sound())?;
    let report = LatencyReport {
        nodes: args.nodes,
        apps: args.apps,
        leaves: args.leaves,
        seed: args.seed,
        repeat: args.repeat,
        seconds: args.seconds,
        points: LatencyPoint::all(&runs),
        interrupted_at_s: interruption,
    };
    if let Some(file) = plot {
        file.write_text(&to_latency_svg(&report).map_err(Failure::run)?)?;
    }
    outputs.write(&report, || to_latency_html(&report), || to_latency_text(&report))?;
    Failure::of_interruption(interruption)
}

/// Measures each mode at each rate, in turns. A run that a signal cut short does not count.
fn measure(
    args: &LatencyArgs,
    rates: &BTreeSet<u32>,
    clusters: &mut Clusters,
) -> Result<(Vec<LatencyRun>, Option<Interruption>), Failure> {
    let (interruptible, begun) = (Interruptible::begin(), Instant::now());
    let bar = parts_bar("measuring");
    bar.set_length(u64::from(args.repeat) * (rates.len() * clusters.len()) as u64);
    let mut runs = Vec::new();
    for _ in 0..args.repeat {
        for &rate in rates {
            for (mode, churn) in &mut *clusters {
                let duration = Duration::from_secs_f64(args.seconds);
                let record = churn.run_at(f64::from(rate), duration, &|| interruptible.flow())?;
                if interruptible.is_stopped() {
                    return Ok((runs, Some(Interruption::measured_since(begun))));
                }
                runs.push(LatencyRun::new(*mode, rate, &record));
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    Ok((runs, None))
}
